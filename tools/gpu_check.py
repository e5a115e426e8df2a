"""Correctness on a real GPU: kernel counts and times per call path against torch.profiler, and the corners
that only hardware shows. Run by tools/gpu-check.sh with build/python on PYTHONPATH; prints one line a check.

    python3 tools/gpu_check.py [NAME ...]
"""
import gc, json, os, subprocess, sys, tempfile, threading, time

import torch
import triton
import triton.language as tl

import goproton as proton
from gpu_runner import Checks
from gpu_tree import walk

TMP = tempfile.mkdtemp(prefix="gpu-check-")
MEASURE = {
    "scope_cost", "deactivated_costs_nothing", "launch_latency_tail", "device_tensor_metrics_do_not_synchronise",
    "million_launches_flat_memory", "counts_and_times_match_torch_profiler", "trace_clocks_and_arrows",
    "trace_million_launches_flat_memory", "trace_and_stats_overhead",
}
check = Checks(__file__, patience=150, together=4, alone=MEASURE)


def metadata(grid, meta, args):
    return {"name": f"add_{args['n']}", "flops32": args["n"], "bytes": 12 * args["n"], "shoes": 2}


@triton.jit(launch_metadata=metadata)
def add_kernel(x, y, z, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(z + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


x, y = torch.randn(4096, device="cuda"), torch.randn(4096, device="cuda")
z = torch.empty_like(x)
a = torch.randn(2048, 2048, device="cuda", dtype=torch.float16)
big = torch.randn(1 << 25, device="cuda")
big_out = torch.empty_like(big)


def add():
    add_kernel[(4,)](x, y, z, 4096, B=1024)


def profiled(body, **kw):
    """Runs body in a session and returns the parsed .hatchet: (root, devices)."""
    name = os.path.join(TMP, f"p{len(os.listdir(TMP))}")
    proton.start(name, **kw)
    body()
    proton.finalize()
    with open(name + ".hatchet") as f:
        return json.load(f)


def table(tree, metric="count"):
    return {"/".join(p[1:]): m[metric] for p, m in walk(tree[0]) if metric in m and len(p) > 1}


def total(tree, metric="count"):
    return sum(table(tree, metric).values())


def equal(got, want, what=""):
    assert got == want, f"{what}: got {got}, want {want}"


def kineto(body):
    """Kernel counts and total times (ns) by name, from torch.profiler."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        body()
        torch.cuda.synchronize()
    out = {}
    for e in p.events():
        if e.device_type == torch.autograd.DeviceType.CUDA and not e.name.startswith(("Memcpy", "Memset")):
            n, t = out.get(e.name, (0, 0))
            out[e.name] = (n + 1, t + e.time_range.elapsed_us() * 1000)
    return out


def demangled(name):
    if not name.startswith("_Z"):
        return name
    return subprocess.run(["c++filt", name], capture_output=True, text=True).stdout.strip()


# ---- the main comparison ----

STEPS = {
    "mm": lambda: [torch.mm(a, a) for _ in range(20)],
    "stream": lambda: [torch.add(big, 1.0, out=big_out) for _ in range(20)],
    "triton": lambda: [add() for _ in range(50)],
    "mixed": lambda: [(add(), torch.mul(x, y, out=z), torch.softmax(x, 0)) for _ in range(25)],
}


@check
def counts_and_times_match_torch_profiler():
    for f in STEPS.values():
        f()
    torch.cuda.synchronize()

    def body():
        for name, f in STEPS.items():
            with proton.scope(name):
                f()
    tree = profiled(body)
    worst = 0
    for name, f in STEPS.items():
        want = kineto(f)
        child = next(c for c in tree[0]["children"] if c["frame"]["name"] == name)
        got = {demangled(c["frame"]["name"]): (c["metrics"]["count"], c["metrics"]["time (ns)"]) for c in child["children"]}
        equal(sorted((k[:60], v[0]) for k, v in got.items()), sorted((k[:60], v[0]) for k, v in want.items()), name)
        g, w = sum(v[1] for v in got.values()), sum(v[1] for v in want.values())
        worst = max(worst, abs(g / w - 1)) if name in ("mm", "stream") else worst
        print(f"    {name}: ours {g} ns, torch.profiler {w:.0f} ns, ratio {g / w:.4f}")
    assert worst < 0.01, f"GPU-bound times differ by {worst:.2%}"


@check
def scopes_threads_and_streams():
    def worker(k):
        with proton.scope(f"t{k}"):
            s = torch.cuda.Stream()
            with torch.cuda.stream(s):
                for _ in range(100):
                    torch.mul(x, y)

    def body():
        ts = [threading.Thread(target=worker, args=(k,)) for k in range(8)]
        [t.start() for t in ts]
        [t.join() for t in ts]
    tree = profiled(body)
    equal(sorted((p.split("/")[0], n) for p, n in table(tree).items()), [(f"t{k}", 100) for k in range(8)])


@check
def autograd_threads():
    def body():
        with proton.scope("ones1"):
            a1 = torch.ones((100, 100), device="cuda", requires_grad=True)
        with proton.scope("plus"):
            a2 = a1 * a1 * a1
        with proton.scope("ones2"):
            loss = torch.ones_like(a2)
        with proton.scope("backward"):
            a2.backward(loss)
    for _ in range(2):  # the second session meets threads that exist already
        tree = profiled(body)
        equal([c["frame"]["name"] for c in tree[0]["children"]], ["ones1", "plus", "ones2", "backward"])


@check
def launch_hook():
    def body():
        with proton.scope("s"):
            for _ in range(10):
                add()
            torch.mul(x, y)
    tree = profiled(body, hook="triton")
    m = {p: mm for p, mm in ((("/".join(p[1:])), mm) for p, mm in walk(tree[0]))}["s/add_4096"]
    equal((m["count"], m["flops32"], m["bytes"], m["shoes"]), (10, 40960.0, 491520, 20))
    assert m["time (ns)"] > 0
    equal(tree[0]["metrics"].get("bytes"), 0, "root zeros")
    equal(total(tree), 11)


@check
def python_context():
    def inner():
        add()
        torch.mul(x, y)

    def body():
        for _ in range(5):
            inner()
    tree = profiled(body, context="python")
    paths = list(table(tree))
    for p in paths:
        assert "gpu_check.py:" in p and "@inner/" in p and "@body/" in p, p
    equal(total(tree), 10)
    ours = os.path.dirname(proton.__file__)
    assert not any(ours in p for p in paths), paths


@check
def python_context_with_hook():
    tree = profiled(lambda: [add() for _ in range(5)], context="python", hook="triton")
    t = table(tree)
    equal(len(t), 1)
    (path, n), = t.items()
    assert path.endswith("/add_4096") and n == 5, t


def captured(n=3):
    g = torch.cuda.CUDAGraph()
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        add(), torch.mul(x, y, out=z)
    torch.cuda.synchronize()
    with torch.cuda.graph(g):
        for i in range(n):
            with proton.scope(f"iter{i}"):
                add()
                torch.mul(x, y, out=z)
    return g


@check
def cuda_graph():
    def body():
        with proton.scope("capture"):
            g = captured()
        for _ in range(4):
            with proton.scope("replay"):
                g.replay()
    tree = profiled(body)
    t = table(tree)
    inner = {p: n for p, n in t.items() if p.startswith("replay/<captured_at>")}
    equal(len(inner), 6, list(t))
    equal(set(inner.values()), {4})
    assert any(p.startswith("replay/<captured_at>/capture/iter2/") for p in inner), list(inner)


@check
def cuda_graph_with_hook():
    def body():
        g = captured(1)
        for _ in range(3):
            with proton.scope("replay"):
                g.replay()
    tree = profiled(body, hook="triton")
    rows = {"/".join(p[1:]): m for p, m in walk(tree[0])}
    m = rows["replay/<captured_at>/iter0/add_4096"]
    equal((m["count"], m["bytes"]), (3, 3 * 12 * 4096))
    assert "iter0/add_4096" not in rows or "bytes" not in rows["iter0/add_4096"], rows.keys()


@check
def cuda_graph_before_start():
    g = captured(2)

    def body():
        with proton.scope("replay"):
            g.replay()
    t = table(profiled(body))
    assert sum(t.values()) >= 4 and any("add_kernel" in p for p in t), t


@check
def whole_graphs_under_proton_run():
    """Graphs captured while active, while inactive, and launched after the session: none may crash the program."""
    script = os.path.join(TMP, "whole.py")
    with open(script, "w") as f:
        f.write("""
import torch
import triton.profiler as proton
x = torch.ones(4096, device="cuda"); z = torch.empty_like(x)
def cap():
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        for _ in range(20): torch.mul(x, x, out=z)
    return g
torch.mul(x, x, out=z); torch.cuda.synchronize()
g = cap()
with proton.scope("replay"):
    for _ in range(5): g.replay()
torch.cuda.synchronize()
proton.deactivate(0)
h = cap(); h.replay(); g.replay()
proton.activate(0)
with proton.scope("again"):
    h.replay(); g.replay()
torch.cuda.synchronize()
""")
    run = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(proton.__file__))), "proton")
    r = subprocess.run([run, "run", "--graph", "graph", "-n", os.path.join(TMP, "whole"), script], capture_output=True, text=True)
    equal(r.returncode, 0, r.stderr)
    t = table(json.load(open(os.path.join(TMP, "whole.hatchet"))))
    equal((t.get("replay/<graph>"), t.get("again/<graph>"), sum(n for p, n in t.items() if "<graph>" in p)), (5, 2, 7), t)


@check
def whole_graphs_asked_for_too_late():
    g = captured()
    g.replay()
    os.environ["PROTON_GRAPH"] = "graph"
    def body():
        with proton.scope("replay"):
            g.replay()
    t = table(profiled(body))  # falls back to node by node, and says so
    equal(sum(t.values()), 6, t)
    g.replay()
    torch.cuda.synchronize()


@check
def cuda_graph_level():
    os.environ["PROTON_GRAPH"], os.environ["PROTON_GRAPH_LATE"] = "graph", "1"
    def body():
        g = captured()
        with proton.scope("replay"):
            for _ in range(5):
                g.replay()
        return g
    for _ in range(3):
        kept = []
        t = table(profiled(lambda: kept.append(body())))
        equal(t.get("replay/<graph>"), 5, t)
        kept[0].replay()  # after the session
        torch.cuda.synchronize()


@check
def graphs_are_freed():
    def body():
        for _ in range(30):
            g = captured(1)
            g.replay()
            del g
            gc.collect()
        torch.cuda.synchronize()
    t = profiled(body)
    assert total(t) >= 60


@check
def activate_deactivate_exact():
    s = proton.start(os.path.join(TMP, "act"))
    for i in range(50):
        proton.deactivate(s)
        torch.mul(x, y, out=z)
        proton.activate(s)
        torch.add(x, y, out=z)
    proton.finalize()
    t = table(json.load(open(os.path.join(TMP, "act.hatchet"))))
    equal(sum(t.values()), 50, t)


@check
def two_sessions():
    s0 = proton.start(os.path.join(TMP, "s0"))
    with proton.scope("both-before"):
        torch.mul(x, y)
    s1 = proton.start(os.path.join(TMP, "s1"))
    with proton.scope("both"):
        torch.mul(x, y)
    proton.deactivate(s0)
    with proton.scope("only1"):
        torch.mul(x, y)
    proton.finalize(s0)
    with proton.scope("late"):
        torch.mul(x, y)
    proton.finalize()
    keys = [sorted(p.split("/")[0] for p in table(json.load(open(os.path.join(TMP, n + ".hatchet"))))) for n in ("s0", "s1")]
    equal(keys, [["both", "both-before"], ["both", "late", "only1"]])


@check
def data_api():
    s = proton.start(os.path.join(TMP, "data"))
    with proton.scope("p0"):
        torch.mul(x, y)
    proton.deactivate(s, flushing=True)
    equal(total(proton.data.get(s)), 1)
    proton.activate(s)
    equal(proton.data.advance_phase(s), 1)
    with proton.scope("p1"):
        torch.mul(x, y)
    proton.deactivate(s, flushing=True)
    equal((proton.data.is_phase_complete(s, 0), proton.data.is_phase_complete(s, 1)), (True, False))
    equal(list(table(proton.data.get(s, 1)))[0].split("/")[0], "p1")
    proton.data.clear(s, 0)
    proton.finalize()


@check
def second_subscriber():
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]):
        torch.mul(x, y)
        proton.start(os.path.join(TMP, "second"))
        with proton.scope("s"):
            torch.mul(x, y)
        proton.finalize()
    torch.cuda.synchronize()
    profiled(lambda: torch.mul(x, y))  # and afterwards all is well


@check
def forked_children_are_silent():
    proton.start(os.path.join(TMP, "fork"))
    torch.mul(x, y)
    pid = os.fork()
    if pid == 0:
        with proton.scope("child"):
            pass
        proton.finalize()
        os._exit(0)
    for _ in range(100):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    assert done and status == 0, f"child hangs or failed: {status}"
    torch.mul(x, y)
    proton.finalize()
    equal(total(json.load(open(os.path.join(TMP, "fork.hatchet")))), 2)


@check
def dataloader_workers():
    class D(torch.utils.data.Dataset):
        def __len__(self): return 64
        def __getitem__(self, i): return torch.tensor(float(i))

    def body():
        for b in torch.utils.data.DataLoader(D(), batch_size=8, num_workers=2):
            with proton.scope("step"):
                b.cuda() * 2
    equal(total(profiled(body)), 8)


@check
def unloaded_modules_and_new_names():
    def body():
        for i in range(20):
            src = torch.cuda._compile_kernel(f'extern "C" __global__ void k{i}(float* p) {{ p[0] = {i}; }}', f"k{i}")
            src((1, 1, 1), (1, 1, 1), (z,))
            torch.cuda.synchronize()
            del src
            gc.collect()
    t = table(profiled(body))
    equal(sorted(t), sorted(f"k{i}" for i in range(20)))


@check
def several_gpus():
    n = torch.cuda.device_count()
    if n < 2:
        print("    one GPU here: nothing to compare")
        return

    def body():
        for d in range(n):
            with proton.scope(f"gpu{d}"), torch.cuda.device(d):
                w = torch.ones(1024, device=f"cuda:{d}")
                for _ in range(10 + d):
                    w.mul_(2)
        # no synchronise here: the flush must wait for every device, not only the current one
    tree = profiled(body)
    for d in range(n):
        rows = [m for p, m in walk(tree[0]) if f"gpu{d}" in p and m.get("device_id") == str(d)]
        equal(sum(m["count"] for m in rows), 11 + d, f"gpu{d}")
    equal(len(tree[1]["CUDA"]), n)


@check
def million_launches_flat_memory():
    def rss():
        return int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1])
    proton.start(os.path.join(TMP, "million"))
    marks = []
    for i in range(10):
        for _ in range(100_000):
            torch.mul(x, y, out=z)
        torch.cuda.synchronize()
        marks.append(rss())
    proton.finalize()
    equal(total(json.load(open(os.path.join(TMP, "million.hatchet")))), 1_000_000)
    print(f"    resident memory in MiB: {[m // 1024 for m in marks]}")
    assert marks[-1] - marks[2] < 8 << 10, "resident memory grows"


def tensor_metadata(grid, meta, args):
    return {"name": "add_tensor", "bytes": TOKENS, "flops32": 1.0}


TOKENS = torch.full((), 7, device="cuda", dtype=torch.int64)


@triton.jit(launch_metadata=tensor_metadata)
def tensor_kernel(x, y, z, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(z + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


def launch_seconds(kernel, n):
    torch.cuda.synchronize()
    s = time.perf_counter()
    for _ in range(n):
        kernel[(4,)](x, y, z, 4096, B=1024)
    t = (time.perf_counter() - s) / n
    torch.cuda.synchronize()
    return t


@check
def device_tensor_metrics_do_not_synchronise():
    def body():
        with proton.scope("s", {"tokens": TOKENS}):
            for _ in range(1000):
                tensor_kernel[(4,)](x, y, z, 4096, B=1024)
    rows = {"/".join(p[1:]): m for p, m in walk(profiled(body, hook="triton")[0])}
    equal((rows["s/add_tensor"]["bytes"], rows["s/add_tensor"]["count"], rows["s"]["tokens"]), (7000, 1000, 7))
    proton.start(os.path.join(TMP, "tensor"), hook="triton")
    launch_seconds(tensor_kernel, 2000), launch_seconds(add_kernel, 2000)
    with_tensor, without = launch_seconds(tensor_kernel, 5000), launch_seconds(add_kernel, 5000)
    proton.finalize()
    print(f"    launch with a device-tensor metric {with_tensor * 1e6:.1f} us, with number metrics {without * 1e6:.1f} us")


@check
def deactivated_costs_nothing():
    bare = min(launch_seconds(add_kernel, 20_000) for _ in range(5))
    s = proton.start(os.path.join(TMP, "idle"))
    on = min(launch_seconds(add_kernel, 20_000) for _ in range(5))
    proton.deactivate(s)
    off = min(launch_seconds(add_kernel, 20_000) for _ in range(5))
    proton.finalize()
    after = min(launch_seconds(add_kernel, 20_000) for _ in range(5))
    print(f"    launch: bare {bare * 1e6:.2f} us; active x{on / bare:.3f}, deactivated x{off / bare:.3f}, finalized x{after / bare:.3f}")


@check
def launch_latency_tail():
    def tail(n=50_000):
        out = []
        for _ in range(n):
            s = time.perf_counter_ns()
            add_kernel[(4,)](x, y, z, 4096, B=1024)
            out.append(time.perf_counter_ns() - s)
        out.sort()
        return [out[int(len(out) * q)] / 1000 for q in (0.5, 0.99, 0.999)]
    tail(5000)
    bare = tail()
    proton.start(os.path.join(TMP, "tail"))
    on = tail()
    proton.finalize()
    print("    launch latency p50/p99/p99.9 in us: bare " + "/".join(f"{v:.1f}" for v in bare) + ", profiled " + "/".join(f"{v:.1f}" for v in on))


@check
def unfinished_session_is_written_at_exit():
    for ending, code in (("", 0), ("raise SystemExit(3)", 3), ("raise ValueError", 1), ("import threading, os; threading.Thread(target=lambda: os._exit, daemon=True).start()", 0)):
        name = os.path.join(TMP, f"exit{code}{len(ending)}")
        body = f"import torch, goproton as p\np.start({name!r})\n(torch.ones(8, device='cuda') * 2)\n{ending}\n"
        r = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True)
        equal(r.returncode, code, r.stderr)
        equal(total(json.load(open(name + ".hatchet"))), 2)


# The kernel reads the GPU's clock: a number of iterations measured beforehand is too small by far while the GPU's clocks are still low.
SPIN = """
import sys, torch, triton, triton.language as tl, goproton as p
from triton.language.extra.cuda import globaltimer
@triton.jit
def spin_kernel(out, nanoseconds):
    begin = globaltimer()
    now = begin
    while now - begin < nanoseconds:
        now = globaltimer()
    tl.store(out, now)
out = torch.zeros(1, device="cuda", dtype=torch.int64)
spin_kernel[(1,)](out, 1000); torch.cuda.synchronize()
p.start(sys.argv[1])
for _ in range(int(sys.argv[2])):
    spin_kernel[(1,)](out, int(float(sys.argv[3]) * 1e9))
"""


def ended(kernels, seconds, patience):
    """Ends a program that has launched kernels of so many seconds each; returns how many its profile has, and what was said."""
    script, name = os.path.join(TMP, "spin.py"), os.path.join(TMP, f"spin{kernels}-{patience}")
    with open(script, "w") as f:
        f.write(SPIN)
    r = subprocess.run([sys.executable, script, name, str(kernels), str(seconds)], capture_output=True, text=True,
                       env={**os.environ, "PROTON_EXIT_PATIENCE": patience})
    equal(r.returncode, 0, r.stderr)
    return total(json.load(open(name + ".hatchet"))), r.stderr


@check
def a_gpu_that_gets_on_is_waited_for_at_exit():
    """24 s of queued kernels of 1.5 s, with 6 s of patience: each that ends must give the patience back."""
    found, said = ended(16, 1.5, "6")
    equal(found, 16, said)
    assert "waiting for the GPU to finish what the program launched" in said and "finished nothing" not in said, said


@check
def a_long_kernel_at_exit_needs_patience():
    found, said = ended(1, 12, "3")
    assert found == 0 and "the GPU finished nothing within 3s at exit" in said and "PROTON_EXIT_PATIENCE" in said, (found, said)
    found, said = ended(1, 12, "60")
    assert found == 1 and "finished nothing" not in said, (found, said)


@check
def other_libcupti():
    """Triton's own libcupti (CUDA 12.8) while torch's is installed: chosen by PROTON_CUPTI_PATH."""
    import glob
    for path in glob.glob(os.path.join(os.path.dirname(triton.__file__), "backends/nvidia/lib/cupti*/libcupti.so.1*")):
        for name in ("launch_hook", "cuda_graph_with_hook", "scopes_threads_and_streams", "cuda_graph_level"):
            r = subprocess.run([sys.executable, os.path.abspath(__file__), "--one", name], capture_output=True, text=True,
                               env={**os.environ, "PROTON_CUPTI_PATH": path})
            assert r.returncode == 0, f"{path} {name}: {r.stdout}{r.stderr}"
        print(f"    {path}: ok")


@check
def scope_cost():
    proton.start(os.path.join(TMP, "cost"))
    def one(n, f):
        best = 1e9
        for _ in range(5):
            s = time.perf_counter()
            f(n)
            best = min(best, (time.perf_counter() - s) / n)
        return best * 1e9
    def scopes(n):
        for _ in range(n):
            with proton.scope("s"):
                pass
    def metrics(n):
        for _ in range(n):
            with proton.scope("s", {"w": 1}):
                pass
    on, met = one(200_000, scopes), one(100_000, metrics)
    s = time.perf_counter()
    for i in range(30_000):
        with proton.scope(f"unique{i}"):
            torch.mul(x, y, out=z)
    run = time.perf_counter() - s
    s = time.perf_counter()
    proton.finalize()
    fin = time.perf_counter() - s
    off = one(200_000, scopes)
    size = os.path.getsize(os.path.join(TMP, "cost.hatchet"))
    print(f"    scope enter+exit {on:.0f} ns on, {off:.0f} ns off, {met:.0f} ns with a metric; 30k unique scopes: run {run:.2f} s, finalize {fin:.3f} s, {size} bytes")


# ---- traces ----

def trace(body, **kw):
    """Runs body in a session with a timeline and returns the events of its file."""
    name = os.path.join(TMP, f"t{len(os.listdir(TMP))}")
    proton.start(name, data="trace", **kw)
    body()
    proton.finalize()
    with open(name + ".chrome_trace") as f:
        return json.load(f)["traceEvents"]


def of(events, *categories):
    return [e for e in events if e["ph"] == "X" and e.get("cat") in categories]


def copies():
    """Every kind of copy and fill that a program makes, on two streams."""
    host, pinned, t = torch.ones(1 << 16), torch.ones(1 << 16).pin_memory(), torch.empty(1 << 16, device="cuda")
    other = torch.cuda.Stream()
    with proton.scope("copies"):
        for _ in range(5):
            t.copy_(host)
            t.copy_(pinned, non_blocking=True)
            pinned.copy_(t, non_blocking=True)
            t.cpu()
            t.clone()
        with torch.cuda.stream(other):
            for _ in range(5):
                t.copy_(pinned, non_blocking=True)
                torch.zeros(1 << 20, device="cuda", dtype=torch.uint8)
                torch.cuda.current_stream().synchronize()
        torch.cuda.synchronize()


def kineto_work(body):
    """Counts by kind of work, from torch.profiler."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as p:
        body()
        torch.cuda.synchronize()
    out = {}
    for e in p.events():
        if e.device_type == torch.autograd.DeviceType.CUDA:
            kind = " ".join(e.name.split()[:2]) if e.name.startswith(("Memcpy", "Memset")) else "kernel"
            out[kind] = out.get(kind, 0) + 1
    return out


@check
def trace_counts_match_torch_profiler():
    def body():
        copies()
        for f in STEPS.values():
            f()
        torch.cuda.synchronize()
    body()
    events = trace(body)
    got = {"kernel": len(of(events, "kernel"))}
    for e in of(events, "memcpy"):
        kind = "Memcpy " + e["name"].strip("<>").split()[1]
        got[kind] = got.get(kind, 0) + 1
    if of(events, "memset"):
        got["Memset (Device)"] = len(of(events, "memset"))
    want = kineto_work(body)
    print(f"    ours {got}, torch.profiler {want}; unattributed: {sum('<unattributed>' in e['args'].get('call_stack', ()) for e in of(events, 'kernel', 'copy', 'fill'))}")
    equal(got, want)
    lost = [e["name"] for e in of(events, "memcpy", "memset") if "copies" not in e["args"]["call_stack"]]
    assert not lost, f"copies without their scope: {lost}"
    assert all(e["args"]["bytes"] > 0 for e in of(events, "memcpy", "memset"))
    names = sorted({e["name"] for e in of(events, "launch", "sync")})
    print(f"    calls: {names}")


@check
def trace_clocks_and_arrows():
    def body():
        for i in range(200):
            with proton.scope(f"step{i % 3}"):
                add()
                torch.mul(x, y, out=z)
            torch.cuda.synchronize()
    add()
    events = trace(body)
    calls = {e["args"]["correlation"]: e for e in of(events, "launch")}
    kernels = of(events, "kernel")
    equal(len(kernels), 400)
    early = [e for e in kernels if e["ts"] < calls[e["args"]["correlation"]]["ts"]]
    after_call = sorted(e["ts"] - calls[e["args"]["correlation"]]["ts"] for e in kernels)
    waits = {}
    for s in of(events, "sync"):
        waits[s["ts"] + s["dur"]] = s
    # The kernel that a wait was for ended before the wait did: the other side of the skew.
    late = []
    for end in sorted(waits):
        before = [k["ts"] + k["dur"] for k in kernels if k["ts"] < end]
        if before:
            late.append(end - max(before))
    print(f"    kernel start after the start of its call: min {after_call[0]:.2f}, median {after_call[200]:.2f} us; "
          f"end of the wait after the end of the kernel: min {min(late):.2f}, median {sorted(late)[len(late) // 2]:.2f} us")
    assert not early, f"{len(early)} kernels start before their launch, by up to {max(calls[e['args']['correlation']]['ts'] - e['ts'] for e in early):.2f} us"
    assert min(late) > -5, "a wait ends before what it waited for"
    heads = {e["id"]: e for e in events if e["ph"] == "s"}
    tails = {e["id"]: e for e in events if e["ph"] == "f"}
    equal((len(heads), len(tails)), (400, 400))
    starts = {(k["tid"], k["ts"]) for k in kernels}
    begins = {(c["tid"], c["ts"]) for c in calls.values()}
    assert all((e["tid"], e["ts"]) in starts for e in tails.values()) and all((e["tid"], e["ts"]) in begins for e in heads.values())
    for tid in {e["tid"] for e in of(events, "scope")}:  # slices of a thread lie in each other or apart
        stack = []
        for e in sorted((e for e in of(events, "scope", "metric", "launch", "sync") if e["tid"] == tid), key=lambda e: (e["ts"], -e["dur"])):
            while stack and stack[-1] <= e["ts"] + 1e-4:
                stack.pop()
            assert not stack or e["ts"] + e["dur"] <= stack[-1] + 1e-3, e
            stack.append(e["ts"] + e["dur"])


@check
def trace_of_a_graph():
    def body():
        with proton.scope("capture"):
            g = torch.cuda.CUDAGraph()
            t, u = torch.ones(1 << 16, device="cuda"), torch.empty(1 << 16, device="cuda")
            with torch.cuda.graph(g):
                for i in range(2):
                    with proton.scope(f"iter{i}"):
                        add()
                        u.copy_(t)
        for _ in range(4):
            with proton.scope("replay"):
                g.replay()
        torch.cuda.synchronize()
    add()
    events = trace(body)
    replayed = [e for e in of(events, "kernel", "memcpy") if "<captured_at>" in e["args"]["call_stack"]]
    print(f"    {len(replayed)} replayed: {sorted({e['args']['call_stack'][-1][:30] for e in replayed})}")
    equal(len(replayed), 16)
    lanes = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    scopes = [e["name"] for e in sorted(of(events, "scope"), key=lambda e: e["ts"]) if lanes[e["tid"]].startswith("Graph")]
    equal((scopes.count("<captured_at>"), scopes.count("iter0"), scopes.count("iter1")), (4, 4, 4))
    launches = {e["args"]["correlation"] for e in of(events, "launch") if e["name"].startswith("cuGraphLaunch")}
    equal(len(launches), 4)


@check
def copies_in_a_tree():
    rows = {"/".join(p[1:]): m for p, m in walk(profiled(copies, activities=["memcpy", "memset", "sync"])[0])}
    for p, m in rows.items():
        if "<" in p:
            print(f"    {p}: {m.get('count', m.get('sync_count'))}, {m.get('bytes', 0)} bytes, {m.get('time (ns)', m.get('sync_time (ns)'))} ns")
    equal(rows["copies/<memcpy HtoD>"]["count"], 15)
    equal(rows["copies/<memcpy HtoD>"]["bytes"], 15 * 4 << 16)
    equal(rows["copies/<memcpy DtoH>"]["count"], 10)
    assert rows["copies/<sync context>"]["sync_count"] >= 1 and rows["copies/<sync context>"]["sync_time (ns)"] > 0
    equal(total(profiled(copies)), sum(m.get("count", 0) for p, m in rows.items() if "<mem" not in p), "kernels without asking for copies")


@check
def distributions_of_kernel_times():
    def body():
        with proton.scope("s"):
            for _ in range(100):
                torch.add(big, 1.0, out=big_out)
    tree = profiled(body)
    nodes = [tree[0]]
    for n in nodes:
        nodes += n["children"]
    with_times = [n for n in nodes if "times" in n]
    equal(len(with_times), 1)
    equal(with_times[0]["metrics"]["count"], 100)
    print(f"    info {tree[0].get('info')}, times {str(with_times[0]['times'])[:150]}")
    nodes = [profiled(body, stats=False)[0]]
    for n in nodes:
        nodes += n["children"]
    assert not any("times" in n for n in nodes)


@check
def trace_of_a_killed_program():
    script = os.path.join(TMP, "killed.py")
    with open(script, "w") as f:
        f.write("import torch, os, time, signal\nx = torch.ones(8, device='cuda')\nfor i in range(3000): x.mul_(2)\n"
                "torch.cuda.synchronize(); time.sleep(4); os.kill(os.getpid(), signal.SIGKILL)\n")
    run = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(proton.__file__))), "proton")
    r = subprocess.run([run, "run", "-d", "trace", "-n", os.path.join(TMP, "killed"), script], capture_output=True, text=True)
    events = json.load(open(os.path.join(TMP, "killed.chrome_trace")))["traceEvents"]
    print(f"    {r.stderr.strip().splitlines()[-1]}: {len(of(events, 'kernel'))} kernels")
    assert len(of(events, "kernel")) >= 3000


