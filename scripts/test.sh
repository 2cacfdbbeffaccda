#!/usr/bin/env bash
# Builds and runs the tests. usage: test.sh all|unit|tidy|golden|e2e|cel
# Ends with the line "N passed, M failed".
set -uo pipefail
cd "$(dirname "$0")/.."
passed=0; failed=0
# run NAME COMMAND...: one check; its output is shown when it fails.
run() {
  local name=$1; shift
  local log; log=$(mktemp)
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1)); echo "ok    $name  $(grep -E '^[0-9]+ passed, [0-9]+ failed|\[  PASSED  \]' "$log" | tail -1)"
  else
    failed=$((failed + 1)); echo "FAIL  $name"; tail -n 60 "$log"
  fi
  rm -f "$log"
}
unit() {
  # From the build's folder: a compiler cache may have made the paths in them relative to it.
  local tests=build/*_test
  for t in $tests; do [ -x "$t" ] && run "unit: $(basename "$t")" env -C build "./$(basename "$t")" --gtest_brief=1; done
}
tidy() { run "tidy" python3 tests/tidy.py; run "headers" tests/headers_test.sh; }
golden() { run "golden replay" tests/golden/run.sh; }
cel() { run "cel: compared with the original" python3 tests/cel/compare.py; }
e2e() { for t in tests/e2e/*_test.sh; do [ -e "$t" ] && run "e2e: $(basename "$t" .sh)" bash "$t"; done; }

scripts/build.sh || { echo "0 passed, 1 failed"; exit 1; }
case ${1:-all} in
  all) tidy; unit; cel; golden; e2e ;;
  unit|tidy|golden|e2e|cel) "$1" ;;
  *) echo "usage: test.sh all|unit|tidy|golden|e2e|cel" >&2; exit 2 ;;
esac
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
