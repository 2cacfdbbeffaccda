#!/usr/bin/env bash
# Builds and runs the benchmarks: numbers for people to read, no test depends on them. usage: bench.sh [FILTER]
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-packages.sh packages packages-test
scripts/build.sh homeostat bench
for program in build/*_bench; do
  echo "== $(basename "$program")"
  "$program" --benchmark_min_time=0.2 ${1:+--benchmark_filter="$1"}
done
[ -n "${1:-}" ] && exit
bench/start.sh
bench/stand_in.py
bench/containers.sh
if scripts/go.sh >/dev/null 2>&1; then bench/requests.py; else bench/requests.py --no-peer; fi
