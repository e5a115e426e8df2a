#!/usr/bin/env bash
# Formatting, go vet and staticcheck, over all tracked and new files. All of them run, even if one fails.
# Warnings of the C compiler are errors in tools/test.sh, which builds with -Werror.
set -u
cd "$(dirname "$0")/.." || exit
bad=0

unformatted=$(git ls-files --cached --others --exclude-standard '*.go' | xargs -r ls 2>/dev/null | xargs -r gofmt -l) || bad=1
if [ -n "$unformatted" ]; then
  printf 'lint: run gofmt -w on:\n%s\n' "$unformatted" >&2
  bad=1
fi
export CGO_CFLAGS="${CGO_CFLAGS:--O2 -g -Werror}"
go list -export ./... >/dev/null || bad=1 # compiles, also the C, and links nothing
go vet ./... || bad=1
# The tool is built in its own module, so that its dependencies are not the product's.
CGO_ENABLED=0 GOBIN=$PWD/build/tools go -C tools install honnef.co/go/tools/cmd/staticcheck || bad=1
# Next to Go's cache, also where HOME is a new folder: facts about the standard library are half of the work.
STATICCHECK_CACHE="${STATICCHECK_CACHE:-$(dirname "$(go env GOCACHE)")/staticcheck}" build/tools/staticcheck ./... || bad=1
exit $bad
