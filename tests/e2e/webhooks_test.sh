#!/usr/bin/env bash
# Webhooks with the real kubectl, against a server that plays every part: admission that changes and refuses, conversions
# between versions of a custom kind, and what becomes of those that hang, lie or pour out gigabytes.
. "$(dirname "$0")/lib.sh"

# An authority of our own, and a certificate of it for 127.0.0.1 and for the Service hook.default.svc.
make_certificates() {
  cd "$folder" || exit 1
  openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=authority 2>/dev/null
  openssl req -newkey rsa:2048 -nodes -keyout hook.key -out hook.csr -subj /CN=hook 2>/dev/null
  printf 'subjectAltName=IP:127.0.0.1,DNS:hook.default.svc\nextendedKeyUsage=serverAuth\n' >hook.ext
  openssl x509 -req -in hook.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out hook.crt -days 2 -extfile hook.ext 2>/dev/null
  cd - >/dev/null || exit 1
}

make_certificates
bundle=$(base64 -w0 "$folder/ca.crt")
python3 tests/e2e/webhook_server.py "$folder/hook.crt" "$folder/hook.key" "$folder/port" "$folder/reviews" &
hook_pid=$!
trap 'kill $hook_pid 2>/dev/null; clean_up' EXIT
for _ in $(seq 100); do [ -s "$folder/port" ] && break; sleep 0.1; done
hook=https://127.0.0.1:$(cat "$folder/port")
start_homeostat --data-dir "$folder/data" --node none --listen 127.0.0.1:0

# client PATH: the clientConfig of our server.
client() { echo "{url: \"$hook$1\", caBundle: $bundle}"; }

# webhook KIND NAME PATH [MORE]: a configuration with one webhook for config maps and services in namespaces labelled hooks=NAME.
webhook() {
  local kind=$1 name=$2 path=$3 more=${4:-}
  k apply -f - <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: ${kind}WebhookConfiguration
metadata: {name: $name}
webhooks:
- name: $name.example.com
  clientConfig: $(client "$path")
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [configmaps, services]}]
  namespaceSelector: {matchLabels: {hooks: $name}}
  sideEffects: None
  timeoutSeconds: 2
  admissionReviewVersions: [v1, v1beta1]
  $more
YAML
  k create namespace "$name" --dry-run=client -o yaml | k apply -f - >/dev/null
  k label namespace "$name" "hooks=$name" --overwrite >/dev/null
}

# refuses NAME TEXT...: creating a config map in that namespace fails so.
refuses() {
  local name=$1; shift
  local said; said=$(fails k -n "$name" create configmap "x$RANDOM" 2>&1)
  contains "$said" "$@"
}

check_refusals() {
  webhook Validating deny /deny
  refuses deny 'admission webhook "deny.example.com" denied the request: not for free'
  webhook Validating silent /silent
  refuses silent 'admission webhook "silent.example.com" denied the request without explanation'
  # Other namespaces are not asked about.
  k -n default create configmap free
}

check_changes() {
  webhook Mutating label /label
  k -n label create configmap one
  same "$(k -n label get configmap one -o 'jsonpath={.metadata.labels.mutated}')" yes
  # A default that a webhook takes away comes back.
  webhook Mutating defaults /default
  k -n defaults create service clusterip plain --tcp=80
  same "$(k -n defaults get service plain -o 'jsonpath={.spec.type}')" ClusterIP
}

check_a_new_object_may_be_renamed() {
  webhook Mutating rename /rename
  k -n rename create configmap one
  same "$(k -n rename get configmaps -o name | grep -v root-ca)" configmap/somebody-else
}

check_order_and_reinvocation() {
  webhook Mutating again /count 'reinvocationPolicy: IfNeeded'
  k apply -f - <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: later}
webhooks:
- name: later.example.com
  clientConfig: $(client /label)
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  namespaceSelector: {matchLabels: {hooks: again}}
  sideEffects: None
  admissionReviewVersions: [v1]
YAML
  k -n again create configmap one
  # First without the label, then again, as the one after it has set it.
  same "$(k -n again get configmap one -o 'jsonpath={.metadata.annotations.calls} {.metadata.annotations.seen}')" '2 mutated'
  k delete mutatingwebhookconfiguration later
}

