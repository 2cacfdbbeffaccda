#!/usr/bin/env bash
# Prints the path of an unmodified kubectl of 1.34 to 1.36: the one on PATH, or one built from Kubernetes' own module.
set -euo pipefail
cd "$(dirname "$0")/.."
if command -v kubectl >/dev/null && [[ $(kubectl version --client 2>/dev/null) == *"Client Version: v1.3"[456].* ]]; then
  command -v kubectl
else
  scripts/kubernetes.sh kubectl
fi
