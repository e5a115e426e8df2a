#!/usr/bin/env bash
# The tests of recordings and replays under the address and undefined-behaviour sanitizers: they run the built programs, which
# "go test -asan" leaves as they are. This builds them with the sanitizers, into build/sanitized.
set -eu
cd "$(dirname "$0")/.."
tree=build/sanitized
here=replay
sanitizers=(-fsanitize=address,undefined -fno-sanitize-recover=undefined)
mkdir -p "$tree/$here" "$tree/build"
ln -sfn "$PWD/testdata" "$tree/testdata"
ln -sfn "$PWD/$here/testdata" "$tree/$here/testdata"
ln -sfn "$PWD/go.mod" "$tree/go.mod"
STUB_CFLAGS="${sanitizers[*]}" tools/build-stub.sh "$tree/build"
tools/overlay.sh "$tree/overlay.json"
CGO_CFLAGS="-O1 -g ${sanitizers[*]}" CGO_LDFLAGS="${sanitizers[*]}" go build -trimpath -asan -overlay "$tree/overlay.json" -buildmode=c-shared \
  -o "$tree/build/libproton.so" ./cmd/libproton
go test -c -o "$tree/$here/replay.test" "./$here"
cd "$tree/$here"
# The memory of captures and of the profiler lives until the process ends.
ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 ./replay.test "$@"
