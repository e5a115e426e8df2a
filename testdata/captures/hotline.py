"""A kernel with one line that takes nearly all of its time, and one whose work is in inlined helpers."""
import torch
import triton
import triton.language as tl

import goproton as proton


@triton.jit
def hot_line(x, y, n, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    for _ in range(steps):
        v = tl.sqrt(v * v + 1.0)  # the hot line
    tl.store(y + i, v, mask=i < n)


@triton.jit
def square(v):
    return v * v


@triton.jit
def norm(v, w):
    return tl.sqrt(square(v) + square(w))


@triton.jit
def helpers(x, y, n, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    w = v
    for _ in range(steps):
        v = norm(v, w)
        w = norm(w, v)
    tl.store(y + i, v + w, mask=i < n)


n = 1 << 20
x = torch.ones(n, device="cuda")
y = torch.empty_like(x)
proton.start("hotline")
for name, kernel in (("first", hot_line), ("second", hot_line), ("inlined", helpers)):
    with proton.scope(name):
        for _ in range(10):
            kernel[(n // 1024,)](x, y, n, 500, BLOCK=1024)
torch.cuda.synchronize()
proton.finalize()
