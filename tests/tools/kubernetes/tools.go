//go:build tools

// Pins the module that scripts/kubernetes.sh builds programs from.
package tools

import _ "k8s.io/kubernetes/cmd/kubectl"
