#!/usr/bin/env bash
# What outlives a process: acknowledged writes, through kill -9; and what stands in the way of starting, said in one line.
. "$(dirname "$0")/lib.sh"
data=$folder/data

start() { start_homeostat --data-dir "$data" --node none --listen 127.0.0.1:0; }

# refuses FLAGS...: the program ends by itself, not with 0, and says why in one line that names $reason.
refuses() {
  local code=0
  timeout 20 "$program" up --node none "$@" >"$folder/refused.out" 2>"$folder/refused.err" </dev/null || code=$?
  [ "$code" != 0 ] && [ "$code" != 124 ] || { echo "exit code $code"; return 1; }
  same "$(grep -c . "$folder/refused.err")" 1
  same "$(grep -c . "$folder/refused.out" || true)" 0
  contains "$(cat "$folder/refused.err")" "homeostat:" "$reason"
}

check_modes() {
  same "$(stat -c %a "$data")" 700
  same "$(stat -c %a "$KUBECONFIG")" 600
  same "$(stat -c %a "$data"/pki/*.key | sort -u)" 600
}
check_create() {
  k create ns rooms
  k -n rooms create cm kept --from-literal=a=b
  k -n rooms create deployment web --image=docker.io/local/web:1 --replicas=2
  eventually 20 k -n rooms get rs -l app=web -o name
  k -n rooms get cm kept -o 'jsonpath={.metadata.uid} {.metadata.resourceVersion}' >"$folder/kept"
  k get ns kube-system -o 'jsonpath={.metadata.uid}' >"$folder/cluster"
}
# Writes until the server is killed; each name that was acknowledged stands in a file.
write_until_killed() {
  local number=0
  while k -n default create cm "written-$number" --from-literal=a=b >/dev/null 2>&1; do
    echo "written-$number" >>"$folder/acknowledged"
    number=$((number + 1))
  done
}
written_some() { [ "$(wc -l <"$folder/acknowledged" 2>/dev/null || echo 0)" -gt 9 ]; }
check_everything_is_there() {
  same "$(k -n rooms get cm kept -o 'jsonpath={.metadata.uid} {.metadata.resourceVersion}')" "$(cat "$folder/kept")"
  same "$(k get ns kube-system -o 'jsonpath={.metadata.uid}')" "$(cat "$folder/cluster")"
  k -n rooms get deploy web
  [ "$(wc -l <"$folder/acknowledged")" -gt 3 ]
  k -n default get cm -o name | sed s,configmap/,, >"$folder/there"
  same "$(grep -vxFf "$folder/there" "$folder/acknowledged" || true)" ""
}
check_writes_go_on() {
  k -n rooms scale deploy/web --replicas=3
  eventually 20 contains_replicas 3
}
contains_replicas() { same "$(k -n rooms get rs -l app=web -o 'jsonpath={.items[0].spec.replicas}')" "$1"; }
check_port_in_use() { reason=${url#https://} refuses --data-dir "$folder/second" --listen "${url#https://}"; }
check_data_directory_in_use() { reason=$data refuses --data-dir "$data" --listen 127.0.0.1:0; }
check_data_directory_not_writable() { reason=/dev/null refuses --data-dir /dev/null/data --listen 127.0.0.1:0; }
check_config_file() {
  local port=$((20000 + RANDOM % 10000))
  printf 'store: paper\nlisten: "127.0.0.1:%s"\nsim-nodes: 2\ncontrollers: false\nauthorization-mode: [Node, RBAC]\n' "$port" >"$folder/config"
  reason=paper refuses --data-dir "$folder/third" --config "$folder/config"
  reason=cloth HOMEOSTAT_STORE=cloth refuses --data-dir "$folder/third" --config "$folder/config"
  reason=wood HOMEOSTAT_STORE=cloth refuses --data-dir "$folder/third" --config "$folder/config" --store wood
  echo 'nosuch: 1' >>"$folder/config"
  reason="nosuch: there is no such flag" refuses --config "$folder/config"
  echo 'sim-nodes: many' >"$folder/config"
  reason="sim-nodes:" refuses --config "$folder/config"
  echo 'store: {a: b}' >"$folder/config"
  reason="store: a text" refuses --config="$folder/config"
  reason="no such file" refuses --config "$folder/none"
  reason="no such file" HOMEOSTAT_CONFIG=$folder/none refuses
}
check_unknown_store() { reason=paper refuses --data-dir "$folder/third" --store paper --listen 127.0.0.1:0; }
check_clean_stop() { same "$(cat "$folder/stopped")" 0; }

start
check modes
check create
write_until_killed &
writer=$!
# In the middle of its writes, however slow the machine is.
eventually 60 written_some
stop_homeostat KILL
wait "$writer"
start
check everything_is_there
check writes_go_on
check port_in_use
check data_directory_in_use
check data_directory_not_writable
check unknown_store
check config_file
stop_homeostat TERM
echo $? >"$folder/stopped"
check clean_stop
start
check everything_is_there
finish
