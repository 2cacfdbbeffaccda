#!/usr/bin/env bash
# Runs kubectl's own suite, test/cmd of Kubernetes 1.36.3, each case against a server of its own. usage: testcmd.sh [CASE...]
# `all` runs the whole suite against one server instead. tests/testcmd/pending.txt has the cases that don't pass yet, each with
# its reason. Needs Go the first time; the suite comes with Kubernetes' Go module and needs no network itself.
# LIMIT: seconds that a case may take. Logs are kept below .cache/testcmd. Ends with the line "N passed, M failed".
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD cache=${HOMEOSTAT_CACHE:-$PWD/.cache} limit=${LIMIT:-240}
[ -n "${HOMEOSTAT:-}" ] || scripts/build.sh homeostat >/dev/null || exit 1
program=$(realpath "${HOMEOSTAT:-build/homeostat}")
kubectl=$(scripts/kubectl.sh) || { echo "0 passed, 1 failed"; exit 1; }
logs=$cache/testcmd tree=$cache/testcmd/tree
if [ ! -e "$tree/.complete" ]; then
  go=$(scripts/go.sh) || { echo "Kubernetes' module can't be fetched: there is no Go of 1.26 or later" >&2; exit 1; }
  source=$(cd tests/tools/kubectl && "$go" mod download k8s.io/kubernetes && "$go" list -mod=mod -m -f '{{.Dir}}' k8s.io/kubernetes) || exit 1
  rm -rf "$tree"; mkdir -p "$tree"
  (cd "$source" && cp -r --parents hack test/cmd test/fixtures test/e2e/testing-manifests third_party/forked/shell2junit "$tree")
  chmod -R u+w "$tree"
  find "$tree" -name '*.sh' -exec chmod +x {} +
  find "$tree/test/fixtures/pkg/kubectl/plugins" -type f -exec chmod +x {} +
  # The one file that the suite fetches from the network lies in the tree, too.
  sed -i 's#https://raw.githubusercontent.com/kubernetes/kubernetes/master/##' "$tree/test/cmd/generic-resources.sh"
  mkdir -p "$tree/_output/bin"
  echo "building kubectl-convert 1.36.3 from its Go module (once)" >&2
  (cd tests/tools/kubectl && "$go" build -mod=mod -trimpath -ldflags '-s -w' -o "$tree/_output/bin/kubectl-convert" k8s.io/kubernetes/cmd/kubectl-convert) >&2 || exit 1
  touch "$tree/.complete"
fi
cp "$kubectl" "$tree/_output/bin/kubectl"

pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null' EXIT
# start FOLDER: a server as test-cmd.sh sets up the original: no scheduler and no nodes, and without the plugins that would change what cases compare.
start() {
  local folder=$1
  # A case looks for the authority that the original is given.
  mkdir -m 700 -p "$folder/data" "$folder/data/pki"
  cp "$tree"/hack/testdata/ca/ca.{crt,key} "$folder/data/pki/"
  for _ in 1 2 3; do
    port=$((20000 + RANDOM % 12000))
    "$program" up --data-dir "$folder/data" --store memory --listen "127.0.0.1:$port" --node none --scheduler false --service-cidr 10.0.0.0/24 \
      --authorization-mode RBAC,AlwaysAllow --token-auth-file "$tree/hack/testdata/auth-tokens.csv" \
      --disable-admission-plugins ServiceAccount,DefaultStorageClass,DefaultTolerationSeconds,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,StorageObjectInUseProtection \
      >"$folder/server.out" 2>"$folder/server.log" </dev/null &
    pid=$!
    for _ in $(seq 100); do
      grep -qs ready "$folder/server.out" && break 2
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
  done
}


cases=("$@")
[ ${#cases[@]} -gt 0 ] || mapfile -t cases <tests/testcmd/cases.txt
passed=0 failed=0 expected=0 total=0 begin=$SECONDS
for name in "${cases[@]}"; do
  folder=$logs/$name
  rm -rf "$folder"; mkdir -p "$folder"
  start "$folder"
  started=$SECONDS
  TREE=$tree WORK=$folder PORT=$port timeout -k 5 "$limit" bash tests/testcmd/case.sh "$name" >"$folder/log" 2>&1 </dev/null
  code=$?
  kill -TERM "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; pid=
  rm -rf "$folder/data" "$folder/tmp"
  seen=$(grep -ac 'Successful' "$folder/log")
  total=$((total + seen))
  if [ $code = 0 ]; then
    passed=$((passed + 1)); echo "ok    $name  $seen assertions, $((SECONDS - started)) s"
    grep -q "^$name	" tests/testcmd/pending.txt && echo "      passes now: take it out of pending.txt"
  elif grep -q "^$name	" tests/testcmd/pending.txt; then
    expected=$((expected + 1)); echo "pending  $name  $(grep "^$name	" tests/testcmd/pending.txt | cut -f2)"
  else
    failed=$((failed + 1)); echo "FAIL  $name  code $code after $seen assertions, $((SECONDS - started)) s"
    tail -n "${LINES_SHOWN:-15}" "$folder/log" | cut -c1-300 | sed 's/^/      /'
  fi
done
echo "$passed of ${#cases[@]} cases pass, $expected fail as known; $total assertions in $((SECONDS - begin)) s; logs: $logs"
echo "$((passed + expected)) passed, $failed failed"
[ "$failed" = 0 ]
