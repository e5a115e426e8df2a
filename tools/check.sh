#!/usr/bin/env bash
# make check: the tests that take too long for make test. FUZZ_SECONDS is the time of all fuzz targets together, and of the
# test that reads mutated files. In CI the fuzz targets do not run, because building them takes longer than the time left
# for them (make test runs their seeds).
# Steps that would begin after CHECK_SECONDS are skipped by name, because CI has its own time limit. CHECK_FROM is the name of the
# first step, to go on with a run that was interrupted.
cd "$(dirname "$0")/.." || exit
. tools/steps.sh
FROM=${CHECK_FROM-}
begin build/check
FUZZ_SECONDS=${FUZZ_SECONDS:-$([ -n "${CI-}" ] && echo 60 || echo 600)}
BUDGET=${CHECK_SECONDS:-$([ -n "${CI-}" ] && echo 600 || true)}
export GOPROTON_TESTS=all

warnings() { # of a compiler other than the one that builds
  if ! command -v clang >/dev/null; then skip "warnings of clang: there is no clang"; return; fi
  CC=clang go build ./...
}

# The race detector runs in packages with tests, and the address sanitizer in those with cgo. The sanitizer
# also finds errors in buffers that Go has allocated. Under the race detector tests go over as much as in make test: the
# step with all tests goes over the rest without it, ten times faster.
race() { GOPROTON_TESTS= gotest -race -short $(packages "$tested"); }
asan() {
  if ! echo 'int main(void){return 0;}' | ${CC:-cc} -fsanitize=address -x c - -o build/asan-works 2>/dev/null; then
    skip "-asan: ${CC:-cc} has no address sanitizer (install libasan)"
    return
  fi
  # The host's C runtime leaks by design at exit; the tests count the leaks of our code themselves.
  ASAN_OPTIONS=detect_leaks=0 gotest -asan -short $(packages '{{if and .CgoFiles (or .TestGoFiles .XTestGoFiles)}}{{.ImportPath}}{{end}}')
}
# The tests of recordings and replays run programs, which the build of the step before has without the sanitizer.
sanitized_replays() {
  if [ ! -x build/asan-works ]; then skip "recordings and replays with sanitizers: the step before says why"; return; fi
  tools/sanitize-replay.sh -test.short
}
# The commands that read profiles also run on other systems; the others report that they need Linux.
archives() {
  tools/packages/release.sh
  GOPROTON_RELEASE=$PWD/build/release pytests -k test_release
}
# Wheels for each machine, installed in every Python that is here and in roots of Debian, and built again.
wheels() {
  tools/packages/wheel.sh all
  GOPROTON_WHEELS=$PWD/build/wheels pytests -k test_wheel
  tools/packages/elsewhere.sh
  tools/packages/reproducible.sh
}
# Frames of PyTorch with the oldest and the newest torch that are known. Their wheels want CUDA's libraries, which are empty here.
torches() {
  local torch python
  for torch in "$root"/.venv/oracles/torch-*; do
    if [ ! -d "$torch/cuda" ]; then tools/empty_cuda.py "$torch" "$torch/cuda"; fi
    python=build/check/$(basename "$torch").python
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%q PYTHONPATH=$PYTHONPATH:%q exec %q "$@"\n' "$torch/cuda" "$torch" "$root/.venv/bin/python" >"$python"
    chmod +x "$python"
    TORCH_PYTHON=$root/$python pytests -k 'test_torch and not test_real_launchers'
  done
  pytests -k test_many_kernels # which PyTorch helps to interpret
}
arm64() {
  if ! command -v aarch64-linux-gnu-gcc qemu-aarch64 >/dev/null; then skip "arm64: tools/arm64-check.sh says what it needs"; return; fi
  tools/arm64-check.sh
}

step "oracles" tools/oracles.sh
step "ROCm" tools/rocm.sh
step "launchers" tools/launchers.sh
step "build" tools/build.sh
step "tools" install_tools
step "collector" tools/collector.sh
step "Prometheus" tools/prometheus.sh
step "go test -race" race
step "go test -asan" asan
step "recordings and replays with sanitizers" sanitized_replays
step "archives" archives
if [ -d .venv/oracles/zig-0.15.1 ]; then step "wheels" wheels; else skip "wheels: there is no zig (tools/oracles.sh says why)"; fi
step "files of others" tools/realworld.sh
step "process abuse" tools/abuse.sh
step "soak" tools/soak.sh 0.02
if [ -z "${CI-}" ]; then step "fuzz" tools/fuzz.sh "$FUZZ_SECONDS"; else skip "fuzz: in CI"; fi
step "mutated files" go test ./cmd/proton -run '^TestMutations$' -timeout 0 -v -mutate "${FUZZ_SECONDS}s" -mutate-memory 1024 -mutate-seed "$(date +%s)"
step "go test, all" gotest $(packages "$tested")
step "pytest, all" pytests
if [ -d .venv/oracles/torch-2.15.0 ]; then step "PyTorch" torches; else skip "PyTorch: there is no torch (tools/oracles.sh says why)"; fi
step "warnings" warnings
step "arm64" arm64
end
