#!/usr/bin/env bash
# Runs Kubernetes' own conformance tests (e2e.test 1.36.3) against a cluster of its own. usage: conformance.sh [LABEL_FILTER]
# The first run builds e2e.test from Kubernetes' module, which takes its time and a few gigabytes. E2E_TEST names one that
# is there already. Most tests need containers: without a node that runs them, only those of the API can pass.
set -uo pipefail
cd "$(dirname "$0")/.."
filter=${1:-Conformance && !Serial && !Disruptive}
cache=${HOMEOSTAT_CACHE:-$PWD/.cache}
e2e=${E2E_TEST:-$cache/e2e.test}
scripts/build.sh homeostat || exit 1
if [ ! -x "$e2e" ]; then
  go=$(scripts/go.sh) || { echo "e2e.test can't be built: there is no Go of 1.26 or later" >&2; exit 1; }
  mkdir -p "$cache"
  # The pinned versions, in a copy: the tests need more modules than kubectl does.
  cp tests/tools/kubectl/go.mod "$cache/e2e.mod"; cp tests/tools/kubectl/go.sum "$cache/e2e.sum"
  echo "building e2e.test 1.36.3 from its Go module (once)" >&2
  (cd tests/tools/kubectl && "$go" test -c -mod=mod -modfile="$cache/e2e.mod" -trimpath -ldflags '-s -w' -o "$e2e" k8s.io/kubernetes/test/e2e) >&2 \
    || { echo "e2e.test could not be built: see above. Set E2E_TEST to a program that is there." >&2; exit 1; }
fi
. tests/e2e/lib.sh
report=$cache/conformance-report
mkdir -p "$report"
start_homeostat --data-dir "$folder/data" --node "${NODE:-auto}" --sim-nodes "${SIM_NODES:-0}" --listen 127.0.0.1:0
if ! k wait --for=condition=Ready node --all --timeout=60s >/dev/null 2>&1; then
  echo "no node became ready: tests that need pods to run will fail"
  without_nodes=(--num-nodes=0)
fi
"$e2e" --kubeconfig="$KUBECONFIG" --kubectl-path="$kubectl" --provider=skeleton --allowed-not-ready-nodes=-1 ${without_nodes[@]+"${without_nodes[@]}"} \
  --dump-logs-on-failure=false --disable-log-dump=true --report-dir="$report" --ginkgo.label-filter="$filter" --ginkgo.timeout=24h \
  --ginkgo.silence-skips --ginkgo.no-color --ginkgo.poll-progress-after=120s >"$report/e2e.log" 2>&1
code=$?
grep -E '^(Ran|FAIL!|SUCCESS!) |^  \[FAIL\]' "$report/e2e.log" | tail -n 60
echo "the whole log: $report/e2e.log"
exit $code
