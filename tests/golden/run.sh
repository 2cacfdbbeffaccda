#!/usr/bin/env bash
# Replays the recorded answers against build/homeostat. Arguments are those of replay.py.
set -euo pipefail
exec python3 "$(dirname "$0")/replay.py" "$@"
