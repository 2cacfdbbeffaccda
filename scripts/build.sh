#!/usr/bin/env bash
# Configures (once) and builds the targets given, all without any. PRESET chooses the kind of build.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${PRESET:-release}
build=build; [ "$preset" = release ] || build=build-$preset
[ -f "$build/build.ninja" ] || cmake --preset "$preset" >/dev/null
exec cmake --build "$build" ${1:+--target "$@"}
