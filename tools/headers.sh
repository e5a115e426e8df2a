#!/usr/bin/env bash
# Prints a flag for CGO_CFLAGS that changes with every header. Go's cache does not see that a header of another folder has changed: a
# structure could have two layouts in one library.
cd "$(dirname "$0")/.." || exit
echo "-DGOPROTON_HEADERS=$(find . -name '*.h' -not -path './.*' -not -path './build/*' | LC_ALL=C sort | xargs cat | cksum | cut -d' ' -f1)"