@check
def trace_million_launches_flat_memory():
    def rss():
        return int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1])
    name = os.path.join(TMP, "tmillion")
    proton.start(name, data="trace")
    marks = []
    for i in range(10):
        with proton.scope("part"):
            for _ in range(100_000):
                torch.mul(x, y, out=z)
            torch.cuda.synchronize()
        marks.append(rss())
    began = time.perf_counter()
    proton.finalize()
    took = time.perf_counter() - began
    size = os.path.getsize(name + ".chrome_trace")
    kernels = sum(line.count('"cat":"kernel"') for line in open(name + ".chrome_trace"))
    print(f"    resident memory in MiB: {[m // 1024 for m in marks]}; {size >> 20} MiB of trace, {kernels} kernels, finalize {took:.3f} s")
    equal(kernels, 1_000_000)
    assert marks[-1] - marks[2] < 8 << 10, "resident memory grows"


@check
def trace_and_stats_overhead():
    """One loop of Triton launches, and one of torch operators, in a process of its own for each profiler: 4 to 8 s each. Repeat it to see the noise."""
    for variant in ("bare", "tree", "tree-no-stats", "tree-memcpy", "tree-memset", "tree-sync", "trace", "trace-kernels", "triton-tree", "triton-trace"):
        r = subprocess.run([sys.executable, os.path.abspath(__file__), "--loop", variant], capture_output=True, text=True)
        print(f"    {variant:14s} {r.stdout.strip() or r.stderr[-300:]}")


