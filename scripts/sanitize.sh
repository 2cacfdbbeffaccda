#!/usr/bin/env bash
# Builds every unit test with AddressSanitizer and UndefinedBehaviorSanitizer and runs them. usage: sanitize.sh [TEST...]
# A build of its own, in build-sanitize/. Ends with the line "N passed, M failed".
set -uo pipefail
cd "$(dirname "$0")/.."
export PRESET=sanitize
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:${ASAN_OPTIONS:-}
export UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS:-}
[ -f build-sanitize/build.ninja ] || cmake --preset sanitize >/dev/null || exit 1
tests=("$@")
[ $# -gt 0 ] || mapfile -t tests < <(ninja -C build-sanitize -t targets all | sed -n 's/^\([a-z_]*_test\): CXX_EXEC.*/\1/p' | sort -u)
[ ${#tests[@]} -gt 0 ] || { echo "there are no tests to build"; exit 1; }
scripts/build.sh "${tests[@]}" || { echo "0 passed, 1 failed"; exit 1; }
passed=0 failed=0
for test in "${tests[@]}"; do
  if (cd build-sanitize && "./$test" --gtest_brief=1); then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL  $test"; fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
