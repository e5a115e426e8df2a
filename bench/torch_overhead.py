"""What frames of PyTorch cost, next to torch.profiler with stacks and shapes: milliseconds of a training step.

    python3 bench/torch_overhead.py [--rounds 2] [--ways REGEX]

The step is a transformer of small layers, whose pace the processor sets. Each way to profile runs in its own process, and rounds
alternate. A line has the mean of the fastest third of the steps, and what that is more than without a profiler in the same round. Needs torch and a GPU.
"""
import argparse
import multiprocessing
import os
import re
import statistics
import tempfile
import time

WAYS = {
    "none": None,
    "goproton": dict(),
    "goproton -c python": dict(context="python"),
    "goproton --torch": dict(words=dict()),
    "goproton --torch=operators": dict(words=dict(modules=False)),
    "goproton -c python --torch": dict(context="python", words=dict()),
    "torch.profiler": dict(),
    "torch.profiler with_stack, record_shapes": dict(with_stack=True, record_shapes=True),
}
STEPS = 60


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


def measure(way):
    options = WAYS[way]
    step = step_of()
    for _ in range(10):
        step()
    if way.startswith("torch"):
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], **options):
            step()
            return timed(step)
    if options is not None:
        import goproton as proton
        options = dict(options)
        words = options.pop("words", None)
        proton.start(os.path.join(tempfile.mkdtemp(), "profile"), **options)
        if words is not None:
            proton.torch.install(**words)
            assert proton.torch.problem() is None, proton.torch.problem()
        for _ in range(3):
            step()
    return timed(step)


def in_a_process(way):
    """measure(way) in a process forked from one that has imported torch and not used the GPU."""
    context = multiprocessing.get_context("fork")
    answer = context.SimpleQueue()
    process = context.Process(target=lambda: answer.put(measure(way)))
    process.start()
    process.join()
    return None if process.exitcode else answer.get()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--ways", default="", help="measure only those that contain this regular expression, and none")
    arguments = parser.parse_args()
    ways = [way for way in WAYS if way == "none" or re.search(arguments.ways, way)]
    import torch  # noqa: F401 - once for all processes
    bare = None
    for _ in range(arguments.rounds):
        for way in ways:
            milliseconds = in_a_process(way)
            bare = milliseconds if way == "none" else bare
            if milliseconds is not None:
                print(f"| {way} | {milliseconds:.2f} | {milliseconds - (bare or 0):+.2f} |", flush=True)


if __name__ == "__main__":
    main()
