#!/usr/bin/env bash
# Runs test suites of other programs against homeostat in the place of kube-apiserver and etcd: see tests/clients.
# usage: clients.sh [--real] [--test TEXT] [SUITE[/PACKAGE]...]
# --real: with the real programs instead, to compare; the first time they are built. What is fetched and built is kept below .cache/clients.
set -uo pipefail
cd "$(dirname "$0")/.."
cache=${HOMEOSTAT_CACHE:-$PWD/.cache} work=${HOMEOSTAT_CACHE:-$PWD/.cache}/clients
label=homeostat
if [ "${1:-}" = --real ]; then label=real; shift; fi
assets=$work/assets-$label
go=$(scripts/go.sh) || { echo "there is no Go of 1.26 or later"; echo "0 passed, 1 failed"; exit 1; }
kubectl=$(scripts/kubectl.sh) || { echo "0 passed, 1 failed"; exit 1; }
mkdir -p "$assets"
if [ "$label" = real ]; then
  scripts/kubernetes.sh kube-apiserver etcd >/dev/null || { echo "0 passed, 1 failed"; exit 1; }
  ln -sf "$cache/kube-apiserver" "$cache/etcd" "$assets/"
else
  [ -n "${HOMEOSTAT:-}" ] || scripts/build.sh homeostat >/dev/null || { echo "0 passed, 1 failed"; exit 1; }
  "$(realpath "${HOMEOSTAT:-build/homeostat}")" envtest install "$assets" >/dev/null || { echo "0 passed, 1 failed"; exit 1; }
fi
ln -sf "$kubectl" "$assets/kubectl"
exec python3 tests/clients/run.py --assets "$assets" --work "$work" --go "$go" --label "$label" "$@"
