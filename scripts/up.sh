#!/usr/bin/env bash
# Starts a cluster in the background (unless it runs), applies the example, waits for it and shows it.
# usage: up.sh DATA_DIR. LISTEN: where the API listens, 127.0.0.1:6443 without it.
set -euo pipefail
cd "$(dirname "$0")/.."
data=$(realpath -m "$1")
homeostat=build/homeostat
kubeconfig=$data/admin.kubeconfig
mkdir -p -m 700 "$data" "$data/images"
cp -u build/images/*.tar "$data/images/" 2>/dev/null || true

# The number of a process that has ended may be another program's by now.
running() { [ -s "$data/homeostat.pid" ] && [ "$(cat "/proc/$(cat "$data/homeostat.pid")/comm" 2>/dev/null)" = homeostat ]; }
if running; then
  echo "the cluster already runs (pid $(cat "$data/homeostat.pid"))"
else
  rm -f "$data/ready"
  setsid "$homeostat" up --data-dir "$data" --listen "${LISTEN:-127.0.0.1:6443}" --kubeconfig "$kubeconfig" \
    >"$data/ready" 2>>"$data/homeostat.log" </dev/null &
  pid=$!
  echo "$pid" >"$data/homeostat.pid"
  for _ in $(seq 600); do
    grep -q 'is ready at' "$data/ready" && break
    kill -0 "$pid" 2>/dev/null || { echo "homeostat did not start:" >&2; tail -n 3 "$data/homeostat.log" >&2; rm -f "$data/homeostat.pid"; exit 1; }
    sleep 0.05
  done
  cat "$data/ready"
fi

"$homeostat" apply --kubeconfig "$kubeconfig" -f examples/web.yaml
"$homeostat" wait --kubeconfig "$kubeconfig" deployments/web --for Available --timeout 120
"$homeostat" get --kubeconfig "$kubeconfig" deployments,replicasets,pods,services
if command -v kubectl >/dev/null; then
  example="kubectl get pods -o wide"
else
  example="build/homeostat get pods      # or kubectl, which is not installed: scripts/kubectl.sh builds one and says where"
fi
down="make down"; [ "$data" = "$PWD/.homeostat" ] || down+=" DATA_DIR=$data"
cat <<TEXT

The cluster runs in the background. To use it:
    export KUBECONFIG=$kubeconfig
    $example
Its log is $data/homeostat.log; stop it with: $down
TEXT
