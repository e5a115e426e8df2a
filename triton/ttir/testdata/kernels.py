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


@triton.jit
def softmax(x, z, rows, columns, B: tl.constexpr):
    at = tl.arange(0, B)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        v = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
        tl.store(z + row * columns + at, tl.softmax(v), mask=at < columns)


@triton.jit
def grouped_matmul(a, b, c, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr):
    i, j = tl.swizzle2d(tl.program_id(0) // tl.cdiv(N, BN), tl.program_id(0) % tl.cdiv(N, BN), tl.cdiv(M, BM), tl.cdiv(N, BN), G)
    m, n, k = (i * BM + tl.arange(0, BM)) % M, (j * BN + tl.arange(0, BN)) % N, tl.arange(0, BK)
    pa, pb = a + m[:, None] * sa + k[None, :], b + k[:, None] * sb + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for left in range(K, 0, -BK):
        x = tl.load(pa, mask=k[None, :] < left, other=0.0)
        acc = tl.dot(x, tl.load(pb, mask=k[:, None] < left, other=0.0), acc, allow_tf32=False)
        pa += BK
        pb += BK * sb
    m, n = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN)
    tl.store(c + m[:, None] * sc + n[None, :], tl.maximum(acc, 0.0).to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def welford(mean, m2, weight, other_mean, other_m2, other_weight):
    delta, total = other_mean - mean, weight + other_weight
    part = tl.where(total == 0.0, 0.0, other_weight / total)
    return mean + delta * part, m2 + other_m2 + delta * delta * weight * part, total


@triton.jit
def variance(x, z, n, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=0.0)
    mean, m2, weight = tl.reduce((v, tl.zeros_like(v), (at < n).to(tl.float32)), 0, welford)
    tl.store(z + tl.program_id(0), m2 / weight)
    tl.store(z + tl.num_programs(0) + tl.program_id(0), mean)


@triton.jit
def attention(q, k, v, o, scale, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows, columns, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    x = tl.load(q + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    most, total, acc = tl.full((BM,), float("-inf"), tl.float32), tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for start in range(0, tl.minimum((tl.program_id(0) + 1) * BM, n), BN):
        start = tl.multiple_of(start, BN)
        at = start + columns
        s = tl.dot(x, tl.load(k + at[None, :] * D + d[:, None], mask=at[None, :] < n, other=0.0)) * scale
        s = tl.where((rows[:, None] >= at[None, :]) & (at[None, :] < n), s, float("-inf"))
        now = tl.maximum(most, tl.max(s, 1))
        p, by = tl.exp2(s - now[:, None]), tl.exp2(most - now)
        total, most = total * by + tl.sum(p, 1), now
        acc = tl.dot(p.to(x.dtype), tl.load(v + at[:, None] * D + d[None, :], mask=at[:, None] < n, other=0.0), acc * by[:, None])
    tl.store(o + rows[:, None] * D + d[None, :], (acc / total[:, None]).to(x.dtype), mask=rows[:, None] < n)


@triton.jit
def linear(al, bl, ar, br):
    return al * ar, ar * bl + br


@triton.jit
def recurrence(a, b, z, n, B: tl.constexpr):
    at = tl.arange(0, B)
    x, y = tl.load(a + at, mask=at < n, other=1.0), tl.load(b + at, mask=at < n, other=0.0)
    _, h = tl.associative_scan((x, y), 0, linear)
    _, back = tl.associative_scan((x, y), 0, linear, reverse=True)
    tl.store(z + at, h + back, mask=at < n)


@triton.jit
def orders(x, z, k, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    v = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(z + m[:, None] * N + n[None, :], tl.sort(v, 1))
    tl.store(z + M * N + m[:, None] * 4 + tl.arange(0, 4)[None, :], tl.topk(v, 4, 1))
    tl.store(z + M * N + 4 * M + m[:, None] * N + n[None, :], tl.flip(v, 1))
    most, at = tl.max(v, 1, return_indices=True)
    tl.store(k + m, at + (most > 0).to(tl.int32))


@triton.jit
def rotary(x, c, z, n, D: tl.constexpr):
    row, half = tl.program_id(0), tl.arange(0, D // 2)
    first, second = tl.load(x + row * D + half), tl.load(x + row * D + D // 2 + half)
    angle = tl.load(c + half).to(tl.float32) * row
    cos, sin = tl.cos(angle), tl.sin(angle)
    tl.store(z + row * D + half, (first * cos - second * sin).to(z.dtype.element_ty))
    tl.store(z + row * D + D // 2 + half, (second * cos + first * sin).to(z.dtype.element_ty), mask=row < n)


@triton.jit
def entropy(x, labels, z, columns, smoothing, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row)
    most, total = float("-inf"), 0.0
    for start in range(0, columns, B):
        at = start + tl.arange(0, B)
        v = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf")).to(tl.float32)
        now = tl.maximum(most, tl.max(v))
        total = total * tl.exp(most - now) + tl.sum(tl.exp(v - now))
        most = now
    loss = most + tl.log(total) - tl.load(x + row * columns + label).to(tl.float32)
    tl.store(z + row, tl.where(label == -100, 0.0, loss * (1 - smoothing)))


@triton.jit
def normals(z, seed, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(z + at, tl.randn(seed, at))
    a, b, c, d = tl.randint4x(seed, at)
    tl.store(z + at, ((a ^ b ^ c ^ d) & 255).to(tl.float32))


@triton.jit
def bits(x, z, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    low, high = (v & 15).to(tl.int8), (v >> 4).to(tl.int8)
    nibbles = tl.interleave((low << 4) >> 4, high)
    tl.store(z + tl.arange(0, 2 * B), nibbles.to(tl.float16) * 0.5)


@triton.jit
def scaled_formats(a, b, c, sa, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    x, y = tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :])
    by = tl.load(sa + m[:, None] * (K // 32) + s[None, :])
    acc = tl.dot_scaled(x, by, "e5m2", y, None, "bf16")
    tl.store(c + m[:, None] * N + n[None, :], acc)


@triton.jit
def library(x, i, z, k, B: tl.constexpr):
    at = tl.arange(0, B)
    a, n = tl.load(x + at), tl.load(i + at)
    b = libdevice.asin(a) + libdevice.atan2(a, 2.0) + libdevice.expm1(a) + libdevice.log1p(a) + libdevice.cosh(a) + libdevice.erfinv(a) + libdevice.hypot(a, a) + libdevice.rint(a)
    tl.store(z + at, b + libdevice.fmod(a, 0.3) + libdevice.nextafter(a, 1.0) + libdevice.cyl_bessel_i0(a))
    tl.store(k + at, libdevice.popc(n) + libdevice.clz(n) + libdevice.isnan(b).to(tl.int32))


@triton.jit
def eights(x, z, half, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(half + at, v.to(tl.float16))
    tl.store(z + at, (v.to(tl.float16) * 2).to(z.dtype.element_ty))


@triton.jit
def packs(a, b):
    return a + b


@triton.jit
def columns(x, z, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    v = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(z + n, tl.sum(v, 0) + tl.reduce(v.to(tl.float32), 0, packs).to(tl.int32))
    tl.store(z + N + n, tl.cumsum(v, 1).trans().reshape(N, M).sum(1))
    tl.store(z + 2 * N + m[:, None] * N + n[None, :], tl.where(v % 2 == 0, v // 3, -v % 7) * (v != 5))


@triton.jit
def waits(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.atomic_load(x + at, mask=at < n)
    tl.atomic_store(y + at, v, mask=at < n, sem="relaxed")
    ok = tl.atomic_poll(x, tl.atomic_load(x), timeout_ns=1000)
    tl.store(y, ok.to(tl.int32))


@triton.jit
def divisions(x, y, z, B: tl.constexpr):
    at = tl.arange(0, B)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(z + at, tl.fdiv(a, b) + tl.fdiv(a, b, ieee_rounding=True) + tl.math.rsqrt(b) + tl.sqrt_rn(b))
    tl.store(z + B + at, tl.fma(a, b, 1.0) + tl.dot(tl.broadcast_to(a[None, :], (B, B)), tl.broadcast_to(b[:, None], (B, B))).sum(0))


@triton.jit
def tiles(given, z, m, n, M: tl.constexpr, N: tl.constexpr):
    out = tl.make_tensor_descriptor(z, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, M) * tl.cdiv(n, N), tl.num_programs(0), flatten=True):
        i, j = tile // tl.cdiv(n, N) * M, tile % tl.cdiv(n, N) * N
        out.store([i, j], given.load([i, j]).to(tl.float32) * 2)


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
    ("softmax", softmax, dict(x=F, z=F, rows="i32", columns="i32"), dict(B=128), {}),
    ("softmax_bf16", softmax, dict(x="*bf16", z="*bf16", rows="i32", columns="i32"), dict(B=128), {}),
    ("grouped_matmul", grouped_matmul, dict(a=H, b=H, c=H, M="i32", N="i32", K="i32", sa="i32", sb="i32", sc="i32"), dict(BM=32, BN=32, BK=16, G=4), {}),
    ("grouped_matmul_f32", grouped_matmul, dict(a=F, b=F, c=F, M="i32", N="i32", K="i32", sa="i32", sb="i32", sc="i32"), dict(BM=16, BN=16, BK=16, G=2), dict(debug=True)),
    ("variance", variance, dict(x=F, z=F, n="i32"), dict(B=64), {}),
    ("attention", attention, dict(q=H, k=H, v=H, o=H, scale="fp32", n="i32"), dict(D=32, BM=32, BN=16), {}),
    ("recurrence", recurrence, dict(a=F, b=F, z=F, n="i32"), dict(B=64), {}),
    ("orders", orders, dict(x=F, z=F, k=I), dict(M=4, N=16), {}),
    ("rotary", rotary, dict(x=H, c=H, z=H, n="i32"), dict(D=64), {}),
    ("entropy", entropy, dict(x="*bf16", labels="*i64", z=F, columns="i32", smoothing="fp32"), dict(B=64), {}),
    ("normals", normals, dict(z=F, seed="i32"), dict(B=64), {}),
    ("bits", bits, dict(x="*i8", z=H), dict(B=32), {}),
    ("scaled_formats", scaled_formats, dict(a="*fp8e5", b="*bf16", c=F, sa="*u8"), dict(M=128, N=64, K=64), {}),
    ("library", library, dict(x=F, i=I, z=F, k=I), dict(B=64), {}),
    ("eights", eights, dict(x="*fp8e4b15", z="*fp8e4b15", half=H), dict(B=256), {}),
    ("eights_nv", eights, dict(x="*fp8e4nv", z="*fp8e5", half=H), dict(B=64), {}),
    ("columns", columns, dict(x=I, z=I), dict(M=8, N=16), {}),
    ("waits", waits, dict(x=I, y=I, n="i32"), dict(B=32), {}),
    ("divisions", divisions, dict(x=F, y=F, z=F), dict(B=16), {}),
    ("tiles", tiles, dict(given="tensordesc<fp16[16, 32]>", z=F, m="i32", n="i32"), dict(M=16, N=32), {}),
]
