#!/usr/bin/env bash
# The one script for a machine with an NVIDIA GPU, torch, triton and pytest: correctness, then the overhead table.
#   tools/gpu-check.sh [OUTDIR]        all of it
#   CHECKS="a or b" ROUNDS=0 tools/gpu-check.sh    checks whose names contain a or b (pytest -k), no overhead
#   SOAK=600 ROUNDS=0 tools/gpu-check.sh        with a long soak of sampling
# With TRITONPARSE=FOLDER (pip install --target FOLDER tritonparse), traces and their cost are compared with tritonparse's.
# Needs build/ (make build) but not Go. One check also needs build/abicheck.test:
#   go test -c -o build/abicheck.test ./cupti
set -u
cd "$(dirname "$0")/.."
out=${1:-build/gpu-check}
mkdir -p "$out"
export PYTHONPATH="$PWD/build/python${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
failed=0

{ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  python3 -c 'import torch, triton, sys; print("python", sys.version.split()[0], "torch", torch.__version__, "triton", triton.__version__)'
  date -u +%F; } | tee "$out/machine.txt"

# With pytest-xdist, four checks run at a time; those that measure run alone on the GPU.
parallel=$(python3 -c 'import xdist' 2>/dev/null && echo "-n 4 --maxschedchunk=1")
# shellcheck disable=SC2086
python3 -m pytest -q $parallel ${CHECKS:+-k "$CHECKS"} --soak "${SOAK:-20}" ${TRITONPARSE:+--tritonparse "$TRITONPARSE"} ${BACKEND:+--backend "$BACKEND"} \
  hooks/python/gpu_tests 2>&1 | tee "$out/checks.txt"
[ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
if [ "${ROUNDS:-5}" -gt 0 ]; then
  # shellcheck disable=SC2086
  python3 bench/overhead.py ${MODULES-} --rounds "${ROUNDS:-5}" --json "$out/overhead.json" ${OVERHEAD_ARGS-} 2>&1 | tee "$out/overhead.txt"
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
  PYTHONPATH="$PYTHONPATH${TRITONPARSE:+:$TRITONPARSE}" python3 bench/trace_overhead.py --modes "floor,hook,trace,hook+trace${TRITONPARSE:+,tritonparse}" \
    --rounds "${ROUNDS:-5}" --json "$out/trace_overhead.json" 2>&1 | tee "$out/trace_overhead.txt"
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
fi
exit $failed
