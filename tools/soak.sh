#!/usr/bin/env bash
# soak.sh HOURS [FLAGS]: runs a profiled program on the fake driver for HOURS, which may be a fraction, next to the same program without a
# profiler: churning call paths and kernels, sessions, threads, forks, workers that are killed, windows every 2 s to a server that fails.
# It prints every minute what is used, and appends it to build/soak/log. The exit status is not 0 if what arrived is not what was
# launched, or if memory, descriptors or threads grow. -rate and -burst are launches per second. Needs "make build" and a C compiler.
set -eu
cd "$(dirname "$0")/.."
hours=${1:?soak.sh HOURS [FLAGS]}
shift
mkdir -p build/soak
exec go test ./bench/soak -count=1 -timeout 0 -v -run '^TestSoak$' -hours "$hours" -out "$PWD/build/soak" "$@"
