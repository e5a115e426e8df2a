#!/usr/bin/env bash
# Builds everything for arm64 without a warning. In an emulator it tests the hot path, replays every capture, and
# compares the trees with those of this machine. Needs "make build" and the Debian packages
# gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user.
#
# An emulator on x86 has x86's memory order, so errors that need ARM's weaker order are not found.
set -eu
cd "$(dirname "$0")/.."
root=${ARM64_ROOT:-/usr/aarch64-linux-gnu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for need in aarch64-linux-gnu-gcc qemu-aarch64; do
  command -v $need >/dev/null || { echo "arm64-check: there is no $need: install gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user" >&2; exit 1; }
done

arm64() { CC=aarch64-linux-gnu-gcc GOARCH=arm64 CGO_ENABLED=1 "$@"; }
emulate() { qemu-aarch64 -L "$root" -E LD_LIBRARY_PATH="$work/stub:$root/lib" "$@"; }

CGO_CFLAGS='-O2 -g -Werror' arm64 go build ./...
arm64 tools/build-stub.sh "$work"
tools/overlay.sh "$work/overlay.json"
arm64 go build -trimpath -overlay "$work/overlay.json" -buildmode=c-shared -o "$work/libproton.so" ./cmd/libproton
arm64 go test -c -o "$work/hotpath.test" ./internal/hotpath
(cd internal/hotpath && emulate "$work/hotpath.test" -test.short)

failed=0
for capture in testdata/captures/*.capture.gz; do
  name=$(basename "$capture" .capture.gz)
  gunzip -c "$capture" >"$work/capture"
  PROTON_RUN_CONFIG="{\"name\": \"$work/$name.arm64\", \"status\": \"$work\"}" PROTON_LIB=$work/libproton.so \
    PROTON_CUPTI_PATH=$work/stub/libcupti.so PROTON_STUB_CAPTURE=$work/capture emulate "$work/proton-replay" "$work/capture"
  build/proton run --backend replay --name "$work/$name" "$capture" 2>/dev/null
  for file in $name.arm64 $name; do
    build/proton viewer -m time/ns,count "$work/$file.hatchet" >"$work/$file.txt"
  done
  if cmp "$work/$name.arm64.txt" "$work/$name.txt"; then echo "same: $name, $(wc -l <"$work/$name.txt") lines"; else failed=1; fi
done
exit $failed
