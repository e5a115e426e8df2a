#!/usr/bin/env bash
# Counts the instructions of our callbacks per kernel launch, on the fake drivers, with valgrind's callgrind. Any machine can repeat
# these figures. Needs valgrind and "make build".
#
#   tools/count-instructions.sh [LAUNCHES]      per launch: ENTER and EXIT together; per sample of AMD's, on the library's thread
set -eu
cd "$(dirname "$0")/.."
n=${1:-20000}
build=$PWD/build
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

count() { # BACKEND CALLBACK PROGRAM LAUNCHES: instructions inside our callback
  # Go's preemption signals confuse callgrind. Each of three threads launches so many times.
  GODEBUG=asyncpreemptoff=1 CUDA_INJECTION64_PATH=$build/libproton.so PROTON_LIB=$build/libproton.so PROTON_CUPTI_PATH=$build/stub/libcupti.so \
    PROTON_RUN_CONFIG="{\"name\": \"$folder/out\", \"status\": \"$folder\", \"backend\": \"$1\", \"mode\": \"${MODE-}\", \"budget\": \"${BUDGET-}\"}" \
    valgrind --tool=callgrind --callgrind-out-file="$folder/callgrind" --toggle-collect="$2" "$build/stub/$3" "$4" 2>"$folder/log" ||
    { cat "$folder/log" >&2; exit 1; }
  sed -n 's/^==[0-9]*== Collected : //p' "$folder/log"
}

# The difference of two runs excludes everything that does not depend on the number of launches.
per_launch() { # BACKEND CALLBACK PROGRAM
  few=$(count "$@" "$n")
  many=$(count "$@" $((2 * n)))
  awk -v backend="$1" -v few="$few" -v many="$many" -v n="$((n * ${EACH:-1}))" -v what="${WHAT:-launch in our callback (ENTER and EXIT}" 'BEGIN {
    if (many <= few) { print "callgrind saw no callback of " backend ": is libproton.so built with symbols?"; exit 1 }
    printf "%s: %.1f instructions per %s, %d of them)\n", backend, (many - few) / (3 * n), what, 3 * n
  }'
}

per_launch cupti cupti_on_callback fake-program
# With a budget, calls are counted and some are read.
BUDGET=1% WHAT="launch in our callback with a budget (ENTER and EXIT" per_launch cupti cupti_on_metered_callback fake-program
# While counters are measured, launches that are not chosen are looked up; few of these are.
MODE=counters WHAT="launch in our callback with counters (ENTER and EXIT" per_launch cupti cupti_on_counted_callback fake-program
per_launch roctracer legacy_on_call hip/fake-program
TRITON_ROCPROFILER_SDK_LIB_PATH=$build/stub/hip per_launch rocprofiler "sdk_on_*" hip/fake-program # with the request for the id of the dispatch

# Ten samples of each launch, of three instructions.
export TRITON_ROCPROFILER_SDK_LIB_PATH=$build/stub/hip PROTON_STUB_SCRIPT="sampling stochastic; samples add 0x1600:3:5 0x1608:0:3 0x1610:2:2"
MODE=pcsampling EACH=10 WHAT="sample (on the library's thread" per_launch rocprofiler sdk_take_samples hip/fake-program
