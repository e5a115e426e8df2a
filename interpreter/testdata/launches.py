"""Launches of kernels with what they must give: a wheel of Triton makes the TTIR, numpy the inputs and, by the formulas of the kernels, the
outputs. For each launch a line of JSON: name, form, ttir, kernel, grid, arguments (a number, or the name of a buffer), and the buffers: their
bytes before, after (null: not compared), their type, and how far an element may be off: absolutely, and relatively."""

import base64
import json
import os
import runpy
import sys

import numpy as np
import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend

CORPUS = runpy.run_path(os.path.join(os.path.dirname(__file__), "../../triton/ttir/testdata/kernels.py"))
TARGET = GPUTarget("cuda", 90, 32)
R = np.random.default_rng(7)
f32, f64, i32, u32 = np.float32, np.float64, np.int32, np.uint32


def texts(fn, signature, constants, options):
    context = ir.context()
    ir.load_dialects(context)
    backend = make_backend(TARGET)
    backend.load_dialects(context)
    options = backend.parse_options(dict(options))
    source = ASTSource(fn, {**signature, **{c: "constexpr" for c in constants}}, constants, {})
    module = source.make_ir(TARGET, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    stages = {}
    backend.add_stages(stages, options, source.language)
    front = str(module)
    return {"front": front, "ttir": str(stages["ttir"](module, {"target": TARGET, **options.__dict__}))}


class Brain:
    """bf16: numbers as f32, bits as u16"""

    @staticmethod
    def bits(x):
        u = np.asarray(x, f32).view(u32)
        rounded = ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)
        return np.where(np.isnan(x), ((u >> 16) | 0x40).astype(np.uint16), rounded)

    @staticmethod
    def value(b):
        return (b.astype(u32) << 16).view(f32)

    @staticmethod
    def round(x):
        return Brain.value(Brain.bits(x))


CASES = []


def case(name, fn, signature, constants, grid, before, after, tolerance=None, options=None):
    CASES.append((name, fn, signature, constants, grid, before, after, tolerance or {}, options or {}))


def corpus(name, grid, before, after, tolerance=None):
    for n, fn, signature, constants, options in CORPUS["KERNELS"]:
        if n == name:
            case(name, fn, signature, constants, grid, before, after, tolerance, options)


def normal(*shape):
    return R.standard_normal(shape).astype(f32)


# Kernels of the corpus


def vector_add():
    n = 5000
    x, y, z = normal(5120), normal(5000), np.full(5120, 9, f32)
    out = z.copy()
    out[:n] = x[:n] + y[:n]
    corpus("vector_add", (5, 1, 1), dict(x=x, y=y, z=z, n=n), dict(z=out))
    n = 1000
    x, y, z = Brain.bits(normal(n)), Brain.bits(normal(n)), np.zeros(n, np.uint16)
    x[:4], y[:4] = [0x7F80, 0x7FC0, 0x8000, 0x7F7F], [0xFF80, 0x3F80, 0x8000, 0x7F7F]
    corpus("vector_add_bf16", (4, 1, 1), dict(x=x, y=y, z=z, n=n), dict(z=Brain.bits(Brain.value(x) + Brain.value(y))), dict(z="bf16"))


def truncating(a, b):
    q = np.abs(a.astype(np.int64)) // np.abs(b.astype(np.int64)) * (np.sign(a.astype(np.int64)) * np.sign(b.astype(np.int64)))
    return q.astype(i32), (a.astype(np.int64) - q * b).astype(i32)


