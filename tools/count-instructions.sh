#!/usr/bin/env bash
# Counts the instructions of our CUPTI callback per kernel launch, on the fake driver, with valgrind's callgrind. Any
# machine can repeat this figure. Needs valgrind and "make build".
#
#   tools/count-instructions.sh [LAUNCHES]      per launch: ENTER and EXIT together
set -eu
cd "$(dirname "$0")/.."
n=${1:-20000}
build=$PWD/build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count() { # LAUNCHES: instructions inside our callback
  # Go's preemption signals confuse callgrind. Each of three threads launches n times.
  GODEBUG=asyncpreemptoff=1 CUDA_INJECTION64_PATH=$build/libproton.so PROTON_LIB=$build/libproton.so \
    PROTON_CUPTI_PATH=$build/stub/libcupti.so PROTON_RUN_CONFIG="{\"name\": \"$work/out\", \"status\": \"$work\"}" \
    valgrind --tool=callgrind --callgrind-out-file="$work/callgrind" --toggle-collect=cupti_on_callback "$build/stub/fake-program" "$1" 2>"$work/log" ||
    { cat "$work/log" >&2; exit 1; }
  sed -n 's/^==[0-9]*== Collected : //p' "$work/log"
}

# The difference of two runs excludes everything that does not depend on the number of launches.
few=$(count "$n")
many=$(count $((2 * n)))
awk -v few="$few" -v many="$many" -v n="$n" 'BEGIN {
  if (many <= few) { print "callgrind saw no callback: is libproton.so built with symbols?"; exit 1 }
  printf "%.1f instructions per launch in our callback (ENTER and EXIT, %d launches)\n", (many - few) / (3 * n), 3 * n
}'
