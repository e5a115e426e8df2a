"""What profiling costs a launch, a scope and the memory of a program. Figures, and limits where a figure must not move."""
import os
import time

import pytest
import torch
import triton

import goproton as proton
from kernels import add_kernel, described_add_kernel

pytestmark = pytest.mark.alone


def resident():
    """This process's resident memory in MiB."""
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) / 1024


def million(launch):
    """Launches a million kernels; returns the resident memory after each tenth, which must not grow."""
    marks = []
    for _ in range(10):
        with proton.scope("part"):
            for _ in range(100_000):
                launch()
            torch.cuda.synchronize()
        marks.append(resident())
    print(f"resident memory in MiB: {[round(m) for m in marks]}")
    assert marks[-1] - marks[2] < 8, "resident memory grows"


def test_million_launches_flat_memory(sessions, work):
    sessions.start("million")
    million(work.mul)
    proton.finalize()
    assert sessions.tree("million").total() == 1_000_000


def test_trace_million_launches_flat_memory(sessions, work):
    sessions.start("million", data="trace")
    million(work.mul)
    began = time.perf_counter()
    proton.finalize()
    took = time.perf_counter() - began
    file = sessions.folder / "million.chrome_trace"
    kernels = sum(line.count('"cat":"kernel"') for line in open(file))
    print(f"{file.stat().st_size >> 20} MiB of trace, {kernels} kernels, finalize {took:.3f} s")
    assert kernels == 1_000_000


def launch_seconds(work, n, kernel=described_add_kernel, best_of=1):
    best = 1e9
    for _ in range(best_of):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(n):
            work.add(kernel)
        best = min(best, (time.perf_counter() - began) / n)
    torch.cuda.synchronize()
    return best


def test_device_tensor_metrics_do_not_synchronise(sessions, work):
    tokens = torch.full((), 7, device="cuda", dtype=torch.int64)
    metered = triton.jit(launch_metadata=lambda grid, kernel, args: {"name": "add_tensor", "bytes": tokens, "flops32": 1.0})(add_kernel.fn)

    def body():
        with proton.scope("s", {"tokens": tokens}):
            for _ in range(1000):
                work.add(metered)
    rows = sessions.profiled(body, hook="triton").rows()
    assert (rows["s/add_tensor"]["bytes"], rows["s/add_tensor"]["count"], rows["s"]["tokens"]) == (7000, 1000, 7)
    sessions.start("tensor", hook="triton")
    launch_seconds(work, 2000, metered), launch_seconds(work, 2000)
    with_tensor, without = launch_seconds(work, 5000, metered), launch_seconds(work, 5000)
    proton.finalize()
    print(f"launch with a device-tensor metric {with_tensor * 1e6:.1f} us, with number metrics {without * 1e6:.1f} us")


def test_deactivated_costs_nothing(sessions, work):
    def best():
        return launch_seconds(work, 20_000, best_of=5)
    bare = best()
    s = sessions.start("idle")
    on = best()
    proton.deactivate(s)
    off = best()
    proton.finalize()
    print(f"launch: bare {bare * 1e6:.2f} us; active x{on / bare:.3f}, deactivated x{off / bare:.3f}, finalized x{best() / bare:.3f}")


def test_launch_latency_tail(sessions, work):
    def tail(n=50_000):
        out = []
        for _ in range(n):
            began = time.perf_counter_ns()
            work.add()
            out.append(time.perf_counter_ns() - began)
        out.sort()
        return "/".join(f"{out[int(len(out) * q)] / 1000:.1f}" for q in (0.5, 0.99, 0.999))
    tail(5000)
    bare = tail()
    sessions.start("tail")
    on = tail()
    proton.finalize()
    print(f"launch latency p50/p99/p99.9 in us: bare {bare}, profiled {on}")


def test_scope_cost(sessions, work):
    def best(n, body):
        times = []
        for _ in range(5):
            began = time.perf_counter()
            body(n)
            times.append(time.perf_counter() - began)
        return min(times) / n * 1e9

    def scopes(n):
        for _ in range(n):
            with proton.scope("s"):
                pass

    def metrics(n):
        for _ in range(n):
            with proton.scope("s", {"w": 1}):
                pass
    sessions.start("cost")
    on, metered = best(200_000, scopes), best(100_000, metrics)
    began = time.perf_counter()
    for i in range(30_000):
        with proton.scope(f"unique{i}"):
            work.mul()
    launched = time.perf_counter()
    proton.finalize()
    ended = time.perf_counter()
    size = os.path.getsize(sessions.folder / "cost.hatchet")
    print(f"scope enter+exit {on:.0f} ns on, {best(200_000, scopes):.0f} ns off, {metered:.0f} ns with a metric; "
          f"30k unique scopes: run {launched - began:.2f} s, finalize {ended - launched:.3f} s, {size} bytes")
