# Whether containers can run on this machine, asked of the kernel and of runc, not of homeostat: what homeostat gets wrong must
# fail a test, not skip it. Sourced, not run. Takes about a second.

# attempt WHAT COMMAND...: runs it; if it fails, says what of containers is not to be had here, and why.
attempt() {
  local what=$1 said; shift
  said=$(timeout 20 "$@" 2>&1) && return
  said=$(tail -n 1 <<<"$said" | sed 's/^time=.* msg="\(.*\)"$/\1/' | cut -c1-200)
  echo "$what${said:+: $said}"
  return 1
}

# A container as a node makes them: a root of layers, namespaces, a cgroup with a limit, a volume that a command run in it sees.
try_container() {
  local bundle=$1
  mkdir -p "$bundle"/{lower/bin,rootfs,volume}
  touch "$bundle/volume/inside"
  cp "$(command -v busybox)" "$bundle/lower/bin/busybox"
  # Layers can't lie on every file system; then containerd copies them.
  mkdir -p "$bundle"/{upper,work}
  mount -t overlay overlay -o "lowerdir=$bundle/lower,upperdir=$bundle/upper,workdir=$bundle/work" "$bundle/rootfs" 2>/dev/null || cp -r "$bundle"/lower/* "$bundle/rootfs/"
  cat >"$bundle/config.json" <<JSON
{"ociVersion": "1.0.2", "root": {"path": "rootfs"}, "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/", "args": ["/bin/busybox", "sleep", "60"]},
 "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/volume", "type": "bind", "source": "$bundle/volume", "options": ["rbind"]}],
 "linux": {"cgroupsPath": "/homeostat-trial-$$", "resources": {"memory": {"limit": 67108864}},
           "namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}]}}
JSON
  local code=0 name=homeostat-trial-$$
  runc --root "$bundle/state" run --detach --bundle "$bundle" "$name" </dev/null >"$bundle/said" 2>&1 &&
    runc --root "$bundle/state" exec "$name" /bin/busybox ls /volume/inside >"$bundle/said" 2>&1 || code=$?
  cat "$bundle/said"
  runc --root "$bundle/state" delete --force "$name" 2>/dev/null || true
  umount "$bundle/rootfs" 2>/dev/null || true
  rm -rf "$bundle"
  return $code
}
export -f try_container

# Says in one line why containers can't run; silent and false if they can.
containers_cannot_run() {
  [ "$(id -u)" = 0 ] || { echo "containers need root"; return; }
  local program
  for program in containerd ctr runc ip nft busybox; do
    command -v "$program" >/dev/null || { echo "$program is not installed"; return; }
  done
  [ -x /usr/lib/cni/bridge ] && [ -x /usr/lib/cni/host-local ] || { echo "the CNI plugins are not in /usr/lib/cni"; return; }
  attempt "runc can't run a container" bash -c 'try_container "$1"' _ "$folder/trial" || return 0
  attempt "bridges and rules of nftables can't be made" unshare --net sh -ec '
    ip link add trial type bridge
    ip link add one type veth peer name two
    nft add table ip trial' || return 0
  return 1
}