def loop(variant):
    """What trace_and_stats_overhead measures, us per launch: best of 5."""
    profiler = proton
    if variant.startswith("triton"):
        import triton.profiler as profiler
    for warm in (add, lambda: torch.mul(x, y, out=z)):
        for _ in range(1000):
            warm()
    name = os.path.join(TMP, "loop")
    how = {"bare": None, "tree": {}, "tree-no-stats": {"stats": False}, "tree-memcpy": {"activities": "memcpy"},
           "tree-memset": {"activities": "memset"}, "tree-sync": {"activities": "sync"}, "trace": {"data": "trace"},
           "trace-kernels": {"data": "trace", "activities": "kernel"}, "triton-tree": {}, "triton-trace": {"data": "trace"}}[variant]
    if how is not None:
        profiler.start(name, **how)

    def best(f, n=10_000):
        times = []
        for _ in range(5):
            torch.cuda.synchronize()
            began = time.perf_counter()
            with profiler.scope("loop"):
                for _ in range(n):
                    f()
            times.append((time.perf_counter() - began) / n * 1e6)
        return min(times)
    kernel, op = best(add), best(lambda: torch.mul(x, y, out=z))
    began = time.perf_counter()
    if how is not None:
        profiler.finalize()
    print(f"triton launch {kernel:.3f} us, torch.mul {op:.3f} us, finalize {time.perf_counter() - began:.3f} s")


if sys.argv[1:2] == ["--loop"]:
    loop(sys.argv[2])
else:
    check.run(sys.argv[1:])
