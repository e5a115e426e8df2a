"""Kernels that together have every operation of TTIR that Triton's language can make. KERNELS has, for each text: its name, the function,
the types of the arguments, the constants and the options of the compilation."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def vector_add(x, y, z, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + at, mask=at < n, eviction_policy="evict_first")
    b = tl.load(y + at, mask=at < n, other=1, cache_modifier=".cg")
    tl.store(z + at, a + b, mask=at < n, cache_modifier=".wt", eviction_policy="evict_last")


@triton.jit
def integers(x, y, z, wide, B: tl.constexpr):
    at = tl.arange(0, B)
    a, b = tl.load(x + at), tl.load(y + at)
    c = a + b * 3 - a // b + a % b + (a & b) + (a | 5) + (a ^ b) + (a << 2) + (a >> 1)
    u, v = a.to(tl.uint32), b.to(tl.uint32)
    c += (u // v + u % v + (u >> 3)).to(tl.int32)
    c = tl.where((a < b) & (u <= v) | (a == b) | (a != 7) & (u > v), tl.minimum(a, b), tl.maximum(u, v).to(tl.int32))
    c += tl.umulhi(u, v).to(tl.int32) + tl.abs(a) + tl.clamp(a.to(tl.float32), 0.0, 6.0).to(tl.int32)
    c += (~a) + (-b)
    tl.store(wide + at, c.to(tl.int64) * 123456789123)
    tl.store(z + at, c.to(tl.int8))


@triton.jit
def floats(x, y, z, half, brain, small, tiny, B: tl.constexpr):
    at = tl.arange(0, B)
    a, b = tl.load(x + at), tl.load(y + at)
    c = a * b + a / b - a % b
    c += tl.exp(a) + tl.exp2(b) + tl.log(a) + tl.log2(b) + tl.sin(a) + tl.cos(b) + tl.sqrt(a) + tl.rsqrt(b) + tl.erf(a) + tl.floor(b) + tl.ceil(a) + tl.abs(b)
    c += tl.fma(a, b, c) + tl.sqrt_rn(a) + tl.div_rn(a, b) + tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL) + tl.minimum(a, b)
    c += tl.clamp(a, -1.0, 1.0, propagate_nan=tl.PropagateNan.ALL) + tl.where(a > b, a, -b) + libdevice.tanh(a) + libdevice.pow(a, b)
    c = tl.where((a == b) | (a != a) | (a >= 2.5), c, float("-inf"))
    tl.store(z + at, c)
    tl.store(half + at, c.to(tl.float16))
    tl.store(brain + at, c.to(tl.bfloat16, fp_downcast_rounding="rtz"))
    tl.store(small + at, c.to(tl.float8e5))
    tl.store(tiny + at, c.to(tl.int32, bitcast=True))
    tl.store(tiny + at, (c.to(tl.int32) + c.to(tl.uint8).to(tl.int32)).to(tl.float32).to(tl.int32))


@triton.jit
def shapes(x, z, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    a = tl.load(x + m[:, None] * N + n[None, :])
    b = tl.trans(a).reshape(M // 2, 2, N).permute(2, 0, 1)
    left, right = tl.split(b)
    c = tl.join(right, left).reshape(M * N)
    d = tl.cat(c, c, can_reorder=True)
    e = tl.ravel(tl.interleave(c, c)) + d + tl.broadcast_to(tl.full((1,), 3, tl.float32), (2 * M * N,))
    tl.store(z + tl.arange(0, 2 * M * N), e)
    tl.store(z + tl.arange(0, M * N), tl.view(a, (M * N,)))


@triton.jit
def fold(a, b):
    return a * 2 + b


@triton.jit
def pair(a, i, b, j):
    less = (a < b) | ((a == b) & (i < j))
    return tl.where(less, a, b), tl.where(less, i, j)


@triton.jit
def reductions(x, z, k, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    a = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(z + m, tl.sum(a, 1) + tl.max(a, 1) + tl.min(a, 1) + tl.reduce(a, 1, fold))
    at, of = tl.reduce((a, tl.broadcast_to(n[None, :], (M, N))), 1, pair)
    tl.store(k + m, of + tl.argmax(a, 1) + tl.argmin(a, 1) + tl.xor_sum(of, 0))
    tl.store(z + n, tl.sum(tl.cumsum(a, 0) + tl.cumprod(a, 0, reverse=True) + tl.associative_scan(a, 0, fold), 0) + tl.sum(tl.sort(a, 1, descending=True), 0))
    tl.store(z, tl.sum(a))
    tl.store(k + tl.arange(0, 16), tl.histogram(n, 16, mask=n < 9))
    tl.store(x + m[:, None] * N + n[None, :], tl.gather(a, tl.broadcast_to(n[None, :], (M, N)), 1))


@triton.jit
def atomics(x, y, i, n, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    w = tl.load(i + at)
    tl.atomic_add(y + at, v, mask=at < n, sem="relaxed", scope="cta")
    tl.atomic_max(y + at, v)
    tl.atomic_min(y + at, v)
    tl.atomic_and(i + at, w)
    tl.atomic_or(i + at, w, scope="sys")
    tl.atomic_xor(i + at, w, sem="acquire")
    tl.atomic_max(i + at, w, sem="release")
    old = tl.atomic_xchg(i, 3)
    while tl.atomic_cas(i + 1, old, 7) != old:
        old += 1
    tl.debug_barrier()
    tl.store(i + 2, tl.load(i + 3, volatile=True))


@triton.jit
def dots(a, b, c, i, j, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, l = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + l[None, :])
    y = tl.load(b + l[:, None] * N + n[None, :])
    acc = tl.dot(x, y, input_precision="ieee")
    acc = tl.dot(x, y, acc, input_precision="tf32x3")
    acc += tl.dot(x.to(tl.float16), y.to(tl.float16), out_dtype=tl.float32)
    acc += tl.dot(x.to(tl.float8e5), y.to(tl.float8e5), max_num_imprecise_acc=32)
    tl.store(c + m[:, None] * N + n[None, :], acc)
    p = tl.load(i + m[:, None] * K + l[None, :])
    q = tl.load(j + l[:, None] * N + n[None, :])
    tl.store(k + m[:, None] * N + n[None, :], tl.dot(p, q))
    batched = tl.dot(tl.broadcast_to(x[None, :, :], (2, M, K)), tl.broadcast_to(y[None, :, :], (2, K, N)))
    tl.store(c + m[:, None] * N + n[None, :], tl.sum(batched, 0))


@triton.jit
def scaled(a, b, c, sa, sb, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    p, h = tl.arange(0, K // 2), tl.arange(0, M // 2)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    packed = tl.load(b + m[:, None] * (K // 2) + p[None, :])
    by = tl.load(sa + m[:, None] * (K // 32) + s[None, :])
    other = tl.load(sb + n[:, None] * (K // 32) + s[None, :])
    acc = tl.dot_scaled(x, by, "e4m3", y, other, "e5m2")
    acc = tl.dot_scaled(packed, by, "e2m1", y, None, "e5m2", acc, fast_math=True)
    half = tl.load(a + h[:, None] * K + k[None, :])
    acc = tl.dot_scaled(half, by, "e2m1", y, other, "e4m3", acc, lhs_k_pack=False)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@triton.jit
def descriptors(given, x, z, rows, n, M: tl.constexpr, N: tl.constexpr):
    made = tl.make_tensor_descriptor(x, shape=[n, N * 2], strides=[N * 2, 1], block_shape=[M, N])
    out = tl.make_tensor_descriptor(z, shape=[n, N * 2], strides=[N * 2, 1], block_shape=[M, N], padding_option="nan")
    for i in range(0, n, M):
        v = made.load([i, 0]) + given.load([i, N])
        out.store([i, 0], v)
        out.atomic_add([i, N], v)
    one = tl.make_tensor_descriptor(x, shape=[n, N * 2], strides=[N * 2, 1], block_shape=[1, N])
    to = tl.make_tensor_descriptor(z, shape=[n, N * 2], strides=[N * 2, 1], block_shape=[1, N])
    at = tl.load(rows + tl.arange(0, M))
    to.scatter(one.gather(at, 0), at, 0)


@triton.jit
def block_pointers(x, z, m, n, M: tl.constexpr, N: tl.constexpr):
    p = tl.make_block_ptr(x, (m, n), (n, 1), (0, 0), (M, N), (1, 0))
    q = tl.make_block_ptr(z, (m, n), (n, 1), (0, 0), (M, N), (1, 0))
    for _ in range(0, n, N):
        v = tl.load(p, boundary_check=(0, 1), padding_option="nan")
        tl.store(q, v + tl.load(p), boundary_check=(1,))
        p, q = tl.advance(p, (0, N)), tl.advance(q, (0, N))


@triton.jit(noinline=True)
def apart(v, n):
    if n > 3:
        return v * 2
    return v + n


@triton.jit(noinline=True)
def several(v, n):
    return v + 1, n


@triton.jit
def flow(x, z, n, m, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    if n > m:
        v += apart(tl.load(x), n)
    elif n == 2:
        k, l = several(n, m)
        v += k * l
    else:
        tl.store(z + 1, 5.0)
    for i in tl.range(0, n, num_stages=3, loop_unroll_factor=2):
        for j in tl.range(i, m, 2, flatten=True, disallow_acc_multi_buffer=True):
            v += j
    i = n
    total = v
    while i > 0:
        i //= 2
        if i == 5:
            total += v
    for _ in tl.static_range(2):
        total *= 1.5
    tl.store(z + at, total)


@triton.jit
def early(x, z, n):
    if tl.program_id(1) >= n:
        return
    if tl.num_programs(2) == 3:
        tl.store(z, tl.load(x))
        return
    tl.store(z + 1, tl.load(x) + 1)


@triton.jit
def talk(x, z, n, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    tl.device_print("v \"quoted\"\n", v, at, hex=True)
    tl.device_print("nothing")
    tl.device_assert(v > 0, "v is not > 0: \t\"x\"")
    tl.assume(n > 0)
    at = tl.max_contiguous(tl.multiple_of(at, 16), 16)
    tl.store(z + at, v + n)


@triton.jit
def assembly(x, z, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    w = tl.inline_asm_elementwise("add.u32 $0, $1, $2;", "=r,r,r", [v, at], dtype=tl.int32, is_pure=True, pack=1)
    a, b = tl.inline_asm_elementwise("{ mov.u32 $0, $2;\n\tmov.u32 $1, $2; }", "=r,=r,r", [w], dtype=(tl.int32, tl.int32), is_pure=False, pack=1)
    tl.store(z + at, a + b)


@triton.jit
def dropout(x, z, n, p, seed, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    keep = tl.rand(seed, at) > p
    tl.store(z + at, tl.where(keep, tl.load(x + at, mask=at < n) / (1 - p), 0.0), mask=at < n)


@triton.jit
def indirect(table, z, flags, n, B: tl.constexpr):
    p = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, B)
    flag = tl.load(flags + at)
    tl.store(z + at, tl.load(p + at, mask=flag), mask=flag)
    tl.store(flags + at, flag ^ (at < n))
    tl.store(table, p.to(tl.int64) + 1)


@triton.jit
def twice(a, b):
    return a + b, a * b


@triton.jit
def elementwise(x, z, B: tl.constexpr):
    at = tl.arange(0, B)
    a, b = tl.map_elementwise(twice, tl.load(x + at), at.to(tl.float32))
    tl.store(z + at, a + b)


@triton.jit
def constants(z, i, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(z + at, tl.full((B,), float("nan"), tl.float32) + float("inf") + 1e-40 + 3.4e38)
    tl.store(i + at, tl.full((B,), -9223372036854775808, tl.int64) + 9223372036854775807)
    tl.store(z, tl.full((), 1.0, tl.float16).to(tl.float32) + tl.full((), 0.1, tl.bfloat16).to(tl.float32))


F, H, I = "*fp32", "*fp16", "*i32"
KERNELS = [
    ("vector_add", vector_add, dict(x=F, y=F, z=F, n="i32"), dict(B=1024), {}),
    ("vector_add_bf16", vector_add, dict(x="*bf16", y="*bf16", z="*bf16", n="i64"), dict(B=256), {}),
    ("integers", integers, dict(x=I, y=I, z="*i8", wide="*i64"), dict(B=128), {}),
    ("integers_debug", integers, dict(x=I, y=I, z="*i8", wide="*i64"), dict(B=128), dict(debug=True, sanitize_overflow=True)),
    ("floats", floats, dict(x=F, y=F, z=F, half=H, brain="*bf16", small="*fp8e5", tiny=I), dict(B=128), {}),
    ("shapes", shapes, dict(x=F, z=F), dict(M=16, N=32), {}),
    ("reductions", reductions, dict(x=F, z=F, k=I), dict(M=16, N=32), {}),
    ("atomics", atomics, dict(x=F, y=F, i=I, n="i32"), dict(B=64), {}),
    ("dots", dots, dict(a=F, b=F, c=F, i="*i8", j="*i8", k=I), dict(M=32, N=32, K=64), {}),
    ("scaled", scaled, dict(a="*u8", b="*u8", c=F, sa="*u8", sb="*u8"), dict(M=128, N=64, K=64), {}),
    ("descriptors", descriptors, dict(given="tensordesc<fp16[16, 64]>", x=H, z=H, rows=I, n="i32"), dict(M=16, N=64), {}),
    ("block_pointers", block_pointers, dict(x=F, z=F, m="i32", n="i32"), dict(M=16, N=32), {}),
    ("flow", flow, dict(x=F, z=F, n="i32", m="i32"), dict(B=64), {}),
    ("early", early, dict(x=F, z=F, n="i32"), {}, {}),
    ("talk", talk, dict(x=F, z=F, n="i32"), dict(B=64), dict(debug=True)),
    ("assembly", assembly, dict(x=I, z=I), dict(B=64), {}),
    ("dropout", dropout, dict(x=F, z=F, n="i32", p="fp32", seed="i32"), dict(B=256), {}),
    ("indirect", indirect, dict(table="*i64", z=F, flags="*i1", n="i32"), dict(B=64), {}),
    ("elementwise", elementwise, dict(x=F, z=F), dict(B=64), {}),
    ("constants", constants, dict(z=F, i="*i64"), dict(B=64), {}),
]
