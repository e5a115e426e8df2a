"""Instruction sampling on a real GPU: totals, lines, modes, and what a program may do meanwhile. Run by
tools/gpu-check.sh with build/python on PYTHONPATH; each check is a process of its own and prints what it measured.

    [SOAK=seconds] python3 tools/gpu_check_sampling.py [NAME ...]
"""
import csv, ctypes, faulthandler, json, os, subprocess, sys, tempfile, threading, time, traceback

import torch
import triton
import triton.language as tl

import goproton as proton

TMP = tempfile.mkdtemp(prefix="gpu-sampling-")
CHECKS = []
PATIENCE = 100 + int(os.environ.get("SOAK", "20"))  # seconds for one check


def check(f):
    CHECKS.append(f)
    return f


@triton.jit
def vadd_kernel(x, y, z, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    a = tl.load(x + i, mask=m)
    b = tl.load(y + i, mask=m)
    tl.store(z + i, a + b, mask=m)


@triton.jit
def mean_of(v, n):
    return tl.sum(v, 0) / n


@triton.jit
def layer_norm_kernel(x, y, w, b, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    m = i < n
    v = tl.load(x + row * n + i, mask=m, other=0.0)
    d = tl.where(m, v - mean_of(v, n), 0.0)
    r = 1 / tl.sqrt(mean_of(d * d, n) + eps)
    scale = tl.load(w + i, mask=m)
    shift = tl.load(b + i, mask=m)
    tl.store(y + row * n + i, d * r * scale + shift, mask=m)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a + rm[:, None] * K + (k * BK + rk)[None, :])
        y = tl.load(b + (k * BK + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def chain_kernel(x, steps, C: tl.constexpr):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    v = tl.load(x + i)
    for _ in range(steps):
        v = tl.sqrt(v * v + C)  # the hot line
    tl.store(x + i, v)


HOT = 1 + next(i for i, line in enumerate(open(__file__)) if "# the hot line" in line)
N = 1 << 25
x, y = torch.randn(N, device="cuda"), torch.randn(N, device="cuda")
z = torch.empty_like(x)
w, b1 = torch.randn(4096, device="cuda"), torch.randn(4096, device="cuda")
a = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)
b, c = torch.randn_like(a), torch.empty_like(a)
SMS = torch.cuda.get_device_properties(0).multi_processor_count


def vadd(): return vadd_kernel[(N // 1024,)](x, y, z, N, B=1024)
def layer_norm(): return layer_norm_kernel[(8192,)](x, z, w, b1, 4096, 1e-5, B=4096, num_warps=8)
def matmul(): return matmul_kernel[(32, 32)](a, b, c, 4096, 4096, 4096, BM=128, BN=128, BK=64, num_warps=8)
def chain(steps, C=1.0, blocks=SMS * 8): return chain_kernel[(blocks,)](x, steps, C=C)


KERNELS = {"vadd_kernel": vadd, "layer_norm_kernel": layer_norm, "matmul_kernel": matmul}


class sampled:
    """with sampled("interval=4096") as p: …; p.root is the tree afterwards."""

    def __init__(self, options=""):
        self.mode = "pcsampling" + (":" + options if options else "")

    def __enter__(self):
        self.name = os.path.join(TMP, f"p{len(os.listdir(TMP))}")
        proton.start(self.name, mode=self.mode)
        return self

    def __exit__(self, *error):
        torch.cuda.synchronize()
        began = time.perf_counter()
        proton.finalize()
        self.finalize = time.perf_counter() - began
        with open(self.name + ".hatchet") as f:
            self.root = json.load(f)[0]


def walk(node, path=()):
    path = path + (node["frame"]["name"],)
    yield path, node["metrics"]
    for child in node["children"]:
        yield from walk(child, path)


def samples(root, *within, metric="num_samples"):
    return sum(m.get(metric, 0) for p, m in walk(root) if all(any(part in frame for frame in p) for part in within))


def lines(root, kernel):
    """Samples of a kernel by line of this file."""
    out = {}
    for path, m in walk(root):
        if kernel in path and m.get("num_samples"):
            out[path[-1].split("@")[0]] = out.get(path[-1].split("@")[0], 0) + m["num_samples"]
    return out


def distance(p, q):
    """Total-variation distance of two distributions given by counts."""
    sp, sq = sum(p.values()), sum(q.values())
    return sum(abs(p.get(k, 0) / sp - q.get(k, 0) / sq) for k in set(p) | set(q)) / 2


def clock_hz():
    r = subprocess.run(["nvidia-smi", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits"], capture_output=True, text=True)
    return float(r.stdout.split()[0]) * 1e6


@check
def totals_are_what_the_period_says():
    """A kernel that keeps every multiprocessor busy has SMs * cycles / period samples."""
    chain(10)
    torch.cuda.synchronize()
    with sampled("interval=32768") as p:
        for _ in range(3):
            chain(300_000)
        hz = clock_hz()  # while it runs
    ns = samples(p.root, "chain_kernel", metric="time (ns)")
    want = SMS * ns * 1e-9 * hz / 32768
    got = samples(p.root, "chain_kernel")
    print(f"    {got} samples, {want:.0f} by {ns * 1e-6:.1f} ms at {hz * 1e-6:.0f} MHz: ratio {got / want:.4f}")
    assert abs(got / want - 1) < 0.05


@check
def planted_line_is_the_hottest():
    for options in ("", "collection=serialized"):
        with sampled(options) as p:
            for _ in range(5):
                chain(20_000)
        of = lines(p.root, "chain_kernel")
        share = of.get(next((k for k in of if k.endswith(f":{HOT}")), ""), 0) / sum(of.values())
        print(f"    {options or 'continuous'}: {sum(of.values())} samples, {share:.4f} of them at line {HOT}, finalize {p.finalize:.3f} s")
        assert share > 0.95


@check
def modes_agree_line_by_line():
    trees = {}
    for options, n in (("interval=4096", 300), ("interval=4096:collection=serialized", 60)):
        with sampled(options) as p:
            for f in KERNELS.values():
                for _ in range(n):
                    f()
        trees[options] = p.root
    for kernel in KERNELS:
        p, q = (lines(t, kernel) for t in trees.values())
        print(f"    {kernel}: {sum(p.values())} and {sum(q.values())} samples, distance {distance(p, q):.4f}")
        assert distance(p, q) < 0.05


@check
def serialized_knows_every_launch():
    """The same function from two call paths, with nine times the work in one: continuous mode shares by time, which is
    right here too; serialized mode knows."""
    for options in ("", "collection=serialized"):
        with sampled(options) as p:
            for _ in range(10):
                with proton.scope("short"):
                    chain(5_000)
                with proton.scope("long"):
                    chain(45_000)
        ratio = samples(p.root, "long") / samples(p.root, "short")
        times = samples(p.root, "long", metric="time (ns)") / samples(p.root, "short", metric="time (ns)")
        print(f"    {options or 'continuous'}: {ratio:.3f} times the samples in {times:.3f} times the time")
        assert abs(ratio / times - 1) < 0.03


@check
def graphs_are_sampled():
    chain(10)
    torch.cuda.synchronize()
    with sampled() as p:
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            with proton.scope("captured"):
                for _ in range(3):
                    chain(10_000, C=2.0)
        for _ in range(20):
            with proton.scope("replay"):
                g.replay()
    of = lines(p.root, "chain_kernel")
    count = samples(p.root, "chain_kernel", metric="count")
    print(f"    {count} kernels of a graph, {sum(of.values())} samples at {len(of)} lines")
    assert count == 60 and sum(of.values()) > 1000 and max(of, key=of.get).endswith(f":{HOT}")


@check
def counts_do_not_suffer():
    with sampled("kernels=nothing_has_this_name") as p:
        for _ in range(2000):
            chain(1, blocks=1)
    assert samples(p.root, "chain_kernel", metric="count") == 2000
    assert samples(p.root) == 0, "a pattern that nothing matches leaves no samples"


@check
def a_full_buffer_is_told_and_survived():
    with sampled("interval=32:buffer=1048576") as p:
        for _ in range(4):
            chain(100_000)
            torch.cuda.synchronize()
            time.sleep(0.5)
    facts = p.root["sampling"]
    print(f"    total {facts['total']}, dropped {facts['dropped']}, buffer full {facts['buffer_full']}, {samples(p.root)} samples found their kernel")
    assert facts["buffer_full"] or facts["dropped"]


@check
def sessions_come_again():
    for i in range(3):
        with sampled() as p:
            for _ in range(3):
                chain(20_000)
        of = lines(p.root, "chain_kernel")
        print(f"    session {i}: {sum(of.values())} samples at {len(of)} lines, finalize {p.finalize:.3f} s")
        assert max(of, key=of.get).endswith(f":{HOT}")


@check
def soak():
    """Compiles, loads, launches and unloads code while two streams and a graph are running."""
    seconds = float(os.environ.get("SOAK", "20"))
    cuda = ctypes.CDLL("libcuda.so.1")
    image = chain(10).asm["cubin"]

    def ok(rc):
        assert rc == 0, f"CUDA error {rc}"

    def resident():
        return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) >> 10

    def beside():
        with torch.cuda.stream(torch.cuda.Stream()):
            while not stop:
                chain(200, C=3.0)
                torch.mul(w, b1)
                torch.cuda.current_stream().synchronize()
    stop, n, worst, marks = [], 0, 0.0, []
    end = time.time() + seconds
    with sampled("interval=16384") as p:
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            for _ in range(5):
                chain(500, C=4.0)
        thread = threading.Thread(target=beside)
        thread.start()
        while time.time() < end:
            chain(500, C=5.0 + n)  # a new variant each time: compiled, loaded
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            ok(cuda.cuModuleLoadData(ctypes.byref(module), image))
            ok(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"chain_kernel"))
            values = ctypes.c_void_p(x.data_ptr()), ctypes.c_int(500), ctypes.c_void_p(), ctypes.c_void_p()
            args = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
            for _ in range(20):
                ok(cuda.cuLaunchKernel(function, SMS, 1, 1, 128, 1, 1, 0, None, args, None))
            g.replay()
            torch.cuda.synchronize()
            began = time.perf_counter()
            ok(cuda.cuModuleUnload(module))
            worst = max(worst, time.perf_counter() - began)
            if n % 20 == 0:
                marks.append(resident())
            n += 1
        stop.append(1)
        thread.join()
    of = lines(p.root, "chain_kernel")
    print(f"    {n} times compiled, loaded and unloaded in {seconds:.0f} s; an unload waited {worst * 1e3:.0f} ms at most; "
          f"{samples(p.root, metric='count')} kernels, {sum(of.values())} samples; resident MiB {marks[:: max(1, len(marks) // 8)]}; finalize {p.finalize:.3f} s")
    assert max(of, key=of.get).endswith(f":{HOT}")


@check
def lines_match_ncu():
    """Per line against Nsight Compute's source counters, which sample too, one replayed kernel at a time."""
    if subprocess.run(["which", "ncu"], capture_output=True).returncode:
        print("    skipped: needs ncu")
        return
    r = subprocess.run(["ncu", "--section", "SourceCounters", "--warp-sampling-interval", "1", "--cache-control", "none", "--clock-control", "none",
                        "--kernel-name", "regex:^(vadd|layer_norm|matmul)_kernel", "--page", "source", "--csv",
                        sys.executable, os.path.abspath(__file__), "--launch"], capture_output=True, text=True)
    theirs, kernel, column, at = {}, None, None, 0
    for row in csv.reader(r.stdout.splitlines()):
        if row[:1] == ["Kernel Name"]:
            kernel, column = row[1].split("(")[0], None
        elif row[:1] == ["Address"]:
            column, at = row.index("Warp Stall Sampling (All Samples)"), 0
        elif column is not None and len(row) > column:
            of = theirs.setdefault(kernel, {})
            of[at] = of.get(at, 0) + int(row[column] or 0)
            at += 16
    with sampled("interval=4096") as p:
        for f in KERNELS.values():
            for _ in range(300):
                f()
    facts = p.root["sampling"]
    for kernel in KERNELS:
        number, function = next((i, f) for i, f in enumerate(facts["functions"]) if f["name"] == kernel)
        places = dict(zip(function["places"][::2], function["places"][1::2]))  # offset to number of frame, from 1

        def by_line(counts):
            out = {}
            for offset, n in counts.items():
                place = places.get(offset, 0)
                line = facts["frames"][4 * place - 3] if place else 0
                out[line] = out.get(line, 0) + n
            return out
        p_, q = by_line(offsets(p.root, number)), by_line({k: v for k, v in theirs[kernel].items() if k in places})
        print(f"    {kernel}: {sum(p_.values())} and {sum(q.values())} samples, distance {distance(p_, q):.4f} per line, "
              f"{distance(offsets(p.root, number), theirs[kernel]):.4f} per instruction")
        assert distance(p_, q) < 0.1


def offsets(node, function):
    """Samples of a function by offset, of a node and all below."""
    out = {}
    for at, *rest in node.get("samples", []):
        while at == function and rest:
            offset, stalls, *rest = rest
            out[offset] = out.get(offset, 0) + sum(rest[1:3 * stalls:3])
            rest = rest[3 * stalls:]
    for child in node["children"]:
        for offset, n in offsets(child, function).items():
            out[offset] = out.get(offset, 0) + n
    return out


def run_one(f):
    faulthandler.dump_traceback_later(PATIENCE - 10, exit=True)
    began = time.time()
    try:
        f()
    except Exception:
        print(f"FAIL {f.__name__}\n{traceback.format_exc()}", flush=True)
        sys.exit(1)
    print(f"ok   {f.__name__} ({time.time() - began:.1f} s)", flush=True)


def run_in_child(name):
    try:
        r = subprocess.run([sys.executable, os.path.abspath(__file__), "--one", name], capture_output=True, text=True, timeout=PATIENCE)
        return r.returncode, r.stdout + (r.stderr if r.returncode else "")
    except subprocess.TimeoutExpired as e:
        return 1, f"FAIL {name}: hangs\n{(e.stdout or b'').decode()}{(e.stderr or b'').decode()}"


def main():
    if sys.argv[1:2] == ["--launch"]:  # under ncu
        return [f() for f in KERNELS.values() for _ in range(8)]
    if sys.argv[1:2] == ["--one"]:
        return run_one(next(f for f in CHECKS if f.__name__ == sys.argv[2]))
    names = [f.__name__ for f in CHECKS if not sys.argv[1:] or f.__name__ in sys.argv[1:]]
    failed = 0
    for name in names:  # one after another: a GPU is sampled by one process at a time
        code, text = run_in_child(name)
        print(text, end="", flush=True)
        failed += code != 0
    print(f"{len(names) - failed} passed, {failed} failed, sampling, on {torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}")
    sys.exit(failed > 0)


main()
