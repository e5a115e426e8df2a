"""The second exam. The rules had not seen these programs when an H200 ran them first: 10 of 12 causes of kernels, 1 of 7 healthy ones with an alarm."""

import time

import torch
import triton
import triton.language as tl

from cases import case

SIZE, N = 1 << 24, 4096


@triton.jit
def strided_copy(x, y, n, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + (i % (n // stride)) * stride + i // (n // stride))  # fault
    tl.store(y + i, v)


@triton.jit
def gather(x, at, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + tl.load(at + i))  # fault
    tl.store(y + i, v)


@triton.jit
def chase(at, y, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = i.to(tl.int64)
    for _ in range(steps):
        v = tl.load(at + v)  # fault
    tl.store(y + i, v)


@triton.jit
def transposed(x, y, side, B: tl.constexpr, TIMES: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + r[:, None] * side + c[None, :])
    for _ in range(TIMES):
        v = tl.trans(v) + v  # fault
    tl.store(y + r[:, None] * side + c[None, :], v)


@triton.jit
def roots(x, y, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(steps):
        v = tl.sqrt(v * v + 1.0)  # fault
    tl.store(y + i, v)


@triton.jit
def exponentials(x, y, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(steps):
        v = tl.exp(-v)  # fault
    tl.store(y + i, v)


@triton.jit
def dependent(x, y, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(steps):
        v = v * 0.999 + 0.5  # fault
    tl.store(y + i, v)


@triton.jit
def few(x, y, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        total += tl.load(x + k + tl.arange(0, BLOCK))  # fault
    tl.store(y + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), total)


@triton.jit
def spilling(x, y, side, steps, B: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.arange(0, C)
    a = tl.load(x + r[:, None] * side + c[None, :])
    b = a * 2.0
    for _ in range(steps):
        a, b = b * 0.5 + a, a - b  # fault
    tl.store(y + r[:, None] * side + c[None, :], a + b)


@triton.jit
def synchronised(x, y, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(steps):
        v += tl.sum(v, 0) * 1e-9  # fault(partial sums go through shared memory, between two barriers)
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
        total = tl.dot(tl.load(pa), tl.load(pb), total)  # fault
        pa += BK
        pb += BK * N
    tl.store(c + m[:, None] * N + n[None, :], total.to(c.dtype.element_ty))


@triton.jit
def full_precision(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    pa, pb = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(pa), tl.load(pb), total, input_precision="ieee")  # fault
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


x, y, z = (torch.rand(SIZE, device="cuda") for _ in range(3))
at = torch.randperm(SIZE, device="cuda", dtype=torch.int64)
ends = at.clone()
matrix, out = (torch.rand(N, N, device="cuda") for _ in range(2))
a, b, c = (torch.rand(N, N, device="cuda").to(torch.float16) for _ in range(3))
blocks, wide, side = (SIZE // 1024,), (SIZE // 4096,), (N // 64, N // 64)
chased = (max(1, SIZE // 1024 // 64),)
big = (N // 128, N // 128)

case("strided_copy", "data movement")(lambda: strided_copy[blocks](x, y, SIZE, 1024, 1024))
case("gather", "data movement")(lambda: gather[blocks](x, at, y, 1024))
case("chase", "data movement")(lambda: chase[chased](at, ends, 32, 1024))
case("transposed", "layout")(lambda: transposed[side](matrix, out, N, 64, 16, num_warps=4))
case("roots", "compute")(lambda: roots[blocks](x, y, 200, 1024))
case("exponentials", "compute")(lambda: exponentials[blocks](x, y, 200, 1024))
case("dependent", "compute")(lambda: dependent[(264,)](x, y, 20000, 128, num_warps=1))
case("few", "occupancy")(lambda: few[(16,)](x, y, SIZE, 2048))
case("spilling", "spill")(lambda: spilling[(N // 16,)](matrix, out, N, 50, 16, 256, num_warps=1, maxnreg=64))
case("synchronised", "synchronisation|layout")(lambda: synchronised[(1056,)](x, y, 200, 512, num_warps=8))
case("one_stage", "data movement")(lambda: one_stage[side](a, b, c, N, N, N, 64, 64, 32, num_stages=1, num_warps=4))
case("full_precision", "compute")(lambda: full_precision[big](matrix, matrix, out, N, N, N, 128, 128, 16, num_warps=8))
case("product", "")(lambda: product[big](a, b, c, N, N, N, 128, 128, 64, "tf32", num_warps=8, num_stages=4))
case("added", "")(lambda: added[wide](x, y, z, 4096))
case("scaled", "")(lambda: scaled[wide](x, y, 4096))
case("activated", "")(lambda: activated[wide](x, y, 4096))
case("softmax", "")(lambda: softmax[(N,)](matrix, out, N, N, num_warps=8))
case("normalised", "")(lambda: normalised[(N,)](matrix, out, N, N, num_warps=8))
case("summed", "")(lambda: summed[(N,)](matrix, out, N, N, num_warps=8))


@case("small", "launch", None, "timeline")
def _():
    v = x[:4096]
    for _ in range(300):
        v = v + 1.0


@case("sleeping", "host", None, "timeline")
def _():
    for _ in range(10):
        a @ b
        time.sleep(0.005)


@case("synchronising", "synchronisation|launch", None, "timeline")
def _(v=torch.rand(512, 512, device="cuda")):
    for _ in range(100):
        (v @ v).sum().item()


@case("copying", "data movement|host", None, "timeline")
def _(there=torch.rand(N, N)):
    for _ in range(5):
        there.to("cuda") @ matrix
