#!/usr/bin/env bash
# Runs every tutorial on a machine with a GPU, torch and Triton, and views its profile:
#
#   tutorials/run_all.sh OUTDIR [NAME…]
#
# NAME… selects tutorials. The script writes machine.txt to OUTDIR, and for each tutorial NAME.txt (the commands and their
# output) and its profiles. tutorials/fill.py OUTDIR then copies the outputs to the README files. A tutorial that fails
# writes NAME.failed.txt instead; the others still run, and the exit code is 1.
#
# PROTON is the proton command (default: build/proton), PYTHON the interpreter. A tutorial is skipped with a message if the
# machine lacks a part: nvcc for cpp; Go and a prebuilt build/tutorial-go for go.
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
[ $# -ge 1 ] || { echo "usage: tutorials/run_all.sh OUTDIR [NAME…]" >&2; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 1
shift
only=" $* "

PROTON=$(realpath "${PROTON:-$root/build/proton}")
export PYTHON=${PYTHON:-python3}
[ -x "$PROTON" ] || { echo "run_all: there is no $PROTON: run make build, or set PROTON" >&2; exit 1; }
parts=$(dirname "$PROTON")
PATH=$PATH:/usr/local/cuda/bin # the usual place of nvcc
status=0

# The commands in the README files.
proton() { "$PROTON" "$@"; }
python() { PYTHONPATH="$parts/python${PYTHONPATH:+:$PYTHONPATH}" PROTON_LIB="${PROTON_LIB:-$parts/libproton.so}" "$PYTHON" "$@"; }

# step COMMAND ARGS… prints a command as a user types it, then runs it.
step() {
  local word line='$'
  for word in "$@"; do
    case $word in *[!A-Za-z0-9_./=,%:+-]*) word="'$word'" ;; esac
    line+=" $word"
  done
  printf '%s\n' "$line"
  "$@" 2>&1 || { local rc=$?; echo "exit code $rc"; return $rc; }
  echo
}

# tutorial NAME runs the function steps_NAME in a copy of the tutorial's folder.
tutorial() {
  local name=$1
  case $only in "  " | *" $name "*) ;; *) return ;; esac
  echo "== $name" >&2
  rm -rf "${out:?}/$name" "$out/$name.txt" "$out/$name.failed.txt"
  cp -R "$here/$name" "$out/$name"
  if (cd "$out/$name" && "steps_$name") >"$out/$name.part"; then
    mv "$out/$name.part" "$out/$name.txt"
  else
    mv "$out/$name.part" "$out/$name.failed.txt"
    tail -n 20 "$out/$name.failed.txt" >&2
    status=1
  fi
  find "$out/$name" \( -name '*.hatchet' -o -name '*.chrome_trace' \) -exec mv {} "$out/" \;
  rm -rf "${out:?}/$name"
}

skip() { echo "== $1: skipped: $2" >&2; }

steps_vecadd() {
  step python vecadd.py &&
    step proton viewer -m time,byte/s vecadd.hatchet &&
    step proton viewer -m cpu_time -d 2 vecadd.hatchet &&
    step proton viewer -m avg_time,count -i add_kernel vecadd.hatchet
}

steps_matmul() {
  step proton run matmul.py &&
    step proton viewer matmul.hatchet &&
    step proton viewer -m util,flop/s,bound -i matmul_4096_4096_4096 matmul.hatchet &&
    step proton viewer -m util,flop/s,time -e '<autotune>|inputs' matmul.hatchet &&
    step proton run --mode pcsampling -n sampled matmul.py &&
    step proton viewer -m num_samples,num_stalled_samples -i ".*matmul.*" -t 1000 sampled.hatchet &&
    step proton viewer --source sampled.hatchet
}

steps_trace() {
  cp "$here/matmul/matmul.py" .
  step proton run --mode pcsampling --trace traces -n traced matmul.py &&
    step proton viewer --trace traces --launches -m time,count -i matmul_4096 -e '<autotune>|cublas' traced.hatchet &&
    step proton viewer --trace traces --source matmul_kernel -e '<autotune>' traced.hatchet &&
    step proton reproduce traces --slowest --profile traced.hatchet -e '<autotune>' --out-dir repro --benchmark --run
}

steps_dynamic_net() {
  step proton run -c shadow -n dynamic_net.shadow dynamic_net.py &&
    step proton viewer -m time/ms,count -t 0.3 dynamic_net.shadow.hatchet &&
    step proton run -c python -n dynamic_net.python dynamic_net.py &&
    step proton viewer -m time/ms,count -t 0.3 dynamic_net.python.hatchet &&
    step proton viewer -m time/ms,count -d 2 dynamic_net.python.hatchet
}

steps_cuda_graph() {
  step proton run cuda_graph.py &&
    step proton viewer -m time,count -e inputs cuda_graph.hatchet &&
    step proton run --graph graph -n cuda_graph.whole cuda_graph.py &&
    step proton viewer -m time,count -e inputs cuda_graph.whole.hatchet
}

