#!/usr/bin/env bash
# wheel.sh [MACHINE...|all]: the wheel of this machine in build/wheels, those of the machines that are named, or those of x86_64 and aarch64.
set -eu
cd "$(dirname "$0")/../.."
case ${1-} in
  '') set -- "$(uname -m)" ;;
  all) set -- x86_64 aarch64 ;;
esac
if [ -z "${ZIG-}" ] && [ ! -x .venv/oracles/zig-0.15.1/ziglang/zig ]; then
  echo "wheel: zig, the C compiler, into .venv/oracles (80 MB)" >&2
  tools/oracles.sh zig-0.15.1
fi
[ -x "${ZIG:-.venv/oracles/zig-0.15.1/ziglang/zig}" ] || { echo "wheel: there is no zig, and it was not fetched: tools/oracles.sh fetches it" >&2; exit 1; }
mkdir -p build/wheels
for machine in "$@"; do
  tools/packages/parts.sh "$machine" "build/wheels/$machine"
  echo "wheel: packing for $machine" >&2
  python3 -B tools/packages/wheel.py "build/wheels/$machine" "py3-none-manylinux_2_28_$machine" build/wheels
done
