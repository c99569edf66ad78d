#!/bin/sh
# Waits for the Temporal server at TEMPORAL_ADDRESS and registers TEMPORAL_NAMESPACE, unless it is there. RETENTION is how
# long finished deliveries stay visible and repeated message ids are recognised.
set -eu

tries=0
until temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"; do
  tries=$((tries + 1))
  if [ "$tries" -ge 60 ]; then
    echo "no namespace $TEMPORAL_NAMESPACE after $tries tries" >&2
    exit 1
  fi
  sleep 1
done
