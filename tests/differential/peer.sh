#!/usr/bin/env bash
# Starts a real kube-apiserver 1.36.3 with its etcd on loopback, to compare with. usage: peer.sh up DIR [PORT] | down DIR
# The first time scripts/kubernetes.sh builds both, which takes some minutes; KUBE_APISERVER and ETCD name programs that are
# there already. Prints the arguments that compare.py wants.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
verb=${1:?usage: peer.sh up DIR [PORT] | down DIR}
mkdir -p "${2:?a folder}"
dir=$(cd "$2" && pwd)

stop() {
  for name in apiserver etcd; do
    [ -f "$dir/$name.pid" ] || continue
    kill "$(cat "$dir/$name.pid")" 2>/dev/null || true
    rm -f "$dir/$name.pid"
  done
}
if [ "$verb" = down ]; then stop; exit; fi

etcd=${ETCD:-$("$root/scripts/kubernetes.sh" etcd)}
apiserver=${KUBE_APISERVER:-$("$root/scripts/kubernetes.sh" kube-apiserver)}
port=${3:-26443}
cd "$dir"
if [ ! -f ca.crt ]; then
  openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -subj /CN=peer -days 30 2>/dev/null
  issue() {
    openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out "$1.crt" -extfile <(echo "$3") 2>/dev/null
  }
  issue server /CN=kube-apiserver "subjectAltName=IP:127.0.0.1,DNS:localhost"
  issue admin /O=system:masters/CN=admin ""
  openssl genrsa -out tokens.key 2048 2>/dev/null
fi
stop
client=http://127.0.0.1:$((port + 1)) members=http://127.0.0.1:$((port + 2))
"$etcd" --data-dir=etcd --listen-client-urls="$client" --advertise-client-urls="$client" --listen-peer-urls="$members" \
  --initial-advertise-peer-urls="$members" --initial-cluster="default=$members" >etcd.log 2>&1 & echo $! >etcd.pid
"$apiserver" --etcd-servers="$client" --secure-port="$port" --bind-address=127.0.0.1 --advertise-address=127.0.0.1 \
  --endpoint-reconciler-type=none --tls-cert-file=server.crt --tls-private-key-file=server.key --client-ca-file=ca.crt \
  --service-account-issuer=https://kubernetes.default.svc --service-account-key-file=tokens.key --service-account-signing-key-file=tokens.key \
  --service-cluster-ip-range=10.96.0.0/16 --authorization-mode=Node,RBAC --allow-privileged --enable-admission-plugins=NodeRestriction \
  >apiserver.log 2>&1 & echo $! >apiserver.pid
for _ in $(seq 600); do
  if curl -s --cacert ca.crt --cert admin.crt --key admin.key "https://127.0.0.1:$port/readyz" 2>/dev/null | grep -q '^ok'; then
    echo "--peer https://127.0.0.1:$port --peer-ca $dir/ca.crt --peer-cert $dir/admin.crt --peer-key $dir/admin.key"
    exit
  fi
  kill -0 "$(cat apiserver.pid)" 2>/dev/null || break
  sleep 0.1
done
echo "kube-apiserver did not become ready: see $dir/apiserver.log" >&2
tail -n 5 apiserver.log >&2
stop
exit 1
