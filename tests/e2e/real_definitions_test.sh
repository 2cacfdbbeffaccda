#!/usr/bin/env bash
# The definitions of cert-manager, Gateway API, Argo CD and the Prometheus operator, from their Go modules: see
# real_definitions.py. Without Go, or where a module can't be had, what needs it is left out with a line that says so.
. "$(dirname "$0")/lib.sh"
export GOFLAGS=-mod=mod
modules=${HOMEOSTAT_CACHE:-$PWD/.cache}/real-definitions
mkdir -p "$modules"
folders=()

leave_out() { echo "skipped: $1"; }
# module NAME FOLDER: the folder of a module, downloaded if need be.
module() {
  local place
  place=$(cd "$modules" && timeout 300 "$go" mod download -json "$1" 2>/dev/null | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
  [ -n "$place" ] && [ -d "$place/$2" ] && echo "$place/$2"
}
add() {
  local place
  if place=$(module "$1" "$2"); then folders+=("$place"); else leave_out "$1 can't be had"; fi
}
# The operator's module has types; its definitions are made from them.
add_monitoring() {
  local module=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring@v0.95.2 tools=sigs.k8s.io/controller-tools@v0.19.0
  local made=$modules/monitoring-v0.95.2
  if ! ls "$made"/*.yaml >/dev/null 2>&1; then
    local place
    place=$(module "$module" v1) || { leave_out "$module can't be had"; return; }
    rm -rf "$modules/monitoring-source" && cp -r "${place%/v1}" "$modules/monitoring-source" && chmod -R u+w "$modules/monitoring-source"
    mkdir -p "$modules/tools"
    printf 'module tools\ngo 1.26\n' >"$modules/tools/go.mod"
    printf 'package tools\nimport (\n _ "%s/v1"\n _ "sigs.k8s.io/controller-tools/cmd/controller-gen"\n)\n' "${module%@*}" >"$modules/tools/tools.go"
    (set -e
      cd "$modules/tools"
      timeout 300 "$go" get "$module" "$tools"
      [ -x "$modules/controller-gen" ] || timeout 900 "$go" build -o "$modules/controller-gen" sigs.k8s.io/controller-tools/cmd/controller-gen
      cd "$modules/monitoring-source"
      "$modules/controller-gen" crd:crdVersions=v1 paths=./v1/... paths=./v1alpha1/... output:crd:dir="$made") >"$folder/tools.log" 2>&1 ||
      { leave_out "$tools can't be had: $(tail -n 1 "$folder/tools.log")"; rm -rf "$made"; return; }
  fi
  folders+=("$made")
}

go=$(scripts/go.sh 2>/dev/null) || skip "Go can't be had"
add github.com/cert-manager/cert-manager@v1.19.1 deploy/crds
add sigs.k8s.io/gateway-api@v1.4.0 config/crd/experimental
add github.com/argoproj/argo-cd/v3@v3.2.0 manifests/crds
add_monitoring
[ ${#folders[@]} -gt 0 ] || skip "none of the modules can be had"
[ -n "${REAL_KUBECONFIG:-}" ] && exec python3 tests/e2e/real_definitions.py --record "$REAL_KUBECONFIG" "$kubectl" "${folders[@]}"
start_homeostat --data-dir "$folder/data" --listen 127.0.0.1:0 --store memory --node none
python3 tests/e2e/real_definitions.py "$KUBECONFIG" "$kubectl" "${folders[@]}"
