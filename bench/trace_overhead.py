"""Overhead of tracing a launch with GoProton and with TritonParse, per launch and as ratios measured in alternation.

    python3 trace_overhead.py [--modes bare,floor,hook,trace,tritonparse] [--rounds 3] [--launches 2000] [--kinds 1] [--json F]

Each mode and round runs in its own process, and rounds alternate. A process first runs the launches bare, then in its mode,
so that a slow period of the machine or a slow process does not count as overhead. A number is the median over rounds of
(median pass - the same process's median bare pass) per launch, `+-` half the spread of the rounds. `floor` is a launch hook
that does nothing (a builtin), which is Triton's own cost of having one. `hook` is the launch hook of a profile, `trace` a
goproton trace alone, `hook+trace` both, `tritonparse` its launch tracing (`tritonparse-zstd` with compressed files). Each
pass ends with a wait for the GPU. With `--kinds K`, launches of `add` take turns with K numbers of elements, which are K launch
kinds; `first` is the first pass, which meets most of them for the first time. Needs an NVIDIA GPU, torch and triton.
"""
import argparse, json, os, statistics, subprocess, sys, tempfile, time


def workloads(kinds=1):
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

    sizes = [4096 + 16 * k for k in range(kinds)]  # multiples of 16, for which Triton has one specialisation

    def add(n):
        for k in range(n): add_kernel[(4,)](x, y, z, sizes[k % kinds], B=1024)

    def matmul(n):
        for _ in range(n):
            matmul_kernel[(2, 2)](a, b, c, 128, 128, 128, *a.stride(), *b.stride(), *c.stride(), BM=64, BN=64, BK=32)

    return {"add": add, "matmul": matmul}


def begin(mode, folder):
    """Starts the mode's profiler, and returns the function that ends it."""
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


def timed(work, launches, passes):
    """Seconds per launch of each kind of work: the median of its passes, and the first pass as "first NAME"."""
    import torch
    out = {}
    for name, f in work.items():
        f(50); torch.cuda.synchronize()
        times = []
        for _ in range(passes):
            start = time.perf_counter(); f(launches); torch.cuda.synchronize(); times.append((time.perf_counter() - start) / launches)
        out[name], out["first " + name] = statistics.median(times), times[0]
    return out


def worker(mode, launches, passes, kinds):
    from triton import knobs
    with tempfile.TemporaryDirectory() as folder:
        out = {"bare": timed(workloads(kinds), launches, passes)}
        end = begin(mode, folder)
        out["with"] = timed(workloads(kinds), launches // 4 if mode.startswith("tritonparse") else launches, passes)
        start = time.perf_counter(); end(); out["end"] = time.perf_counter() - start
        out["bytes"] = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder) if f.startswith("dedicated"))
        if knobs.runtime.launch_enter_hook is None: knobs.runtime.launch_enter_hook = None
    print(json.dumps(out), flush=True)
    os._exit(0)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--modes", default="floor,hook,trace,hook+trace,tritonparse,tritonparse-zstd")
    p.add_argument("--rounds", type=int, default=3); p.add_argument("--launches", type=int, default=2000)
    p.add_argument("--passes", type=int, default=5); p.add_argument("--kinds", type=int, default=1); p.add_argument("--json"); p.add_argument("--worker")
    a = p.parse_args()
    if a.worker: return worker(a.worker, a.launches, a.passes, a.kinds)
    modes, all_ = a.modes.split(","), {}
    for _ in range(a.rounds):
        for m in modes:
            done = subprocess.run([sys.executable, __file__, "--worker", m, "--launches", str(a.launches), "--passes", str(a.passes), "--kinds", str(a.kinds)], capture_output=True, text=True)
            if done.returncode or not done.stdout.strip(): print(m, "failed:", done.stderr[-2000:]); continue
            all_.setdefault(m, []).append(json.loads(done.stdout.strip().splitlines()[-1]))
    us = lambda m, phase, n: statistics.median(r[phase][n] for r in all_[m]) * 1e6
    costs = lambda m, n: [(r["with"][n] - r["bare"][n]) * 1e6 for r in all_[m]]
    print(f"{'mode':18}" + "".join(f"{n + ' bare us':>16}{'with':>9}{'added':>9}{'+-':>7}{'of tp':>8}" for n in ("add", "matmul")) + f"{'first add':>11}{'end s':>8}{'bytes':>10}")
    for m in [m for m in modes if m in all_]:
        row = f"{m:18}"
        for n in ("add", "matmul"):
            added = statistics.median(costs(m, n))
            peer = statistics.median(costs("tritonparse", n)) if "tritonparse" in all_ else float("nan")
            row += f"{us(m, 'bare', n):16.2f}{us(m, 'with', n):9.2f}{added:9.2f}{(max(costs(m, n)) - min(costs(m, n))) / 2:7.2f}{added / peer:8.3f}"
        print(row + f"{us(m, 'with', 'first add'):11.2f}{statistics.median(r['end'] for r in all_[m]):8.2f}{statistics.median(r['bytes'] for r in all_[m]):10.0f}")
    if a.json: json.dump(all_, open(a.json, "w"))


if __name__ == "__main__": main()
