#!/usr/bin/env bash
# Builds the wheels of HEAD once more, in another folder and with empty caches of the C compiler, and compares them with those in build/wheels.
set -eu
cd "$(dirname "$0")/../.."
case $(tools/revision.sh) in
  '' | *.dirty) echo "skipped: reproducible: the tree has uncommitted changes, which another folder would not have"; exit ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone --quiet --shared . "$folder/a folder of another name"
export ZIG=$PWD/.venv/oracles/zig-0.15.1/ziglang/zig ZIG_GLOBAL_CACHE_DIR=$folder/zig
"$folder/a folder of another name/tools/packages/wheel.sh"
for wheel in build/wheels/*.whl; do
  cmp "$wheel" "$folder/a folder of another name/$wheel" && echo "same: $(basename "$wheel")"
done
