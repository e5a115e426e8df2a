#!/usr/bin/env bash
# The one script for a machine with an NVIDIA GPU, torch and triton: correctness, then the overhead table.
#   tools/gpu-check.sh [OUTDIR]        all of it
#   CHECKS="a b" ROUNDS=0 tools/gpu-check.sh    some checks, no sampling, no overhead
#   SOAK=600 ROUNDS=0 tools/gpu-check.sh        with a long soak of sampling
# With TRITONPARSE=FOLDER, one with tritonparse and what it needs (pip install --target), traces and their cost are compared with its.
# Needs build/ (make build); Go itself is not needed. One check also wants build/abicheck.test:
#   go test -c -o build/abicheck.test ./cupti/abicheck
set -u
cd "$(dirname "$0")/.."
out=${1:-build/gpu-check}
mkdir -p "$out"
export PYTHONPATH="$PWD/build/python${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
failed=0

{ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  python3 -c 'import torch, triton, sys; print("python", sys.version.split()[0], "torch", torch.__version__, "triton", triton.__version__)'
  date -u +%F; } | tee "$out/machine.txt"

if [ -n "${CHECKS-all}" ]; then
  # shellcheck disable=SC2086 # a list of names
  python3 tools/gpu_check.py ${CHECKS-} 2>&1 | tee "$out/checks.txt"
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
fi
if [ "${CHECKS-all}" = all ]; then # instruction sampling; traces and the scripts that are made of them
  python3 tools/gpu_check_sampling.py 2>&1 | tee "$out/sampling.txt"
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
  python3 tools/gpu_check_trace.py 2>&1 | tee "$out/trace.txt"
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
  python3 tools/gpu_check_reproduce.py ${TRITONPARSE:+--tritonparse "$TRITONPARSE"} 2>&1 | tee "$out/reproduce.txt"
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
fi
if [ "${ROUNDS:-5}" -gt 0 ]; then
  # shellcheck disable=SC2086
  python3 bench/overhead.py ${MODULES-} --rounds "${ROUNDS:-5}" --json "$out/overhead.json" ${OVERHEAD_ARGS-} 2>&1 | tee "$out/overhead.txt"
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
  PYTHONPATH="$PYTHONPATH${TRITONPARSE:+:$TRITONPARSE}" python3 bench/trace_overhead.py --modes "floor,hook,trace,hook+trace${TRITONPARSE:+,tritonparse}" \
    --rounds "${ROUNDS:-5}" --json "$out/trace_overhead.json" 2>&1 | tee "$out/trace_overhead.txt"
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
fi
exit $failed
