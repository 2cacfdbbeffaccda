#!/usr/bin/env bash
# Rolls Deployments out, over, back and away on simulated nodes for a while. usage: soak.sh [MINUTES]
# Fails when something does not converge within a minute, or when memory, descriptors or threads keep growing.
. "$(dirname "$0")/../tests/e2e/lib.sh"
minutes=${1:-15}  # the recent past that is kept for watches fills for five of them

resident() { awk '/^VmRSS/ {print int($2 / 1024)}' "/proc/$pid/status"; }
descriptors() { ls "/proc/$pid/fd" | wc -l; }
threads() { ls "/proc/$pid/task" | wc -l; }
nothing_is_left() { same "$(k get deploy,rs,pods -l app=soak -o name)" ""; }

check_round() {
  k create deployment soak --image=docker.io/local/web:1 --replicas=40
  k rollout status deploy/soak --timeout=60s
  k scale deploy/soak --replicas=80
  k set image deploy/soak web=docker.io/local/web:2
  k rollout status deploy/soak --timeout=60s
  k delete pod -l app=soak --wait=false >/dev/null
  k rollout undo deploy/soak
  k rollout status deploy/soak --timeout=60s
  k delete deploy soak --cascade=foreground --timeout=60s
  eventually 60 nothing_is_left
}
check_growth() {
  [ "$(resident)" -le $((first_resident * 5 / 4 + 32)) ]
  [ "$(descriptors)" -le $((first_descriptors + 50)) ]
  [ "$(threads)" -le $((first_threads + 8)) ]
}

start_homeostat --data-dir "$folder/data" --node none --sim-nodes 20 --listen 127.0.0.1:0
begin=$SECONDS counted=
while [ $((SECONDS - begin)) -lt $((minutes * 60)) ] && [ "$failed" = 0 ]; do
  check round
  echo "      $(resident) MiB, $(descriptors) descriptors, $(threads) threads"
  # The first half fills caches, the recent past and the store's buffers; growth is counted from then on.
  if [ -n "$counted" ]; then
    check growth
  elif [ $((SECONDS - begin)) -ge $((minutes * 30)) ]; then
    first_resident=$(resident) first_descriptors=$(descriptors) first_threads=$(threads) counted=1
  fi
done
finish
