#!/usr/bin/env bash
# An extension server (extension_server.py) behind an APIService: kubectl can't tell its kinds from others.
. "$(dirname "$0")/lib.sh"
trap 'kill ${extension:-} 2>/dev/null; clean_up' EXIT
service=v1.wardle.example.com

condition() { k get apiservice "$service" -o "jsonpath={.status.conditions[?(@.type=='Available')].$1}"; }
has_reason() { [ "$(condition reason)" = "$1" ]; }
api_service() {
  cat <<YAML
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: $service}
spec: {group: wardle.example.com, version: v1, groupPriorityMinimum: 1000, versionPriority: 15, caBundle: $(base64 -w0 "$folder/api.crt"),
  service: {name: api, namespace: wardle, port: $(cat "$folder/port" 2>/dev/null || echo 1)}}
YAML
}
start_extension() {
  python3 tests/e2e/extension_server.py "$folder/api.crt" "$folder/api.key" "$folder/proxy-ca.crt" "$folder/port" >"$folder/extension.log" 2>&1 &
  extension=$!
  for _ in $(seq 100); do [ -s "$folder/port" ] && return; sleep 0.1; done
}

check_identity_is_published() {
  k get configmap -n kube-system extension-apiserver-authentication -o 'jsonpath={.data.requestheader-client-ca-file}' >"$folder/proxy-ca.crt"
  contains "$(cat "$folder/proxy-ca.crt")" "BEGIN CERTIFICATE"
  same "$(k get configmap -n kube-system extension-apiserver-authentication -o 'jsonpath={.data.requestheader-allowed-names}')" '["front-proxy-client"]'
}
check_local_ones() {
  contains "$(k get apiservice v1.apps)" "Local" "True"
  fails k get apiservice v1.apiregistration.k8s.io
}
check_without_a_service() {
  api_service | k create -f -
  eventually 10 has_reason ServiceNotFound
  contains "$(fails k get --raw /apis/wardle.example.com/v1 2>&1)" "ServiceUnavailable"
}
check_nobody_answers() {
  k create namespace wardle
  k create service externalname api -n wardle --external-name localhost
  eventually 10 has_reason FailedDiscoveryCheck
}
check_becomes_available() {
  api_service | k replace -f -
  k wait apiservice "$service" --for=condition=Available --timeout=30s
  same "$(condition message)" "all checks passed"
}
check_kinds_are_known() {
  contains "$(k api-resources --api-group=wardle.example.com)" "flunders" "fl" "Flunder"
  contains "$(k get --raw /apis)" '"name":"wardle.example.com"'
  contains "$(k explain flunder.spec.colour)" "What it looks like."
  contains "$(k get --raw /openapi/v2)" "/apis/wardle.example.com/v1/namespaces/{namespace}/flunders" "com.example.wardle.v1.Flunder"
}
check_objects() {
  # Whether it has listed already does not matter: it goes on from there.
  k get flunders --watch -o name >"$folder/watched" & local watch=$!
  printf 'apiVersion: wardle.example.com/v1\nkind: Flunder\nmetadata: {name: a}\nspec: {colour: red}\n' | k create --validate=false -f -
  same "$(k get fl a -o 'jsonpath={.spec.colour}')" red
  eventually 5 grep -q flunder.*/a "$folder/watched"
  kill "$watch"
  k delete flunder a --wait=false
  contains "$(fails k get flunder a 2>&1)" 'flunders.wardle.example.com "a" not found'
}
check_whose_request_it_is() {
  local who
  who=$(k get --raw /apis/wardle.example.com/v1/whoami)
  contains "$who" '"user": "admin"' '"system:masters"' '"authorization": null'
  printf 'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: flunders}\n%s\n' \
    'rules: [{apiGroups: [wardle.example.com], resources: [whoami], verbs: [list]}]' | k create -f -
  k create clusterrolebinding flunders --clusterrole=flunders --user=bob
  contains "$(k --as=bob get --raw /apis/wardle.example.com/v1/whoami)" '"user": "bob"' '"system:authenticated"'
  fails k --as=carol get --raw /apis/wardle.example.com/v1/whoami
}
check_upgrades() {
  python3 - "$KUBECONFIG" <<'PYTHON'
import base64, socket, ssl, sys, tempfile, yaml
config = yaml.safe_load(open(sys.argv[1]))
user, host = config['users'][0]['user'], config['clusters'][0]['cluster']['server'].split('//')[1]
context = ssl._create_unverified_context()
with tempfile.TemporaryDirectory() as folder:
    for name in ('certificate', 'key'):
        open(f'{folder}/{name}', 'wb').write(base64.b64decode(user[f'client-{name}-data']))
    context.load_cert_chain(f'{folder}/certificate', f'{folder}/key')
address, port = host.rsplit(':', 1)
with context.wrap_socket(socket.create_connection((address, int(port)))) as stream:
    stream.sendall(b'GET /apis/wardle.example.com/v1/echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
    head = b''
    while b'\r\n\r\n' not in head:
        head += stream.recv(1000)
    assert head.startswith(b'HTTP/1.1 101'), head
    stream.sendall(b'hello')
    assert stream.recv(100) == b'hello'
PYTHON
}
check_namespaces_are_emptied() {
  k create namespace gone
  printf 'apiVersion: wardle.example.com/v1\nkind: Flunder\nmetadata: {name: b, namespace: gone}\n' | k create --validate=false -f -
  k delete namespace gone --timeout=20s
  same "$(k get flunders -n gone -o name || echo "no answer")" ""
}
check_it_goes_away() {
  kill "$extension"
  k annotate apiservice "$service" look=again
  k patch apiservice "$service" --type=merge -p '{"spec":{"versionPriority":16}}'
  eventually 40 has_reason FailedDiscoveryCheck
  contains "$(fails k get --raw /apis/wardle.example.com/v1 2>&1)" "ServiceUnavailable"
  k delete apiservice "$service"
  contains "$(fails k get --raw /apis/wardle.example.com/v1 2>&1)" "NotFound"
}

start_homeostat --data-dir "$folder/data" --listen 127.0.0.1:0 --store memory --node none
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$folder/api.key" -out "$folder/api.crt" -days 2 \
  -subj /CN=api.wardle.svc -addext subjectAltName=DNS:api.wardle.svc 2>/dev/null
check local_ones
check without_a_service
check nobody_answers
check identity_is_published
start_extension
check becomes_available
check kinds_are_known
check objects
check whose_request_it_is
check upgrades
check namespaces_are_emptied
check it_goes_away
finish
