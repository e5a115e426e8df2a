"""A program for tests of the debugger: its kernel stops, prints, and has variables that only marks know."""

import pdb

import numpy as np
import triton
import triton.language as tl


@triton.jit
def double(value):
    twice = value * 2
    return twice


@triton.jit
def add_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr, STOP: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    previous = offsets
    mask = offsets < n
    if STOP == 1:
        if pid == 2:
            breakpoint()
    if STOP == 2:
        if pid == 2:
            pdb.set_trace()
    x = tl.load(x_ptr + offsets, mask=mask)
    total = double(x + tl.load(y_ptr + offsets, mask=mask))
    for turn in range(2):
        previous = offsets + turn
    part, unused = total, 5
    bits = pid.to(tl.uint32) - 3
    if STOP == 3:
        if pid == 1:
            print("total", total, total.shape, f"{pid}/{BLOCK} {n:>5}", sep="|")
    tl.store(z_ptr + offsets, total, mask=mask)


def main(stop, n=32):
    x, y, z = np.arange(32, dtype=np.float32), np.ones(32, np.float32), np.zeros(32, np.float32)
    add_kernel[(4,)](x, y, z, n, BLOCK=8, STOP=stop)
    print("sum", float(z.sum()))


if __name__ == "__main__":
    import sys
    main(int(sys.argv[1]), *map(int, sys.argv[2:]))
