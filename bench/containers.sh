#!/usr/bin/env bash
# How long from the apply of a pod to its running container, beside what containerd alone takes for a sandbox and a
# container of the same image. Needs root, containerd and the project's images. usage: containers.sh [RUNS]
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-10}
image=docker.io/local/web:1
. tests/e2e/lib.sh
. tests/e2e/containers.sh
if reason=$(containers_cannot_run); then echo "containers: skipped: $reason"; exit; fi
scripts/build.sh homeostat images cri_run
trap '[ -z "$pid" ] || stop_homeostat TERM; "$program" stop-node --data-dir "$folder/data"; clean_up' EXIT
mkdir -p "$folder/data/images"
cp build/images/*.tar "$folder/data/images/"
start_homeostat --data-dir "$folder/data" --listen 127.0.0.1:0 --node containerd
is_ready() { k wait --for=condition=Ready node --all --timeout=1s >/dev/null 2>&1; }
until is_ready; do sleep 0.2; done

now() { echo "${EPOCHREALTIME/./}"; }
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

# The first container of a node waits for images to be unpacked; it is not counted.
whole=()
for run in $(seq 0 "$runs"); do
  sed "s/NAME/bench-$run/; s#IMAGE#$image#" >"$folder/pod.yaml" <<'POD'
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: IMAGE, imagePullPolicy: Never}]
POD
  coproc watch { exec "$kubectl" get pods --watch -o 'jsonpath={.metadata.name} {.status.containerStatuses[0].state.running.startedAt}{"\n"}'; }
  sleep 0.5
  begin=$(now)
  "$program" apply --kubeconfig "$KUBECONFIG" -f "$folder/pod.yaml" >/dev/null
  while read -r name started <&"${watch[0]}"; do [ "$name" = "bench-$run" ] && [ -n "$started" ] && break; done
  end=$(now)
  kill "$watch_PID"; wait "$watch_PID" 2>/dev/null || true
  [ "$run" = 0 ] || whole+=($(((end - begin) / 1000)))
  k delete pod "bench-$run" --wait=true >/dev/null
done
alone=$(build/cri_run "$(sed -n 's/^ *address = "\(.*containerd.sock\)"/\1/p' "$folder/data/node/containerd/config.toml" | head -n 1)" "$image" "$runs" | median)
together=$(printf '%s\n' "${whole[@]}" | median)
echo "apply to running container: median $together ms; containerd alone: median $alone ms; difference $((together - alone)) ms ($runs runs)"
