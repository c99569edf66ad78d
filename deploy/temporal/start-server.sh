#!/bin/sh
# Starts the Temporal server as its image does, with the password of its database from a file: POSTGRES_PWD_FILE.
set -eu

POSTGRES_PWD=$(cat "$POSTGRES_PWD_FILE")
export POSTGRES_PWD
exec /etc/temporal/entrypoint.sh
