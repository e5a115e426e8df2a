"""Kernels that are slow for a known reason, and healthy ones. A comment "cause: CLASS" marks the line and names the class, or one of several, that proton explain has to find;
a kernel without one is healthy. ``causes.py NAME…`` runs some of them, by default all; other programs below are known causes that are not of a kernel."""
import os
import sys
import time

import torch
import triton
import triton.language as tl

SIZE = int(os.environ.get("CAUSES_SIZE", 1 << 24))  # elements of the vectors; matrices have sides of N
N = int(os.environ.get("CAUSES_SIDE", 4096))
TIMES = int(os.environ.get("CAUSES_TIMES", 30))
DEVICE = os.environ.get("CAUSES_DEVICE", "cuda")


@triton.jit
def strided_copy(x, y, n, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + (i % (n // stride)) * stride + i // (n // stride))  # cause: data movement
    tl.store(y + i, v)


@triton.jit
def gather(x, at, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + tl.load(at + i))  # cause: data movement
    tl.store(y + i, v)


@triton.jit
def chase(at, y, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = i.to(tl.int64)
    for _ in range(steps):
        v = tl.load(at + v)  # cause: data movement
    tl.store(y + i, v)


@triton.jit
def transposed(x, y, side, B: tl.constexpr, TIMES: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + r[:, None] * side + c[None, :])
    for _ in range(TIMES):
        v = tl.trans(v) + v  # cause: layout
    tl.store(y + r[:, None] * side + c[None, :], v)


@triton.jit
def roots(x, y, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(steps):
        v = tl.sqrt(v * v + 1.0)  # cause: compute
    tl.store(y + i, v)


@triton.jit
def exponentials(x, y, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(steps):
        v = tl.exp(-v)  # cause: compute
    tl.store(y + i, v)


@triton.jit
def dependent(x, y, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(steps):
        v = v * 0.999 + 0.5  # cause: compute
    tl.store(y + i, v)


@triton.jit
def few(x, y, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        total += tl.load(x + k + tl.arange(0, BLOCK))  # cause: occupancy
    tl.store(y + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), total)


@triton.jit
def spilling(x, y, side, steps, B: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.arange(0, C)
    a = tl.load(x + r[:, None] * side + c[None, :])
    b = a * 2.0
    for _ in range(steps):
        a, b = b * 0.5 + a, a - b  # cause: spill
    tl.store(y + r[:, None] * side + c[None, :], a + b)


@triton.jit
def synchronised(x, y, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(steps):
        v += tl.sum(v, 0) * 1e-9  # cause: synchronisation|layout (partial sums go through shared memory, between two barriers)
    tl.store(y + i, v)


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    pa, pb = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(pa), tl.load(pb), total, input_precision=PRECISION)
        pa += BK
        pb += BK * N
    tl.store(c + m[:, None] * N + n[None, :], total.to(c.dtype.element_ty))


@triton.jit
def one_stage(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    pa, pb = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(pa), tl.load(pb), total)  # cause: data movement
        pa += BK
        pb += BK * N
    tl.store(c + m[:, None] * N + n[None, :], total.to(c.dtype.element_ty))


@triton.jit
def full_precision(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    pa, pb = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(pa), tl.load(pb), total, input_precision="ieee")  # cause: compute
        pa += BK
        pb += BK * N
    tl.store(c + m[:, None] * N + n[None, :], total)


@triton.jit
def added(x, y, z, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + i, tl.load(x + i) + tl.load(y + i))


@triton.jit
def scaled(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i) * 2.0)


@triton.jit
def activated(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(y + i, v * tl.sigmoid(v))


@triton.jit
def softmax(x, y, side, BLOCK: tl.constexpr):
    at = tl.program_id(0) * side + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + at, e / tl.sum(e, 0))


@triton.jit
def normalised(x, y, side, BLOCK: tl.constexpr):
    at = tl.program_id(0) * side + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    mean = tl.sum(v, 0) / side
    v -= mean
    tl.store(y + at, v * tl.rsqrt(tl.sum(v * v, 0) / side + 1e-6))


@triton.jit
def summed(x, y, side, BLOCK: tl.constexpr):
    at = tl.program_id(0) * side + tl.arange(0, BLOCK)
    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + at), 0))


def kernels():
    """The launches, by kernel."""
    torch.manual_seed(0)
    x, y, z = (torch.rand(SIZE, device=DEVICE) for _ in range(3))
    at = torch.randperm(SIZE, device=DEVICE, dtype=torch.int64)
    matrix, out = (torch.rand(N, N, device=DEVICE) for _ in range(2))
    a, b, c = (torch.rand(N, N, device=DEVICE).to(torch.float16) for _ in range(3))
    blocks, wide, side = (SIZE // 1024,), (SIZE // 4096,), (N // 64, N // 64)
    chased = (max(1, SIZE // 1024 // 64),)
    big = (N // 128, N // 128)
    return {
        "strided_copy": lambda: strided_copy[blocks](x, y, SIZE, 1024, 1024),
        "gather": lambda: gather[blocks](x, at, y, 1024),
        "chase": lambda: chase[chased](at, at.clone(), 32, 1024),
        "transposed": lambda: transposed[side](matrix, out, N, 64, 16, num_warps=4),
        "roots": lambda: roots[blocks](x, y, 200, 1024),
        "exponentials": lambda: exponentials[blocks](x, y, 200, 1024),
        "dependent": lambda: dependent[(264,)](x, y, 20000, 128, num_warps=1),
        "few": lambda: few[(16,)](x, y, SIZE, 2048),
        "spilling": lambda: spilling[(N // 16,)](matrix, out, N, 50, 16, 256, num_warps=1, maxnreg=64),
        "synchronised": lambda: synchronised[(1056,)](x, y, 200, 512, num_warps=8),
        "one_stage": lambda: one_stage[side](a, b, c, N, N, N, 64, 64, 32, num_stages=1, num_warps=4),
        "full_precision": lambda: full_precision[big](matrix, out, matrix.clone(), N, N, N, 128, 128, 16, num_warps=8),
        "product": lambda: product[big](a, b, c, N, N, N, 128, 128, 64, "tf32", num_warps=8, num_stages=4),
        "added": lambda: added[wide](x, y, z, 4096),
        "scaled": lambda: scaled[wide](x, y, 4096),
        "activated": lambda: activated[wide](x, y, 4096),
        "softmax": lambda: softmax[(N,)](matrix, out, N, N, num_warps=8),
        "normalised": lambda: normalised[(N,)](matrix, out, N, N, num_warps=8),
        "summed": lambda: summed[(N,)](matrix, out, N, N, num_warps=8),
    }


def small(x):
    for _ in range(20 * TIMES):
        x = x + 1.0


def sleeping(x):
    for _ in range(TIMES):
        x @ x
        time.sleep(0.005)


def synchronising(x):
    for _ in range(TIMES * 10):
        (x @ x).sum().item()


def copying(x):
    there = torch.rand(N, N)
    for _ in range(TIMES):
        (there.to(x.device) @ x)


PROGRAMS = {"small": (small, 64, "launch"), "sleeping": (sleeping, N // 4, "host"), "synchronising": (synchronising, 512, "synchronisation launch"),
            "copying": (copying, N // 4, "data movement host")}  # any of the classes; the second is what a fast machine shows


def main():
    named = sys.argv[1:]
    if named and named[0] in PROGRAMS:
        program, side, _ = PROGRAMS[named[0]]
        if program is copying:
            side = N
        x = torch.rand(side, side, device=DEVICE)
        program(x)
        return
    for name, launch in kernels().items():
        if not named or name in named:
            for _ in range(TIMES):
                launch()
    if DEVICE == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
