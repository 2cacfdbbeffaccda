#!/usr/bin/env bash
# Builds programs of Kubernetes 1.36.3, and etcd, from their Go modules, each once. usage: kubernetes.sh PROGRAM... | --source
# Prints the path of each: kubectl, kubectl-convert, kube-apiserver, etcd, e2e.test, agnhost, nonewprivs, sample-apiserver. With
# --source it prints the folder of Kubernetes' source instead, which nobody may write to. They are kept in $HOMEOSTAT_CACHE (or
# .cache); the large ones take minutes and gigabytes. This is the only place that says which versions and how.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: kubernetes.sh PROGRAM... | --source" >&2; exit 2; }
cache=${HOMEOSTAT_CACHE:-$PWD/.cache} module=$PWD/tests/tools/kubernetes
version=v1.36.3 etcd=v3.6.13 info=k8s.io/component-base/version
mkdir -p "$cache"
# Further modules that a program needs are added to a copy of the pinned ones.
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
cp "$module/go.mod" "$module/go.sum" "$scratch"
pinned=(-mod=mod -modfile="$scratch/go.mod")
flags=("${pinned[@]}" -trimpath -ldflags "-s -w -X $info.gitVersion=$version -X $info.gitMajor=1 -X $info.gitMinor=36")

find_go() { go=$(scripts/go.sh) || { echo "there is no Go of 1.26 or later to build Kubernetes' programs with" >&2; return 1; }; }

build() {
  local name=$1 out=$scratch/$1
  case $name in
    e2e.test) (cd "$module" && "$go" test -c "${flags[@]}" -o "$out" k8s.io/kubernetes/test/e2e) ;;
    # These run in containers that have no C library.
    # Not installed by its address: Go refuses that for modules that replace others, as this one does.
    etcd)
      mkdir "$scratch/module"
      (cd "$scratch/module" && "$go" mod init etcd && "$go" get "go.etcd.io/etcd/server/v3@$etcd" &&
        CGO_ENABLED=0 "$go" build -mod=mod -trimpath -o "$out" go.etcd.io/etcd/server/v3) ;;
    agnhost|nonewprivs) (cd "$module" && CGO_ENABLED=0 "$go" build "${flags[@]}" -o "$out" "k8s.io/kubernetes/test/images/$name") ;;
    sample-apiserver) (cd "$module" && CGO_ENABLED=0 "$go" build "${flags[@]}" -o "$out" k8s.io/sample-apiserver) ;;
    kubectl|kubectl-convert|kube-apiserver) (cd "$module" && "$go" build "${flags[@]}" -o "$out" "k8s.io/kubernetes/cmd/$name") ;;
    *) echo "no such program: $name" >&2; return 2 ;;
  esac
  mv "$out" "$cache/$name"
}

if [ "$1" = --source ]; then
  find_go
  cd "$module"
  "$go" mod download "${pinned[1]}" k8s.io/kubernetes >&2
  "$go" list "${pinned[@]}" -m -f '{{.Dir}}' k8s.io/kubernetes
  exit
fi
for name in "$@"; do
  if [ ! -x "$cache/$name" ]; then
    find_go
    echo "building $name from its Go module (once)" >&2
    build "$name" >&2
  fi
  echo "$cache/$name"
done
