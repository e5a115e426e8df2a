# Kernels of which testdata has code objects; make.py compiles them.
import triton
import triton.language as tl


@triton.jit
def act(v):
    w = v * 0.5
    return tl.where(w > 0, tl.exp(w), w * 0.1)


@triton.jit
def twice(v):
    return act(act(v))


@triton.jit
def inlined(x, z, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, mask=o < tl.cdiv(n, 3))
    tl.store(z + o, twice(v), mask=o < n)


@triton.jit
def softmax(x, z, n, s, B: tl.constexpr):
    r = tl.program_id(0)
    o = tl.arange(0, B)
    v = tl.load(x + r * s + o, mask=o < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(z + r * s + o, e / tl.sum(e, axis=0), mask=o < n)


@triton.jit
def matmul(a, b, c, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    om = pm * BM + tl.arange(0, BM)
    on = pn * BN + tl.arange(0, BN)
    ok = tl.arange(0, BK)
    pa = a + om[:, None] * sa + ok[None, :]
    pb = b + ok[:, None] * sb + on[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=ok[None, :] < K - k * BK, other=0.0)
        y = tl.load(pb, mask=ok[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK
        pb += BK * sb
    tl.store(c + om[:, None] * sc + on[None, :], acc.to(tl.float16), mask=(om[:, None] < M) & (on[None, :] < N))


@triton.jit(noinline=True)
def stays_a_call(v, n):
    for _ in range(n):
        v = v * v + 1.0
    return v


@triton.jit
def calls(x, z, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    scale = stays_a_call(tl.load(x), n) + stays_a_call(tl.load(x + 1), 3)
    tl.store(z + o, tl.load(x + o, mask=o < n) * scale, mask=o < n)


P16, P32, I32 = "*fp16", "*fp32", "i32"

# name, kernel, signature, constants, options
KERNELS = [
    ("inlined", inlined, dict(x=P32, z=P32, n=I32), dict(B=256), {}),
    ("softmax", softmax, dict(x=P32, z=P32, n=I32, s=I32), dict(B=2048), {}),
    ("matmul", matmul, dict(a=P16, b=P16, c=P16, M=I32, N=I32, K=I32, sa=I32, sb=I32, sc=I32), dict(BM=64, BN=64, BK=32), {}),
    ("calls", calls, dict(x=P32, z=P32, n=I32), dict(B=256), {}),
    # With so many waves at a time, a wave has few registers for its part of the row.
    ("spills", softmax, dict(x=P32, z=P32, n=I32, s=I32), dict(B=8192), dict(num_warps=1, waves_per_eu=8)),
]
