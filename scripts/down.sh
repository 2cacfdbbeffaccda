#!/usr/bin/env bash
# Stops the cluster that up.sh started, with its containers. usage: down.sh DATA_DIR
set -euo pipefail
cd "$(dirname "$0")/.."
data=$1
if [ -s "$data/homeostat.pid" ] && kill -0 "$(cat "$data/homeostat.pid")" 2>/dev/null; then
  pid=$(cat "$data/homeostat.pid")
  kill -TERM "$pid"
  for _ in $(seq 200); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
  if kill -0 "$pid" 2>/dev/null; then echo "homeostat (pid $pid) does not stop" >&2; exit 1; fi
  echo "the cluster is stopped"
else
  echo "no cluster runs from $data"
fi
rm -f "$data/homeostat.pid"
build/homeostat stop-node --data-dir "$data"
