#!/usr/bin/env bash
# Builds everything for arm64 without a warning. In an emulator it tests the hot path, replays every capture, and
# compares the trees with those of this machine. Needs "make build" and the Debian packages
# gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user.
#
# An emulator on x86 has x86's memory order, so errors that need ARM's weaker order are not found.
set -eu
cd "$(dirname "$0")/.."
root=${ARM64_ROOT:-/usr/aarch64-linux-gnu}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for need in aarch64-linux-gnu-gcc qemu-aarch64; do
  command -v $need >/dev/null || { echo "arm64-check: there is no $need: install gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user" >&2; exit 1; }
done

arm64() { CC=aarch64-linux-gnu-gcc GOARCH=arm64 CGO_ENABLED=1 "$@"; }
emulate() { qemu-aarch64 -L "$root" -E LD_LIBRARY_PATH="$folder/stub:$root/lib" "$@"; }

CGO_CFLAGS='-O2 -g -Werror' arm64 go build ./...
arm64 tools/build-stub.sh "$folder"
tools/overlay.sh "$folder/overlay.json"
arm64 go build -trimpath -overlay "$folder/overlay.json" -buildmode=c-shared -o "$folder/libproton.so" ./cmd/libproton
arm64 go test -c -o "$folder/hotpath.test" ./hotpath
(cd hotpath && emulate "$folder/hotpath.test" -test.short)

failed=0
for capture in testdata/captures/*.capture.gz; do
  name=$(basename "$capture" .capture.gz)
  gunzip -c "$capture" >"$folder/capture"
  backend=cupti parts=(PROTON_CUPTI_PATH="$folder/stub/libcupti.so")
  case $name in # ROCm has no arm64; the code is the same
  mi300x*) backend=rocprofiler parts=(PROTON_STUB_PLAYER="$folder/stub/hip/libamdhip64.so.6" PROTON_STUB_SDK=10201
    TRITON_ROCPROFILER_SDK_LIB_PATH="$folder/stub/hip" PROTON_ROOT="$folder/root") ;;
  esac
  (
    export "${parts[@]}" PROTON_LIB="$folder/libproton.so" PROTON_STUB_CAPTURE="$folder/capture"
    export PROTON_RUN_CONFIG="{\"name\": \"$folder/$name.arm64\", \"status\": \"$folder\", \"backend\": \"$backend\", \"replay\": \"$name\"}"
    emulate "$folder/proton-replay" "$folder/capture"
  )
  build/proton run --backend replay --name "$folder/$name" "$capture" 2>/dev/null
  for file in $name.arm64 $name; do
    build/proton viewer -m time/ns,count "$folder/$file.hatchet" >"$folder/$file.txt"
  done
  if cmp "$folder/$name.arm64.txt" "$folder/$name.txt"; then echo "same: $name, $(wc -l <"$folder/$name.txt") lines"; else failed=1; fi
done
exit $failed
