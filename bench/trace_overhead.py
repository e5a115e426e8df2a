"""What tracing launches costs the program, this package beside TritonParse, per launch and as ratios taken side by side.

    python3 trace_overhead.py [--modes bare,floor,hook,trace,tritonparse] [--rounds 3] [--launches 2000] [--json F]

Each mode and round runs in a process of its own, rounds alternate. A number is the median over rounds of (median pass - the
bare median) per launch. `floor` is a hook of Triton's that does nothing (a builtin): what Triton itself charges for having one.
`hook` is the launch hook of a profile, `trace` a goproton trace alone, `hook+trace` both, `tritonparse` its launch tracing
(`tritonparse-zstd` with compressed files). After each pass the GPU is waited for. Needs an NVIDIA GPU, torch and triton.
"""
import argparse, json, os, statistics, subprocess, sys, tempfile, time


def workloads():
    import torch, triton, triton.language as tl

    @triton.jit
    def add_kernel(x, y, z, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        m = i < n
        tl.store(z + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)

    @triton.jit
    def matmul_kernel(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
        pm, pn = tl.program_id(0), tl.program_id(1)
        rm, rn, rk = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            x = tl.load(a + rm[:, None] * sam + (k + rk)[None, :] * sak)
            y = tl.load(b + (k + rk)[:, None] * sbk + rn[None, :] * sbn)
            acc = tl.dot(x, y, acc)
        tl.store(c + rm[:, None] * scm + rn[None, :] * scn, acc.to(tl.float16))

    for kernel in (add_kernel, matmul_kernel): kernel.fn.__globals__["tl"] = tl
    x, y = torch.randn(4096, device="cuda"), torch.randn(4096, device="cuda"); z = torch.empty_like(x)
    a = torch.randn(128, 128, device="cuda", dtype=torch.float16); b = torch.randn_like(a); c = torch.empty_like(a)

    def add(n):
        for _ in range(n): add_kernel[(4,)](x, y, z, 4096, B=1024)

    def matmul(n):
        for _ in range(n):
            matmul_kernel[(2, 2)](a, b, c, 128, 128, 128, *a.stride(), *b.stride(), *c.stride(), BM=64, BN=64, BK=32)

    return {"add": add, "matmul": matmul}


def begin(mode, folder):
    """Starts what the mode is about, and returns what ends it."""
    if mode == "bare": return lambda: None
    if mode == "floor":
        from triton import knobs
        knobs.runtime.launch_enter_hook.add(id); return lambda: None
    if mode.startswith("tritonparse"):
        os.environ["TRITON_TRACE_COMPRESSION"] = "zstd" if mode.endswith("zstd") else "none"
        import tritonparse.structured_logging as s
        s.init(folder, enable_trace_launch=True); return s.clear_logging_config
    ends = []
    if "hook" in mode:
        import goproton
        goproton.start(os.path.join(folder, "profile"), hook="triton"); ends.append(goproton.finalize)
    if "trace" in mode:
        from goproton import trace
        trace.init(folder); ends.append(trace.finalize)
    return lambda: [end() for end in ends]


def worker(mode, launches, passes):
    import torch
    from triton import knobs
    work = workloads()
    slow = mode.startswith("tritonparse")
    with tempfile.TemporaryDirectory() as folder:
        end = begin(mode, folder)
        out = {}
        for name, f in work.items():
            n = launches // 4 if slow else launches
            f(50); torch.cuda.synchronize()
            times = []
            for _ in range(passes):
                start = time.perf_counter(); f(n); torch.cuda.synchronize(); times.append((time.perf_counter() - start) / n)
            out[name] = statistics.median(times)
        start = time.perf_counter(); end(); out["end"] = time.perf_counter() - start
        out["bytes"] = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder) if f.startswith("dedicated"))
        if knobs.runtime.launch_enter_hook is None: knobs.runtime.launch_enter_hook = None
    print(json.dumps(out), flush=True)
    os._exit(0)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--modes", default="bare,floor,hook,trace,hook+trace,tritonparse,tritonparse-zstd")
    p.add_argument("--rounds", type=int, default=3); p.add_argument("--launches", type=int, default=2000)
    p.add_argument("--passes", type=int, default=5); p.add_argument("--json"); p.add_argument("--worker")
    a = p.parse_args()
    if a.worker: return worker(a.worker, a.launches, a.passes)
    modes, all_ = a.modes.split(","), {}
    for _ in range(a.rounds):
        for m in modes:
            done = subprocess.run([sys.executable, __file__, "--worker", m, "--launches", str(a.launches), "--passes", str(a.passes)], capture_output=True, text=True)
            if done.returncode or not done.stdout.strip(): print(m, "failed:", done.stderr[-2000:]); continue
            for name, v in json.loads(done.stdout.strip().splitlines()[-1]).items(): all_.setdefault(m, {}).setdefault(name, []).append(v)
    us = lambda m, n: statistics.median(all_[m][n]) * 1e6
    spread = lambda m, n: (max(all_[m][n]) - min(all_[m][n])) / 2 * 1e6
    print(f"{'mode':18}" + "".join(f"{n + ' us/launch':>18}{'+-':>7}{'added':>9}{'of tp':>8}" for n in ("add", "matmul")) + f"{'end s':>8}{'bytes':>10}")
    for m in [m for m in modes if m in all_]:
        row = f"{m:18}"
        for n in ("add", "matmul"):
            added = us(m, n) - us("bare", n)
            peer = us("tritonparse", n) - us("bare", n) if "tritonparse" in all_ else float("nan")
            row += f"{us(m, n):18.2f}{spread(m, n):7.2f}{added:9.2f}{added / peer:8.3f}"
        print(row + f"{statistics.median(all_[m]['end']):8.2f}{statistics.median(all_[m]['bytes']):10.0f}")
    if a.json: json.dump(all_, open(a.json, "w"))


if __name__ == "__main__": main()
