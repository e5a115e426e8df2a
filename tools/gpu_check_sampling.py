"""Instruction sampling on a real GPU: totals, lines, modes, and what a program may do meanwhile. Run by
tools/gpu-check.sh with build/python on PYTHONPATH; each check is a process of its own and prints what it measured.

    [SOAK=seconds] python3 tools/gpu_check_sampling.py [NAME ...]
"""
import csv, ctypes, json, os, shutil, subprocess, sys, tempfile, threading, time

import torch
import triton
import triton.language as tl

import goproton as proton
from gpu_runner import Checks
from gpu_tree import total as sum_of, walk

TMP = tempfile.mkdtemp(prefix="gpu-sampling-")
SOAK = float(os.environ.get("SOAK", "20"))  # seconds
check = Checks(__file__, patience=100 + SOAK, what="sampling")  # one after another: a GPU is sampled by one process at a time


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


def samples(root, *within, metric="num_samples"):
    return sum_of(root, *within, metric=metric)


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


def clock_hz(which=""):
    r = subprocess.run(["nvidia-smi", f"--query-gpu=clocks.{which}sm", "--format=csv,noheader,nounits"], capture_output=True, text=True)
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
    """At the highest rate a long kernel fills the GPU's buffer; what comes later is sampled again, and at the usual rate the
    same buffer never fills."""
    for options, fills in (("interval=32:buffer=67108864", True), ("buffer=67108864", False)):
        with sampled(options) as p:
            for i in range(3):
                with proton.scope(f"flood {i}"):
                    for _ in range(20):
                        chain(200_000)
                    torch.cuda.synchronize()
                time.sleep(1)
                with proton.scope(f"after {i}"):
                    chain(2_000, C=2.0 + i)
                    torch.cuda.synchronize()
                time.sleep(1)
        facts = p.root["sampling"]
        after = [samples(p.root, f"after {i}") for i in range(3)]
        print(f"    {options}: total {facts['total']}, dropped {facts['dropped']}, buffer full {facts['buffer_full']}; after each flood {after} samples")
        assert bool(facts["buffer_full"] or facts["dropped"]) == fills and min(after) > 100


@check
def sessions_come_again():
    for i in range(3):
        with sampled() as p:
            for _ in range(3):
                chain(20_000)
        of = lines(p.root, "chain_kernel")
        print(f"    session {i}: {sum(of.values())} samples at {len(of)} lines, finalize {p.finalize:.3f} s")
        assert max(of, key=of.get).endswith(f":{HOT}")


class Module:
    """chain_kernel loaded by the driver's API; the context that is current keeps it."""

    def __init__(self, image):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(self.module), image)
        self.call("cuModuleGetFunction", ctypes.byref(self.function), self.module, b"chain_kernel")

    def call(self, name, *args):
        rc = getattr(self.cuda, name)(*args)
        assert rc == 0, f"{name}: CUDA error {rc}"

    def launch(self, steps, blocks=SMS * 8, address=None):
        values = ctypes.c_void_p(address or x.data_ptr()), ctypes.c_int(steps), ctypes.c_void_p(), ctypes.c_void_p()
        args = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
        self.call("cuLaunchKernel", self.function, blocks, 1, 1, 128, 1, 1, 0, None, args, None)

    def unload(self):
        began = time.perf_counter()
        self.call("cuModuleUnload", self.module)
        return time.perf_counter() - began


def resident():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) / 1024


def churn(seconds, graph=True):
    """Compiles, loads, launches and unloads code while another stream and a graph are running. Returns how often, the
    longest wait for an unload in seconds, and the resident memory in MiB, noted every 20 times."""
    image = chain(10).asm["cubin"]
    stop, n, worst, marks = [], 0, 0.0, []

    def beside():
        with torch.cuda.stream(torch.cuda.Stream()):
            while not stop:
                chain(200, C=3.0)
                torch.mul(w, b1)
                torch.cuda.current_stream().synchronize()
    if graph:
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            for _ in range(5):
                chain(500, C=4.0)
    thread = threading.Thread(target=beside)
    thread.start()
    end = time.time() + seconds
    while time.time() < end:
        chain(500, C=5.0 + n)  # a new variant each time: compiled, loaded
        module = Module(image)
        for _ in range(20):
            module.launch(500, SMS)
        if graph:
            g.replay()
        torch.cuda.synchronize()
        worst = max(worst, module.unload())
        if n % 20 == 0:
            marks.append(resident())
        n += 1
    stop.append(1)
    thread.join()
    return n, worst, marks


