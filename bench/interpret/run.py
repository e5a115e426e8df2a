"""Times of six launches: Triton's interpreter (TRITON_INTERPRET=1), plain loops in Go, and this project's interpreter, one after another on one core:

    PYTHONPATH=.venv/oracles/triton-3.9.0:.venv/oracles/torch-2.15.0 LD_LIBRARY_PATH=.venv/oracles/torch-2.15.0/cuda .venv/bin/python bench/interpret/run.py

prints a table in Markdown, of milliseconds of the processor: other work of the machine does not count. The kernels are those of
interpreter/testdata/launches.py."""

import json
import os
import re
import runpy
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORE = "1" if (os.cpu_count() or 1) > 1 else "0"


def peer():
    import warnings

    warnings.filterwarnings("ignore")
    import torch

    torch.set_num_threads(1)
    kernels = runpy.run_path(ROOT + "/interpreter/testdata/launches.py", run_name="kernels")
    add = kernels["CORPUS"]["vector_add"]

    def floats(*shape):
        return torch.randn(shape)

    def halves(*shape):
        return torch.randn(shape).half()

    x, y, z = floats(1 << 20), floats(1 << 20), floats(1 << 20)
    s, a, b, c, n, w = floats(1823, 781), halves(512, 512), halves(512, 512), halves(512, 512), halves(1151, 8192), halves(8192)
    q, k, v, o = (halves(4, 512, 64) for _ in range(4))
    e, f = floats(8, 1024), floats(8, 1024)
    for name, run in {
        "add_1M": lambda: add[(1024,)](x, y, z, 1 << 20, B=1024),
        "softmax_1823x781": lambda: kernels["softmax_kernel"][(1823,)](s, torch.empty_like(s), 1823, 781, B=1024),
        "matmul_512_f16": lambda: kernels["matmul_kernel"][(8, 8)](a, b, c, 512, 512, 512, BM=64, BN=64, BK=32),
        "norm_1151x8192_f16": lambda: kernels["norm_kernel"][(1151,)](n, torch.empty_like(n), w, 8192, 1e-5, B=8192),
        "attention_4x512x64_f16": lambda: kernels["attention_kernel"][(8, 4)](q, k, v, o, 0.125, 512, D=64, BM=64, BN=32),
        "scan_8x1024": lambda: kernels["scan_kernel"][(8,)](e, f, torch.empty_like(e), 1024, B=1024),
    }.items():
        times = []
        for _ in range(3):
            before = time.process_time()
            run()
            times.append(1000 * (time.process_time() - before))
        print(json.dumps([name, sorted(times)[1]]), flush=True)


def main():
    if sys.argv[1:] == ["peer"]:
        return peer()
    pinned = ["taskset", "-c", CORE]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    slow = subprocess.run([*pinned, sys.executable, __file__, "peer"], env={**env, "TRITON_INTERPRET": "1"}, stdout=subprocess.PIPE, text=True, check=True).stdout
    slow = dict(json.loads(line) for line in slow.splitlines())
    go = {k: v for k, v in env.items() if k not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    out = subprocess.run([*pinned, "go", "test", "./interpreter", "-run", "xxx", "-bench", "Launch|Plain", "-benchtime", "1s"], cwd=ROOT, env=go, stdout=subprocess.PIPE, text=True, check=True).stdout
    fast = {(kind, name): float(ms) for kind, name, ms in re.findall(r"Benchmark(\w+)/(\w+?)(?:-\d+)?\s.* ([\d.]+) cpu-ms/op", out)}
    print("| launch | TRITON_INTERPRET, ms | plain loop in Go | `proton interpret` | faster than the first | times the second |\n|---|---|---|---|---|---|")
    for name, ms in slow.items():
        plain, ours = fast["Plain", name], fast["Launch", name]
        print(f"| {name.replace('_', ' ')} | {ms:,.0f} | {plain:.3g} | {ours:.3g} | {ms / ours:.0f}× | {ours / plain:.1f}× |")


main()