check_failures() {
  webhook Validating hang /hang
  refuses hang 'Internal error occurred: failed calling webhook "hang.example.com": failed to call webhook: Post "'"$hook"'/hang?timeout=2s": context deadline exceeded'
  webhook Validating huge /huge
  refuses huge 'failed calling webhook "huge.example.com": failed to call webhook: unexpected error when reading response body'
  webhook Validating redirect /redirect
  refuses redirect 'failed to call webhook: the server responded with the status code 302 but did not return more information'
  webhook Validating broken /broken
  refuses broken 'an error on the server ("out of paper") has prevented the request from succeeding'
  webhook Validating garbage /garbage
  refuses garbage "failed to call webhook: couldn't get version/kind; json parse error: unexpected end of JSON input"
  webhook Validating liar /wrong-uid
  refuses liar 'received invalid webhook response: expected response.uid=' 'got "another"'
  webhook Mutating badpatch /bad-patch
  refuses badpatch 'remove operation does not apply: doc is missing path: "/nothing/here": missing value'
  webhook Mutating untyped /patch-without-type
  refuses untyped 'webhook returned response.patch but not response.patchType'
}

check_ignored_failures() {
  webhook Validating lenient /hang 'failurePolicy: Ignore'
  k -n lenient create configmap passes
  webhook Mutating lenientm /garbage 'failurePolicy: Ignore'
  k -n lenientm create configmap passes
}

check_warnings() {
  webhook Validating warn /warn
  local said; said=$(k -n warn create configmap one 2>&1)
  contains "$said" 'Warning: think twice' 'Warning: and then again'
  same "$(grep -c 'think twice' <<<"$said")" 1
}

check_dry_run_and_what_is_sent() {
  webhook Validating sent /allow
  : >"$folder/reviews"
  k -n sent create configmap one --from-literal=a=b --dry-run=server
  k -n sent create configmap two
  k -n sent delete configmap two
  python3 - "$folder/reviews" <<'PY'
import json, sys
requests = [json.loads(line)['review']['request'] for line in open(sys.argv[1])]
dry, create, delete = requests
assert [r['operation'] for r in requests] == ['CREATE', 'CREATE', 'DELETE'], requests
assert dry['dryRun'] is True and create['dryRun'] is False
assert dry['object']['data'] == {'a': 'b'} and dry['object']['kind'] == 'ConfigMap' and dry['object']['apiVersion'] == 'v1'
assert dry['oldObject'] is None and delete['object'] is None and delete['oldObject']['metadata']['name'] == 'two'
assert create['options'] == {'kind': 'CreateOptions', 'apiVersion': 'meta.k8s.io/v1', 'fieldManager': 'kubectl-create', 'fieldValidation': 'Strict'}, create['options']
assert delete['options']['kind'] == 'DeleteOptions'
assert create['resource'] == {'group': '', 'version': 'v1', 'resource': 'configmaps'} == create['requestResource']
assert create['kind'] == {'group': '', 'version': 'v1', 'kind': 'ConfigMap'} and create['namespace'] == 'sent'
assert 'system:masters' in create['userInfo']['groups'] and create['object']['metadata']['uid']
PY
}

check_match_conditions() {
  webhook Validating condition /deny 'matchConditions: [{name: big, expression: "has(object.data) && size(object.data) > 1"}]'
  k -n condition create configmap small --from-literal=a=b
  said=$(fails k -n condition create configmap big --from-literal=a=b --from-literal=c=d 2>&1)
  contains "$said" 'denied the request: not for free'
}

check_configurations_are_exempt() {
  k apply -f - <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: everything}
webhooks:
- name: everything.example.com
  clientConfig: $(client /deny)
  rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"]}]
  namespaceSelector: {matchExpressions: [{key: hooks, operator: NotIn, values: [nobody]}]}
  sideEffects: None
  admissionReviewVersions: [v1]
YAML
  refuses default 'not for free'
  k delete validatingwebhookconfiguration everything
  k -n default create configmap after-all
}

check_services() {
  local address; address=$(hostname -I | cut -d' ' -f1)
  [ -n "$address" ] || return 0  # nothing but the loopback, which no endpoint may name
  k apply -f - <<YAML
apiVersion: v1
kind: Service
metadata: {name: hook, namespace: default}
spec: {ports: [{name: tls, port: 443}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: hook-1, namespace: default, labels: {kubernetes.io/service-name: hook}}
addressType: IPv4
ports: [{name: tls, port: $(cat "$folder/port"), protocol: TCP}]
endpoints: [{addresses: ["$address"]}]
YAML
  client() { echo "{service: {name: hook, namespace: ${namespace:-default}, path: $1}, caBundle: $bundle}"; }
  webhook Mutating service /label
  k -n service create configmap one
  same "$(k -n service get configmap one -o 'jsonpath={.metadata.labels.mutated}')" yes
  namespace=elsewhere webhook Mutating service /label
  refuses service 'Post "https://hook.elsewhere.svc:443/label?timeout=2s": service "hook" not found'
}

definition() {
  cat <<YAML
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ports.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: ports, singular: port, kind: Port}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: $(client "$1")}
  versions:
  - name: v1
    served: true
    storage: $2
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {address: {type: string}}}}}}
  - name: v2
    served: true
    storage: $3
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {host: {type: string}, port: {type: integer, maximum: 65535}}}}}}
YAML
}

