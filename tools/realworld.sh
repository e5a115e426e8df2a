#!/usr/bin/env bash
# realworld.sh [--strict] [--quick] [FOLDER…]: runs every command that reads profiles over every file of folders, and compares with sums that Python,
# Perfetto's trace_processor and go tool pprof make (tools/realworld). One line for each file; the exit code is 1 if anything differs.
# Without folders it takes files that are there without asking anyone: timelines in the dialect of each writer (profile/formats), what
# tools/oracles.sh fetched of others' traces, the profiles in Go's own sources and in pprof's, and those of this repository. Then a
# profile that is refused is a failure too, which --strict asks for. The variable REALWORLD names folders, separated by colons, that are examined
# in addition, with --quick: files that were fetched by hand.
set -eu
cd "$(dirname "$0")/.."
made=build/realworld python=$PWD/.venv/bin/python
[ -x "$python" ] || python=python3
if [ $# = 0 ]; then
  rm -rf $made && mkdir -p $made/dialects $made/pprof
  GOPROTON_DIALECTS=$PWD/$made/dialects go test ./profile/formats -run '^TestWriteDialects$' -count 1 >/dev/null
  gzip $made/dialects/*-1.* && zstd -q --rm $made/dialects/*-2.*
  find "$(go env GOROOT)/src/cmd/compile" "$(go list -m -f '{{.Dir}}' github.com/google/pprof)" \( -name '*.pprof' -o -name '*.pgo' -o -name '*.cpu' \) \
    -exec cp --backup=numbered -t $made/pprof {} +
  set -- --strict $made tritonparse/testdata testdata/traces profile/hatchet/testdata
  for traces in .venv/oracles/traces-*; do [ ! -d "$traces" ] || set -- "$@" "$traces"; done
fi
# Folders of other files, as in PATH. Damaged files are usual there, and refusing one fails nothing.
if [ -n "${REALWORLD-}" ]; then
  IFS=: read -ra more <<<"$REALWORLD"
  for folder in "${more[@]}"; do [ -d "$folder" ] || { echo "realworld.sh: REALWORLD names $folder, which is not a folder" >&2; exit 2; }; done
  "$python" tools/realworld/exam.py --quick "${more[@]}" && others=0 || others=$?
fi
"$python" tools/realworld/exam.py "$@" && ours=0 || ours=$?
exit $((ours > ${others-0} ? ours : ${others-0}))