def integers():
    B = 128
    a, b = R.integers(-1 << 31, 1 << 31, B, dtype=np.int64).astype(i32), R.integers(-1 << 31, 1 << 31, B, dtype=np.int64).astype(i32)
    a[:8], b[:8] = [7, -7, 7, -7, 0, 1, -1, 7], [3, 3, -3, -3, 5, 1, -1, 7]
    a[1::5] %= 100
    b[b == 0] = 1
    q, r = truncating(a, b)
    u, v = a.view(u32), b.view(u32)
    with np.errstate(all="ignore"):
        c = a + b * i32(3) - q + r + (a & b) + (a | 5) + (a ^ b) + (a << 2) + (a >> 1)
        c = c + (u // v + u % v + (u >> u32(3))).view(i32)
        c = np.where((a < b) & (u <= v) | (a == b) | (a != 7) & (u > v), np.minimum(a, b), np.maximum(u, v).view(i32))
        c = c + ((u.astype(np.uint64) * v.astype(np.uint64)) >> np.uint64(32)).astype(u32).view(i32) + np.abs(a) + np.clip(a.astype(f32), 0, 6).astype(i32)
        c = c + (~a) + (-b)
        corpus("integers", (1, 1, 1), dict(x=a, y=b, z=np.zeros(B, np.int8), wide=np.zeros(B, np.int64)), dict(z=c.astype(np.int8), wide=c.astype(np.int64) * 123456789123))


def shapes():
    M, N = 16, 32
    a = normal(M, N)
    b = a.T.reshape(M // 2, 2, N).transpose(2, 0, 1)
    c = np.stack([b[..., 1], b[..., 0]], -1).reshape(-1)
    e = np.stack([c, c], -1).reshape(-1) + np.concatenate([c, c]) + f32(3)
    e[: M * N] = a.reshape(-1)
    corpus("shapes", (1, 1, 1), dict(x=a, z=np.zeros(2 * M * N, f32)), dict(z=e))


def tree(x, f):
    """combines neighbours along axis 1, then their results"""
    while x.shape[1] > 1:
        odd = x[:, -1:] if x.shape[1] % 2 else x[:, :0]
        half = x.shape[1] // 2
        x = np.concatenate([f(x[:, 0 : 2 * half : 2], x[:, 1 : 2 * half : 2]), odd], 1)
    return x[:, 0]


def reductions():
    M, N = 16, 32
    a = normal(M, N)
    k = np.zeros(M, i32)
    of = a.argmin(1).astype(i32)
    kk = of + a.argmax(1).astype(i32) + a.argmin(1).astype(i32) + np.bitwise_xor.reduce(of)
    k[:] = kk
    k[:16] = np.histogram(np.arange(9), 16, (0, 16))[0]
    down = np.cumsum(a, 0) + np.cumprod(a[::-1].astype(f64), 0)[::-1].astype(f32)
    folded, line = np.zeros_like(a), a[0].copy()
    folded[0] = line
    for i in range(1, M):
        line = line * 2 + a[i]
        folded[i] = line
    z = np.zeros(N, f32)
    z[:] = (down + folded).sum(0) + np.sort(a, 1)[:, ::-1].sum(0)
    z[0] = a.sum()
    corpus("reductions", (1, 1, 1), dict(x=a, z=np.zeros(N, f32), k=np.zeros(M, i32)), dict(z=z, k=k, x=a), dict(z=(1e-2, 1e-5)))


def atomics():
    B, n = 64, 50
    v, y = normal(B), normal(B)
    w, i = R.integers(0, 1 << 20, B, dtype=np.int64).astype(i32), None
    w[:4] = [4, 3, 5, 9]
    out = y.copy()
    out[:n] += v[:n]
    out = np.minimum(np.maximum(out, v), v)
    i = w.copy()
    old, i[0] = i[0], 3  # and, or, xor and max of a number with itself: 0 after xor, then the number
    i = w.copy()
    i[0] = 3
    i[1] = 7  # the loop counts up to what is there
    i[2] = i[3]
    w[0], w[1] = 1, 3
    i[0] = 3
    corpus("atomics", (1, 1, 1), dict(x=v, y=y, i=w, n=n), dict(y=out, i=i))


def products(a, b):
    """in f64, and how far a sum in f32 may be off"""
    return a.astype(f64) @ b.astype(f64), np.abs(a.astype(f64)) @ np.abs(b.astype(f64)) * a.shape[-1] * 2.0**-23


def tf32(x):
    return (x.view(u32) & u32(0xFFFFE000)).view(f32)


def dots():
    M, N, K = 32, 32, 64
    a, b = normal(M, K), normal(K, N)
    p, q = R.integers(-128, 128, (M, K)).astype(np.int8), R.integers(-128, 128, (K, N)).astype(np.int8)
    out = tf32(a).astype(f64) @ tf32(b).astype(f64)  # the batched product, twice the same
    corpus("dots", (1, 1, 1), dict(a=a, b=b, c=np.zeros((M, N), f32), i=p, j=q, k=np.zeros((M, N), i32)), dict(c=(2 * out).astype(f32), k=p.astype(i32) @ q.astype(i32)), dict(c=(1e-4, 1e-5)))


@triton.jit
def dots_kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, l = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + l[None, :])
    y = tl.load(b + l[:, None] * N + n[None, :])
    z = c + m[:, None] * N + n[None, :]
    tl.store(z, tl.dot(x, y, input_precision="ieee"))
    tl.store(z + M * N, tl.dot(x, y, input_precision="tf32x3"))
    tl.store(z + 2 * M * N, tl.dot(x.to(tl.float16), y.to(tl.float16), out_dtype=tl.float16).to(tl.float32))
    tl.store(z + 3 * M * N, tl.dot(x.to(tl.float8e5), y.to(tl.float8e5)))
    tl.store(z + 4 * M * N, tl.dot(x.to(tl.float8e4nv), y.to(tl.float8e4nv)))


def precisions():
    M, N, K = 16, 16, 32
    a, b = normal(M, K), normal(K, N)
    e5 = [small(v, 2, -14, 57344) for v in (a, b)]
    e4 = [small(v, 3, -6, 448) for v in (a, b)]
    h = [v.astype(np.float16).astype(f64) for v in (a, b)]
    z = np.stack([a.astype(f64) @ b, a.astype(f64) @ b, (h[0] @ h[1]).astype(np.float16), e5[0] @ e5[1], e4[0] @ e4[1]]).astype(f32)
    case("precisions", dots_kernel, dict(a="*fp32", b="*fp32", c="*fp32"), dict(M=M, N=N, K=K), (1, 1, 1), dict(a=a, b=b, c=np.zeros((5, M, N), f32)), dict(c=z), dict(c=(1e-5, 2**-10)))


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def patterns(mantissa, bias):
    """the values of e4m3, and e5m2 without infinities"""
    p = np.arange(256)
    e, m = (p & 127) >> mantissa, (p & ((1 << mantissa) - 1)) / 2.0**mantissa
    return np.where(p > 127, -1.0, 1.0) * np.where(e == 0, m * 2.0 ** (1 - bias), (1 + m) * 2.0 ** (e - float(bias)))


def scaled():
    M, N, K = 128, 64, 64
    a, b = (R.integers(0, 255, M * K) & 0xF7).astype(np.uint8), (R.integers(0, 255, K * N) & 0xBF).astype(np.uint8)
    b[b & 0x7C == 0x7C] = 0
    sa, sb = R.integers(120, 134, (M, K // 32)).astype(np.uint8), R.integers(120, 134, (N, K // 32)).astype(np.uint8)
    e4, e5 = patterns(3, 7), patterns(2, 15)
    fa, fb = 2.0 ** (sa.repeat(32, 1) - 127.0), 2.0 ** (sb.repeat(32, 1) - 127.0)
    x, y = a.reshape(M, K), b.reshape(K, N)
    acc = (e4[x] * fa) @ (e5[y] * fb.T)
    packed = b[: M * K // 2].reshape(M, K // 2)
    acc = acc + (np.stack([E2M1[packed & 15], E2M1[packed >> 4]], -1).reshape(M, K) * fa) @ e5[y]
    half = a[: M * K // 2].reshape(M // 2, K)
    acc = acc + (np.stack([E2M1[half & 15], E2M1[half >> 4]], 1).reshape(M, K) * fa) @ (e4[y] * fb.T)
    corpus("scaled", (1, 1, 1), dict(a=a, b=b, c=np.zeros((M, N), f32), sa=sa, sb=sb), dict(c=acc.astype(f32)), dict(c=(float(np.abs(acc).max()) * 1e-5, 1e-5)))


def early():
    x = normal(1)
    corpus("early", (1, 3, 3), dict(x=x, z=np.zeros(2, f32), n=2), dict(z=np.array([x[0], 0], f32)))
    corpus("early", (1, 1, 1), dict(x=x, z=np.zeros(2, f32), n=2), dict(z=np.array([0, x[0] + f32(1)], f32)))


def flow():
    B = 64
    for n, m in ((5, 3), (2, 7), (3, 4)):
        x = normal(B)
        v, z = x.copy(), np.zeros(B, f32)
        if n > m:
            s = x[0]
            v = v + (s * f32(2) if n > 3 else s + f32(n))
        elif n == 2:
            v = v + f32((n + 1) * m)
        else:
            z[1] = 5
        for i in range(n):
            for j in range(i, m, 2):
                v = v + f32(j)
        i, total = n, v
        while i > 0:
            i //= 2
            if i == 5:
                total = total + v
        z = total * f32(1.5) * f32(1.5)
        corpus("flow", (1, 1, 1), dict(x=x, z=np.zeros(B, f32), n=n, m=m), dict(z=z))


def philox(seed, c0):
    c = [c0.astype(np.uint64), *(np.zeros(len(c0), np.uint64) for _ in range(3))]
    k0, k1 = np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ k0, b & low, (a >> np.uint64(32)) ^ c[3] ^ k1, a & low]
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
    return c[0].astype(u32)


def dropout():
    n, p, seed = 500, 0.25, 123
    x = normal(512)
    r = philox(seed, np.arange(512)).view(i32)
    r = np.where(r < 0, -r - 1, r).astype(f32) * f32(4.6566127342e-10)
    z = np.zeros(512, f32)
    z[:n] = np.where(r > f32(p), x / (f32(1) - f32(p)), f32(0))[:n]
    corpus("dropout", (2, 1, 1), dict(x=x, z=np.zeros(512, f32), n=n, p=p, seed=seed), dict(z=z))


def elementwise():
    x, at = normal(64), np.arange(64).astype(f32)
    corpus("elementwise", (1, 1, 1), dict(x=x, z=np.zeros(64, f32)), dict(z=(x + at) + x * at))


def constants():
    z = np.full(64, np.nan, f32)
    z[0] = f32(1) + Brain.round(f32(0.1))
    corpus("constants", (1, 1, 1), dict(z=np.zeros(64, f32), i=np.zeros(64, np.int64)), dict(z=z, i=np.full(64, -1, np.int64)))


# Kernels of their own


@triton.jit
def softmax_kernel(x, z, rows, columns, B: tl.constexpr):
    at = tl.arange(0, B)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        v = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
        e = tl.exp(v - tl.max(v, 0))
        tl.store(z + row * columns + at, e / tl.sum(e, 0), mask=at < columns)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    pa, pb = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    for i in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=(m[:, None] < M) & (k[None, :] < K - i * BK), other=0.0)
        y = tl.load(pb, mask=(k[:, None] < K - i * BK) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK
        pb += BK * N
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def norm_kernel(x, z, w, columns, eps, B: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for from_ in range(0, columns, B):
        at = from_ + tl.arange(0, B)
        total += tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    var = tl.zeros((B,), tl.float32)
    for from_ in range(0, columns, B):
        at = from_ + tl.arange(0, B)
        v = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
        v = tl.where(at < columns, v - mean, 0.0)
        var += v * v
    by = 1 / tl.sqrt(tl.sum(var, 0) / columns + eps)
    for from_ in range(0, columns, B):
        at = from_ + tl.arange(0, B)
        v = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
        tl.store(z + row * columns + at, (v - mean) * by * tl.load(w + at, mask=at < columns), mask=at < columns)


@triton.jit
def attention_kernel(q, k, v, o, scale, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows, columns, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q += tl.program_id(1) * n * D
    k += tl.program_id(1) * n * D
    v += tl.program_id(1) * n * D
    o += tl.program_id(1) * n * D
    x = tl.load(q + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    most = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, min((tl.program_id(0) + 1) * BM, n), BN):
        at = start + columns
        y = tl.load(k + at[None, :] * D + d[:, None], mask=at[None, :] < n, other=0.0)
        s = tl.dot(x, y) * (scale * 1.44269504)
        s = tl.where((rows[:, None] >= at[None, :]) & (at[None, :] < n), s, -1.0e6)
        now = tl.maximum(most, tl.max(s, 1))
        p = tl.math.exp2(s - now[:, None])
        by = tl.math.exp2(most - now)
        total = total * by + tl.sum(p, 1)
        acc = acc * by[:, None]
        acc = tl.dot(p.to(v.dtype.element_ty), tl.load(v + at[:, None] * D + d[None, :], mask=at[:, None] < n, other=0.0), acc)
        most = now
    tl.store(o + rows[:, None] * D + d[None, :], (acc / total[:, None]).to(o.dtype.element_ty), mask=rows[:, None] < n)


@triton.jit
def linear(al, bl, ar, br):
    return al * ar, ar * bl + br


@triton.jit
def scan_kernel(a, b, z, L, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(a + tl.program_id(0) * L + at, mask=at < L, other=1.0)
    y = tl.load(b + tl.program_id(0) * L + at, mask=at < L, other=0.0)
    _, h = tl.associative_scan((x, y), 0, linear)
    tl.store(z + tl.program_id(0) * L + at, h, mask=at < L)


@triton.jit
def casts_kernel(x, half, brain, down, e4, e5, ints, bytes, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(half + at, v.to(tl.float16))
    tl.store(brain + at, v.to(tl.bfloat16))
    tl.store(down + at, v.to(tl.bfloat16, fp_downcast_rounding="rtz"))
    tl.store(e4 + at, v.to(tl.float8e4nv))
    tl.store(e5 + at, v.to(tl.float8e5))
    tl.store(ints + at, v.to(tl.int32))
    tl.store(bytes + at, tl.load(e4 + at).to(tl.float32) + tl.load(e5 + at).to(tl.float32))


@triton.jit
def halves_kernel(x, y, z, B: tl.constexpr):
    at = tl.arange(0, B)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(z + at, a + b)
    tl.store(z + B + at, a * b)
    tl.store(z + 2 * B + at, (a / b).to(a.dtype))
    tl.store(z + 3 * B + at, tl.maximum(a, b))
    tl.store(z + 4 * B + at, tl.where(a < b, a - b, -a))


@triton.jit
def tensor_kernel(x, z, m, n, M: tl.constexpr, N: tl.constexpr):
    a = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    b = tl.make_tensor_descriptor(z, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    i, j = tl.program_id(0) * M, tl.program_id(1) * N
    v = a.load([i, j])
    b.store([i, j], v + tl.sum(v))
    b.atomic_add([i, j], v)


@triton.jit
def double_kernel(x, y, z, B: tl.constexpr):
    at = tl.arange(0, B)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(z + at, tl.fma(a, b, a) + tl.sqrt(tl.abs(a)) / b)


def softmax():
    m, n = 13, 781
    x = normal(m, n) * f32(3)
    e = np.exp(x.astype(f64) - x.max(1, keepdims=True))
    case("softmax", softmax_kernel, dict(x="*fp32", z="*fp32", rows="i32", columns="i32"), dict(B=1024), (4, 1, 1), dict(x=x, z=np.zeros((m, n), f32), rows=m, columns=n), dict(z=(e / e.sum(1, keepdims=True)).astype(f32)), dict(z=(1e-8, 2e-6)))


def matmul():
    M, N, K = 70, 50, 100
    for kind, make in (("fp16", np.float16), ("fp32", f32), ("bf16", None)):
        a, b = normal(M, K), normal(K, N)
        if make:
            a, b = a.astype(make), b.astype(make)
            x, y, c = a, b, np.zeros((M, N), make)
        else:
            x, y, c = Brain.bits(a), Brain.bits(b), np.zeros((M, N), np.uint16)
            a, b = Brain.value(x), Brain.value(y)
        if kind == "fp32":
            a, b = tf32(a), tf32(b)
        p, bound = products(a, b)
        z = Brain.bits(p.astype(f32)) if make is None else p.astype(make)
        case("matmul_" + kind, matmul_kernel, dict(a="*" + kind, b="*" + kind, c="*" + kind, M="i32", N="i32", K="i32"), dict(BM=32, BN=32, BK=32), (3, 2, 1), dict(a=x, b=y, c=c, M=M, N=N, K=K), dict(c=z),
             dict(c=(float(bound.max()), {"fp16": 2**-10, "fp32": 0, "bf16": 2**-7}[kind]), c_type=kind))


def norm():
    m, n = 5, 1000
    x, w = normal(m, n).astype(np.float16), R.random(n).astype(np.float16)
    v = x.astype(f64)
    y = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5) * w.astype(f64)
    case("norm", norm_kernel, dict(x="*fp16", z="*fp16", w="*fp16", columns="i32", eps="fp32"), dict(B=256), (m, 1, 1), dict(x=x, z=np.zeros((m, n), np.float16), w=w, columns=n, eps=1e-5), dict(z=y.astype(np.float16)), dict(z=(1e-5, 2**-10)))


def attention():
    H, n, D = 2, 100, 32
    q, k, v = (normal(H, n, D).astype(np.float16) for _ in range(3))
    s = np.einsum("hmd,hnd->hmn", q.astype(f64), k.astype(f64)) * 0.125
    s = np.where(np.tril(np.ones((n, n), bool)), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    o = (p / p.sum(-1, keepdims=True)) @ v.astype(f64)
    case("attention", attention_kernel, dict(q="*fp16", k="*fp16", v="*fp16", o="*fp16", scale="fp32", n="i32"), dict(D=D, BM=32, BN=16), (4, H, 1), dict(q=q, k=k, v=v, o=np.zeros((H, n, D), np.float16), scale=0.125, n=n), dict(o=o.astype(np.float16)), dict(o=(3e-3, 3e-3)))


def scan():
    m, L = 3, 200
    a, b = R.random((m, L)).astype(f32), normal(m, L)
    h, x, z = b[:, 0].copy(), a[:, 0].copy(), np.zeros((m, L), f32)
    z[:, 0] = h
    for i in range(1, L):
        h = a[:, i] * h + b[:, i]
        z[:, i] = h
    case("scan", scan_kernel, dict(a="*fp32", b="*fp32", z="*fp32", L="i32"), dict(B=256), (m, 1, 1), dict(a=a, b=b, z=np.zeros((m, L), f32), L=L), dict(z=z))


def small(x, mantissa, normal_exponent, largest):
    """rounds to a format of 8 bits, which saturates"""
    a = np.abs(x.astype(f64))
    e = np.maximum(np.floor(np.log2(np.where(a == 0, 1, a))), normal_exponent)
    unit = 2.0 ** (e - mantissa)
    return np.copysign(np.minimum(np.round(a / unit) * unit, largest), x)


def casts():
    B = 1024
    x = (normal(B) * np.exp2(R.integers(-30, 20, B))).astype(f32)
    x[:12] = [1.01171875, 0.99999, 1e-40, 3.4e38, 1.0625, 480, 1e9, 0.00146484375, 1.125, 61440, -0.0, -2.5]
    with np.errstate(all="ignore"):
        half = x.astype(np.float16)
        ints = np.clip(np.trunc(x.astype(f64)), -(2.0**31), 2.0**31 - 1).astype(np.int64).astype(i32)
    e4, e5 = small(x, 3, -6, 448), small(x, 2, -14, 57344)
    pattern = np.array([v for v in range(256)], np.uint8)
    e5_value = (pattern.astype(np.uint16) << 8).view(np.float16).astype(f64)
    s, e, m = pattern >> 7, (pattern >> 3) & 15, (pattern & 7).astype(f64)
    e4_value = np.where(s, -1.0, 1.0) * np.where(e == 0, m * 2.0**-9, (1 + m / 8) * 2.0 ** (e.astype(f64) - 7))

    def bits(values, table):
        table = np.where(np.isnan(table), np.inf, table)
        table[table == 480], table[table == -480] = np.inf, -np.inf
        return np.array([next(p for p in range(256) if table[p] == v and (p >> 7) == np.signbit(v)) for v in values], np.uint8)

    case("casts", casts_kernel, dict(x="*fp32", half="*fp16", brain="*bf16", down="*bf16", e4="*fp8e4nv", e5="*fp8e5", ints="*i32", bytes="*fp32"), dict(B=B), (1, 1, 1),
         dict(x=x, half=np.zeros(B, np.float16), brain=np.zeros(B, np.uint16), down=np.zeros(B, np.uint16), e4=np.zeros(B, np.uint8), e5=np.zeros(B, np.uint8), ints=np.zeros(B, i32), bytes=np.zeros(B, f32)),
         dict(half=half, brain=Brain.bits(x), down=(x.view(u32) >> 16).astype(np.uint16), e4=bits(e4, e4_value), e5=bits(e5, e5_value), ints=ints, bytes=(e4 + e5).astype(f32)))


def halves():
    B = 512
    a, b = normal(B).astype(np.float16), normal(B).astype(np.float16)
    b[b == 0] = 1
    p, q = a.astype(f32), b.astype(f32)
    h = np.float16
    z = [(p + q).astype(h), (p * q).astype(h), (p / q).astype(h), np.maximum(a, b), np.where(a < b, (p - q).astype(h), -a)]
    case("halves", halves_kernel, dict(x="*fp16", y="*fp16", z="*fp16"), dict(B=B), (1, 1, 1), dict(x=a, y=b, z=np.zeros(5 * B, h)), dict(z=np.concatenate(z)))
    a, b = Brain.bits(normal(B)), Brain.bits(normal(B))
    p, q = Brain.value(a), Brain.value(b)
    z = [Brain.bits(p + q), Brain.bits(p * q), Brain.bits(p / q), Brain.bits(np.maximum(p, q)), Brain.bits(np.where(p < q, Brain.round(p - q), -p))]
    case("halves_bf16", halves_kernel, dict(x="*bf16", y="*bf16", z="*bf16"), dict(B=B), (1, 1, 1), dict(x=a, y=b, z=np.zeros(5 * B, np.uint16)), dict(z=np.concatenate(z)))


def descriptors():
    n, M, N = 20, 16, 64
    h = np.float16
    given, x, z = (normal(n, 2 * N).astype(h) for _ in range(3))
    rows = R.permutation(n)[:M].astype(i32)
    rows[3] = n + 5  # outside: reads 0, and writes nothing
    out = z.copy()
    v = x[:, :N] + given[:, N:]
    out[:, :N] = v
    out[:, N:] += v
    inside = rows[rows < n]
    out[inside, :N] = x[inside, :N]
    corpus("descriptors", (1, 1, 1), dict(given=given, x=x, z=z, rows=rows, n=n), dict(z=out))


def tensors():
    m, n, M, N = 20, 40, 16, 32
    x, z = normal(m, n), np.zeros((m, n), f32)
    for i in range(0, m, M):
        for j in range(0, n, N):
            v = x[i : i + M, j : j + N]
            z[i : i + M, j : j + N] = v + v.astype(f64).sum().astype(f32) + v
    case("tensors", tensor_kernel, dict(x="*fp32", z="*fp32", m="i32", n="i32"), dict(M=M, N=N), (2, 2, 1), dict(x=x, z=np.zeros((m, n), f32), m=m, n=n), dict(z=z), dict(z=(1e-4, 1e-5)))


def doubles():
    B = 128
    a, b = R.standard_normal(B), R.standard_normal(B)
    case("doubles", double_kernel, dict(x="*fp64", y="*fp64", z="*fp64"), dict(B=B), (1, 1, 1), dict(x=a, y=b, z=np.zeros(B)), dict(z=a * b + a + np.sqrt(np.abs(a)) / b), dict(z=(1e-12, 1e-12)))


def eights():
    """all patterns of e4m3b15 through f16, and back after a product with 2: 1.75 is the largest"""
    p = np.arange(256).astype(np.uint8)
    e, m = (p & 127) >> 3, (p & 7) / 8.0
    value = np.where(p > 127, -1.0, 1.0) * np.where(e == 0, m * 2.0**-14, (1 + m) * 2.0 ** (e - 15.0))
    value[[127, 255]] = 1.875, -1.875
    half = value.astype(np.float16)
    twice = np.abs(half.astype(f64)) * 2
    table = np.abs(value[:127])
    back = np.array([int(np.argmin(np.abs(table - min(v, 1.75)))) for v in twice], np.uint8) | (p & 128)
    exact = np.isin(np.minimum(twice, 1.75), table)
    assert exact.all()
    corpus("eights", (1, 1, 1), dict(x=p, z=np.zeros(256, np.uint8), half=np.zeros(256, np.float16)), dict(half=half, z=back))


def orders():
    M, N = 4, 16
    v = R.permutation(M * N).reshape(M, N).astype(f32) - 30
    out = np.concatenate([np.sort(v, 1).reshape(-1), np.sort(v, 1)[:, ::-1][:, :4].reshape(-1), v[:, ::-1].reshape(-1)])
    corpus("orders", (1, 1, 1), dict(x=v, z=np.zeros(out.size, f32), k=np.zeros(M, i32)), dict(z=out, k=(v.argmax(1) + (v.max(1) > 0)).astype(i32)))


def columns():
    M, N = 8, 16
    v = R.integers(-1000, 1000, (M, N)).astype(i32)
    q, r = np.trunc(v / 3).astype(i32), np.fmod(-v, 7).astype(i32)
    parity = np.fmod(v, 2) == 0
    cumulative = np.cumsum(v, 1).T.reshape(N, M).sum(1)
    out = np.concatenate([v.sum(0) * 2, cumulative, (np.where(parity, q, r) * (v != 5)).reshape(-1)]).astype(i32)
    corpus("columns", (1, 1, 1), dict(x=v, z=np.zeros(out.size, i32)), dict(z=out))


def variances():
    rows, n = 3, 50
    v = normal(rows, n)
    corpus("variance", (rows, 1, 1), dict(x=v, z=np.zeros(2 * rows, f32), n=n), dict(z=np.concatenate([v.astype(f64).var(1), v.astype(f64).mean(1)]).astype(f32)), dict(z=(1e-6, 1e-5)))


def nibbles():
    x = R.integers(-128, 128, 32).astype(np.int8)
    low = ((x.astype(i32) & 15) ^ 8) - 8
    corpus("bits", (1, 1, 1), dict(x=x, z=np.zeros(64, np.float16)), dict(z=(np.stack([low, x >> 4], -1).reshape(-1) * 0.5).astype(np.float16)))


def waits():
    x, n = R.integers(1, 1000, 32).astype(i32), 20
    y = np.full(32, -1, i32)
    out = y.copy()
    out[:n] = x[:n]
    out[0] = 1
    corpus("waits", (1, 1, 1), dict(x=x, y=y, n=n), dict(y=out))


def library():
    import math
    a, n = (R.random(64) * 0.8 + 0.1).astype(f32), R.integers(1, 1 << 31, 64, dtype=np.int64).astype(i32)
    d = a.astype(f64)

    def erfinv(y):
        x = 0.0
        for _ in range(60):
            x -= (math.erf(x) - y) / (2 / math.sqrt(math.pi) * math.exp(-x * x))
        return x

    bessel = sum((d / 2) ** (2 * k) / math.factorial(k) ** 2 for k in range(30))
    b = np.arcsin(d) + np.arctan2(d, 2) + np.expm1(d) + np.log1p(d) + np.cosh(d) + np.array([erfinv(v) for v in d]) + np.hypot(d, d) + np.rint(d)
    z = b + np.fmod(d, f64(f32(0.3))) + np.nextafter(a, f32(1)) + bessel
    k = np.array([bin(v).count("1") + 32 - int(v).bit_length() for v in n], i32)
    corpus("library", (1, 1, 1), dict(x=a, i=n, z=np.zeros(64, f32), k=np.zeros(64, i32)), dict(z=z.astype(f32), k=k), dict(z=(1e-5, 1e-6)))


def grouped():
    M, N, K = 45, 50, 40
    for kind in "fp16", "fp32":
        make = np.float16 if kind == "fp16" else f32
        a, b = normal(M, K).astype(make), normal(K, N).astype(make)
        p = np.maximum(a.astype(f64) @ b.astype(f64), 0).astype(make)
        B = 32 if kind == "fp16" else 16
        corpus("grouped_matmul" + ("" if kind == "fp16" else "_f32"), (-(-M // B) * -(-N // B), 1, 1), dict(a=a, b=b, c=np.zeros((M, N), make), M=M, N=N, K=K, sa=K, sb=N, sc=N), dict(c=p), dict(c=(1e-4, 2**-10)))


def entropies():
    rows, n = 3, 150
    x = Brain.bits(normal(rows, n) * f32(4))
    v, labels = Brain.value(x).astype(f64), np.array([7, 149, 0])
    loss = np.log(np.exp(v).sum(1)) - v[np.arange(rows), labels]
    corpus("entropy", (rows, 1, 1), dict(x=x, labels=labels, z=np.zeros(rows, f32), columns=n, smoothing=0.25), dict(z=(loss * 0.75).astype(f32)), dict(z=(1e-5, 1e-5)))


def benchmarks():
    """texts of larger blocks, without values to compare"""
    corpus("vector_add", (1, 1, 1), dict(x=normal(1), y=normal(1), z=normal(1), n=0), {})
    CASES[-1] = ("big_add", *CASES[-1][1:])
    h = normal(1).astype(np.float16)
    case("big_matmul", matmul_kernel, dict(a="*fp16", b="*fp16", c="*fp16", M="i32", N="i32", K="i32"), dict(BM=64, BN=64, BK=32), (1, 1, 1), dict(a=h, b=h, c=h, M=0, N=0, K=0), {})
    case("big_norm", norm_kernel, dict(x="*fp16", z="*fp16", w="*fp16", columns="i32", eps="fp32"), dict(B=8192), (1, 1, 1), dict(x=h, z=h, w=h, columns=0, eps=1e-5), {})
    case("big_attention", attention_kernel, dict(q="*fp16", k="*fp16", v="*fp16", o="*fp16", scale="fp32", n="i32"), dict(D=64, BM=64, BN=32), (1, 1, 1), dict(q=h, k=h, v=h, o=h, scale=0.1, n=0), {})
    case("big_scan", scan_kernel, dict(a="*fp32", b="*fp32", z="*fp32", L="i32"), dict(B=1024), (1, 1, 1), dict(a=normal(1), b=normal(1), z=normal(1), L=0), {})


def arguments(name, kind, v):
    """a descriptor is followed by its shape and strides"""
    if kind.startswith("tensordesc"):
        strides = [n // v.itemsize for n in v.strides]
        return [{"buffer": name, "shape": v.shape, "strides": strides}, *({"int": n} for n in (*v.shape, *strides))]
    return [{"buffer": name} if isinstance(v, np.ndarray) else {"float": v} if isinstance(v, float) else {"int": v}]


def main():
    np.seterr(all="ignore")
    for make in (vector_add, integers, shapes, reductions, atomics, dots, precisions, scaled, early, flow, dropout, elementwise, constants, softmax, matmul, norm, attention, scan, casts, halves, tensors, descriptors, doubles, eights, orders, columns, variances, nibbles, waits, library, grouped, entropies, benchmarks):
        make()
    for name, fn, signature, fixed, grid, before, after, tolerance, options in CASES:
        for form, text in texts(fn, signature, fixed, options).items():
            buffers = {}
            for k, v in before.items():
                if isinstance(v, np.ndarray):
                    t = tolerance.get(k, (0, 0))
                    kind = tolerance.get(k + "_type", t if isinstance(t, str) else v.dtype.name)
                    buffers[k] = {"before": base64.b64encode(v.tobytes()).decode(), "type": kind, "absolute": 0 if isinstance(t, str) else t[0], "relative": 0 if isinstance(t, str) else t[1]}
                    if k in after:
                        assert after[k].dtype == v.dtype and after[k].size == v.size, (name, k, after[k].dtype, v.dtype)
                        buffers[k]["after"] = base64.b64encode(np.ascontiguousarray(after[k]).tobytes()).decode()
            print(json.dumps({"name": name, "form": form, "ttir": text, "grid": grid, "buffers": buffers,
                              "arguments": [a for k, kind in signature.items() for a in arguments(k, kind, before[k])]}))


if __name__ == "__main__":
    main()
