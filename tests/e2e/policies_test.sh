#!/usr/bin/env bash
# Admission policies with the real kubectl: what validating ones refuse and warn of, what mutating ones change, with parameters of a
# custom kind, for built-in and custom kinds and for subresources.
. "$(dirname "$0")/lib.sh"

cat >"$folder/validating.yaml" <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-replicas}
spec:
  paramKind: {apiVersion: example.com/v1, kind: Limit}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  variables:
  - {name: wanted, expression: "object.spec.replicas"}
  validations:
  - expression: "variables.wanted <= params.spec.most"
    messageExpression: "'at most ' + string(params.spec.most) + ' replicas in ' + namespaceObject.metadata.name"
    reason: Forbidden
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few-replicas}
spec:
  policyName: few-replicas
  validationActions: [Deny]
  paramRef: {name: small, namespace: default, parameterNotFoundAction: Deny}
  matchResources: {namespaceSelector: {matchLabels: {size: small}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-big-scale}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments/scale]}
  validations:
  - {expression: "object.spec.replicas < 10 && oldObject.kind == 'Scale'", message: too many}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-big-scale}
spec: {policyName: no-big-scale, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: warned}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}
  matchConditions:
  - {name: deletions, expression: "request.operation == 'DELETE'"}
  validations:
  - {expression: "oldObject.data.keep != 'yes' && request.options.kind == 'DeleteOptions'", message: "it was to be kept"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: warned}
spec: {policyName: warned, validationActions: [Warn, Audit]}
YAML
cat >"$folder/definition.yaml" <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: limits.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: limits, singular: limit, kind: Limit}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      most: {type: integer}, note: {type: string}, hosts: {type: array, items: {type: string}}}}}}}}
YAML
cat >"$folder/mutating.yaml" <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: side-car}
spec:
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  matchConditions:
  - {name: not-yet, expression: "!object.spec.containers.exists(c, c.name == 'side-car')"}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{metadata: Object.metadata{labels: {"mutated": "true"}},
               spec: Object.spec{containers: [Object.spec.containers{name: "side-car", image: "side:1"}]}}
  - patchType: JSONPatch
    jsonPatch:
      expression: >
        [JSONPatch{op: "test", path: "/metadata/labels/mutated", value: "true"},
         JSONPatch{op: "add", path: "/metadata/annotations", value: {"by": request.userInfo.username}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: side-car}
spec: {policyName: side-car}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: noted}
spec:
  reinvocationPolicy: Never
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [example.com], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [limits]}
  mutations:
  - {patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{spec: Object.spec{note: 'most ' + string(object.spec.most)}}"}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: noted}
spec: {policyName: noted}
YAML

deployment() {
  k create deployment "$1" -n "$2" --image=x --replicas="$3"
}

check_validating_policies_refuse() {
  k apply -f "$folder/definition.yaml" && k wait --for condition=established crd/limits.example.com --timeout=10s
  k create namespace small && k label namespace small size=small
  k apply -f "$folder/validating.yaml"
  contains "$(fails deployment web small 4 2>&1)" "ValidatingAdmissionPolicy 'few-replicas' with binding 'few-replicas' denied request: failed to configure binding: no params found"
  printf 'apiVersion: example.com/v1\nkind: Limit\nmetadata: {name: small}\nspec: {most: 3}\n' | k apply -f -
  contains "$(fails deployment web small 4 2>&1)" "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'few-replicas' with binding 'few-replicas' denied request: at most 3 replicas in small"
  deployment web small 3
  deployment web default 4
}

check_policies_see_subresources() {
  contains "$(fails k scale deployment web --replicas=11 2>&1)" "denied request: too many"
  k scale deployment web --replicas=5
}

check_policies_warn() {
  k create configmap kept --from-literal=keep=yes
  contains "$(k delete configmap kept 2>&1)" "Warning: Validation failed for ValidatingAdmissionPolicy 'warned' with binding 'warned': it was to be kept" 'configmap "kept" deleted'
}

typed() {
  contains "$(k get validatingadmissionpolicy typo -o jsonpath='{.status}')" '"observedGeneration":1' "undefined field 'replica'" 'spec.validations[0].expression' 'apps/v1, Kind=Deployment'
}

check_types_are_checked() {
  sed -e 's/few-replicas/typo/; s/variables.wanted </object.spec.replica </; /paramKind/d; s/params.spec.most/3/; /messageExpression/d' "$folder/validating.yaml" | sed '/^---/,$d' | k apply -f -
  eventually 10 typed
  k delete validatingadmissionpolicy typo
}

check_bad_expressions_are_refused() {
  contains "$(sed 's/variables.wanted </variables.other </' "$folder/validating.yaml" | fails k apply -f - 2>&1)" "undefined field 'other'"
}

check_mutating_policies_change() {
  k apply -f "$folder/mutating.yaml"
  k run one --image=x
  same "$(k get pod one -o jsonpath='{.spec.containers[*].name} {.metadata.labels.mutated} {.metadata.annotations.by} {.spec.containers[?(@.name=="side-car")].imagePullPolicy}')" \
    'one side-car true admin IfNotPresent'
  printf 'apiVersion: example.com/v1\nkind: Limit\nmetadata: {name: large}\nspec: {most: 30}\n' | k apply -f -
  same "$(k get limit large -o jsonpath='{.spec.note}')" 'most 30'
}

check_policies_end_with_their_bindings() {
  k delete mutatingadmissionpolicybinding side-car
  k run two --image=x
  same "$(k get pod two -o jsonpath='{.spec.containers[*].name}')" two
  k delete validatingadmissionpolicybinding few-replicas
  deployment other small 9
}

start_homeostat --store memory --data-dir "$folder/data" --node none --listen 127.0.0.1:0
for name in validating_policies_refuse policies_see_subresources policies_warn types_are_checked bad_expressions_are_refused \
            mutating_policies_change policies_end_with_their_bindings; do
  check "$name"
done
finish
