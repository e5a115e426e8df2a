"""What a tensor metric in a CUDA graph costs at each replay, on a machine with an NVIDIA GPU and torch:

    PYTHONPATH=build/python python3 bench/graph_metrics.py [--rounds N]

A graph of 100 small kernels is replayed, with and without a metric of each kernel's scope. The time of a replay is that of the GPU,
between two events around 50 replays; the launch is the time that the program's thread spends in replay(). Each figure is the median
over the rounds, in which the variants take turns.
"""
import argparse
import gc
import os
import statistics
import tempfile
import time

import torch

import goproton as proton

KERNELS, REPLAYS = 100, 50


def captured(metrics):
    x = torch.zeros(64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    gc.collect()
    with torch.cuda.graph(graph):
        for i in range(KERNELS):
            with proton.scope(f"s{i}", metrics):
                x.add_(1)
    return graph


def replayed(graph):
    """Microseconds of one replay: of the GPU, and in the call."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begin.record()
    calls = []
    for _ in range(REPLAYS):
        before = time.perf_counter()
        graph.replay()
        calls.append(time.perf_counter() - before)
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / REPLAYS * 1e3, statistics.median(calls) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    one, vectors = torch.ones(1, device="cuda"), {n: torch.ones(n, device="cuda") for n in (32, 1024)}
    bare = captured(None)
    figures = {"no session": [replayed(bare) for _ in range(rounds)]}
    with tempfile.TemporaryDirectory() as folder:
        proton.start(os.path.join(folder, "p"))
        variants = {"no metric": None, "a number": {"m": 1}, "a tensor": {"m": one}, "two tensors": {"m": one, "n": one}}
        variants |= {f"a vector of {n}": {"m": vector} for n, vector in vectors.items()}
        graphs = {name: captured(metrics) for name, metrics in variants.items()}
        for _ in range(rounds):
            for name, graph in graphs.items():
                figures.setdefault(name, []).append(replayed(graph))
        proton.finalize()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {KERNELS} kernels, {rounds} rounds")
    base = statistics.median(gpu for gpu, _ in figures["no metric"])
    for name, pairs in figures.items():
        gpu, call = (statistics.median(column) for column in zip(*pairs))
        more = "" if name in ("no session", "no metric") else f", {(gpu - base) / KERNELS:.2f} µs a metric and replay"
        print(f"{name:18s} {gpu:8.1f} µs on the GPU, {call:6.1f} µs in replay(){more}")


if __name__ == "__main__":
    main()
