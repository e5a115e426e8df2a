#!/usr/bin/env bash
# pin.sh [FILE...] rewrites the hashes in pip's requirement files (default: all in tools/pins). Change a version there,
# remove its hashes and run this script. The hashes are those of every wheel of that version, for any machine and Python.
# It needs uv: pip install uv.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- tools/pins/*.txt
wanted=$(mktemp)
trap 'rm -f "$wanted"' EXIT
for file in "$@"; do
  sed -n 's/^\([A-Za-z0-9._-]*==[^ \\]*\).*/\1/p' "$file" >"$wanted"
  text=$(grep '^#' "$file" || true; uv pip compile --quiet --no-deps --no-annotate --no-header --generate-hashes --only-binary :all: \
    --python-version "${PYTHON_VERSION:-3.11}" --universal "$wanted")
  printf '%s\n' "$text" >"$file"
  echo "$file: $(grep -c -- --hash "$file") hashes"
done
