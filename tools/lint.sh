#!/usr/bin/env bash
# Formatting, go vet, staticcheck and the C compilers' warnings, over everything that is committed or about to be. All
# of them run, whichever fails.
set -u
cd "$(dirname "$0")/.." || exit
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
bad=0

unformatted=$(git ls-files --cached --others --exclude-standard '*.go' | xargs -r ls 2>/dev/null | xargs -r gofmt -l) || bad=1
if [ -n "$unformatted" ]; then
  printf 'lint: run gofmt -w on:\n%s\n' "$unformatted" >&2
  bad=1
fi
go vet ./... || bad=1
# Run from its own version, not from go.mod: the tool's dependencies are not the product's.
go run "$staticcheck" ./... || bad=1
# A package that cgo has built before shows no warning again; an error it shows every time.
for cc in "${CC:-cc}" $(command -v clang || true); do
  CC=$cc CGO_ENABLED=1 CGO_CFLAGS='-O2 -g -Werror' go build ./... || bad=1
done
exit $bad
