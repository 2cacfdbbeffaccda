#!/usr/bin/env bash
# Stops the cluster that up.sh started, with its containers. What it stores is kept. usage: down.sh DATA_DIR
set -euo pipefail
cd "$(dirname "$0")/.."
data=$(realpath -m "$1")
pid=$(cat "$data/homeostat.pid" 2>/dev/null || true)
# The number of a process that has ended may be another program's by now.
runs() { [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = homeostat ]; }
if runs; then
  kill -TERM "$pid"
  for _ in $(seq 200); do runs || break; sleep 0.05; done
  if runs; then echo "homeostat (pid $pid) does not stop" >&2; exit 1; fi
  echo "the cluster is stopped"
else
  echo "no cluster runs from $data"
fi
rm -f "$data/homeostat.pid"
if [ -d "$data/node" ]; then
  [ -x build/homeostat ] || { echo "containers may go on: build/homeostat, which ends them, is not there; make build makes it" >&2; exit 1; }
  build/homeostat stop-node --data-dir "$data"
fi
