#!/usr/bin/env bash
# What programs may do to the process that they share with the profiler: the whole list, on the fake driver. Needs
# "make build" and .venv (tools/oracles.sh). As root it also changes the root, the user and file systems.
set -eu
cd "$(dirname "$0")/.."
exec env GOPROTON_ABUSE=all .venv/bin/python -m pytest -q -p no:cacheprovider -rs hooks/python/tests/test_process.py "$@"
