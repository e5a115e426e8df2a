"""What frames of PyTorch cost, next to torch.profiler with stacks and shapes: milliseconds of a training step.

    python3 bench/torch_overhead.py [--rounds 2] [--ways REGEX]

The step is a transformer of small layers, whose pace the processor sets. Each way to profile has a process of its own, in which steps
without a profiler and steps with it take turns, because processes differ by more than a profiler costs. A line has the mean of the
fastest third of the steps without and with it, and the median of the differences of neighbours. Needs torch and a GPU.
"""
import argparse
import os
import re
import statistics
import tempfile
import time

from forked import in_a_process

WAYS = {
    "goproton": dict(),
    "goproton -c python": dict(context="python"),
    "goproton --torch": dict(words=dict()),
    "goproton --torch=operators": dict(words=dict(modules=False)),
    "goproton -c python --torch": dict(context="python", words=dict()),
    "torch.profiler": dict(),
    "torch.profiler with_stack, record_shapes": dict(with_stack=True, record_shapes=True),
}
STEPS, TURNS = 30, 4


def step_of():
    import torch
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
    model = torch.nn.TransformerEncoder(layer, 6).cuda()
    batch = torch.randn(4, 16, 64, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, foreach=False)

    def step():
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
    return step


def timed(step):
    times = []
    for _ in range(STEPS):
        began = time.perf_counter()
        step()
        times.append(time.perf_counter() - began)
    return statistics.mean(sorted(times)[:STEPS // 3]) * 1e3


def profiled(way, step):
    """The time of a step while it is profiled."""
    options = dict(WAYS[way])
    if way.startswith("torch"):
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], **options):
            step()
            return timed(step)
    import goproton as proton
    words = options.pop("words", None)
    proton.start(os.path.join(tempfile.mkdtemp(), "profile"), **options)
    if words is not None:
        proton.torch.install(**words)
        assert proton.torch.problem() is None, proton.torch.problem()
    for _ in range(3):
        step()
    taken = timed(step)
    proton.torch.uninstall()
    proton.finalize()
    return taken


def measure(way):
    """The times of a step without and with the profiler, turn by turn."""
    step = step_of()
    for _ in range(20):
        step()
    return [(timed(step), profiled(way, step)) for _ in range(TURNS)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--ways", default="", help="measure only those that contain this regular expression")
    arguments = parser.parse_args()
    import torch  # noqa: F401 - once for all processes
    for _ in range(arguments.rounds):
        for way in filter(re.compile(arguments.ways).search, WAYS):
            turns = in_a_process(measure, way)
            if turns is not None:
                bare, with_it = (statistics.median(column) for column in zip(*turns))
                print(f"| {way} | {bare:.2f} | {with_it:.2f} | {statistics.median(b - a for a, b in turns):+.2f} |", flush=True)


if __name__ == "__main__":
    main()
