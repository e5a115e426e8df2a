#!/usr/bin/env bash
# fuzz.sh [SECONDS]        runs every fuzz target and the mutation fuzzer on all cores, by default 600 s together. An input
#                          that fails is stored in its package's testdata/fuzz, where go test finds it
# fuzz.sh build FOLDER     writes FOLDER/fuzz.tar.xz and FOLDER/run.sh, for a machine without Go: FOLDER/run.sh SECONDS JOBS
#
# Both build each package's tests into build/fuzz, next to copies of the files that they read, and run them by
# fuzz_run.py. The search continues from SEEDS, the folder found/cache of an earlier run.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=build/fuzz

# Each line is a target: folder and name of the fuzz function.
list() { git grep -oE --untracked 'func Fuzz\w+\(f \*testing.F\)' -- '*_test.go' | sed -E 's,(.*)/[^/]*:func (Fuzz\w+).*,\1 \2,' | sort; }

build() {
  rm -rf "$tree"
  mkdir -p "$tree"
  list >"$tree/targets"
  git ls-files -z -co --exclude-standard | grep -zE '(^|/)testdata/' | xargs -0 cp --parents -t "$tree"
  mkdir "$tree/build"
  cp -r build/libproton.so build/proton-replay build/stub "$tree/build/" # what FuzzReplay runs
  for folder in $(cut -d ' ' -f 1 "$tree/targets" | uniq); do
    go test -c -fuzz . -ldflags '-s -w' -o "$tree/$folder/fuzz.test" "./$folder"
  done
  go test -c -ldflags '-s -w' -o "$tree/cmd/proton/mutate.test" ./cmd/proton
  cp tools/fuzz_run.py "$tree/run.py"
  if [ -n "${SEEDS-}" ]; then mkdir -p "$tree/found" && cp -r "$SEEDS" "$tree/found/cache"; fi
}

if [ "${1-}" = build ]; then
  mkdir -p "$2"
  build
  # The binaries share most of their code: a dictionary that holds all of them makes the archive a sixth of their size.
  tar c -C "$tree" . | xz -T1 --lzma2=preset=2,dict=256MiB >"$2/fuzz.tar.xz"
  cat >"$2/run.sh" <<'RUN'
#!/usr/bin/env bash
# run.sh SECONDS JOBS: needs python3 and what it comes with. FOUND, a folder, gets what was found (./found).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
found=$(realpath -m "${FOUND:-$here/found}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$here/fuzz.tar.xz" "$folder"
python3 "$folder/run.py" --out "$found" "$1" "$2"
RUN
  chmod +x "$2/run.sh"
  ls -l "$2"
else
  build
  python3 tools/fuzz_run.py --keep . --out build/fuzz/found "${1:-600}" "$(nproc)"
fi
