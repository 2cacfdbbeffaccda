#!/usr/bin/env bash
# Runs Kubernetes' own conformance tests (e2e.test 1.36.3) against a cluster of its own.
# usage: conformance.sh [CLASS...] [--test TEXT] [--pending [--update-pending]]
# Classes stand in tests/conformance/tests.tsv: api, controllers, schedule, pod-status (what a pod's status shows), webhook, pod, streams,
# network, storage; all. Without any: the first four, which need no containers and have two simulated nodes. The others want
# NODE=containerd (as root). tests/conformance/pending.txt has those that don't pass yet.
# The first run builds e2e.test from Kubernetes' module, which takes its time and a few gigabytes. E2E_TEST names one that
# is there already. JOBS: how many processes of it share the tests.
set -uo pipefail
cd "$(dirname "$0")/.."
cache=${HOMEOSTAT_CACHE:-$PWD/.cache}
classes=(); options=()
while [ $# -gt 0 ]; do
  case $1 in
    --test) options+=(--test "$2"); shift ;;
    --*) options+=("$1") ;;
    *) classes+=("$1") ;;
  esac
  shift
done
[ ${#classes[@]} -gt 0 ] || classes=(api controllers schedule pod-status)
# What is misspelt is told before anything is built.
python3 tests/conformance/run.py --list ${options[@]+"${options[@]}"} "${classes[@]}" >/dev/null || exit
[ -n "${HOMEOSTAT:-}" ] || scripts/build.sh homeostat || exit 1
e2e=${E2E_TEST:-$(scripts/kubernetes.sh e2e.test)} || { echo "e2e.test could not be built: see above. Set E2E_TEST to a program that is there." >&2; exit 1; }
. tests/e2e/lib.sh
node=${NODE:-none}
listen=127.0.0.1:0; [ "$node" = none ] || listen=0.0.0.0:0
simulated=${SIM_NODES:-$([ "$node" = none ] && echo 2 || echo 0)}
if [ "$node" != none ]; then
  images=$(scripts/kubernetes.sh --folder)/conformance-images
  [ -e "$images/.complete" ] || scripts/conformance-images.sh "$images" || exit 1
  mkdir -p "$folder/data/images"
  trap '[ -z "$pid" ] || stop_homeostat TERM; "$program" stop-node --data-dir "$folder/data"; clean_up' EXIT
  ln "$images"/*.tar "$folder/data/images/" 2>/dev/null || cp "$images"/*.tar "$folder/data/images/"
fi
# The API has endpoints only at an address that others could reach.
address=$(hostname -I | awk '{print $1}')
# Tests name images that must not be there; one waits for superseded revisions to be gone.
start_homeostat --data-dir "$folder/data" --node "$node" --sim-nodes "$simulated" --sim-images registry.k8s.io/ --listen "$listen" --advertise-address "${address:-192.0.2.1}" \
  --compaction-interval 20s
registered() { [ -n "$(k get nodes -o name)" ]; }
eventually 180 registered && k wait --for=condition=Ready node --all --timeout=60s >/dev/null || echo "no node became ready: tests that need one will fail"
python3 tests/conformance/run.py --e2e "$e2e" --kubectl "$kubectl" --kubeconfig "$KUBECONFIG" --report "$cache/conformance-report" \
  --jobs "${JOBS:-3}" ${options[@]+"${options[@]}"} "${classes[@]}"
