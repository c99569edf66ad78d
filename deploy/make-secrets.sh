#!/bin/sh
# Makes the secrets of docker-compose.yml, each a file below `secrets/`, unless they are there. Needs openssl. Keep a copy of the folder: the
# encryption key opens what is stored.
set -eu
cd "$(dirname "$0")/.."

# The folder keeps others out. Its files are readable, as containers read them under users of their own.
mkdir -p secrets
chmod 700 secrets
umask 022

make() {
  [ -s "secrets/$1" ] || printf '%s\n' "$2" >"secrets/$1"
}
make postgres-password "$(openssl rand -hex 24)"
make temporal-database-password "$(openssl rand -hex 24)"
make postrider-database-password "$(openssl rand -hex 24)"
make database-url "postgres://postrider:$(cat secrets/postrider-database-password)@postgres:5432/postrider"
make admin-token "$(openssl rand -hex 24)"
make encryption-keys "k1:$(openssl rand -base64 32)"
make grafana-password "$(openssl rand -hex 24)"
