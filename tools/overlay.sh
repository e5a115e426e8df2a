#!/usr/bin/env bash
# Writes FILE for "go build -overlay FILE": libproton.so is built with a Go runtime that owns no descriptors.
# cmd/libproton/_runtime gives the reason. If a new Go release needs more of these files, the build fails and names it.
set -eu
cd "$(dirname "$0")/.."
printf '{"Replace": {"%s/src/runtime/netpoll_epoll.go": "%s/cmd/libproton/_runtime/netpoll_epoll.go"}}\n' "$(go env GOROOT)" "$PWD" >"$1"
