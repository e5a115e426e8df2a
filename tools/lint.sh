#!/usr/bin/env bash
# Formatting, go vet and staticcheck, over everything that is committed or about to be.
set -eu
cd "$(dirname "$0")/.."
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2

unformatted=$(git ls-files --cached --others --exclude-standard '*.go' | xargs -r ls 2>/dev/null | xargs -r gofmt -l)
if [ -n "$unformatted" ]; then
  printf 'lint: run gofmt -w on:\n%s\n' "$unformatted" >&2
  exit 1
fi
go vet ./...
# Run from its own version, not from go.mod: the tool's dependencies are not the product's.
go run "$staticcheck" ./...
