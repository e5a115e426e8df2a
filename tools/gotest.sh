#!/usr/bin/env bash
# gotest.sh ARGS...: "go test -json" for gotestsum, which also says on descriptor 3 which package starts, and which of
# $TOTAL it is.
set -uo pipefail
started() {
  local n=0 package
  while IFS= read -r package; do
    n=$((n + 1))
    printf '[%*d/%d] %s\n' ${#TOTAL} "$n" "$TOTAL" "${package#github.com/goproton/goproton/}"
  done >&3
}
go test -json "$@" | tee >(sed -un 's/.*"Action":"start","Package":"\([^"]*\)".*/\1/p' | started)
