#!/usr/bin/env bash
# Builds what the tests want and runs them. usage: test.sh all|unit|tidy|golden|e2e|cel
# A test that this machine can't run says "skipped: REASON". It counts neither as passed nor as failed, and is named at the end.
# Ends with the line "N passed, M failed", and what was skipped if anything was.
set -uo pipefail
cd "$(dirname "$0")/.."
passed=0 failed=0 skipped=()
# run NAME COMMAND...: one check; its output is shown when it fails.
run() {
  local name=$1 log counts; shift
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    failed=$((failed + 1)); echo "FAIL  $name"; tail -n 60 "$log"
  else
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed|\[  PASSED  \]' "$log" | tail -n 1)
    if grep -q '^skipped: ' "$log" && [[ -z $counts || $counts == "0 passed, 0 failed"* ]]; then
      skipped+=("$name"); echo "skip  $name"
    else
      passed=$((passed + 1)); echo "ok    $name  $counts"
    fi
    sed -n 's/^skipped: /      skipped: /p' "$log"
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

case ${1:-all} in
  all) targets=(all images) ;;
  unit|tidy) targets=(all) ;;  # headers are parsed over what the build generates
  golden) targets=(homeostat) ;;
  e2e) targets=(homeostat images) ;;
  cel) targets=(cel_test) ;;
  *) echo "usage: test.sh all|unit|tidy|golden|e2e|cel" >&2; exit 2 ;;
esac
scripts/build.sh "${targets[@]}" || { echo "0 passed, 1 failed"; exit 1; }
case ${1:-all} in
  all) tidy; unit; cel; golden; e2e ;;
  *) "$1" ;;
esac
names=$(printf ', %s' "${skipped[@]}")
echo "$passed passed, $failed failed${skipped:+, ${#skipped[@]} skipped: ${names#, }}"
[ "$failed" = 0 ]
