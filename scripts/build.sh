#!/usr/bin/env bash
# Configures (when needed) and builds the targets given, all without any. PRESET chooses the kind of build.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${PRESET:-release}
build=build; [ "$preset" = release ] || build=build-$preset
# What the last configuration did not find may be there now: tests, benchmarks and images want packages that the program doesn't.
if [ ! -f "$build/build.ninja" ] || grep -qE '^(GTest_DIR|benchmark_DIR|BUSYBOX):[A-Z]+=.*-NOTFOUND$' "$build/CMakeCache.txt"; then
  cmake --preset "$preset" >/dev/null
fi
exec cmake --build "$build" ${1:+--target "$@"}