def told(n, worst, marks, seconds):
    grows = (marks[-1] - marks[2]) / (20 * (len(marks) - 3)) * 1024 if len(marks) > 3 else 0
    return (f"{n} times compiled, loaded and unloaded in {seconds:.0f} s; an unload waited {worst * 1e3:.0f} ms at most; "
            f"resident MiB {[round(m) for m in marks[:: max(1, len(marks) // 8)]]}, {grows:.0f} KiB each time")


@check
def soak():
    with sampled("interval=16384") as p:
        done = churn(SOAK)
    of = lines(p.root, "chain_kernel")
    print(f"    {told(*done, SOAK)}; {samples(p.root, metric='count')} kernels, {sum(of.values())} samples; finalize {p.finalize:.3f} s")
    assert max(of, key=of.get).endswith(f":{HOT}")


@check
def soak_serialized():
    seconds = max(5, SOAK / 9)
    with sampled("collection=serialized") as p:
        done = churn(seconds, graph=False)
    of = lines(p.root, "chain_kernel")
    print(f"    {told(*done, seconds)}; {samples(p.root, metric='count')} kernels, {sum(of.values())} samples; finalize {p.finalize:.3f} s")
    assert max(of, key=of.get).endswith(f":{HOT}")


@check
def soak_without_us():
    """Whose memory the soak's is."""
    seconds = max(5, SOAK / 6)
    print(f"    {told(*churn(seconds), seconds)}")


@check
def code_loaded_before_the_session_has_lines():
    for C in (1.0, 2.0):
        chain(10, C=C)
    torch.relu(x)
    torch.cuda.synchronize()
    with sampled() as p:
        for _ in range(20):
            with proton.scope("variant 1"):
                chain(20_000, C=1.0)
            with proton.scope("variant 2"):
                chain(40_000, C=2.0)
            torch.relu(x)
    of = lines(p.root, "chain_kernel")
    ratio = samples(p.root, "variant 2") / samples(p.root, "variant 1")
    times = samples(p.root, "variant 2", metric="time (ns)") / samples(p.root, "variant 1", metric="time (ns)")
    print(f"    {sum(of.values())} samples at {len(of)} lines; two variants of one name: {ratio:.3f} times the samples in {times:.3f} times the time")
    assert max(of, key=of.get).endswith(f":{HOT}") and abs(ratio / times - 1) < 0.05


@check
def code_of_one_checksum_is_unattributed():
    """CUPTI's checksum of code with 1.0 in it is that of code with 4.0. CUPTI names what was loaded before the session by it."""
    for C in (1.0, 4.0):
        chain(10, C=C)
    torch.cuda.synchronize()
    for session in range(2):
        with sampled() as p:
            for _ in range(20):
                with proton.scope("one"):
                    chain(20_000, C=1.0)
                with proton.scope("four"):
                    chain(40_000, C=4.0)
        facts = p.root["sampling"]
        of = {scope: samples(p.root, scope) for scope in ("one", "four", "<unattributed>")}
        print(f"    session {session}: {of} of {facts['total']} samples, {len(facts['functions'])} functions")
        assert not of["one"] and not of["four"] and of["<unattributed>"] > 0.9 * facts["total"]


