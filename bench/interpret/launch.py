"""What a launch of an interpreted kernel costs without the work of the kernel: microseconds of one core, with arrays of numpy and, if it is there,
tensors of torch.

    PYTHONPATH=build/python taskset -c 1 python bench/interpret/launch.py
"""

import time

import numpy as np
import triton
import triton.language as tl

import goproton


@triton.jit
def nothing(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pass


def least(call, count=300, rounds=60):
    """The processor's time of one call, the least of several rounds: that of other programs is not in it."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        for _ in range(count):
            call()
        best = min(best, (time.process_time() - begin) / count)
    return best * 1e6


def measure(kind, tensors):
    from goproton._interpret import hook, host, launching

    def launch():
        nothing[(1,)](*tensors, 16, BLOCK=16)

    with goproton.interpreting() as run:
        whole = least(launch)
        real, launching.launch = launching.launch, lambda *a: None
        python = least(launch)
        launching.launch = real
        arguments = [run.argument(tensor) for tensor in tensors]
        host.here.run = run
        kept = launching.Kernel.run, launching.Kernel.launch_metadata
        launching.Kernel.run = launching.Kernel.launch_metadata = lambda *a: None
        tritons = least(lambda: hook._plain_run(nothing, *arguments, 16, BLOCK=16, grid=(1,), warmup=False))
        launching.Kernel.run, launching.Kernel.launch_metadata = kept
        host.here.run = None
    print(f"{kind}: {whole:.1f} µs: Triton {tritons:.1f}, the hook {python - tritons:.1f}, the library {whole - python:.1f}")


if __name__ == "__main__":
    measure("numpy", [np.zeros(16, np.float32) for _ in range(3)])
    try:
        import torch
        measure("torch", [torch.zeros(16) for _ in range(3)])
    except ImportError:
        pass
