#!/usr/bin/env bash
# Builds the images that conformance tests run, into a folder. usage: conformance-images.sh DIRECTORY
# Go programs come from Kubernetes' own module, everything else from this machine: no registry is asked.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
[ -x build/pause ] || scripts/build.sh pause-binary
module=$(scripts/kubernetes.sh --source)
programs=()
for name in agnhost nonewprivs sample-apiserver etcd; do
  path=$(scripts/kubernetes.sh "$name")
  programs+=("--$name" "$path")
done
python3 tests/conformance/images.py "${programs[@]}" --pause build/pause --module "$module" "$out"
touch "$out/.complete"
