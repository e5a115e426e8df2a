"""Programs for gpu_check_trace.py, which runs them below `proton run --trace` and without it:

    gpu_check_trace_programs.py NAME [ARGUMENT ...]
"""
import ctypes
import json
import math
import mmap
import os
import re
import resource
import signal
import sys
import threading
import time

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit(do_not_specialize=["n"])
def step_kernel(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, tl.load(x + i) + 1.0)


@triton.jit
def read_kernel(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m).to(tl.float32), mask=m)


@triton.jit
def scale_kernel(x, out, factor, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) * factor, mask=m)


@triton.jit
def negate_kernel(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, -tl.load(x + i, mask=m), mask=m)


@triton.jit
def pair_kernel(pair, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(pair[1] + i, tl.load(pair[0] + i, mask=i < n), mask=i < n)


def unwilling(grid, metadata, arguments):
    raise ValueError("no metadata")


@triton.jit(launch_metadata=unwilling)
def unwilling_kernel(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def descriptor_kernel(source, target, B: tl.constexpr):
    at = tl.program_id(0) * B
    target.store([at, 0], source.load([at, 0]))


@triton.autotune(configs=[triton.Config({"B": 256}), triton.Config({"B": 1024})], key=["n"])
@triton.jit
def tuned_kernel(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) * 2.0, mask=m)


@triton.jit(noinline=True)
def polish(p, steps):
    i = tl.arange(0, 1024)
    v = tl.load(p + i)
    for _ in range(steps):
        v = tl.sqrt(v * v + 1.0)  # the callee's hot line
    tl.store(p + i, v)


@triton.jit
def polished_kernel(x, steps):
    polish(x + tl.program_id(0) * 1024, steps)


@triton.jit
def alone_kernel(x, steps):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    v = tl.load(x + i)
    for _ in range(steps):
        v = tl.sqrt(v * v + 2.0)  # the other kernel's hot line
    tl.store(x + i, v)


@triton.autotune(
    configs=[triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_warps=4, num_stages=2),
             triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_warps=8, num_stages=3)],
    key=["M", "N", "K"],
)
@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        u = tl.load(a + rm[:, None] * K + (k * BK + rk)[None, :])
        v = tl.load(b + (k * BK + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(u, v, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def number(value):
    """As traces have numbers that JSON has not."""
    return value if math.isfinite(value) else str(value)


@program
def tensors(out):
    """Reads tensors of many forms; writes what they were, and torch's own figures of them, into the folder `out`."""
    torch.manual_seed(0)
    x = torch.randn(5000, device=DEVICE)
    matrix = torch.randn(64, 48, device=DEVICE).half()
    odd = torch.tensor([1.0, float("nan"), float("inf"), -3.0] * 16, device=DEVICE)
    forms = {
        "float": x, "again": x, "half": matrix, "part": matrix[:, 8:40], "transposed": matrix.t(), "one": x[7:8],
        "integers": torch.randint(-100, 100, (300,), device=DEVICE, dtype=torch.int32), "truths": x > 0, "odd": odd,
        "large": torch.randn(1 << 20, device=DEVICE), "zeros": torch.zeros(1 << 20, device=DEVICE), "none": torch.empty(0, device=DEVICE), "brain": x.bfloat16(),
    }
    target = torch.empty(64, device=DEVICE)
    said = []
    for name, tensor in forms.items():
        target.zero_()
        figures = tensor.float()
        said.append({"name": name, "figures": [number(f(figures).item()) for f in (torch.min, torch.max, torch.mean, torch.std)] if tensor.numel() else None})
        read_kernel[(1,)](tensor, target, min(64, tensor.numel()), B=64)
    tuned_kernel[(20,)](x, torch.empty_like(x), 5000)
    torch.cuda.synchronize()
    torch.save({name: tensor.cpu() for name, tensor in forms.items()}, os.path.join(out, "tensors.pt"))
    with open(os.path.join(out, "said.json"), "w") as file:
        json.dump(said, file)


@program
def quota(limit):
    """Ten tensors of 100 KB, each another, and one of twice the limit."""
    torch.manual_seed(0)
    target = torch.empty(64, device=DEVICE)
    read_kernel[(1,)](torch.randn(int(limit) // 2, device=DEVICE), target, 64, B=64)
    for _ in range(10):
        read_kernel[(1,)](torch.randn(25 << 10, device=DEVICE), target, 64, B=64)
    torch.cuda.synchronize()


@program
def killed(progress, folder=""):
    """Launches until it is killed, and says in a file how far it got; traces by itself if it is told where."""
    if folder:
        from goproton import trace
        trace.init(folder)
    with open(progress, "r+b") as file:
        reached = ctypes.c_int64.from_buffer(mmap.mmap(file.fileno(), 8))
    x = torch.zeros(64, device=DEVICE)

    def kill():
        while reached.value < 20_000:
            time.sleep(0.0005)
        os.kill(os.getpid(), signal.SIGKILL)
    threading.Thread(target=kill).start()
    n = 0
    while True:
        step_kernel[(1,)](x, n, B=64)
        n += 1
        reached.value = n


@program
def graph():
    """Two kernels, one of them with two shapes, captured and replayed 50 times."""
    x, out = torch.randn(1 << 16, device=DEVICE), torch.empty(1 << 16, device=DEVICE)

    def body():
        scale_kernel[(4,)](x, out, 2.0, 4096, B=1024)
        scale_kernel[(64,)](x, out, 2.0, 65536, B=1024)
        negate_kernel[(64,)](x, out, 65536, B=1024)
    body()
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        body()
    for _ in range(50):
        captured.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, -x)


@program
def threads(count, each):
    """Several threads launch at once, each launch with a number of its own."""
    count, each = int(count), int(each)
    warm = torch.zeros(64, device=DEVICE)
    step_kernel[(1,)](warm, -1, B=64)

    def work(k):
        x = torch.zeros(64, device=DEVICE)
        for i in range(each):
            step_kernel[(1,)](x, k * each + i, B=64)
        assert x[0].item() == each
    started = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    [t.start() for t in started]
    [t.join() for t in started]


@program
def daemons():
    """The program ends while daemon threads go on launching."""
    def work():
        x = torch.zeros(64, device=DEVICE)
        n = 0
        while True:
            step_kernel[(1,)](x, n, B=64)
            n += 1
    step_kernel[(1,)](torch.zeros(64, device=DEVICE), -1, B=64)
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.5)
    print("done", flush=True)


@program
def full(limit):
    """Launches until a file of the trace is larger than this process may write, or the disk is full; ends with 7."""
    x = torch.zeros(64, device=DEVICE)
    step_kernel[(1,)](x, 0, B=64)
    torch.cuda.synchronize()
    if int(limit):
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    for n in range(1, 40_000):
        step_kernel[(1,)](x, n, B=64)
    print(f"computed {x[0].item():.0f}", flush=True)
    sys.exit(7)


@program
def both(first, ours, theirs):
    """This trace and tritonparse's, in one process."""
    from goproton import trace
    import tritonparse.structured_logging as tritonparse
    begin = {"ours": lambda: trace.init(ours, compression="none"),
             "theirs": lambda: tritonparse.init(theirs, enable_trace_launch=True)}
    order = ("ours", "theirs") if first == "ours" else ("theirs", "ours")
    for who in order:
        begin[who]()
    x, out = torch.randn(5000, device=DEVICE), torch.empty(5000, device=DEVICE)
    for n in (5000, 4000, 3000):
        scale_kernel[(5,)](x, out, 0.5, n, B=1024)
        read_kernel[(5,)](x, out, n, B=1024)
    tuned_kernel[(20,)](x, out, 5000)
    torch.cuda.synchronize()
    print(json.dumps(trace.finalize()))


@program
def odd():
    """Arguments of many kinds; prints what became of each launch, which tracing must not change."""
    import numpy
    x, out = torch.arange(64, dtype=torch.float32, device=DEVICE), torch.zeros(64, device=DEVICE)

    def read(tensor, n=64):
        read_kernel[(1,)](tensor, out, n, B=64)

    class Sub(torch.Tensor):
        pass

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            raise NotImplementedError(f"{function} of a wrapper")

    def fake():
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode():
            made = torch.empty(64, device=DEVICE)
        read(made, 0)

    def described():
        from triton.tools.tensor_descriptor import TensorDescriptor
        a, b = torch.randn(64, 64, device=DEVICE), torch.empty(64, 64, device=DEVICE)
        descriptor_kernel[(2,)](TensorDescriptor.from_tensor(a, [32, 64]), TensorDescriptor.from_tensor(b, [32, 64]), B=32)
        assert torch.equal(a, b)

    def derivative():
        def f(v):
            read(v, 0)
            return v.sum()
        torch.func.grad(f)(x)

    def mapped():
        def f(v):
            read(v, 0)
            return v * 2
        torch.func.vmap(f)(x.view(8, 8))

    def compiled(dynamic):
        def f(v):
            result = torch.empty_like(v)
            scale_kernel[(1,)](v, result, 2.0, v.shape[0], B=64)
            return torch.nn.functional.gelu(result) + 1
        made = torch.compile(f, dynamic=dynamic)
        for size in (64, 48):
            got = made(x[:size])
            assert torch.allclose(got, torch.nn.functional.gelu(x[:size] * 2) + 1), "compiled"

    def autograd():
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, v):
                result = torch.empty_like(v)
                scale_kernel[(1,)](v, result, 2.0, 64, B=64)
                return result

            @staticmethod
            def backward(ctx, g):
                result = torch.empty_like(g)
                scale_kernel[(1,)](g.contiguous(), result, 2.0, 64, B=64)
                return result
        v = x.clone().requires_grad_()
        Twice.apply(v).sum().backward()
        assert v.grad[0].item() == 2

    def counted():
        from torch.utils._python_dispatch import TorchDispatchMode

        class Count(TorchDispatchMode):
            n = 0

            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                self.n += 1
                return function(*args, **(kwargs or {}))
        with Count() as mode:
            read(x)
            torch.add(x, x)
        return f"{mode.n} operators"

    def distributed():
        import tempfile
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import DTensor
        torch.distributed.init_process_group("gloo", init_method=f"file://{tempfile.mkdtemp()}/store", rank=0, world_size=1)
        mesh = init_device_mesh("cuda", (1,))
        read(DTensor.from_local(x, mesh), 0)

    cases = {
        "plain": lambda: read(x),
        "numpy integer": lambda: read(x, numpy.int64(64)),
        "numpy small integer": lambda: read(x, numpy.int8(64)),
        "numpy truth": lambda: read(x, numpy.bool_(True)),
        "numpy float": lambda: scale_kernel[(1,)](x, out, numpy.float64(2), 64, B=64),
        "numpy half": lambda: scale_kernel[(1,)](x, out, numpy.float16(2), 64, B=64),
        "numpy array": lambda: read(numpy.zeros(64, numpy.float32)),
        "no number": lambda: scale_kernel[(1,)](x, out, float("nan"), 64, B=64),
        "large": lambda: read(x, 2**40),
        "too large": lambda: read(x, 2**70),
        "tensor of one": lambda: read(x, torch.tensor(64)),
        "parameter": lambda: read(torch.nn.Parameter(x)),
        "subclass": lambda: read(x.as_subclass(Sub)),
        "wrapper": lambda: read(Wrapper(x), 0),
        "meta": lambda: read(torch.empty(64, device="meta"), 0),
        "fake": fake,
        "host": lambda: read(torch.zeros(64)),
        "pinned": lambda: read(torch.zeros(64).pin_memory()),
        "none": lambda: read(None, 0),
        "sparse": lambda: read(x.to_sparse(), 0),
        "complex": lambda: read(torch.view_as_real(torch.zeros(32, dtype=torch.complex64, device=DEVICE))),
        "tuple": lambda: pair_kernel[(1,)]((x, out), 64, B=64),
        "reinterpreted": lambda: read(triton.reinterpret(x.view(torch.int32), tl.float32)),
        "descriptor": described,
        "metadata that raise": lambda: unwilling_kernel[(1,)](x, out, 64, B=64),
        "no blocks": lambda: read_kernel[(0,)](x, out, 64, B=64),
        "mode": counted, "grad": derivative, "vmap": mapped, "autograd": autograd,
        "compile": lambda: compiled(False), "compile dynamic": lambda: compiled(True),
        "distributed tensor": distributed,
    }
    for name, case in cases.items():
        try:
            said = case()
            torch.cuda.synchronize()
            result = f"fine, {out.sum().item()}" + (f", {said}" if isinstance(said, str) else "")
        except Exception as error:
            result = f"{type(error).__name__}: {re.sub('[0-9a-fx]{6,}', '#', str(error).splitlines()[0][:80] if str(error) else '')}"
        print(f"{name}: {result}", flush=True)
        out.zero_()


@program
def noinline():
    import goproton
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    x = torch.randn(sms * 8 * 1024, device=DEVICE)
    y = torch.randn_like(x)
    for _ in range(10):
        with goproton.scope("with a callee"):
            polished_kernel[(sms * 8,)](x, 40_000)
        with goproton.scope("alone"):
            alone_kernel[(sms * 8,)](y, 20_000)
    torch.cuda.synchronize()


@program
def matmul():
    for size in (512, 2048):
        a = torch.randn(size, size, device=DEVICE, dtype=torch.float16)
        b, c = torch.randn_like(a), torch.empty_like(a)
        for _ in range(20):
            matmul_kernel[lambda m: (triton.cdiv(size, m["BM"]), triton.cdiv(size, m["BN"]))](a, b, c, size, size, size)
    torch.cuda.synchronize()


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
