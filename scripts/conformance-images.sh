#!/usr/bin/env bash
# Builds the images that conformance tests run, into a folder. usage: conformance-images.sh DIRECTORY
# Go programs come from Kubernetes' own module, everything else from this machine: no registry is asked.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
[ -x build/pause ] || scripts/build.sh pause-binary
go=$(scripts/go.sh)
programs=$(mktemp -d); trap 'rm -rf "$programs"' EXIT
cp tests/tools/kubectl/go.mod "$programs/images.mod"; cp tests/tools/kubectl/go.sum "$programs/images.sum"
cd tests/tools/kubectl
build() {  # NAME PACKAGE
  echo "building $1 from its Go module" >&2
  CGO_ENABLED=0 "$go" build -mod=mod -modfile="$programs/images.mod" -trimpath -ldflags '-s -w' -o "$programs/$1" "$2"
}
build agnhost k8s.io/kubernetes/test/images/agnhost
build nonewprivs k8s.io/kubernetes/test/images/nonewprivs
build sample-apiserver k8s.io/sample-apiserver
build etcd go.etcd.io/etcd/server/v3
module=$("$go" list -mod=mod -m -f '{{.Dir}}' k8s.io/kubernetes)
cd ../../..
python3 tests/conformance/images.py --agnhost "$programs/agnhost" --nonewprivs "$programs/nonewprivs" \
  --sample-apiserver "$programs/sample-apiserver" --etcd "$programs/etcd" --pause build/pause --module "$module" "$out"
touch "$out/.complete"
