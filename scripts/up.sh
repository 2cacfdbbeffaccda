#!/usr/bin/env bash
# Starts a cluster in the background (unless it runs), applies the example, waits for it and shows it.
# usage: up.sh DATA_DIR
set -euo pipefail
cd "$(dirname "$0")/.."
data=$1
homeostat=build/homeostat
kubeconfig=$data/admin.kubeconfig
mkdir -p -m 700 "$data" "$data/images"
cp -n build/images/*.tar "$data/images/" 2>/dev/null || true

running() { [ -s "$data/homeostat.pid" ] && kill -0 "$(cat "$data/homeostat.pid")" 2>/dev/null; }
if running; then
  echo "the cluster already runs (pid $(cat "$data/homeostat.pid"))"
else
  rm -f "$data/ready"
  setsid "$homeostat" up --data-dir "$data" --listen "${LISTEN:-127.0.0.1:6443}" --kubeconfig "$kubeconfig" \
    >"$data/ready" 2>>"$data/homeostat.log" </dev/null &
  echo $! > "$data/homeostat.pid"
  for _ in $(seq 600); do
    grep -q 'is ready at' "$data/ready" && break
    running || { echo "homeostat did not start:" >&2; tail -n 3 "$data/homeostat.log" >&2; rm -f "$data/homeostat.pid"; exit 1; }
    sleep 0.05
  done
  cat "$data/ready"
fi

"$homeostat" apply --kubeconfig "$kubeconfig" -f examples/web.yaml
"$homeostat" wait --kubeconfig "$kubeconfig" deployments/web --for Available --timeout 120
"$homeostat" get --kubeconfig "$kubeconfig" deployments,replicasets,pods,services
cat <<TEXT

The cluster runs in the background. To use it:
    export KUBECONFIG=$kubeconfig
    kubectl get pods -o wide
Its log is $data/homeostat.log; stop it with: make down
TEXT
