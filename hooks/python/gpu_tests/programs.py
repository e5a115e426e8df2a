"""Programs that the checks run, below `proton run` and without it:

    programs.py NAME [ARGUMENT ...]
"""
import ctypes
import json
import math
import mmap
import os
import resource
import signal
import sys
import threading
import time

import torch
import triton

from kernels import chain_kernel, matmul_kernel, polished_kernel, read_kernel, scale_kernel, spin_kernel, step_kernel, tuned_kernel

DEVICE = "cuda"
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
    """Launches until it is killed, and says in a file how far it got; traces by itself if it has a folder."""
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
        read_kernel[(64,)](x, out, 65536, B=1024)
    body()
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        body()
    for _ in range(50):
        captured.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, x)


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
def noinline():
    import goproton
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    x = torch.randn(sms * 8 * 1024, device=DEVICE)
    y = torch.randn_like(x)
    for _ in range(10):
        with goproton.scope("with a callee"):
            polished_kernel[(sms * 8,)](x, 40_000)
        with goproton.scope("alone"):
            chain_kernel[(sms * 8,)](y, 20_000, C=2.0)
    torch.cuda.synchronize()


@program
def matmul():
    for size in (512, 2048):
        a = torch.randn(size, size, device=DEVICE, dtype=torch.float16)
        b, c = torch.randn_like(a), torch.empty_like(a)
        for _ in range(20):
            matmul_kernel[lambda m: (triton.cdiv(size, m["BM"]), triton.cdiv(size, m["BN"]))](a, b, c, size, size, size, size, 1, size, 1, size, 1)
    torch.cuda.synchronize()


@program
def whole_graphs():
    """Captures graphs while profiled and while not, and launches them then and afterwards."""
    import triton.profiler as proton
    x = torch.ones(4096, device=DEVICE)
    z = torch.empty_like(x)

    def captured():
        made = torch.cuda.CUDAGraph()
        with torch.cuda.graph(made):
            for _ in range(20):
                torch.mul(x, x, out=z)
        return made
    torch.mul(x, x, out=z)
    torch.cuda.synchronize()
    first = captured()
    with proton.scope("replay"):
        for _ in range(5):
            first.replay()
    torch.cuda.synchronize()
    proton.deactivate(0)
    second = captured()
    second.replay(), first.replay()
    proton.activate(0)
    with proton.scope("again"):
        second.replay(), first.replay()
    torch.cuda.synchronize()


@program
def killed_later():
    """Launches 3000 kernels, and dies four seconds later."""
    x = torch.ones(8, device=DEVICE)
    for _ in range(3000):
        x.mul_(2)
    torch.cuda.synchronize()
    time.sleep(4)
    os.kill(os.getpid(), signal.SIGKILL)


@program
def unfinished(name, ending):
    """Leaves a session open in which two kernels ran."""
    import goproton
    goproton.start(name)
    torch.ones(8, device=DEVICE) * 2
    if ending == "exit":
        sys.exit(3)
    if ending == "raise":
        raise ValueError
    if ending == "daemon":
        threading.Thread(target=lambda: os._exit, daemon=True).start()


@program
def spin(name, kernels, seconds):
    """Ends right after it has launched kernels of so many seconds each."""
    import goproton
    out = torch.zeros(1, device=DEVICE, dtype=torch.int64)
    spin_kernel[(1,)](out, 1000)
    torch.cuda.synchronize()
    goproton.start(name)
    for _ in range(int(kernels)):
        spin_kernel[(1,)](out, int(float(seconds) * 1e9))


@program
def sampled(name, wait=""):
    """Samples 201 kernels, and before the last 200 of them waits for a line of input if it should."""
    import goproton
    x = torch.randn(1 << 26, device=DEVICE)
    goproton.start(name, mode="pcsampling")
    torch.relu(x)
    torch.cuda.synchronize()
    if wait:
        print("up", flush=True)
        sys.stdin.readline()
    for _ in range(200):
        torch.relu(x)
    torch.cuda.synchronize()
    goproton.finalize()


@program
def fills(name, profiler, mode):
    """Samples 100 fills of 4 KiB, each in a scope of its own, under the names of Triton's profiler: with it or with this package."""
    if profiler == "goproton":
        import goproton
        goproton.install()
    import triton.profiler as proton
    torch.zeros(1024, device=DEVICE)
    torch.cuda.synchronize()
    proton.start(name, mode=mode)
    for i in range(100):
        with proton.scope(f"fill {i}"):
            torch.zeros(1024, device=DEVICE)
    torch.cuda.synchronize()
    proton.finalize()


@program
def hot():
    """What ncu samples."""
    from launches import Hot
    Hot().repeat(8)


@program
def counted(name="", mode=""):
    """Launches each of nine kernels once, after all were compiled: within a session's scopes, or while ncu observes."""
    import goproton
    from launches import Counted
    launches = Counted().launches()
    for launch in launches.values():
        launch()
    torch.cuda.synchronize()
    if name:
        goproton.start(name, mode=mode)
    torch.cuda.cudart().cudaProfilerStart()
    for label, launch in launches.items():
        with goproton.scope(label):
            launch()
            torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()
    if name:
        goproton.finalize()


@program
def odd():
    import odd_arguments
    odd_arguments.main()


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
