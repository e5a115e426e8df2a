#!/usr/bin/env bash
# wheel.sh [MACHINE...]: the wheels of x86_64 and aarch64, or of the machines that are named, in build/wheels.
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- x86_64 aarch64
[ -x "${ZIG:-.venv/oracles/zig-0.15.1/ziglang/zig}" ] || { echo "wheel: there is no zig: tools/oracles.sh fetches it" >&2; exit 1; }
mkdir -p build/wheels
for machine in "$@"; do
  tools/packages/parts.sh "$machine" "build/wheels/$machine"
  python3 -B tools/packages/wheel.py "build/wheels/$machine" "py3-none-manylinux_2_28_$machine" build/wheels
done