@check
def short_intervals_lose_nothing_at_the_end():
    """CUPTI decodes more slowly than an H200 samples every 4096 cycles: what it has not decoded yet must not be left there."""
    for f in KERNELS.values():
        f()
    torch.cuda.synchronize()
    taken = {}
    for interval in (65536, 4096):
        with sampled(f"interval={interval}") as p:
            for f in KERNELS.values():
                for _ in range(300):
                    f()
        taken[interval] = {k: interval * samples(p.root, k) / samples(p.root, k, metric="time (ns)") for k in KERNELS}
        facts = p.root["sampling"]
        print(f"    every {interval} cycles: {facts['total']} samples, {facts['dropped']} dropped, full {facts['buffer_full']}, finalize {p.finalize:.3f} s; "
              f"cycles per ns {', '.join(f'{k} {v:.1f}' for k, v in taken[interval].items())}")
    for k in KERNELS:
        assert abs(taken[4096][k] / taken[65536][k] - 1) < 0.1, k


@check
def others_launch_while_samples_are_read():
    """Another thread goes on launching while sessions end during the one that has its samples: each end waits for all."""
    stop, launched = threading.Event(), [0]
    chain(10)
    torch.cuda.synchronize()

    def beside():
        with torch.cuda.stream(torch.cuda.Stream()):
            while not stop.is_set():
                chain(500)
                launched[0] += 1
                if launched[0] % 50 == 0:
                    torch.cuda.current_stream().synchronize()
    ends = 5 # each waits for two seconds: the GPU does not come to rest
    with sampled() as p:
        t = threading.Thread(target=beside)
        t.start()
        for i in range(ends):
            other = proton.start(os.path.join(TMP, f"other{i}"), mode="pcsampling")
            time.sleep(0.2)
            proton.finalize(other)
        stop.set()
        t.join()
    kernels, nanos, of = (samples(p.root, "chain_kernel", metric=m) for m in ("count", "time (ns)", "num_samples"))
    share = of / (nanos * 1e-9 * clock_hz("max.") * SMS / 32768)
    print(f"    {ends} ends; {kernels} kernels of {launched[0]}; {share:.3f} of the samples that their time makes at the highest clock")
    assert kernels == launched[0] and share > 0.7


def launched_in_a_context(image, scope, steps, launches=20):
    """Creates a context of the driver's API, runs the kernel in it, and destroys it when the caller goes on."""
    cuda, context, memory = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
    device = torch.cuda.current_device()
    assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(SMS * 8 * 4096)) == 0
    module = Module(image)
    with proton.scope(scope):
        for _ in range(launches):
            module.launch(steps, address=memory.value)
        assert cuda.cuCtxSynchronize() == 0
    assert cuda.cuCtxPopCurrent_v2(ctypes.byref(context)) == 0  # torch's is current again
    yield
    assert cuda.cuCtxDestroy_v2(context) == 0


def rate(root, scope):
    """Samples of a scope, as a part of what its kernels' time and the period predict."""
    ns = samples(root, scope, metric="time (ns)")
    return samples(root, scope) / (SMS * ns * 1e-9 * clock_hz("max.") / root["sampling"]["period"])


@check
def contexts_of_one_gpu_take_turns():
    """Of the contexts of one GPU CUPTI samples one at a time: the first to launch, until it is destroyed."""
    images = [chain(10, C=C).asm["cubin"] for C in (21.0, 22.0, 23.0)]
    torch.cuda.synchronize()
    with sampled() as p:
        first = launched_in_a_context(images[0], "first", 20_000)
        next(first)
        with proton.scope("waiting"):
            for _ in range(20):
                chain(20_000, C=24.0)
        torch.cuda.synchronize()
        list(first)
        time.sleep(0.2)
        for _ in launched_in_a_context(images[1], "second", 20_000):
            pass
        with proton.scope("its turn"):
            for _ in range(20):
                chain(20_000, C=25.0)
    rates = {scope: round(rate(p.root, scope), 3) for scope in ("first", "waiting", "second", "its turn")}
    print(f"    samples / expected: {rates}")
    assert rates["waiting"] == 0 and all(abs(rates[s] - 1) < 0.1 for s in ("first", "second", "its turn"))


