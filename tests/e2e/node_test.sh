#!/usr/bin/env bash
# Pods as real containers. Skipped where containers can't run at all; fails where they can and the program or its images don't.
. "$(dirname "$0")/lib.sh"
. tests/e2e/containers.sh
reason=$(containers_cannot_run) && skip "$reason"
[ -e build/images/web.tar ] || { echo "there is no build/images/web.tar: scripts/build.sh images makes it"; echo "0 passed, 1 failed"; exit 1; }

up() { start_homeostat --data-dir "$folder/data" --listen 127.0.0.1:0 --node containerd; }
stop_node() {
  [ -n "$pid" ] && stop_homeostat TERM
  "$program" stop-node --data-dir "$folder/data"
}
trap 'stop_node; clean_up' EXIT

pod() { k get pods -l app=web -o 'jsonpath={.items[0].metadata.name}'; }
field() { k get pod "$1" -o "jsonpath=$2"; }
field_is() { same "$(field "$1" "$2")" "$3"; }
waits_as() { field_is "$1" '{.status.containerStatuses[0].state.waiting.reason}' "$2"; }
event_of() { contains "$(k get events --field-selector "involvedObject.name=$1" -o 'jsonpath={range .items[*]}{.reason}{": "}{.message}{"\n"}{end}')" "$2"; }
run() { local name=$1; shift; k run "$name" --image=docker.io/local/web:1 --image-pull-policy=Never "$@"; }
# The processes of our web servers, and nobody else's: by the cluster's own runtime.
shims() { pgrep -f "containerd-shim.*$(cat "$folder/run")" | sort; }
page_is() { same "$(k exec "$(pod)" -- cat /www/index.html)" "$1"; }
nothing_in() { same "$(ls "$folder/data/node/$1" | wc -l)" 0; }

