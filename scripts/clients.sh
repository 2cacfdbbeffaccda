#!/usr/bin/env bash
# Runs test suites of other programs against homeostat in the place of kube-apiserver and etcd: see tests/clients.
# usage: clients.sh [--real] [--test TEXT] [SUITE[/PACKAGE]...]
# --real: with the real programs instead, to compare; the first time they are built. What is fetched and built is kept below .cache/clients.
set -uo pipefail
cd "$(dirname "$0")/.."
work=$(realpath -m "${HOMEOSTAT_CACHE:-.cache}")/clients
label=homeostat
if [ "${1:-}" = --real ]; then label=real; shift; fi
assets=$work/assets-$label
give_up() { echo "$1"; echo "0 passed, 1 failed"; exit 1; }

go=$(scripts/go.sh) || give_up "there is no Go of 1.26 or later"
kubectl=$(scripts/kubectl.sh) || give_up "there is no kubectl"
rm -rf "$assets"; mkdir -p "$assets"
if [ "$label" = real ]; then
  programs=$(scripts/kubernetes.sh kube-apiserver etcd) || give_up "the real programs can't be built"
  mapfile -t programs <<<"$programs"
  ln -s "${programs[@]}" "$assets/"
else
  [ -n "${HOMEOSTAT:-}" ] || scripts/build.sh homeostat || give_up "homeostat does not build"
  "$(realpath "${HOMEOSTAT:-build/homeostat}")" envtest install "$assets" >/dev/null || give_up "the stand-in can't be installed"
fi
ln -sf "$kubectl" "$assets/kubectl"
exec python3 tests/clients/run.py --assets "$assets" --work "$work" --go "$go" --label "$label" "$@"
