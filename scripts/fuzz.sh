#!/usr/bin/env bash
# Builds the fuzz targets with clang and runs each for a while. usage: fuzz.sh [SECONDS_EACH [TARGET...]], e.g. fuzz.sh 300 yaml
# What they learn stays in build-fuzz/corpus/TARGET; an input that breaks something is kept in build-fuzz/found/.
# Ends with the line "N passed, M failed".
set -uo pipefail
cd "$(dirname "$0")/.."
scripts/install-packages.sh packages-fuzz || exit 1
seconds=${1:-60}; shift || true
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(sed -n 's/^homeostat_fuzz(\([a-z0-9_]*\) .*/\1/p' fuzz/CMakeLists.txt)
PRESET=fuzz scripts/build.sh "${targets[@]/%/_fuzz}" || { echo "0 passed, 1 failed"; exit 1; }
passed=0 failed=0
mkdir -p build-fuzz/found
for target in "${targets[@]}"; do
  mkdir -p "build-fuzz/corpus/$target"
  log=build-fuzz/$target.log
  if "build-fuzz/${target}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="build-fuzz/found/$target-" \
      "build-fuzz/corpus/$target" >"$log" 2>&1; then
    passed=$((passed + 1)); echo "ok    $target  $(sed -n 's/^Done \(.*\)/\1/p' "$log")"
  else
    failed=$((failed + 1)); echo "FAIL  $target"; tail -n 40 "$log"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
