#!/bin/sh
# Makes a user per purpose, each with databases of its own, in an empty PostgreSQL: `temporal`, which makes its databases itself, and
# `postrider` with the database `postrider`. Passwords are read from files: TEMPORAL_PASSWORD_FILE and POSTRIDER_PASSWORD_FILE.
set -eu

temporal=$(cat "$TEMPORAL_PASSWORD_FILE")
postrider=$(cat "$POSTRIDER_PASSWORD_FILE")

# On standard input, because arguments show in the list of processes.
psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres <<END
\\set temporal '$temporal'
\\set postrider '$postrider'
create role temporal login createdb password :'temporal';
create role postrider login password :'postrider';
create database postrider owner postrider;
revoke all on database postrider from public;
END
