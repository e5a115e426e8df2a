# make build       everything into build/
# make test        at least one test of every feature, in minutes; fetches what it compares with into .venv
# make check       what takes longer: everything in full, sanitizers, fuzzing, arm64
# make lint        formatting, go vet, staticcheck, warnings of the C compilers
# make demo        a profile and its tree; a replay of an H200 where there is no GPU
# make gpu-check   correctness and overhead on a machine with a GPU, torch and triton
# make arm64-check builds for arm64 and replays the captures in an emulator
# make wheel       a package for pip in build/wheels, for this machine or ARCH, with glibc 2.28 and newer; fetches the C compiler into .venv
# make wheels      the same for x86_64 and aarch64
# make help        these lines
# make release     archives of the viewer for Linux, macOS and Windows in build/release
.PHONY: all help build test check lint demo gpu-check arm64-check wheel wheels release oracles docs clean

all: build

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

build:
	tools/build.sh

test:
	tools/test.sh

check:
	tools/check.sh

lint:
	tools/lint.sh

demo: build
	tools/demo.sh

gpu-check: build
	tools/gpu-check.sh

arm64-check: build
	tools/arm64-check.sh

wheel:
	tools/packages/wheel.sh $(ARCH)

wheels:
	tools/packages/wheel.sh all

release:
	tools/packages/release.sh

oracles:
	tools/oracles.sh

# Rewrites docs/cli from the commands.
docs:
	go test ./cmd/proton -run '^(TestPages|TestViewerPageShowsWhatViewerPrints)$$' -update

clean:
	rm -rf build
