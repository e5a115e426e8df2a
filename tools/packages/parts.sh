#!/usr/bin/env bash
# parts.sh MACHINE FOLDER: what a wheel has.
#   proton      the command
#   goproton/   the package, with its libraries, programs and the stubs of replays
#   goproton_pytest.py   the plugin of pytest
# For x86_64 and aarch64 it is built to run with glibc 2.28 or newer, and its bytes depend neither on this machine's glibc nor on the path of
# the checkout. For "here" it is what "make build" made: a quick wheel for tests on this machine.
set -eu
cd "$(dirname "$0")/../.."
machine=$1 out=$2
rm -rf "$out"
package=$out/goproton
mkdir -p "$package"

# The C compiler is zig's, see zigcc. Without -g0 the stubs' debug information would name paths, and without netgo the library would need
# libresolv, for names of hosts that it never looks up.
build() {
  local link="-s -w -X github.com/goproton/goproton/internal/version.Revision=$(tools/revision.sh)"
  export PATH=$PWD/tools/packages:$PATH GOOS=linux GOARCH=$architecture CC="zigcc $machine-linux-gnu.2.28" GOFLAGS="-trimpath -buildvcs=false"
  said "the command"
  CGO_ENABLED=0 go build -ldflags "$link" -o "$out/proton" ./cmd/proton
  said "the library"
  tools/overlay.sh "$out/overlay.json"
  CGO_ENABLED=1 CGO_CFLAGS="-O2 -g0 $(tools/headers.sh)" go build -tags netgo -overlay "$out/overlay.json" -ldflags "$link" -buildmode=c-shared -o "$package/libproton.so" ./cmd/libproton
  rm "$package/libproton.h"
  said "the programs next to it, and the fake driver of replays"
  $CC -std=gnu11 -O2 -g0 -fPIC -fvisibility=hidden -c -o "$out/preload.o" cmd/libproton/preload/preload.c # with -nostdlib zig has no headers
  $CC -shared -nostdlib -s -o "$package/libproton-preload.so" "$out/preload.o"
  $CC -std=c11 -O2 -g0 -s -o "$package/proton-probe" cmd/proton-probe/probe.c -ldl
  STUB_CFLAGS='-g0 -s' STUB_TESTS=no tools/build-stub.sh "$package"
}
said() { echo "wheel: building $* for $machine" >&2; }
case $machine in
  x86_64) architecture=amd64 && build ;;
  aarch64) architecture=arm64 && build ;;
  here)
    cp build/proton "$out"
    cp -R build/libproton.so build/libproton-preload.so build/proton-probe build/proton-replay build/stub "$package"
    strip --strip-debug "$package/libproton.so" # half of the wheel's limit of 15 MB would be debug information
    ;;
  *) echo "parts.sh: $machine is not x86_64, aarch64 or here" >&2; exit 2 ;;
esac
# Programs and libraries that only tests load.
rm -rf "$package/stub/cupti-11" "$package/stub/cupti-12" "$package/stub/fake-program" "$package/stub/hip/fake-program" "$package/stub/hip/fake-training"

cp -R hooks/python/goproton/. hooks/python/bootstrap "$package"
cp hooks/python/goproton_pytest.py "$out"
find "$package" \( -name __pycache__ -o -name '*.pyc' \) -prune -exec rm -rf {} + # Python 2, which says that it is too old, leaves the latter
