#!/usr/bin/env bash
# Prints the commit of this source tree, b942568 or b942568.dirty; nothing where the tree is not its own repository, as one that was
# unpacked from an archive, even below another repository.
cd "$(dirname "$0")/.." || exit
[ -e .git ] && git describe --always --exclude '*' --dirty=.dirty 2>/dev/null || true