@check
def contexts_come_and_go_while_they_are_set_up():
    image = chain(10, C=31.0).asm["cubin"]
    torch.cuda.synchronize()

    def come_and_go():
        for _ in range(6):
            for _ in launched_in_a_context(image, "short", 50, launches=2):
                pass
    with sampled() as p:
        threads = [threading.Thread(target=come_and_go) for _ in range(3)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        with proton.scope("afterwards"):
            for _ in range(20):
                chain(20_000, C=32.0)
    count, after = samples(p.root, "short", metric="count"), rate(p.root, "afterwards")
    print(f"    {count} kernels in 18 contexts of 3 threads; afterwards samples / expected: {after:.3f}")
    assert count == 36 and abs(after - 1) < 0.1


@check
def several_gpus():
    if torch.cuda.device_count() < 2:
        print("    skipped: needs two GPUs")
        return
    other = torch.randn(N, device="cuda:1")
    with sampled() as p:
        for i in range(10):
            with proton.scope("gpu 0"):
                chain(20_000, C=41.0)
            with torch.cuda.device(1), proton.scope("gpu 1"):
                chain_kernel[(SMS * 8,)](other, 40_000, C=42.0)
                chain_kernel[(SMS * 8,)](other, 20_000, C=41.0)
        torch.cuda.synchronize(1)
    rates = {scope: round(rate(p.root, scope), 3) for scope in ("gpu 0", "gpu 1")}
    of = [lines(child, "chain_kernel") for child in p.root["children"] if child["frame"]["name"] in rates]
    print(f"    samples / expected: {rates}; hottest lines {[max(o, key=o.get) for o in of]}")
    assert all(abs(r - 1) < 0.1 for r in rates.values())


@check
def another_process_samples_the_same_gpu():
    """It has the GPU's sampler; ours is refused, kernels are timed, and the other is not disturbed."""
    code = ("import sys, time, torch, goproton as proton\n"
            "x = torch.randn(1 << 26, device='cuda'); s = proton.start(sys.argv[1], mode='pcsampling')\n"
            "torch.relu(x); torch.cuda.synchronize(); print('up', flush=True); sys.stdin.readline()\n"
            "for _ in range(200): torch.relu(x)\n"
            "torch.cuda.synchronize(); proton.finalize()\n")
    theirs = os.path.join(TMP, "theirs")
    child = subprocess.Popen([sys.executable, "-c", code, theirs], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "up\n"
    with sampled() as p:
        with proton.scope("ours"):
            for _ in range(10):
                chain(20_000)
    child.communicate("\n", timeout=60)
    with open(theirs + ".hatchet") as f:
        their_root = json.load(f)[0]
    count = samples(p.root, "ours", metric="count")
    print(f"    ours: {count} kernels, {samples(p.root)} samples; the other process: {samples(their_root, metric='count')} kernels, {samples(their_root)} samples")
    assert count == 10 and samples(their_root, metric="count") == 201 and samples(their_root) > 1000


@check
def users_without_rights_are_told():
    """Where RmProfilingAdminOnly is 1, only root may sample."""
    if os.getuid() or not shutil.which("setpriv"):
        print("    skipped: needs to be root, and setpriv")
        return
    home = os.path.join(TMP, "home")
    os.mkdir(home)
    for path in (TMP, home):
        os.chmod(path, 0o777)
    code = ("import torch, goproton as proton\n"
            f"x = torch.randn(1 << 26, device='cuda'); proton.start('{home}/p', mode='pcsampling')\n"
            "for _ in range(100): torch.relu(x)\n"
            "torch.cuda.synchronize(); proton.finalize()\n")
    r = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", code], capture_output=True,
                       text=True, env={**os.environ, "HOME": home})
    assert r.returncode == 0, r.stderr
    with open(home + "/p.hatchet") as f:
        root = json.load(f)[0]
    params = open("/proc/driver/nvidia/params").read() if os.path.exists("/proc/driver/nvidia/params") else ""
    setting = [line for line in params.splitlines() if line.startswith("RmProfilingAdminOnly")]
    print(f"    {setting}: {samples(root, metric='count')} kernels, {samples(root)} samples; {r.stderr.strip() or 'nothing said'}")
    assert samples(root, metric="count") == 100
    assert samples(root) > 1000 if setting != ["RmProfilingAdminOnly: 1"] else "NVreg_RestrictProfilingToAdminUsers" in r.stderr


@triton.jit
def softmax_kernel(x, z, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(z + row * n + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def flash_kernel(Q, K, V, O, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    od = tl.arange(0, D)
    on = tl.arange(0, BN)
    q = tl.load(Q + om[:, None] * D + od[None, :])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for s in range(0, n, BN):
        k = tl.load(K + (s + on)[None, :] * D + od[:, None])
        qk = tl.dot(q, k) * scale
        new = tl.maximum(top, tl.max(qk, 1))
        p = tl.exp(qk - new[:, None])
        alpha = tl.exp(top - new)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(V + (s + on)[:, None] * D + od[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        top = new
    tl.store(O + om[:, None] * D + od[None, :], (acc / total[:, None]).to(tl.float16))


CUDA = r"""
__device__ __forceinline__ float polynomial(float v) { return v * v * 0.5f + v; }
__device__ __forceinline__ float twice(float v) { return polynomial(polynomial(v)); }
extern "C" __global__ void cuda_kernel(float *x, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  for (int k = 0; k < steps; k++)
    v = twice(v) - sinf(v);
  x[i] = v;
}
"""


@check
def lines_match_cupti():
    """Each instruction's line by internal/cubin against cuptiGetSassToSourceCorrelation: kernels that are compiled here, and
    modules of libraries as the profile keeps them."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    program = os.path.join(root, "build", "abicheck.test")
    if not os.path.exists(program):
        print("    skipped: needs go test -c -o build/abicheck.test ./cupti/abicheck")
        return
    folder = os.path.join(TMP, "cubins")
    os.mkdir(folder)
    q = torch.randn(4096, 64, device="cuda", dtype=torch.float16)
    compiled = [vadd(), layer_norm(), matmul(), chain(10), softmax_kernel[(1024,)](x, z, 4096, B=4096),
                flash_kernel[(32,)](q, q, q, torch.empty_like(q), 4096, 0.125, D=64, BM=128, BN=64, num_warps=4)]
    for kernel in compiled:
        with open(os.path.join(folder, kernel.name + ".cubin"), "wb") as f:
            f.write(kernel.asm["cubin"])
    if shutil.which("nvcc"):
        with open(os.path.join(folder, "cuda.cu"), "w") as f:
            f.write(CUDA)
        major, minor = torch.cuda.get_device_capability()
        subprocess.run(["nvcc", "-lineinfo", f"-arch=sm_{major}{minor}", "-cubin", "-o", "cuda.cubin", "cuda.cu"], cwd=folder, check=True)
    with sampled() as p:
        for _ in range(20):
            torch.mm(a, b, out=c)
            torch.softmax(x.view(-1, 4096), 1)
    kept = p.name + ".cubins"
    for name in os.listdir(kept):
        shutil.copy(os.path.join(kept, name), os.path.join(folder, "library-" + name))
    cupti = next(line.split()[-1] for line in open("/proc/self/maps") if "libcupti.so" in line)
    r = subprocess.run([program, "-test.v", "-test.run", "EveryInstructionAgainstCUPTI"], cwd=os.path.join(root, "cupti", "abicheck"),
                       capture_output=True, text=True, env={**os.environ, "CUBINS": folder, "CUPTI": cupti})
    for line in r.stdout.splitlines():
        print("    " + line.split(".go:", 1)[-1].split(": ", 1)[-1] if "lines_test" in line else "    " + line)
    assert r.returncode == 0, r.stderr


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


if sys.argv[1:2] == ["--launch"]:  # under ncu
    for f in KERNELS.values():
        for _ in range(8):
            f()
else:
    check.run(sys.argv[1:])
