#!/usr/bin/env bash
# Every test that needs no GPU. Stops at the first step that fails, so the last lines are that step's own.
set -euo pipefail
cd "$(dirname "$0")/.."
# What somebody has set for profiling their own programs is not what is tested.
unset "${!PROTON_@}" "${!TRITON_@}" CUDA_INJECTION64_PATH NO_COLOR
export CGO_ENABLED=1
root=$PWD

step() { printf '\n== %s\n' "$*"; }
# Ten minutes for a package, which is what go allows by itself, are not much under the race detector where other jobs run.
gotest() { go test -timeout 1h -json "$@" | python3 tools/gotest.py; }
skip() { printf 'skipped: %s\n' "$*"; }

step "lint"
tools/lint.sh

step "go test"
gotest ./...

# The same tests where the race detector can see something: packages that have tests at all.
step "go test -race"
tested=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...)
gotest -race -short $tested

# C of ours runs in these; the address sanitizer is what finds a Go slice allocated by capacity.
step "go test -asan"
withC=$(go list -f '{{if and .CgoFiles (or .TestGoFiles .XTestGoFiles)}}{{.ImportPath}}{{end}}' ./...)
if [ -z "$withC" ]; then
  skip "-asan: no package with C has tests"
elif ! echo 'int main(void){return 0;}' | ${CC:-cc} -fsanitize=address -x c - -o "$root/build/asan-works" 2>/dev/null; then
  skip "-asan: ${CC:-cc} has no address sanitizer (install libasan)"
else
  # The C runtime of the host leaks by design at exit; leaks of ours are counted by the tests themselves.
  ASAN_OPTIONS=detect_leaks=0 gotest -asan -short $withC
fi

step "demo"
tools/demo.sh >build/demo.txt 2>&1 || { cat build/demo.txt; exit 1; }
head -n 12 build/demo.txt

step "pytest"
if [ ! -d hooks/python/tests ]; then
  skip "Python tests: there are none"
elif ! .venv/bin/python -c 'import pytest' 2>/dev/null; then
  skip "Python tests: no pytest in .venv (tools/oracles.sh says why)"
else
  PYTHONPATH="$root/build/python" PROTON_LIB="$root/build/libproton.so" \
    .venv/bin/python -m pytest -q -p no:cacheprovider -rs hooks/python/tests
fi
