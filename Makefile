# make build       everything into build/
# make test        every test that needs no GPU; fetches what it compares with into .venv
# make lint        formatting, go vet, staticcheck
# make demo        a profile and its tree; a replay of an H200 where there is no GPU
# make gpu-check   correctness and overhead on a machine with a GPU, torch and triton
.PHONY: all build test lint demo gpu-check oracles docs clean

all: build

build:
	tools/build.sh

test: build oracles
	tools/test.sh

lint:
	tools/lint.sh

demo: build
	tools/demo.sh

gpu-check: build
	tools/gpu-check.sh

oracles:
	tools/oracles.sh

# Rewrites docs/cli from the commands.
docs:
	go test ./cmd/proton -run '^TestPages$$' -update

clean:
	rm -rf build