registered() { [ -n "$(k get nodes -o name)" ]; }
pods_are() { same "$(k get pods -l app=web --no-headers | wc -l)" "$1"; }
check_node() {
  eventually 30 registered
  k wait --for=condition=Ready node --all --timeout=30s
  contains "$(k describe node)" "containerd://" "KubeletReady" "InternalIP"
  sed -n 's/^ *address = "\(.*\)\/containerd.sock"/\1/p' "$folder/data/node/containerd/config.toml" >"$folder/run"
}
check_rollout() {
  k apply -f examples/web.yaml
  k rollout status deploy/web --timeout=60s
  contains "$(k get pods -l app=web -o wide)" 1/1 Running 10.244.
}
check_page() { contains "$(k exec "$(pod)" -- wget -qO- http://localhost:8080/)" "It works."; }
check_logs() {
  contains "$(k logs "$(pod)")" "web version 1 listens on port 8080"
  same "$(k logs "$(pod)" --tail=1 | wc -l)" 1
  contains "$(timeout 3 "$kubectl" logs -f "$(pod)" --tail=1 || true)" /healthz
  contains "$(k logs "$(pod)" --previous 2>&1 || true)" "previous terminated container"
}
check_exec() {
  same "$(k exec "$(pod)" -- cat /etc/hostname)" "$(pod)"
  same "$(echo over | k exec -i "$(pod)" -- cat)" over
  fails k exec "$(pod)" -- sh -c 'exit 7' 2>"$folder/error"
  contains "$(cat "$folder/error")" "exit code 7"
  same "$(k exec "$(pod)" -- sh -c 'echo out; echo err >&2' 2>/dev/null)" out
  same "$(seq 100000 | k exec -i "$(pod)" -- wc -l)" 100000
  contains "$(script -qec "$kubectl exec -it $(pod) -- tty" /dev/null)" /dev/pts/
  fails k exec "$(pod)" -c nosuch -- true
}
check_copy() {
  seq 1000 >"$folder/numbers"
  k cp "$folder/numbers" "$(pod):/tmp/numbers"
  same "$(k exec "$(pod)" -- wc -l /tmp/numbers)" "1000 /tmp/numbers"
}
check_port_forward() {
  k port-forward "pod/$(pod)" 0:8080 >"$folder/forward" & local forward=$!
  eventually 5 grep -q 127.0.0.1 "$folder/forward"
  local port; port=$(sed -n 's/.*127.0.0.1:\([0-9]*\) .*/\1/p' "$folder/forward")
  same "$(curl -s "localhost:$port/hostname")" "$(pod)"
  same "$(curl -s "localhost:$port/hostname")" "$(pod)"
  kill $forward
}
check_config_map_updates() {
  k patch configmap web-page -p '{"data":{"index.html":"changed"}}'
  eventually 10 page_is changed
}
check_replaced_when_deleted() {
  k delete pod "$(pod)" --timeout=20s
  k rollout status deploy/web --timeout=30s
}
check_new_image_rolls_out() {
  k set image deploy/web web=docker.io/local/web:2
  k rollout status deploy/web --timeout=60s
  k rollout undo deploy/web
  k rollout status deploy/web --timeout=60s
  eventually 20 pods_are 3
}
check_before_the_kill() { shims >"$folder/before"; [ -s "$folder/before" ]; }
check_containers_were_kept() {
  same "$(shims)" "$(cat "$folder/before")"
  k wait --for=condition=Ready node --all --timeout=30s
  same "$(k get pods -l app=web -o 'jsonpath={.items[*].status.containerStatuses[0].restartCount}')" "0 0 0"
  contains "$(k logs "$(pod)" --tail=1)" healthz
}
check_crash_loop() {
  run crash --command -- sh -c 'echo why >/dev/termination-log; exit 3'
  eventually 20 waits_as crash CrashLoopBackOff
  field_is crash '{.status.containerStatuses[0].lastState.terminated.exitCode}/{.status.containerStatuses[0].lastState.terminated.message}' "3/why"
  event_of crash "BackOff: Back-off restarting failed container crash in pod crash_default("
}
check_missing_image() {
  k run noimage --image=docker.io/local/none:1 --image-pull-policy=Never
  eventually 10 waits_as noimage ErrImageNeverPull
  contains "$(k logs noimage 2>&1 || true)" 'container "noimage" in pod "noimage" is waiting to start: ErrImageNeverPull'
}
check_missing_config() {
  run noconfig --overrides='{"spec":{"containers":[{"name":"noconfig","image":"docker.io/local/web:1","envFrom":[{"configMapRef":{"name":"nope"}}]}]}}'
  eventually 10 waits_as noconfig CreateContainerConfigError
  event_of noconfig 'Failed: Error: configmap "nope" not found'
}
check_full_node() {
  run big --overrides='{"spec":{"nodeName":"'"$(k get nodes -o 'jsonpath={.items[0].metadata.name}')"'","containers":[{"name":"big","image":"docker.io/local/web:1","resources":{"requests":{"cpu":"1000"}}}]}}'
  eventually 10 field_is big '{.status.phase}/{.status.reason}' Failed/OutOfcpu
}
check_liveness() {
  run sick --overrides='{"spec":{"terminationGracePeriodSeconds":1,"containers":[{"name":"sick","image":"docker.io/local/web:1","livenessProbe":{"httpGet":{"path":"/healthz","port":8080},"periodSeconds":1,"failureThreshold":2}}]}}'
  k wait --for=condition=Ready pod/sick --timeout=20s
  k exec sick -- touch /tmp/unhealthy
  eventually 20 field_is sick '{.status.containerStatuses[0].restartCount}' 1
  event_of sick "Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 503"
  event_of sick "Killing: Container sick failed liveness probe, will be restarted"
  contains "$(k logs sick --previous)" "web version 1"
}
check_run_to_its_end() {
  run once --restart=Never --command -- sh -c 'echo done'
  eventually 10 field_is once '{.status.phase}' Succeeded
  same "$(k logs once)" done
  contains "$(k exec once -- true 2>&1 || true)" "cannot exec into a container in a completed pod; current phase is Succeeded"
}
check_volumes_and_environment() {
  k create secret generic sec --from-literal=pw=hunter2
  k apply -f - <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: vols, labels: {a: b}}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {fsGroup: 2000}
  initContainers: [{name: init, image: "docker.io/local/web:1", command: [sh, -c, "echo init > /data/f"], volumeMounts: [{name: data, mountPath: /data}]}]
  containers:
  - name: c
    image: docker.io/local/web:1
    securityContext: {runAsUser: 1000, runAsGroup: 1000}
    resources: {limits: {memory: 64Mi}}
    env:
    - {name: PW, valueFrom: {secretKeyRef: {name: sec, key: pw}}}
    - {name: ALL, value: "$(PW)-$(LIMIT)"}
    - {name: LIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
    - {name: BOTH, value: "$(PW)-$(LIMIT)"}
    volumeMounts: [{name: data, mountPath: /data}, {name: mem, mountPath: /mem}, {name: all, mountPath: /all}, {name: all, mountPath: /one, subPath: labels}]
  volumes:
  - {name: data, emptyDir: {}}
  - {name: mem, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
  - {name: all, projected: {sources: [{secret: {name: sec}}, {downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}, {serviceAccountToken: {path: token}}]}}
YAML
  k wait --for=condition=Ready pod/vols --timeout=20s
  same "$(k exec vols -c c -- sh -c 'echo $ALL $BOTH; cat /data/f /all/pw; echo; cat /one; echo; id -u; touch /data/x /mem/x; wc -c </all/token')" \
    'hunter2-$(LIMIT) hunter2-64
init
hunter2
a="b"
1000
'"$(k exec vols -c c -- sh -c 'wc -c </all/token')"
  contains "$(k exec vols -c c -- df /mem)" tmpfs 1024
}
check_grace() {
  run slow --overrides='{"spec":{"containers":[{"name":"slow","image":"docker.io/local/web:1","command":["sh","-c","trap true TERM; while true; do sleep 1; done"]}]}}'
  k wait --for=condition=Ready pod/slow --timeout=20s
  local begin=$SECONDS
  k delete pod slow --grace-period=3 --timeout=20s
  [ $((SECONDS - begin)) -ge 2 ] && [ $((SECONDS - begin)) -le 8 ]
}
check_nothing_is_left() {
  k delete deploy --all --timeout=60s
  k delete pods --all --timeout=60s
  eventually 20 nothing_in pods
  eventually 20 nothing_in logs
  same "$(shims)" ""
}

mkdir -p "$folder/data/images" && cp build/images/*.tar "$folder/data/images/"
up
for name in node rollout page logs exec copy port_forward config_map_updates replaced_when_deleted new_image_rolls_out before_the_kill; do
  check $name
done
stop_homeostat KILL
up
for name in containers_were_kept crash_loop missing_image missing_config full_node liveness run_to_its_end volumes_and_environment grace nothing_is_left; do
  check $name
done
finish
