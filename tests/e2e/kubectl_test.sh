#!/usr/bin/env bash
# The tour of a new user, with the real kubectl, on simulated nodes: what needs no containers.
. "$(dirname "$0")/lib.sh"
manifest=examples/web.yaml
[ -e "$manifest" ] || manifest=tests/e2e/web.yaml

running_names() { k get pods -l app=web --field-selector status.phase=Running -o name | sort; }
running_are() { same "$(running_names | grep -c .)" "$1"; }
image() { k get deploy web -o 'jsonpath={.spec.template.spec.containers[0].image}'; }
sets() { k get rs -l app=web -o name | grep -c .; }
gone() { same "$(k get "$@" --ignore-not-found -o name || echo "no answer")" ""; }

check_version() { contains "$(k version)" "Server Version: v1.36.3+homeostat"; }
check_readyz() { contains "$(k get --raw '/readyz?verbose')" "[+]ping ok" "readyz check passed"; }
check_whoami() { contains "$(k auth whoami)" Username admin system:masters; }
check_can_i() {
  contains "$(k auth can-i --list)" '*.*' '[*]'
  same "$(k auth can-i delete pods)" yes
  same "$(k auth can-i delete pods --as=system:serviceaccount:default:default || true)" no
}
check_api_resources() {
  contains "$(k api-resources)" deployments leases endpointslices clusterroles
  contains "$(k api-resources --api-group=apps -o wide)" deploy apps/v1 Deployment patch
  contains "$(k api-versions)" apps/v1 discovery.k8s.io/v1
}
check_nodes() {
  k wait --for=condition=Ready node --all --timeout=30s
  same "$(k get nodes --no-headers | grep -cw Ready)" 3
}
check_apply() { contains "$(k apply -f "$manifest")" "configmap/web" "deployment.apps/web created"; }
check_rollout_status() { contains "$(k rollout status deploy/web --timeout=60s)" "successfully rolled out"; }
check_get_wide() {
  contains "$(k get deploy,rs,pods -l app=web -o wide)" deployment.apps/web 3/3 replicaset.apps/web- pod/web- 1/1 Running SELECTOR NODE
  running_are 3
}
check_get_again_applies_nothing() { contains "$(k apply -f "$manifest")" "deployment.apps/web unchanged"; }
check_events() { contains "$(k get events --sort-by=.lastTimestamp)" ScalingReplicaSet SuccessfulCreate Scheduled "Successfully assigned"; }
check_describe() {
  contains "$(k describe deploy web)" "3 desired | 3 updated | 3 total | 3 available" RollingUpdate "NewReplicaSet:" ScalingReplicaSet
  contains "$(k describe pod -l app=web)" "Controlled By:" ReplicaSet/web- "Readiness:" "ContainersReady" Scheduled
  contains "$(k describe node)" Allocatable: "Non-terminated Pods:" "Allocated resources:" KubeletReady
}
check_explain() {
  contains "$(k explain deployment.spec.strategy)" DeploymentStrategy FIELDS: rollingUpdate type
  contains "$(k explain cronjob.spec --output plaintext-openapiv2)" "RESOURCE: spec" "five cron fields" FIELDS:  # protobuf
}
check_generation() {
  local seen; seen=$(k get deploy web -o 'jsonpath={.metadata.generation} {.status.observedGeneration}')
  same "${seen% *}" "${seen#* }"
}
replaced() { running_are 3 && [ -z "$(comm -12 "$folder/before" <(running_names))" ]; }
check_deleted_pods_are_replaced() {
  running_names >"$folder/before"
  k delete pod -l app=web --wait=false
  eventually 30 replaced
  k rollout status deploy/web --timeout=30s
}
check_scale() {
  k scale deploy/web --replicas=5
  eventually 30 running_are 5
  k scale deploy/web --replicas=3
  eventually 30 running_are 3
}
check_set_image() {
  k set image deploy/web web=docker.io/local/web:2
  contains "$(k rollout status deploy/web --timeout=60s)" "successfully rolled out"
  same "$(image)" docker.io/local/web:2
  same "$(sets)" 2
}
check_history_and_undo() {
  contains "$(k rollout history deploy/web)" REVISION 1 2
  contains "$(k rollout history deploy/web --revision=2)" docker.io/local/web:2
  k rollout undo deploy/web
  k rollout status deploy/web --timeout=60s
  same "$(image)" docker.io/local/web:1
}
check_pause_and_resume() {
  k rollout pause deploy/web
  local before; before=$(sets)
  k set env deploy/web PAUSED=1
  sleep 1
  same "$(sets)" "$before"
  k rollout resume deploy/web
  k rollout status deploy/web --timeout=60s
  same "$(sets)" "$((before + 1))"
}
check_restart() {
  k rollout restart deploy/web
  k rollout status deploy/web --timeout=60s
  contains "$(k get deploy web -o yaml)" kubectl.kubernetes.io/restartedAt
}
config() { printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: %s}\n' "$1"; }
check_apply_server_side() {
  config red | k apply --server-side -f -
  contains "$(config blue | k apply --server-side --field-manager=other -f - 2>&1 || true)" conflict .data.colour
  config blue | k apply --server-side --field-manager=other --force-conflicts -f -
  same "$(k get cm settings -o 'jsonpath={.data.colour}')" blue
}
check_label_and_annotate() {
  k label cm settings tier=front
  fails k label cm settings tier=back
  k label cm settings tier=back --overwrite
  k annotate cm settings note=hello
  contains "$(k get cm -l tier=back --show-labels)" settings tier=back
  k label cm settings tier-
  same "$(k get cm settings -o 'jsonpath={.metadata.labels.tier}{.metadata.annotations.note}')" hello
}
check_diff() {
  k diff -f "$manifest"
  sed 's/replicas: 3/replicas: 4/' "$manifest" >"$folder/changed.yaml"
  local found=0; k diff -f "$folder/changed.yaml" >"$folder/diff" || found=$?
  same "$found" 1
  contains "$(cat "$folder/diff")" "-  replicas: 3" "+  replicas: 4"
}
check_edit() {
  KUBE_EDITOR='sed -i s/colour:.blue/colour:\ green/' k edit cm settings
  same "$(k get cm settings -o 'jsonpath={.data.colour}')" green
}
check_create_and_replace() {
  config red | sed s/settings/other/ | k create -f -
  contains "$(config red | sed s/settings/other/ | k create -f - 2>&1 || true)" AlreadyExists
  config yellow | sed s/settings/other/ | k replace -f -
  same "$(k get cm other -o 'jsonpath={.data.colour}')" yellow
  k create deployment made --image=docker.io/local/web:1 --replicas=1
  k rollout status deploy/made --timeout=60s
  k delete deploy made
}
check_patch() {
  k patch deploy web -p '{"spec":{"minReadySeconds":1}}'
  k patch deploy web --type=json -p '[{"op":"remove","path":"/spec/minReadySeconds"}]'
  contains "$(k patch deploy web --type=merge -p '{"spec":{"replicas":"many"}}' 2>&1 || true)" Invalid
}
check_watch() {
  (sleep 1; k label cm settings seen=yes) &
  local seen; seen=$(timeout 5 "$kubectl" get cm settings -w --output-watch-events || true)
  contains "$seen" ADDED MODIFIED
}
check_bad_input() {
  contains "$(printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name}\n' | k create -f - 2>&1 || true)" metadata.name RFC
  contains "$(config red | sed 's/data:/datum: 1\ndata:/' | k create -f - 2>&1 || true)" 'unknown field "datum"'
  contains "$(k get pods nothing 2>&1 || true)" 'Error from server (NotFound): pods "nothing" not found'
}
check_delete_orphan() {
  local set; set=$(k get rs -l app=web -o 'jsonpath={.items[?(@.spec.replicas>0)].metadata.name}')
  k delete deploy web --cascade=orphan
  gone deploy web
  k get rs "$set"
  running_are 3
  k apply -f "$manifest"     # adopts what is there
  k rollout status deploy/web --timeout=60s
  eventually 20 running_are 3
}
nothing_is_left() { same "$(k get rs,pods -l app=web -o name)" ""; }
check_delete_foreground() {
  k delete deploy web --cascade=foreground --timeout=60s
  gone deploy web
  nothing_is_left
}
check_delete_background() {
  k apply -f "$manifest"
  k rollout status deploy/web --timeout=60s
  k delete deploy web --cascade=background
  eventually 30 nothing_is_left
}
check_namespace() {
  k create ns rooms
  eventually 10 k -n rooms get sa default
  eventually 10 k -n rooms get cm kube-root-ca.crt
  k -n rooms create cm inside --from-literal=a=b
  k delete ns rooms --timeout=30s
  gone ns rooms
}

start_homeostat --data-dir "$folder/data" --store memory --node none --sim-nodes 3 --listen 127.0.0.1:0
for name in version readyz whoami can_i api_resources nodes apply rollout_status get_wide get_again_applies_nothing events describe \
    explain generation deleted_pods_are_replaced scale set_image history_and_undo pause_and_resume restart apply_server_side \
    label_and_annotate diff edit create_and_replace patch watch bad_input delete_orphan delete_foreground delete_background namespace; do
  check "$name"
done
finish
