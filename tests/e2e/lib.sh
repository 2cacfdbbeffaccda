# What the end-to-end tests share: a cluster in a folder of its own, and checks that count. Sourced, not run.
#
# A test defines functions named check_NAME, starts what it needs, calls `check NAME` for each and ends with `finish`.
# HOMEOSTAT names the program, build/homeostat without it; KEEP=1 leaves the folder for a look.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=$(realpath "${HOMEOSTAT:-build/homeostat}")
folder=$(mktemp -d -t homeostat-e2e-XXXXXX)
kubectl=$(scripts/kubectl.sh) || { echo "0 passed, 1 failed"; exit 1; }
export KUBECONFIG=$folder/kubeconfig KUBECACHEDIR=$folder/kubectl-cache
passed=0 failed=0 pid=

k() { "$kubectl" "$@"; }

# start_homeostat FLAGS...: starts the program and waits for its ready line; sets pid and url.
start_homeostat() {
  : >"$folder/ready"
  "$program" up --kubeconfig "$KUBECONFIG" "$@" >"$folder/ready" 2>>"$folder/log" </dev/null &
  pid=$!
  for _ in $(seq 300); do
    url=$(sed -n 's/^homeostat is ready at \(https:[^;]*\);.*/\1/p' "$folder/ready")
    [ -n "$url" ] && return
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  echo "homeostat did not start: $(tail -n 5 "$folder/log")"
  echo "0 passed, 1 failed"
  exit 1
}

# stop_homeostat SIGNAL: and waits for the end; its exit code.
stop_homeostat() {
  local stopping=$pid
  pid=
  kill "-$1" "$stopping" 2>/dev/null
  wait "$stopping" 2>/dev/null
}

# check NAME: runs check_NAME in a shell that ends at the first command that fails.
check() {
  (set -ex; "check_$1") >"$folder/output" 2>&1
  if [ $? = 0 ]; then
    passed=$((passed + 1)); echo "ok    $1"
  else
    failed=$((failed + 1)); echo "FAIL  $1"; tail -n 25 "$folder/output" | cut -c1-400 | sed 's/^/      /'
  fi
}

finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
  exit
}

# skip REASON: ends a test that this machine can't run. Neither passed nor failed: scripts/test.sh counts and names it.
skip() {
  echo "skipped: $1"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
}

clean_up() {
  [ -n "$pid" ] && stop_homeostat KILL
  [ -n "${KEEP:-}" ] && echo "kept: $folder" || rm -rf "$folder"
}
trap clean_up EXIT

# contains TEXT PART...: every part stands in the text.
contains() {
  local text=$1 part; shift
  for part in "$@"; do
    [[ $text == *"$part"* ]] || { echo "no \"$part\" in: $text"; return 1; }
  done
}

# same A B
same() { [ "$1" = "$2" ] || { echo "\"$1\" is not \"$2\""; return 1; }; }

# fails COMMAND...: it must not succeed; its output goes through.
fails() { if "$@"; then echo "succeeded: $*"; return 1; fi; }

# eventually SECONDS COMMAND...: repeats until it succeeds.
eventually() {
  local end=$((SECONDS + $1)); shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || { echo "not in time: $*"; return 1; }
    sleep 0.2
  done
}
