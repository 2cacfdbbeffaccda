#!/usr/bin/env bash
# Custom resources with the real kubectl: a definition and its objects from one file, all that kubectl does with them,
# and everything again after a restart.
. "$(dirname "$0")/lib.sh"
data=$folder/data

start() { start_homeostat --data-dir "$data" --node none --listen 127.0.0.1:0; }

cat >"$folder/boats.yaml" <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat, shortNames: [bt], categories: [fleet]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.oars, statusReplicasPath: .status.oars}
    selectableFields: [{jsonPath: .spec.colour}]
    additionalPrinterColumns:
    - {name: Oars, type: integer, jsonPath: .spec.oars}
    - {name: Colour, type: string, jsonPath: .spec.colour}
    schema:
      openAPIV3Schema:
        type: object
        description: A boat with oars.
        properties:
          spec:
            type: object
            required: [oars]
            properties:
              oars: {type: integer, minimum: 1, maximum: 40, description: How many rowers it takes.}
              colour: {type: string, default: blue, enum: [blue, red]}
              crew:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, rank: {type: string}}}
          status:
            type: object
            properties: {oars: {type: integer}}
---
apiVersion: example.com/v1
kind: Boat
metadata: {name: one}
spec: {oars: 2}
---
apiVersion: example.com/v1
kind: Boat
metadata: {name: two}
spec: {oars: 8, colour: red, crew: [{name: ann, rank: cook}]}
YAML

check_apply_in_one_go() {
  # kubectl learns the new kind from discovery, which it reads again when it does not know one.
  k apply -f "$folder/boats.yaml" || k apply -f "$folder/boats.yaml"
  k wait --for=condition=Established crd/boats.example.com --timeout=5s
  k apply -f "$folder/boats.yaml" | grep -c unchanged | grep -qx 3
}
check_get() {
  same "$(k get bt --no-headers | awk '{print $1, $2, $3}')" $'one 2 blue\ntwo 8 red'
  contains "$(k get fleet)" OARS COLOUR one two
  same "$(k get boats -o name --field-selector spec.colour=red)" boat.example.com/two
  same "$(k get --raw /apis/example.com/v1/namespaces/default/boats/one/scale | grep -o '"replicas":2')" '"replicas":2'
  contains "$(k api-resources --api-group=example.com)" boats bt example.com/v1 true Boat
}
check_explain() {
  contains "$(k explain boat)" "A boat with oars" "GROUP:" "example.com"
  contains "$(k explain boat.spec.oars)" "How many rowers it takes" "<integer>"
  contains "$(k explain boat.spec --recursive)" crew rank
}
check_refusals() {
  contains "$(fails k create -f - <<<'{"apiVersion":"example.com/v1","kind":"Boat","metadata":{"name":"x"},"spec":{"oars":"two"}}' 2>&1)" \
    'spec.oars in body must be of type integer: "string"'
  contains "$(fails k create -f - <<<'{"apiVersion":"example.com/v1","kind":"Boat","metadata":{"name":"x"},"spec":{"oars":1,"sail":1}}' 2>&1)" \
    'unknown field "spec.sail"'
}
check_edit_and_patch() {
  EDITOR="sed -i s/colour:.blue/colour:\ red/" k edit boat one
  same "$(k get boat one -o 'jsonpath={.spec.colour} {.metadata.generation}')" "red 2"
  k patch boat one --type=merge -p '{"spec":{"oars":4}}'
  contains "$(fails k patch boat one --type=strategic -p '{"spec":{"oars":5}}' 2>&1)" "application/strategic-merge-patch+json"
  k scale boat one --replicas=6
  same "$(k get boat one -o 'jsonpath={.spec.oars}')" 6
  k patch boat one --subresource=status --type=merge -p '{"status":{"oars":3}}'
  same "$(k get boat one -o 'jsonpath={.status.oars}')" 3
}
check_server_side_apply() {
  k apply --server-side --field-manager=mate -f - <<<'{"apiVersion":"example.com/v1","kind":"Boat","metadata":{"name":"two"},"spec":{"crew":[{"name":"bob","rank":"mate"}]}}'
  same "$(k get boat two -o 'jsonpath={.spec.crew[*].name}')" "ann bob"
}
# Quotas count them by name, from when the controller has seen them all, and free what goes.
check_quota_counts() {
  boat() { printf 'apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: %s, namespace: counted}\nspec: {oars: 1}\n' "$1" | k create -f -; }
  quota_says() { same "$(k get quota boats -n counted -o 'jsonpath={.status.used.count/boats\.example\.com}')" "$1"; }
  k create namespace counted
  boat one
  k create quota boats -n counted --hard=count/boats.example.com=2
  eventually 10 quota_says 1
  boat two
  contains "$(fails boat three 2>&1)" 'exceeded quota: boats, requested: count/boats.example.com=1, used: count/boats.example.com=2, limited: count/boats.example.com=2'
  k delete boat one -n counted
  eventually 10 quota_says 1
  boat three
  k delete namespace counted
}
check_delete() {
  k delete boat one
  k delete -f "$folder/boats.yaml" --ignore-not-found
  contains "$(fails k get --raw /apis/example.com/v1/boats 2>&1)" "could not find the requested resource"
}

start
check apply_in_one_go
check get
check explain
check refusals
check edit_and_patch
check server_side_apply
stop_homeostat KILL
start
check explain
check refusals
check quota_counts
check delete
stop_homeostat TERM
start
check apply_in_one_go
check get
finish
