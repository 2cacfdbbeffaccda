#!/usr/bin/env bash
# Runs one case of kubectl's own suite (test/cmd of Kubernetes' source tree) against the server on 127.0.0.1:$PORT, in its
# copy $TREE, with scratch space in $WORK. usage: case.sh NAME, or all for the whole suite in one go.
# The server must know the bearer token admin-token as one of system:masters. The suite itself is run as it is: only what
# would start etcd, build programs and stop servers does nothing.
set -o errexit -o nounset -o pipefail
cd "$TREE"
KUBE_ROOT=$TREE
export TERM=${TERM:-xterm} TMPDIR=$WORK/tmp KUBE_JUNIT_REPORT_DIR=$WORK/junit SECURE_API_PORT=$PORT ALLOW_SKEW=1 WHAT=${1#all}
mkdir -p "$TMPDIR" "$KUBE_JUNIT_REPORT_DIR"
# Two cases look for the certificate where kube-apiserver writes it.
openssl s_client -connect "127.0.0.1:$PORT" </dev/null 2>/dev/null | openssl x509 >"$TMPDIR/apiserver.crt"
source hack/lib/init.sh
source hack/lib/test.sh
source test/cmd/legacy-script.sh
kube::etcd::start() { :; }
kube::etcd::cleanup() { :; }
make() { :; }
# The two whose names don't end as the others'.
run_kubectl_diff_same_names_tests() { run_kubectl_diff_same_names; }
run_secrets_tests() { run_secrets_test; }
setup
# What the original makes before it runs the cases: the only node, and a namespace, since some go on in the one of the case before.
kubectl create -f - <<'NODE'
{"kind":"Node","apiVersion":"v1","metadata":{"name":"127.0.0.1","annotations":{"save-managers":"true"}},"status":{"capacity":{"memory":"1Gi"}}}
NODE
create_and_use_new_namespace
# By the time of this case the original has run for minutes, and the node that nobody reports of has conditions that say so.
[ "$WHAT" != nodes ] || kubectl wait --for=condition=Ready=Unknown node/127.0.0.1 --timeout=120s
SUPPORTED_RESOURCES=("*")
export SUPPORTED_RESOURCES
runTests
