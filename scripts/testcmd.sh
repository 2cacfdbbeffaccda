#!/usr/bin/env bash
# Runs kubectl's own suite, test/cmd of Kubernetes 1.36.3, each case against a server of its own. usage: testcmd.sh [CASE...]
# `all` runs the whole suite against one server instead. tests/testcmd/pending.txt has the cases that don't pass yet, each with
# its reason. Needs Go the first time; the suite comes with Kubernetes' Go module and needs no network itself.
# LIMIT: seconds that a case may take. Logs are kept below .cache/testcmd. Ends with the line "N passed, M failed".
set -uo pipefail
cd "$(dirname "$0")/.."
[ -n "${HOMEOSTAT:-}" ] || scripts/build.sh homeostat >/dev/null || exit 1
. tests/e2e/lib.sh
limit=${LIMIT:-240} logs=${HOMEOSTAT_CACHE:-$PWD/.cache}/testcmd
tree=$(scripts/kubernetes.sh --folder)/testcmd

# The suite as its module has it, with the programs that it looks for.
make_tree() {
  local source convert
  source=$(scripts/kubernetes.sh --source) && convert=$(scripts/kubernetes.sh kubectl-convert) || return
  rm -rf "$tree"; mkdir -p "$tree/_output/bin"
  (cd "$source" && cp -r --parents hack test/cmd test/fixtures test/e2e/testing-manifests third_party/forked/shell2junit "$tree")
  chmod -R u+w "$tree"
  find "$tree" -name '*.sh' -exec chmod +x {} +
  find "$tree/test/fixtures/pkg/kubectl/plugins" -type f -exec chmod +x {} +
  # The one file that the suite fetches from the network lies in the tree, too.
  sed -i 's#https://raw.githubusercontent.com/kubernetes/kubernetes/master/##' "$tree/test/cmd/generic-resources.sh"
  ln -s "$convert" "$tree/_output/bin/kubectl-convert"
  touch "$tree/.complete"
}
# Starts a server as test-cmd.sh sets up the original: no scheduler and no nodes, and without the plugins that would change what
# cases compare.
start_case() {
  mkdir -m 700 -p "$folder/data" "$folder/data/pki"
  # A case looks for the authority that the original is given.
  cp "$tree"/hack/testdata/ca/ca.{crt,key} "$folder/data/pki/"
  start_homeostat --data-dir "$folder/data" --store memory --listen 127.0.0.1:0 --node none --scheduler false --service-cidr 10.0.0.0/24 \
    --authorization-mode RBAC,AlwaysAllow --token-auth-file "$tree/hack/testdata/auth-tokens.csv" \
    --disable-admission-plugins ServiceAccount,DefaultStorageClass,DefaultTolerationSeconds,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,StorageObjectInUseProtection
}

[ -e "$tree/.complete" ] || make_tree || { echo "0 passed, 1 failed"; exit 1; }
cp "$kubectl" "$tree/_output/bin/kubectl"
cases=("$@")
[ ${#cases[@]} -gt 0 ] || mapfile -t cases <tests/testcmd/cases.txt
for name in "${cases[@]}"; do
  [ "$name" = all ] || grep -qx "$name" tests/testcmd/cases.txt || { echo "there is no case $name; tests/testcmd/cases.txt has them"; exit 2; }
done
expected=0 total=0 begin=$SECONDS
for name in "${cases[@]}"; do
  kept=$logs/$name
  rm -rf "$kept"; mkdir -p "$kept"
  : >"$folder/log"
  start_case
  started=$SECONDS
  env -u KUBECONFIG -u KUBECACHEDIR TREE="$tree" WORK="$kept" PORT="${url##*:}" timeout -k 5 "$limit" bash tests/testcmd/case.sh "$name" >"$kept/log" 2>&1 </dev/null
  code=$?
  stop_homeostat TERM
  mv "$folder/log" "$kept/server.log"
  rm -rf "$folder/data" "$kept/tmp"
  seen=$(grep -ac 'Successful' "$kept/log")
  total=$((total + seen))
  if [ $code = 0 ]; then
    passed=$((passed + 1)); echo "ok    $name  $seen assertions, $((SECONDS - started)) s"
    grep -q "^$name	" tests/testcmd/pending.txt && echo "      passes now: take it out of pending.txt"
  elif grep -q "^$name	" tests/testcmd/pending.txt; then
    expected=$((expected + 1)); echo "pending  $name  $(grep "^$name	" tests/testcmd/pending.txt | cut -f2)"
  else
    failed=$((failed + 1)); echo "FAIL  $name  code $code after $seen assertions, $((SECONDS - started)) s"
    tail -n "${LINES_SHOWN:-15}" "$kept/log" | cut -c1-300 | sed 's/^/      /'
  fi
done
echo "$passed of ${#cases[@]} cases pass, $expected fail as known; $total assertions in $((SECONDS - begin)) s; logs: $logs"
passed=$((passed + expected))
finish
