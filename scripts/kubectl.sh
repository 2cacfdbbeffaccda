#!/usr/bin/env bash
# Prints the path of an unmodified kubectl of 1.34 to 1.36: the one on PATH, or one built from Kubernetes' own module.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${HOMEOSTAT_CACHE:-$PWD/.cache}
fits() { [[ $("$1" version --client 2>/dev/null) == *"Client Version: v1.3"[456].* ]]; }
if command -v kubectl >/dev/null && fits kubectl; then command -v kubectl; exit; fi
if [ -x "$cache/kubectl" ] && fits "$cache/kubectl"; then echo "$cache/kubectl"; exit; fi
mkdir -p "$cache"
go=$(scripts/go.sh)
echo "building kubectl 1.36.3 from its Go module (once)" >&2
version=k8s.io/component-base/version
(cd tests/tools/kubectl && "$go" build -mod=mod -trimpath \
  -ldflags "-s -w -X $version.gitVersion=v1.36.3 -X $version.gitMajor=1 -X $version.gitMinor=36" \
  -o "$cache/kubectl" k8s.io/kubernetes/cmd/kubectl) >&2
echo "$cache/kubectl"
