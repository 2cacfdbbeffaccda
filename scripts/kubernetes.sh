#!/usr/bin/env bash
# Builds programs of Kubernetes, and etcd, from their Go modules, each once. usage: kubernetes.sh PROGRAM... | --source | --folder
# Prints the path of each: kubectl, kubectl-convert, kube-apiserver, etcd, e2e.test, agnhost, nonewprivs, sample-apiserver. With
# --source it prints the folder of Kubernetes' source instead, which nobody may write to; with --folder the one below
# $HOMEOSTAT_CACHE (or .cache) where programs of this version are kept, and what else is made of it. The large ones take minutes and
# gigabytes. Kubernetes' version is the one that tests/tools/kubernetes/go.mod pins, etcd's stands here, and nobody else says how
# they are built.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: kubernetes.sh PROGRAM... | --source | --folder" >&2; exit 2; }
cache=$(realpath -m "${HOMEOSTAT_CACHE:-.cache}") module=$PWD/tests/tools/kubernetes
version=$(sed -n 's#^\tk8s\.io/kubernetes \(v[0-9.]*\)$#\1#p' "$module/go.mod") etcd=v3.6.13 info=k8s.io/component-base/version
[ -n "$version" ] || { echo "$module/go.mod pins no version of k8s.io/kubernetes" >&2; exit 1; }
folder=$cache/kubernetes-$version
IFS=. read -r major minor _ <<<"${version#v}"
# Further modules that a program needs are added to a copy of the pinned ones.
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
cp "$module/go.mod" "$module/go.sum" "$scratch"
pinned=(-mod=mod -modfile="$scratch/go.mod")
flags=("${pinned[@]}" -trimpath -ldflags "-s -w -X $info.gitVersion=$version -X $info.gitMajor=$major -X $info.gitMinor=$minor")

find_go() { go=$(scripts/go.sh) || { echo "there is no Go of 1.26 or later to build Kubernetes' programs with" >&2; return 1; }; }
# Where a program is kept.
place() { if [ "$1" = etcd ]; then echo "$cache/etcd-$etcd/etcd"; else echo "$folder/$1"; fi; }

# build NAME FILE
build() {
  local name=$1 out=$2
  case $name in
    e2e.test) (cd "$module" && "$go" test -c "${flags[@]}" -o "$out" k8s.io/kubernetes/test/e2e) ;;
    # Programs without C run in containers that have no C library.
    # etcd is not installed by its address: Go refuses that for modules that replace others, as this one does.
    etcd)
      mkdir "$scratch/module"
      (cd "$scratch/module" && "$go" mod init etcd && "$go" get "go.etcd.io/etcd/server/v3@$etcd" &&
        CGO_ENABLED=0 "$go" build -mod=mod -trimpath -ldflags "-s -w" -o "$out" go.etcd.io/etcd/server/v3) ;;
    agnhost|nonewprivs) (cd "$module" && CGO_ENABLED=0 "$go" build "${flags[@]}" -o "$out" "k8s.io/kubernetes/test/images/$name") ;;
    sample-apiserver) (cd "$module" && CGO_ENABLED=0 "$go" build "${flags[@]}" -o "$out" k8s.io/sample-apiserver) ;;
    kubectl|kubectl-convert|kube-apiserver) (cd "$module" && "$go" build "${flags[@]}" -o "$out" "k8s.io/kubernetes/cmd/$name") ;;
    *) echo "no such program: $name" >&2; return 2 ;;
  esac
}

if [ "$1" = --folder ]; then echo "$folder"; exit; fi
if [ "$1" = --source ]; then
  find_go
  cd "$module"
  "$go" mod download "${pinned[1]}" k8s.io/kubernetes >&2
  "$go" list "${pinned[@]}" -m -f '{{.Dir}}' k8s.io/kubernetes
  exit
fi
for name in "$@"; do
  kept=$(place "$name")
  if [ ! -x "$kept" ]; then
    find_go
    echo "building $name from its Go module (once)" >&2
    build "$name" "$scratch/$name" >&2
    # Under its name only once it is whole: the scratch folder may be on another file system.
    mkdir -p "$(dirname "$kept")"
    mv "$scratch/$name" "$kept.$$"
    mv "$kept.$$" "$kept"
  fi
  echo "$kept"
done
