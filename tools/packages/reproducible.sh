#!/usr/bin/env bash
# Builds a wheel and two archives of HEAD once more, in another folder and with empty caches of the C compiler, and compares them with those in
# build/wheels and build/release.
set -eu
cd "$(dirname "$0")/../.."
case $(tools/revision.sh) in
  '' | *.dirty) echo "skipped: reproducible: the tree has uncommitted changes, which another folder would not have"; exit ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone --quiet --shared . "$folder/a folder of another name"
export ZIG=$PWD/.venv/oracles/zig-0.15.1/ziglang/zig ZIG_GLOBAL_CACHE_DIR=$folder/zig
"$folder/a folder of another name/tools/packages/wheel.sh" x86_64
"$folder/a folder of another name/tools/packages/release.sh" linux/amd64 windows/arm64
for file in build/wheels/*_x86_64.whl build/release/proton-*-{linux-amd64.tar.gz,windows-arm64.zip}; do
  cmp "$file" "$folder/a folder of another name/$file"
  echo "same: $(basename "$file")"
done
