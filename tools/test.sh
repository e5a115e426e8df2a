#!/usr/bin/env bash
# make test: at least one test of every feature, and every comparison with other programs. make check has the long tests.
cd "$(dirname "$0")/.." || exit
. tools/steps.sh
begin build/test

demo() {
  tools/demo.sh >build/demo.txt 2>&1 || { cat build/demo.txt; exit 1; }
  head -n 12 build/demo.txt
}

# Downloads continue while everything is built. Python's tests run with Go's, because both wait for programs that they start.
meanwhile "fetch" tools/oracles.sh
step "build" tools/build.sh
step "tools" install_tools
step "lint" tools/lint.sh
step "fetch" ended "fetch"
meanwhile "pytest" pytests
step "go test" gotest $(packages "$tested")
step "pytest" ended "pytest"
step "demo" demo
end
