#!/usr/bin/env bash
# The stand-ins for kube-apiserver and etcd, started as controller-runtime's envtest and fabric8's kube-api-test do.
. "$(dirname "$0")/lib.sh"
assets=$folder/assets certs=$folder/certs
port=$((20000 + RANDOM % 20000)) etcd_port=$((40000 + RANDOM % 9000))
trap 'kill ${server:-} ${etcd:-} 2>/dev/null; clean_up' EXIT

make_certificates() {
  mkdir -p "$certs"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$certs/ca.key" -out "$certs/client-cert-auth-ca.crt" -days 2 -subj /CN=test-ca
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$certs/apiserver.key" -out "$certs/apiserver.crt" -days 2 \
    -subj /CN=apiserver -addext subjectAltName=DNS:localhost,IP:127.0.0.1
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$certs/sa-signer.key" -out "$certs/sa-signer.crt" -days 2 -subj /CN=sa
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$certs/admin.key" -out "$certs/admin.csr" -subj /O=system:masters/CN=default
  openssl x509 -req -in "$certs/admin.csr" -CA "$certs/client-cert-auth-ca.crt" -CAkey "$certs/ca.key" -CAcreateserial -days 2 -out "$certs/admin.crt"
}
# As envtest gives them, and the flags that fabric8 repeats.
server_flags() {
  echo --allow-privileged=true --authorization-mode=RBAC --bind-address=127.0.0.1 "--cert-dir=$certs" "--client-ca-file=$certs/client-cert-auth-ca.crt" \
    --disable-admission-plugins=ServiceAccount "--etcd-servers=http://127.0.0.1:$etcd_port" "--secure-port=$port" "--service-account-issuer=https://127.0.0.1:$port/" \
    --service-account-issuer=https://older.example.com "--service-account-key-file=$certs/sa-signer.key" \
    "--service-account-key-file=$certs/sa-signer.crt" "--service-account-signing-key-file=$certs/sa-signer.key" --service-cluster-ip-range=10.0.0.0/24
}
client() { "$kubectl" --server="https://127.0.0.1:$port" --certificate-authority="$certs/apiserver.crt" --client-certificate="$certs/admin.crt" --client-key="$certs/admin.key" --kubeconfig=/dev/null "$@"; }
healthy() { same "$(curl -sk "https://127.0.0.1:$port/healthz")" ok; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }

check_install() {
  contains "$("$program" envtest install "$assets")" "KUBEBUILDER_ASSETS="
  [ -x "$assets/kube-apiserver" ] && [ -x "$assets/etcd" ]
  make_certificates
}
check_help() {
  "$assets/etcd" --help >"$folder/help"
  grep -q '^ *--unsafe-no-fsync' "$folder/help"
  "$assets/kube-apiserver" --help >"$folder/help"
  grep -q '^ *--secure-port' "$folder/help"
  fails grep -q '^ *--insecure-port' "$folder/help"
  fails "$assets/kube-apiserver" --no-such-flag=1 2>"$folder/error"
  contains "$(cat "$folder/error")" "unknown flag: --no-such-flag"
  fails "$assets/kube-apiserver" --authorization-mode=ABAC --secure-port="$port" 2>"$folder/error"
}
check_etcd() {
  contains "$(curl -s "http://127.0.0.1:$etcd_port/health")" '"health":"true"'
}
check_objects() {
  eventually 10 healthy
  client get ns default
  client create configmap one --from-literal=a=b
  same "$(client get configmap one -o 'jsonpath={.data.a}')" b
  contains "$(client auth whoami)" system:masters
  client create serviceaccount robot
  local token; token=$(client create token robot)
  contains "$(client auth whoami --token="$token" --client-certificate= --client-key=)" system:serviceaccount:default:robot
  contains "$(client get --raw /.well-known/openid-configuration)" "\"jwks_uri\":\"https://127.0.0.1:$port/openid/v1/jwks\""
  same "$(cut -d. -f2 <<<"$token" | tr '_-' '/+' | base64 -d 2>/dev/null | grep -o '"iss":"[^"]*"')" "\"iss\":\"https://127.0.0.1:$port/\""
}
# Without a certificate the server makes one and leaves it in the folder, where a client finds it.
check_own_certificate() {
  local made=$folder/made; mkdir "$made"
  "$assets/kube-apiserver" --authorization-mode=RBAC --bind-address=127.0.0.1 "--cert-dir=$made" "--secure-port=$port" 2>>"$folder/log" &
  local own=$! passed=0
  eventually 10 curl -s --cacert "$made/apiserver.crt" "https://127.0.0.1:$port/healthz" || passed=1
  same "$(stat -c %a "$made/apiserver.key")" 600 || passed=1
  kill "$own"; wait "$own" || true
  return "$passed"
}
# With the two controllers that are there when asked for, which know custom kinds as well.
gone() { same "$(client get "$@" --ignore-not-found -o name || echo "no answer")" ""; }
check_controllers() {
  client apply -f - <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
YAML
  client create -f - <<<'{"apiVersion":"example.com/v1","kind":"Boat","metadata":{"name":"owner"}}'
  local uid; uid=$(client get boat owner -o 'jsonpath={.metadata.uid}')
  client create -f - <<<'{"apiVersion":"example.com/v1","kind":"Boat","metadata":{"name":"owned","ownerReferences":[{"apiVersion":"example.com/v1","kind":"Boat","name":"owner","uid":"'"$uid"'"}]}}'
  client delete boat owner --wait=false
  eventually 20 gone boat owned
  client create ns sea
  client create -n sea -f - <<<'{"apiVersion":"example.com/v1","kind":"Boat","metadata":{"name":"a"}}'
  client delete ns sea --wait=false
  eventually 30 gone ns sea
  gone boats -A
}
check_ends_with_a_watch_open() {
  client get configmaps --watch >"$folder/watched" & local watch=$!
  eventually 5 grep -q one "$folder/watched"
  kill -TERM "$server"
  eventually 2 is_gone "$server"
  kill "$watch" 2>/dev/null || true
}
check_ends_with_its_parent() {
  bash -c "\"$assets/kube-apiserver\" $(server_flags) >/dev/null 2>&1 & echo \$! >\"$folder/orphan\"; sleep 1"
  eventually 5 is_gone "$(cat "$folder/orphan")"
}

check install
check help
"$assets/etcd" --advertise-client-urls="http://127.0.0.1:$etcd_port" --data-dir="$folder/etcd" --listen-client-urls="http://127.0.0.1:$etcd_port" \
  --listen-peer-urls="http://127.0.0.1:1" --unsafe-no-fsync=true >>"$folder/log" 2>&1 & etcd=$!
sleep 0.5
check etcd
# shellcheck disable=SC2046
"$assets/kube-apiserver" $(server_flags) >>"$folder/log" 2>&1 & server=$!
check objects
check ends_with_a_watch_open
check ends_with_its_parent
# shellcheck disable=SC2046
HOMEOSTAT_CONTROLLERS=namespace,gc "$assets/kube-apiserver" $(server_flags) >>"$folder/log" 2>&1 & server=$!
eventually 10 healthy
check controllers
kill -TERM "$server"
eventually 10 is_gone "$server"
check own_certificate
finish
