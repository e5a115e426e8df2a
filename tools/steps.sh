# tools/test.sh and tools/check.sh source steps.sh: it has their common steps, and stores and summarises results. All steps
# run even if one fails, because a log from another machine may be the only source of information. The last lines name
# every failure with its output; $logs has all output.
set -uo pipefail
# Variables that a user set for profiling other programs would change what is tested.
unset "${!PROTON_@}" "${!TRITON_@}" CUDA_INJECTION64_PATH NO_COLOR PYTHONDONTWRITEBYTECODE
# All steps use the same flags, so that Go builds each package once. With -trimpath, clones elsewhere share the cache.
export CGO_ENABLED=1 GOFLAGS="${GOFLAGS-} -trimpath" CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} -Werror"
root=$PWD
FROM= # the step to begin with
declare -A others=() # the process of each step that meanwhile began
trap 'for p in "${others[@]}"; do kill -- "-$p"; done 2>/dev/null; exit 130' INT # without this, an interrupt is the failure of one step, and the next one starts

# begin FOLDER: stores the output of this run's steps in FOLDER, next to that of the run before if this one goes on from $FROM.
begin() {
  logs=$1 failed=() steps=0 took=
  if [ -z "$FROM" ]; then rm -rf "$logs"; fi
  mkdir -p "$logs" || exit
}

# step NAME COMMAND...: runs the command in its own shell, which ends at the first error. Its files are named $log.*
# A step that would begin after $BUDGET seconds is skipped, and so are the steps before the one that is named $FROM.
step() {
  local name=$1 began=$SECONDS code seconds
  shift
  if [ -n "$FROM" ] && [ "$name" != "$FROM" ]; then
    skip "$name: before $FROM"
    return
  fi
  FROM=
  if [ -n "${BUDGET-}" ] && [ "$SECONDS" -gt "$BUDGET" ]; then
    skip "$name: it would begin after $BUDGET s"
    return
  fi
  steps=$((steps + 1))
  printf '\n== %s\n' "$name"
  (set -e; log="$logs/$name"; "$@") 2>&1 | tee "$logs/$name.txt"
  code=${PIPESTATUS[0]} seconds=$((SECONDS - began))
  if [ -n "${others[$name]-}" ]; then read -r code seconds <"$logs/$name.ended"; fi
  if [ "$code" != 0 ]; then failed+=("$name"); fi
  printf '== %s took %d s\n' "$name" "$seconds"
  took+=$(printf '%5d  %s' "$seconds" "$name")$'\n'
}

# meanwhile NAME COMMAND...: begins a step that runs while the next ones do. "step NAME ended NAME" prints its output and has its result and seconds.
meanwhile() {
  local name=$1 began=$SECONDS
  shift
  : >"$logs/$name.output"
  set -m # in its own group of processes, for the trap above. Without a group, what runs in the background ignores interrupts
  (set +m; (set -e; log="$logs/$name"; "$@") >"$logs/$name.output" 2>&1 </dev/null; echo $? $((SECONDS - began)) >"$logs/$name.ended") &
  set +m
  others[$name]=$!
}
ended() { tail -n +1 -f --pid="${others[$1]}" "$logs/$1.output"; }
skip() { printf 'skipped: %s\n' "$*"; }

# install_tools: gotestsum, staticcheck, the server of TestSchemas and the reader of Parquet, with the versions of tools/go.mod.
install_tools() {
  CGO_ENABLED=0 GOBIN=$root/build/tools go -C tools install tool
  if [ -e build/.sums ]; then touch -r build/.sums build/tools/*; fi # as tools/build.sh does, and for its reason
}

# packages TEMPLATE: the packages for which the template prints something. Those that take longest come first, so that none of them is alone at the end.
packages() { go list -f "$1" ./cmd/proton ./tritonparse/reproduce ./viewer/report ./hooks ./profile/formats ./profiler ./interpreter ./tritonparse/parse ./...; }
tested='{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}'

# gotest ARGS... PACKAGES: prints a line when a package starts and one when it ends, each failure at once, and the
# slowest tests. Go's own limit of ten minutes for a package is short on a busy machine. tools/lint.sh has vetted everything, with more checks.
gotest() {
  exec 3>&1
  TOTAL=$(for p in "$@"; do case $p in -*) ;; *) echo; esac; done | wc -l) \
    build/tools/gotestsum --no-color --format pkgname-and-test-fails --format-hide-empty-pkg --jsonfile "$log.json" --raw-command -- \
    tools/gotest.sh -vet=off -timeout 1h "$@" || local code=$?
  printf '\nslowest:\n'
  build/tools/gotestsum tool slowest --num 10 --threshold 500ms --jsonfile "$log.json"
  return "${code-0}"
}

# pytests ARGS...: runs tests in parallel, because most of them wait for programs that they start.
pytests() {
  if ! .venv/bin/python -c 'import pytest, xdist' 2>/dev/null; then
    skip "Python tests: no pytest in .venv (tools/oracles.sh says why)"
    return
  fi
  # Hundreds of processes import these, and many of them write no bytecode.
  .venv/bin/python -m compileall -q -j 0 build/python hooks/python .venv/oracles/triton-* || true
  PYTHONPATH="$root/build/python" PROTON_LIB="$root/build/libproton.so" .venv/bin/python -m pytest -q -p no:cacheprovider -rfEs -o tmp_path_retention_policy=failed \
    -n $((2 * $(nproc))) --dist worksteal --durations=10 --durations-min=0.5 --junitxml="$log.xml" "$@" hooks/python/tests
}

# end: the closing lines, and the exit code of the run.
end() {
  if [ -n "$FROM" ]; then
    printf '\nno step is named %s\n' "$FROM"
    exit 2
  fi
  printf '\nskipped tests:\n'
  tools/skipped.py "$logs"
  printf '\nseconds of each step:\n%s' "$took"
  if [ ${#failed[@]} = 0 ]; then
    printf '\nall %d steps passed in %d s\n' "$steps" "$SECONDS"
    exit
  fi
  tools/failures.sh "$logs" "${failed[@]}"
  printf '\n%d of %d steps failed: %s (everything they printed is in %s)\n' ${#failed[@]} "$steps" "$(IFS=,; echo "${failed[*]}")" "$logs"
  exit 1
}