steps_overlap() {
  step proton run --data timeline overlap.py &&
    step proton viewer -m time/ms,count overlap.chrome_trace &&
    step proton run --activities memcpy,sync -n overlap.tree overlap.py &&
    step proton viewer -m time/ms,gbyte/s,count overlap.tree.hatchet
}

steps_inside() {
  step proton run --inside attention attention.py &&
    step proton viewer -m normalized_cycles attention.hatchet &&
    step proton viewer --inside attention attention.hatchet &&
    step proton run --mode pcsampling -n sampled attention.py &&
    step proton viewer --inside attention --samples sampled.hatchet --source --width 130 attention.hatchet
}

steps_counters() {
  step proton run -m counters:set=roofline+memory three.py &&
    step proton viewer -m util,declared_util,bound,flop/s,dram_bytes,traffic_ratio,time -i 'scale|transpose|matmul|nvjet' three.hatchet &&
    step proton viewer -m sectors_per_load,load_efficiency,l1_hit,l2_hit,l2_bytes,time -i 'scale|transpose' three.hatchet &&
    step proton run -m 'counters:set=compute:kernels=matmul,nvjet*' -n compute three.py &&
    step proton viewer -m tensor_pipe,issue_active,achieved_occupancy,occupancy_limit,limited_by,measured,time -i 'matmul|nvjet' compute.hatchet &&
    step proton run -m pcsampling -n sampled three.py &&
    step proton viewer --source=transpose sampled.hatchet &&
    step proton merge three.hatchet sampled.hatchet -o both.hatchet &&
    step proton explain both.hatchet
}

# It needs no GPU, and TestReplaysOnPages keeps its page.
steps_amd() {
  step proton run --mode pcsampling -n mi300x --backend replay ../../testdata/captures/mi300x_synthetic.capture.gz &&
    step proton viewer -m time,count mi300x.hatchet &&
    step proton viewer -m util,tflop/s,tbyte/s,bound mi300x.hatchet &&
    step proton viewer --source --source-path ../../testdata/captures/mi300x mi300x.hatchet &&
    step proton viewer --source softmax --source-path ../../testdata/captures/mi300x mi300x.hatchet &&
    step proton pprof -top mi300x.hatchet &&
    step proton run --data timeline -n mi300x --backend replay ../../testdata/captures/mi300x_synthetic.capture.gz &&
    step proton viewer -m time,count --top 5 mi300x.chrome_trace
}

# It needs no GPU either; the notebook itself is run by the tests.
steps_notebook() {
  step proton run -n matmul --backend replay ../../testdata/captures/matmul.capture.gz &&
    step proton viewer -m time/ms,util --top 3 matmul.hatchet
}

# It needs no GPU, and a test of the Python package keeps its page.
steps_debug() {
  step proton interpret add.py &&
    step proton interpret --print 'add.py:20 offsets[3, :]' --programs 6,5,0 add.py &&
    step proton interpret stop.py <commands.txt
}

# It needs no GPU, and TestAlwaysOn keeps its page.
steps_always_on() {
  step python always_on.py --without prometheus,collector
}

steps_cpp() {
  step make &&
    step proton run ./heat &&
    step proton viewer -m time,avg_time,count heat.hatchet
}

steps_go() {
  if [ -x "$root/build/tutorial-go" ]; then
    cp "$root/build/tutorial-go" tutorial-go
  else
    (cd "$here/go" && CGO_ENABLED=1 go build -o "$out/go/tutorial-go" .) || return
  fi
  step ./tutorial-go &&
    step proton viewer -m time,byte/s,count go.hatchet
}

# value COMMAND… is the first line that a command prints, or "none".
value() { local line; line=$("$@" 2>/dev/null | head -n 1); echo "${line:-none}"; }
module_version() { value "$PYTHON" -c "import $1; print($1.__version__)"; }

{
  echo "GPU: $(value nvidia-smi --query-gpu=name --format=csv,noheader)"
  echo "driver: $(value nvidia-smi --query-gpu=driver_version --format=csv,noheader)"
  echo "Python: $(value "$PYTHON" -c 'import platform; print(platform.python_version())')"
  echo "torch: $(module_version torch)"
  echo "Triton: $(module_version triton)"
  echo "nvcc: $(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p' | grep . || echo none)"
  echo "GoProton: $(value "$PROTON" --version | sed 's/^proton version //')"
  echo "date: $(date -u +%Y-%m-%d)"
} >"$out/machine.txt"
cat "$out/machine.txt" >&2

tutorial vecadd
tutorial matmul
tutorial trace
tutorial dynamic_net
tutorial cuda_graph
tutorial overlap
tutorial inside
tutorial counters
for name in amd debug notebook always_on; do
  if [ -e "$out/../testdata/captures" ]; then tutorial $name; else skip $name "OUTDIR is not in the root of the repository, whose capture it plays"; fi
done
if command -v nvcc >/dev/null; then tutorial cpp; else skip cpp "there is no nvcc in PATH"; fi
if [ -x "$root/build/tutorial-go" ] || command -v go >/dev/null; then
  tutorial go
else
  skip go "there is neither Go nor build/tutorial-go: build it with CGO_ENABLED=1 go build -o build/tutorial-go ./tutorials/go"
fi
exit $status