check_conversion() {
  definition /convert true false | k apply -f -
  k apply -f - <<'YAML'
{apiVersion: example.com/v1, kind: Port, metadata: {name: one, namespace: default}, spec: {address: "a:1"}}
YAML
  k apply -f - <<'YAML'
{apiVersion: example.com/v2, kind: Port, metadata: {name: two, namespace: default}, spec: {host: b, port: 2}}
YAML
  same "$(k get ports.v1.example.com -o 'jsonpath={.items[*].spec.address}')" 'a:1 b:2'
  same "$(k get ports.v2.example.com -o 'jsonpath={.items[*].spec.host} {.items[*].spec.port}')" 'a b 1 2'
  k patch ports.v2.example.com one --type=merge -p '{"spec":{"port":7}}'
  same "$(k get ports.v1.example.com one -o 'jsonpath={.spec.address}')" a:7
  # Server-side apply in one version after the other.
  k apply --server-side --force-conflicts -f - <<'YAML'
{apiVersion: example.com/v2, kind: Port, metadata: {name: two, namespace: default}, spec: {host: c, port: 3}}
YAML
  same "$(k get ports.v1.example.com two -o 'jsonpath={.spec.address}')" c:3
}

check_watch_in_another_version() {
  k get ports.v2.example.com --watch -o 'jsonpath={.metadata.name}={.spec.port}{"\n"}' >"$folder/watched" &
  local watching=$!
  eventually 10 grep -q 'two=3' "$folder/watched"
  k patch ports.v1.example.com two --type=merge -p '{"spec":{"address":"d:4"}}'
  eventually 10 grep -q 'two=4' "$folder/watched"
  kill "$watching"
}

check_storage_version_changes() {
  definition /convert false true | k apply -f -
  same "$(k get ports.v1.example.com one -o 'jsonpath={.spec.address}')" a:7
  same "$(k get ports.v2.example.com one -o 'jsonpath={.spec.host}')" a
  k label ports.v1.example.com one moved=yes
  same "$(k get ports.v2.example.com one -o 'jsonpath={.metadata.labels.moved}{.spec.port}')" yes7
}

check_conversions_that_lie() {
  # Two objects are stored, one of them in each version.
  definition /convert-rename false true | k apply -f -
  contains "$(fails k get ports.v1.example.com one 2>&1)" \
    'conversion webhook for example.com/v2, Kind=Port returned invalid object: must have the same name: one != somebody-else'
  definition /convert-refuse false true | k apply -f -
  contains "$(fails k get ports.v1.example.com one 2>&1)" 'conversion webhook for example.com/v2, Kind=Port failed: I would rather not'
  definition /convert-lose false true | k apply -f -
  contains "$(fails k get ports.v1.example.com one 2>&1)" 'conversion webhook for example.com/v2, Kind=Port returned 0 objects, expected 1'
  definition /convert-wrong-uid false true | k apply -f -
  contains "$(fails k get ports.v1.example.com one 2>&1)" 'failed: expected response.uid='
  definition /convert-label false true | k apply -f -
  same "$(k get ports.v1.example.com one -o 'jsonpath={.metadata.labels.converted} {.metadata.name}')" 'yes one'
  fails test "$(k get ports.v1.example.com one -o 'jsonpath={.metadata.generation}')" = 77
}

check_a_definition_with_a_webhook_goes() {
  definition /convert false true | k apply -f -
  k delete customresourcedefinition ports.example.com --timeout=30s
}

all="refusals changes a_new_object_may_be_renamed order_and_reinvocation failures ignored_failures warnings dry_run_and_what_is_sent match_conditions
     configurations_are_exempt services conversion watch_in_another_version storage_version_changes conversions_that_lie
     a_definition_with_a_webhook_goes"
# Names of checks as arguments: only these.
for name in ${*:-$all}; do check "$name"; done
finish
