#!/bin/sh
# Makes or upgrades the two databases of a Temporal server on PostgreSQL; safe to run again. Reads SQL_HOST, SQL_PORT, SQL_USER
# and SQL_PASSWORD, or the file SQL_PASSWORD_FILE; the schemas are inside temporal-sql-tool.
set -eu

export SQL_PLUGIN=postgres12
[ -z "${SQL_PASSWORD_FILE:-}" ] || SQL_PASSWORD=$(cat "$SQL_PASSWORD_FILE")
export SQL_PASSWORD

set_up() {
  export SQL_DATABASE="$1"
  temporal-sql-tool create-database
  temporal-sql-tool setup-schema --version 0.0
  temporal-sql-tool update-schema --schema-name "postgresql/v12/$2"
}

set_up temporal temporal
set_up temporal_visibility visibility
