# Kernels of the kinds that programs spend their time in, compiled without a GPU by make.py.
import triton
import triton.language as tl

HAS_DESCRIPTORS = hasattr(tl, "make_tensor_descriptor")


@triton.jit
def layer_norm(x, y, w, b, mean, rstd, stride, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    y += row * stride
    total = tl.zeros([B], dtype=tl.float32)
    for at in range(0, n, B):
        cols = at + tl.arange(0, B)
        total += tl.load(x + cols, mask=cols < n, other=0.0).to(tl.float32)
    mu = tl.sum(total, axis=0) / n
    square = tl.zeros([B], dtype=tl.float32)
    for at in range(0, n, B):
        cols = at + tl.arange(0, B)
        v = tl.load(x + cols, mask=cols < n, other=0.0).to(tl.float32)
        v = tl.where(cols < n, v - mu, 0.0)
        square += v * v
    scale = tl.math.rsqrt(tl.sum(square, axis=0) / n + eps)
    tl.store(mean + row, mu)
    tl.store(rstd + row, scale)
    for at in range(0, n, B):
        cols = at + tl.arange(0, B)
        m = cols < n
        v = (tl.load(x + cols, mask=m).to(tl.float32) - mu) * scale
        tl.store(y + cols, v * tl.load(w + cols, mask=m) + tl.load(b + cols, mask=m), mask=m)


@triton.jit
def layer_norm_backward(dx, dw, x, dy, w, mean, rstd, stride, n, B: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, B)
    m = cols < n
    v = tl.load(x + row * stride + cols, mask=m, other=0).to(tl.float32)
    g = tl.load(dy + row * stride + cols, mask=m, other=0).to(tl.float32)
    k = tl.load(w + cols, mask=m).to(tl.float32)
    r = tl.load(rstd + row)
    xhat = tl.where(m, (v - tl.load(mean + row)) * r, 0.0)
    wdy = tl.where(m, k * g, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / n
    c2 = tl.sum(wdy, axis=0) / n
    tl.store(dx + row * stride + cols, (wdy - (xhat * c1 + c2)) * r, mask=m)
    tl.atomic_add(dw + cols, g * xhat, mask=m)


@triton.jit
def softmax(x, z, n, s, B: tl.constexpr):
    r = tl.program_id(0)
    o = tl.arange(0, B)
    v = tl.load(x + r * s + o, mask=o < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(z + r * s + o, e / tl.sum(e, axis=0), mask=o < n)


@triton.jit
def flash_step(acc, l_i, m_i, q, k_ptr, v_ptr, stride, lo, hi, n, rows, scale, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    cols = tl.arange(0, BN)
    dims = tl.arange(0, D)
    for start in range(lo, hi, BN):
        k = tl.load(k_ptr + (start + cols)[None, :] * stride + dims[:, None], mask=(start + cols)[None, :] < n, other=0.0)
        s = tl.dot(q, k) * scale
        if CAUSAL:
            s = tl.where(rows[:, None] >= (start + cols)[None, :], s, -1.0e6)
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
        alpha = tl.math.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + (start + cols)[:, None] * stride + dims[None, :], mask=(start + cols)[:, None] < n, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    return acc, l_i, m_i


@triton.jit
def flash_attention(q_ptr, k_ptr, v_ptr, o_ptr, lse, stride, head, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    block = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * head
    rows = block * BM + tl.arange(0, BM)
    dims = tl.arange(0, D)
    at = base + rows[:, None] * stride + dims[None, :]
    q = tl.load(q_ptr + at, mask=rows[:, None] < n, other=0.0)
    m_i = tl.full([BM], -float("inf"), dtype=tl.float32)
    l_i = tl.full([BM], 1.0, dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    acc, l_i, m_i = flash_step(acc, l_i, m_i, q, k_ptr + base, v_ptr + base, stride, 0, block * BM, n, rows, scale, BN, D, False)
    acc, l_i, m_i = flash_step(acc, l_i, m_i, q, k_ptr + base, v_ptr + base, stride, block * BM, (block + 1) * BM, n, rows, scale, BN, D, True)
    tl.store(lse + tl.program_id(1) * n + rows, m_i + tl.math.log2(l_i), mask=rows < n)
    tl.store(o_ptr + at, (acc / l_i[:, None]).to(o_ptr.dtype.element_ty), mask=rows[:, None] < n)


@triton.jit
def tile_of(tile, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    tall = tl.cdiv(M, BM)
    group = tile // (GROUP * tl.cdiv(N, BN))
    size = min(tall - group * GROUP, GROUP)
    return group * GROUP + tile % size, (tile % (GROUP * tl.cdiv(N, BN))) // size


@triton.jit
def matmul(a, b, c, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn = tile_of(tl.program_id(0), M, N, BM, BN, 8)
    om = (pm * BM + tl.arange(0, BM)) % M
    on = (pn * BN + tl.arange(0, BN)) % N
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
    acc = tl.where(acc >= 0, acc, 0.01 * acc)
    om = pm * BM + tl.arange(0, BM)
    on = pn * BN + tl.arange(0, BN)
    tl.store(c + om[:, None] * sc + on[None, :], acc.to(tl.float16), mask=(om[:, None] < M) & (on[None, :] < N))


# Tiles come and go through the tensor memory accelerator; with SPECIALIZE some warps only load.
@triton.jit
def matmul_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SMS: tl.constexpr, SPECIALIZE: tl.constexpr):
    da = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    db = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    dc = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles, SMS, flatten=True, warp_specialize=SPECIALIZE):
        pm, pn = tile_of(tile, M, N, BM, BN, 8)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(da.load([pm * BM, k * BK]), db.load([pn * BN, k * BK]).T, acc)
        dc.store([pm * BM, pn * BN], acc.to(tl.float16))


@triton.jit
def dropout(x, z, n, p, seed, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    keep = tl.rand(seed, o) > p
    tl.store(z + o, tl.where(keep, tl.load(x + o, mask=o < n) / (1 - p), 0.0), mask=o < n)


@triton.jit
def running(a, b):
    return a * 0.5 + b


@triton.jit
def scan_and_sort(x, z, w, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o)
    tl.store(z + o, tl.associative_scan(v, 0, running))
    tl.store(w + o, tl.sort(v, 0))


@triton.jit
def histogram(x, z, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(z + tl.arange(0, 64), tl.histogram(tl.load(x + o, mask=o < n) & 63, 64))


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


@triton.jit
def math(x, z, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, mask=o < n)
    d = v.to(tl.float64)
    r = tl.erf(v) + tl.cos(v * 1e5) + tl.floor(v) + tl.math.fma(v, v, v) + tl.sqrt_rn(v) + tl.div_rn(v, v + 1)
    tl.store(z + o, r + (tl.exp(d) / (d + 2) + tl.log(d)).to(tl.float32), mask=o < n)
    i = v.to(tl.int32)
    tl.atomic_cas(z.to(tl.pointer_type(tl.int32)) + o, i, tl.umulhi(i, i) + i // 7 + (i % n) + tl.clamp(v, -1.0, 1.0).to(tl.int32))


# Registers for a tile that does not fit: it spills.
@triton.jit
def spills(a, z, N: tl.constexpr):
    o = tl.arange(0, N)
    x = tl.load(a + o[:, None] * N + o[None, :])
    y = tl.dot(x, tl.trans(x))
    tl.store(z + o[:, None] * N + o[None, :], tl.exp(y) + x + tl.cumsum(y, 0))


@triton.jit
def matmul_scaled(a, b, c, sa, sb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k, s = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK), tl.arange(0, BK // 32)
    x = tl.load(a + m[:, None] * BK + k[None, :])
    y = tl.load(b + k[:, None] * BN + n[None, :])
    p = tl.dot_scaled(x, tl.load(sa + m[:, None] * (BK // 32) + s[None, :]), "e4m3", y, tl.load(sb + n[:, None] * (BK // 32) + s[None, :]), "e4m3")
    tl.store(c + m[:, None] * BN + n[None, :], p)


P16, P32, I32 = "*fp16", "*fp32", "i32"
MATRICES = dict(a=P16, b=P16, c=P16, M=I32, N=I32, K=I32)

# name, kernel, signature, constants, options
KERNELS = [
    ("layer_norm", layer_norm, dict(x=P16, y=P16, w=P32, b=P32, mean=P32, rstd=P32, stride=I32, n=I32, eps="fp32"), dict(B=1024), {}),
    ("layer_norm_backward", layer_norm_backward, dict(dx=P16, dw=P32, x=P16, dy=P16, w=P32, mean=P32, rstd=P32, stride=I32, n=I32), dict(B=2048), {}),
    ("softmax", softmax, dict(x=P32, z=P32, n=I32, s=I32), dict(B=4096), dict(num_warps=8)),
    ("flash_attention", flash_attention, dict(q_ptr=P16, k_ptr=P16, v_ptr=P16, o_ptr=P16, lse=P32, stride=I32, head=I32, n=I32, scale="fp32"), dict(BM=128, BN=64, D=64), dict(num_stages=3)),
    ("matmul", matmul, dict(MATRICES, sa=I32, sb=I32, sc=I32), dict(BM=128, BN=128, BK=32), dict(num_stages=3)),
    ("dropout", dropout, dict(x=P32, z=P32, n=I32, p="fp32", seed=I32), dict(B=1024), {}),
    ("scan_and_sort", scan_and_sort, dict(x=P32, z=P32, w=P32), dict(B=512), {}),
    ("histogram", histogram, dict(x="*i32", z="*i32", n=I32), dict(B=512), {}),
    ("calls", calls, dict(x=P32, z=P32, n=I32), dict(B=256), {}),
    ("math", math, dict(x=P32, z=P32, n=I32), dict(B=256), {}),
    ("spills", spills, dict(a=P32, z=P32), dict(N=64), dict(num_warps=1)),
    ("matmul_fp8", matmul, dict(MATRICES, a="*fp8e5", b="*fp8e5", sa=I32, sb=I32, sc=I32), dict(BM=128, BN=128, BK=64), {}),
]
# For sm_90 and newer.
NEWER = [
    ("matmul_scaled", matmul_scaled, dict(a="*fp8e4nv", b="*fp8e4nv", c=P32, sa="*u8", sb="*u8"), dict(BM=128, BN=128, BK=128), {}),
]
if HAS_DESCRIPTORS:
    for name, warps in (("matmul_tma", 8), ("matmul_tma_specialized", 4)):
        tile = dict(BM=128, BN=128, BK=64, SMS=132, SPECIALIZE=name != "matmul_tma")
        NEWER.append((name, matmul_tma, MATRICES, tile, dict(num_stages=3, num_warps=warps)))
