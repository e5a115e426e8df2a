#!/usr/bin/env bash
# parts.sh MACHINE FOLDER: everything that a wheel has for x86_64 or aarch64, built to run with glibc 2.28 or newer:
#   proton             the command
#   goproton/          the package, with its libraries, programs and the stubs of replays
# The bytes depend neither on this machine's glibc nor on the path of the checkout.
set -eu
cd "$(dirname "$0")/../.."
machine=$1 out=$2
case $machine in
  x86_64) export GOARCH=amd64 ;;
  aarch64) export GOARCH=arm64 ;;
  *) echo "parts.sh: $machine is not x86_64 or aarch64" >&2; exit 2 ;;
esac
rm -rf "$out"
mkdir -p "$out/goproton"
package=$out/goproton
export GOOS=linux CC="$PWD/tools/packages/zigcc $machine-linux-gnu.2.28" GOFLAGS="-trimpath -buildvcs=false"
version=github.com/goproton/goproton/internal/version.Revision
link="-s -w -X $version=$(tools/revision.sh)"

CGO_ENABLED=0 go build -ldflags "$link" -o "$out/proton" ./cmd/proton
tools/overlay.sh "$out/overlay.json"
CGO_ENABLED=1 CGO_CFLAGS='-O2 -g0' go build -overlay "$out/overlay.json" -ldflags "$link" -buildmode=c-shared -o "$package/libproton.so" ./cmd/libproton
rm "$package/libproton.h"
$CC -std=gnu11 -O2 -g0 -fPIC -fvisibility=hidden -c -o "$out/preload.o" cmd/libproton/preload/preload.c # with -nostdlib zig has no headers
$CC -shared -nostdlib -s -o "$package/libproton-preload.so" "$out/preload.o"
$CC -std=c11 -O2 -s -o "$package/proton-probe" cmd/proton-probe/probe.c -ldl
CC=$CC STUB_CFLAGS='-g0 -s' tools/build-stub.sh "$package"
# Programs and libraries that only tests load.
rm -r "$package/stub/cupti-11" "$package/stub/cupti-12" "$package/stub/fake-program" "$package/stub/hip/fake-program" "$package/stub/hip/fake-training"

cp -R hooks/python/goproton/. hooks/python/bootstrap "$package"
find "$package" -name __pycache__ -prune -exec rm -rf {} +
