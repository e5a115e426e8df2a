#!/usr/bin/env bash
# Runs every test of programs that abuse the process that they share with the profiler, on the fake driver. Needs
# "make build" and .venv (tools/oracles.sh). As root it also changes the root, the user and file systems.
set -eu
cd "$(dirname "$0")/.."
exec env GOPROTON_ABUSE=all .venv/bin/python -m pytest -q -p no:cacheprovider -rs hooks/python/tests/test_process.py "$@"
