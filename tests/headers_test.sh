#!/usr/bin/env bash
# Each header compiles alone: what it needs, it includes. usage: headers_test.sh [HEADER...]; needs the generated API.
# Headers of src/ are parsed over the precompiled standard headers that the build gives them too; public ones over nothing.
# Ends with "N passed, M failed".
set -uo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
headers=("$@")
[ $# -gt 0 ] || mapfile -t headers < <(find include src -name '*.h' | sort)
export folder compile="${CXX:-g++} -std=c++23 -w -Iinclude -Isrc -Ibuild/generated"
# Where test data lies is told by the build.
for definition in $(grep -rhoE 'HOMEOSTAT_[A-Z_]+_(TEST)?DATA=' src --include=CMakeLists.txt --include='*.cmake' | sort -u); do
  compile+=" -D$definition\"\""
done
sed -n '/target_precompile_headers(homeostat_pch/,/)/p' src/CMakeLists.txt | grep -oE '<[a-z_]+>' | sed 's/^/#include /' >"$folder/standard.h"
$compile -x c++-header "$folder/standard.h" -o "$folder/standard.h.gch" || exit 1
one() {
  local name=${1//\//_} standard=
  [[ $1 == src/* ]] && standard="-include $folder/standard.h"
  printf '#include "%s"\n' "${1#*/}" >"$folder/$name.cc"
  if $compile $standard -fsyntax-only "$folder/$name.cc" 2>"$folder/$name.log"; then
    echo ok
  else
    { echo "FAIL  $1"; grep -m 3 error "$folder/$name.log"; } >&2; echo failed
  fi
}
export -f one
printf '%s\0' "${headers[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'one "$0"' >"$folder/results"
passed=$(grep -c '^ok' "$folder/results") failed=$(grep -c '^failed' "$folder/results")
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" = ${#headers[@]} ]
