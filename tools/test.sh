#!/usr/bin/env bash
# Every test that needs no GPU. A step that fails does not keep the others from running: whoever sees only the end of
# a log, from a machine that is not at hand, has to learn everything that is wrong there at once. The last lines name
# the steps and tests that failed, each with the end of its own output; build/test has all of it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# What somebody has set for profiling their own programs is not what is tested.
unset "${!PROTON_@}" "${!TRITON_@}" CUDA_INJECTION64_PATH NO_COLOR
export CGO_ENABLED=1
root=$PWD
logs=build/test
rm -rf "$logs" && mkdir -p "$logs" || exit

trap 'exit 130' INT # go test answers it with a failure, which would only be the next step's turn

steps=0
failed=()
# step NAME FUNCTION: in a shell of its own, which ends at the first error.
step() {
  steps=$((steps + 1))
  printf '\n== %s\n' "$1"
  (set -e; log="$logs/$1"; "$2") 2>&1 | tee "$logs/$1.txt"
  if [ "${PIPESTATUS[0]}" != 0 ]; then failed+=("$1"); fi
}
skip() { printf 'skipped: %s\n' "$*"; }
# Ten minutes for a package, which is what go allows by itself, are not much under the race detector where other jobs run.
gotest() { go test -timeout 1h -json "$@" 2>&1 | python3 tools/gotest.py "$log.jsonl"; }
# packages TEMPLATE: those that the template prints anything for.
packages() { go list -f "$1" ./...; }

plain() { gotest ./...; }

# The same tests where the race detector can see something: packages that have tests at all.
race() {
  tested=$(packages '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}')
  gotest -race -short $tested
}

# C of ours runs in these; the address sanitizer is what finds a Go slice allocated by capacity.
asan() {
  withC=$(packages '{{if and .CgoFiles (or .TestGoFiles .XTestGoFiles)}}{{.ImportPath}}{{end}}')
  if [ -z "$withC" ]; then
    skip "-asan: no package with C has tests"
  elif ! echo 'int main(void){return 0;}' | ${CC:-cc} -fsanitize=address -x c - -o build/asan-works 2>/dev/null; then
    skip "-asan: ${CC:-cc} has no address sanitizer (install libasan)"
  else
    # The C runtime of the host leaks by design at exit; leaks of ours are counted by the tests themselves.
    ASAN_OPTIONS=detect_leaks=0 gotest -asan -short $withC
  fi
}

demo() {
  tools/demo.sh >build/demo.txt 2>&1 || { cat build/demo.txt; exit 1; }
  head -n 12 build/demo.txt
}

pytests() {
  if [ ! -d hooks/python/tests ]; then
    skip "Python tests: there are none"
  elif ! .venv/bin/python -c 'import pytest' 2>/dev/null; then
    skip "Python tests: no pytest in .venv (tools/oracles.sh says why)"
  else
    PYTHONPATH="$root/build/python" PROTON_LIB="$root/build/libproton.so" \
      .venv/bin/python -m pytest -q -p no:cacheprovider -rs --junitxml="$log.xml" hooks/python/tests
  fi
}

step "lint" tools/lint.sh
step "go test" plain
step "go test -race" race
step "go test -asan" asan
step "demo" demo
step "pytest" pytests

[ ${#failed[@]} = 0 ] && exit
python3 tools/failures.py "$logs" "$steps" "${failed[@]}"
exit 1
