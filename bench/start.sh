#!/usr/bin/env bash
# How long from the start of the program to its ready line, with an empty data directory and no node, and how much memory
# it keeps when idle. usage: start.sh [RUNS]
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-10}
program=$(realpath "${HOMEOSTAT:-build/homeostat}")
folder=$(mktemp -d)
trap '[ -z "${server_PID:-}" ] || kill -KILL "$server_PID" 2>/dev/null || true; rm -rf "$folder"' EXIT

# start NAME: sets server_PID and milliseconds.
start() {
  local begin=$EPOCHREALTIME line
  coproc server { exec "$program" up --data-dir "$folder/$1" --kubeconfig "$folder/kubeconfig" --node none --listen 127.0.0.1:0 2>"$folder/log"; }
  read -r line <&"${server[0]}" || { echo "homeostat did not start: $(tail -n 3 "$folder/log")" >&2; exit 1; }
  milliseconds=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
}

stop() { local pid=$server_PID; kill -TERM "$pid"; wait "$pid" || true; }

times=()
for run in $(seq "$runs"); do
  start "empty-$run"; times+=("$milliseconds"); stop
done
sorted=($(printf '%s\n' "${times[@]}" | sort -n))
echo "start to ready, empty data directory: median ${sorted[$((runs / 2))]} ms, fastest ${sorted[0]} ms, slowest ${sorted[-1]} ms ($runs runs)"
start "empty-1"
echo "start to ready, a data directory that has been used: $milliseconds ms"
sleep 10
awk '/^VmRSS/ {printf "memory after 10 s at rest: %.1f MiB resident", $2 / 1024} /^VmHWM/ {peak = $2 / 1024} END {printf " (%.1f MiB at most)\n", peak}' "/proc/$server_PID/status"
stop
