# Whether containers can run on this machine, asked of the kernel and of runc, not of homeostat: what homeostat gets wrong must
# fail a test, not skip it. Sourced, not run. Takes about a second.

# attempt WHAT COMMAND...: runs it; if it fails, says what of containers is not to be had here, and why.
attempt() {
  local what=$1 said; shift
  said=$(timeout 20 "$@" 2>&1) && return
  said=$(tail -n 1 <<<"$said" | cut -c1-200)
  echo "$what${said:+: $said}"
  return 1
}

# A container as a node makes them: a root of layers, namespaces, a cgroup with a limit.
try_container() {
  local bundle=$1
  mkdir -p "$bundle"/{lower/bin,rootfs}
  cp "$(command -v busybox)" "$bundle/lower/bin/busybox"
  # Layers can't lie on every file system; then containerd copies them.
  mkdir -p "$bundle"/{upper,work}
  mount -t overlay overlay -o "lowerdir=$bundle/lower,upperdir=$bundle/upper,workdir=$bundle/work" "$bundle/rootfs" 2>/dev/null || cp -r "$bundle"/lower/* "$bundle/rootfs/"
  cat >"$bundle/config.json" <<JSON
{"ociVersion": "1.0.2", "root": {"path": "rootfs"}, "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/", "args": ["/bin/busybox", "true"]},
 "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
 "linux": {"cgroupsPath": "/homeostat-trial-$$", "resources": {"memory": {"limit": 67108864}},
           "namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}]}}
JSON
  local code=0
  runc --root "$bundle/state" run --bundle "$bundle" "homeostat-trial-$$" </dev/null || code=$?
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
