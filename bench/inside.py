"""What scopes inside kernels cost, next to Triton's own profiler, on one GPU in one run.

    PYTHONPATH=build/python python3 bench/inside.py [--json FILE] [--launches 200] [--modes default,default:optimizations=clock32]

Of each kernel of inside_kernels.py: its time by CUPTI without and with scopes, the wall time of a launch (the median; the program
waits for its stream, or for nothing), the bytes that were copied for a launch, and the cycles of each scope by both profilers, of
launches that find nothing in the GPU's cache.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

import torch
import triton
import triton.profiler as upstream
import triton.profiler.language as upstream_scopes

import goproton
import goproton.language as our_scopes
from goproton import _library


def kernels(name, scopes):
    """The module of kernels with scopes of one profiler."""
    sys.modules["PL"] = scopes
    spec = importlib.util.spec_from_file_location(name, pathlib.Path(__file__).parent / "inside_kernels.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.work()


def median_us(launch, count, wait):
    times = []
    for _ in range(count):
        began = time.perf_counter()
        launch()
        wait()
        times.append(time.perf_counter() - began)
    torch.cuda.synchronize()
    return statistics.median(times) * 1e6


def nodes(tree):
    yield tree
    for child in tree["children"]:
        yield from nodes(child)


def read(name):
    with open(f"{name}.hatchet") as file:
        return json.load(file)[0]


def of_kernel(tree, kernel):
    return next(node for node in nodes(tree) if node["frame"]["name"] == kernel)


def cycles(tree, kernel, launches):
    return {node["frame"]["name"]: node["metrics"]["cycles"] / launches for node in nodes(of_kernel(tree, kernel)) if "cycles" in node["metrics"]}


def session(profiler, name, launch, count, before=lambda: None, **options):
    """The tree of some launches, one at a time."""
    profiler.start(name, **options)
    for _ in range(count):
        before()
        launch()
        torch.cuda.current_stream().synchronize()
    profiler.finalize()
    return read(name)


def cold():
    """Nothing of a kernel's data is in the GPU's cache, and records of the launch before are decoded: the same for both profilers."""
    time.sleep(0.02)
    torch.empty(1 << 26, device="cuda").fill_(0)


def measure(kernel, mode, ours, theirs, count):
    launch, result = ours[kernel]
    wait, none = torch.cuda.current_stream().synchronize, lambda: None
    until = time.perf_counter() + 0.5  # the clocks of an idle GPU are low
    while time.perf_counter() < until:
        launch()
    torch.cuda.synchronize()
    expected = result.clone()
    bare_sync, bare_async = median_us(launch, count, wait), median_us(launch, count, none)
    bare = of_kernel(session(goproton, "bare", launch, 100, backend="cupti"), kernel)["metrics"]

    goproton.start("wall", backend="instrumentation", mode=mode)
    for _ in range(20):
        launch()
    torch.cuda.synchronize()
    result.zero_()
    launch()
    equal = torch.equal(result, expected)
    our_sync = median_us(launch, count, wait)
    time.sleep(0.2)
    our_async = median_us(launch, count, none)
    said = _library.call("status")["problems"]
    goproton.finalize()

    before = _library.call("inside.copied")["bytes"]
    tree = session(goproton, "ours", launch, 100, backend="instrumentation", mode=mode)
    copied = (_library.call("inside.copied")["bytes"] - before) / 100
    with_scopes = of_kernel(tree, kernel)["metrics"]
    row = {
        "kernel": kernel, "mode": mode, "bare_ns": bare["time (ns)"] / bare["count"], "ours_ns": with_scopes["time (ns)"] / with_scopes["count"],
        "bare_us": [bare_sync, bare_async], "ours_us": [our_sync, our_async], "copied": copied, "equal": equal,
        "problems": said,
    }
    if theirs:
        their_launch, _ = theirs[kernel]
        upstream.start("wall", backend="instrumentation", mode=mode)
        their_launch()
        row["upstream_us"] = median_us(their_launch, 3, wait)
        upstream.finalize()
        for who, profiler, scoped, times in ("", goproton, launch, 30), ("upstream_", upstream, their_launch, 5):
            tree = session(profiler, f"{who}cycles", scoped, times, before=cold, backend="instrumentation", mode=mode)
            row[f"{who}cycles"] = cycles(tree, kernel, times)
    return row


def show(row):
    print(f"{row['kernel']:11} {row['mode']}: kernel {row['bare_ns'] / 1000:.1f} us, with scopes x{row['ours_ns'] / row['bare_ns']:.3f}; "
          f"launch and wait {row['bare_us'][0]:.1f} us, x{row['ours_us'][0] / row['bare_us'][0]:.2f}; launch {row['bare_us'][1]:.1f} us, "
          f"x{row['ours_us'][1] / row['bare_us'][1]:.2f}; {row['copied'] / 1024:.0f} KiB copied; results equal: {row['equal']}")
    if "upstream_us" in row:
        print(f"{'':11} upstream's launch: {row['upstream_us']:.0f} us, x{row['upstream_us'] / row['bare_us'][0]:.0f}; cycles, ours to upstream's:",
              {name: round(cycles / max(row["upstream_cycles"].get(name, 0), 1), 3) for name, cycles in row["cycles"].items()})
    for said in row["problems"]:
        print(f"{'':11} {said}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--launches", type=int, default=200)
    parser.add_argument("--modes", default="default")
    parser.add_argument("--kernels", default="vector_add,layer_norm,matmul,attention")
    parser.add_argument("--no-upstream", action="store_true")
    options = parser.parse_args()
    ours = kernels("our_kernels", our_scopes)
    theirs = None if options.no_upstream else kernels("their_kernels", upstream_scopes)
    output = os.path.abspath(options.json) if options.json else None
    os.chdir(tempfile.mkdtemp())
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "triton", triton.__version__, time.strftime("%F"))
    rows = []
    for mode in options.modes.split(";"):
        for kernel in options.kernels.split(","):
            rows.append(measure(kernel, mode, ours, theirs, options.launches))
            show(rows[-1])
    if output:
        with open(output, "w") as file:
            json.dump(rows, file, indent=1)


main()
