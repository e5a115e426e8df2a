#!/usr/bin/env bash
# make test: at least one test of every feature, and every comparison with other programs. make check has the long tests.
cd "$(dirname "$0")/.." || exit
. tools/steps.sh
begin build/test

demo() {
  tools/demo.sh >build/demo.txt 2>&1 || { cat build/demo.txt; exit 1; }
  head -n 12 build/demo.txt
}
fetched() { wait_for_oracles; cat "$logs/fetch.txt"; }
wait_for_oracles() { while [ ! -e "$logs/fetched" ]; do sleep 0.2; done; }

# Downloads continue while everything is built.
(tools/oracles.sh >"$logs/fetch.txt" 2>&1; touch "$logs/fetched") &
step "build" tools/build.sh
step "tools" install_tools
step "lint" tools/lint.sh
step "fetch" fetched
step "pytest" pytests
step "go test" gotest $(packages "$tested")
step "demo" demo
end
