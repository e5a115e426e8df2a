#!/usr/bin/env bash
# fuzz.sh [SECONDS]: runs every fuzz target for an equal share of the time, by itself 600 s together. An input that fails
# is kept in its package's testdata/fuzz, where go test finds it from then on.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t targets < <(git grep -oE --untracked 'func Fuzz\w+\(f \*testing.F\)' -- '*_test.go' | sed -E 's/func (Fuzz\w+).*/\1/')
share=$((${1:-600} / ${#targets[@]} + 1))
code=0
for target in "${targets[@]}"; do
  folder=$(dirname "${target%%:*}") name=${target##*:}
  printf '%s %s, %d s\n' "$folder" "$name" "$share"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "${share}s" "./$folder" | tail -n 20 || code=1
done
exit $code
