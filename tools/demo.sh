#!/usr/bin/env bash
# Profiles the matmul tutorial and prints its tree. Without a GPU, torch or Triton it replays a recording of an H200.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
out=build/demo
mkdir -p "$out"

say() { printf '\n$ %s\n' "$*"; }

has_gpu() {
  [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || return 1
  "$python" -c 'import sys, importlib.util as u; sys.exit(not (u.find_spec("torch") and u.find_spec("triton")))' 2>/dev/null || return 1
  "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null
}

if has_gpu; then
  say build/proton run --name "$out/matmul" tutorials/matmul/matmul.py
  build/proton run --name "$out/matmul" tutorials/matmul/matmul.py
else
  capture=$(ls testdata/captures/matmul*.capture* 2>/dev/null | head -n 1 || true)
  if [ -z "$capture" ]; then
    echo "demo: no GPU with torch and Triton here, and testdata/captures has no recording of the matmul tutorial" >&2
    exit 1
  fi
  echo "No GPU with torch and Triton here: this is a replay of what an NVIDIA H200 did ($capture)."
  say build/proton run --backend replay --name "$out/matmul" "$capture"
  build/proton run --backend replay --name "$out/matmul" "$capture"
fi
say build/proton viewer -m util,flop/s,time "$out/matmul.hatchet"
build/proton viewer -m util,flop/s,time "$out/matmul.hatchet"
