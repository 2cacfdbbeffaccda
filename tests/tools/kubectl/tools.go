//go:build tools

// Pins the module that scripts/kubectl.sh builds kubectl from.
package tools

import _ "k8s.io/kubernetes/cmd/kubectl"
