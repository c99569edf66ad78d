#!/bin/sh
# Waits for the Temporal server at TEMPORAL_ADDRESS, registers TEMPORAL_NAMESPACE, unless it is there, and waits until
# workflows can be started in it. RETENTION is how long finished deliveries stay visible and repeated message ids are
# recognised.
set -eu

# Runs the given function each second until it succeeds.
until_done() {
  tries=0
  until "$1"; do
    tries=$((tries + 1))
    if [ "$tries" -ge 60 ]; then
      echo "$1: no success with namespace $TEMPORAL_NAMESPACE after $tries tries" >&2
      exit 1
    fi
    sleep 1
  done
}

register() {
  temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
    temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
}

# The server keeps in mind for a second that a namespace was not found, and refuses what uses it in that time.
is_usable() {
  temporal workflow count --namespace "$TEMPORAL_NAMESPACE" >/dev/null
}

until_done register
until_done is_usable
