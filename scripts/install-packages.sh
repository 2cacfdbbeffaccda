#!/usr/bin/env bash
# Installs the Debian packages named in packaging/LIST.txt for each LIST given. Quick when all are there already.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=()
for list in "$@"; do
  while read -r package _; do [ -n "$package" ] && wanted+=("$package"); done < "packaging/$list.txt"
done
missing=()
for package in "${wanted[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "these packages are missing and only root can install them: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "installing ${#missing[@]} packages: ${missing[*]}"
as_root+=(env DEBIAN_FRONTEND=noninteractive)  # sudo hands on no variables
"${as_root[@]}" apt-get update -qq
# containerd must not be started as a service of its own: homeostat runs its own instance.
printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee /usr/sbin/policy-rc.d.homeostat >/dev/null
had_policy=; [ -e /usr/sbin/policy-rc.d ] && had_policy=1
[ -n "$had_policy" ] || "${as_root[@]}" install -m 755 /usr/sbin/policy-rc.d.homeostat /usr/sbin/policy-rc.d
trap '[ -n "$had_policy" ] || "${as_root[@]}" rm -f /usr/sbin/policy-rc.d; "${as_root[@]}" rm -f /usr/sbin/policy-rc.d.homeostat' EXIT
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
