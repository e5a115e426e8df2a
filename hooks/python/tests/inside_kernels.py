"""Kernels into which scopes are put by machine, with what is needed to compile them without a GPU."""

import triton
import triton.language as tl


@triton.jit
def loop_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, n):
        x = tl.load(x_ptr + offsets + i * BLOCK)
        total += x
    tl.store(out_ptr + offsets, total)


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    om, on, ok = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_ptrs = a_ptr + om[:, None] * sam + ok[None, :]
    b_ptrs = b_ptr + ok[:, None] * sbk + on[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        total = tl.dot(a, b, total)
        a_ptrs += BK
        b_ptrs += BK * sbk
    tl.store(c_ptr + om[:, None] * scm + on[None, :], total.to(tl.float16), mask=(om[:, None] < M) & (on[None, :] < N))


@triton.jit
def softmax_kernel(out_ptr, in_ptr, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * stride + offsets, mask=offsets < cols, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + offsets, e / tl.sum(e, axis=0), mask=offsets < cols)


@triton.jit
def layer_norm_kernel(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    square = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        square += x * x
    rstd = 1 / tl.sqrt(tl.sum(square, axis=0) / N + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        w = tl.load(w_ptr + cols, mask=cols < N)
        b = tl.load(b_ptr + cols, mask=cols < N)
        x = tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
        tl.store(y_ptr + cols, (x - mean) * rstd * w + b, mask=cols < N)


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, sz, sm, scale, CTX, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    start, z = tl.program_id(0), tl.program_id(1)
    om, on, od = start * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q = tl.load(q_ptr + z * sz + om[:, None] * sm + od[None, :])
    m, l, acc = tl.full((BM,), -float("inf"), tl.float32), tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for n in range(0, CTX, BN):
        k = tl.load(k_ptr + z * sz + (n + on)[None, :] * sm + od[:, None])
        s = tl.dot(q, k) * scale
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        alpha = tl.exp(m - new)
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + z * sz + (n + on)[:, None] * sm + od[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m = new
    tl.store(out_ptr + z * sz + om[:, None] * sm + od[None, :], (acc / l[:, None]).to(tl.float16))


@triton.jit
def specialised_kernel(a_desc, b_desc, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    om, on = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True):
        a = a_desc.load([om, k])
        b = b_desc.load([on, k])
        total = tl.dot(a, b.T, total)
    rows, cols = om + tl.arange(0, BM), on + tl.arange(0, BN)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], total.to(tl.float16))


@triton.jit
def histogram_kernel(x_ptr, bins_ptr, lock_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    tl.atomic_add(bins_ptr + x, 1, mask=offsets < n)
    tl.atomic_cas(lock_ptr, 0, 1)


@triton.jit
def nested_kernel(x_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, rows):
        for j in range(0, cols):
            total += tl.load(x_ptr + (i * cols + j) * BLOCK + offsets)
        tl.store(out_ptr + i * BLOCK + offsets, total)


@triton.jit
def early_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    if start >= n:
        return
    offsets = start + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    if n > 1000:
        tl.store(out_ptr + offsets, x)
        return
    tl.store(out_ptr + offsets, x + 1)


@triton.jit
def unrolled_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, TIMES: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in tl.static_range(TIMES):
        total += tl.load(x_ptr + i * BLOCK + offsets)
        tl.debug_barrier()
    tl.store(out_ptr + offsets, total)


@triton.jit
def twice(pointer, offsets):
    first = tl.load(pointer + offsets)
    return first + tl.load(pointer + offsets + 1)


@triton.jit
def inlined_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, twice(x_ptr, offsets) + twice(y_ptr, offsets))


@triton.jit(noinline=True)
def called(pointer, offset):
    return tl.load(pointer + offset)


@triton.jit
def calling_kernel(x_ptr, out_ptr):
    tl.store(out_ptr, called(x_ptr, 1) + called(x_ptr, 2))


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def scan_kernel(x_ptr, out_ptr, count_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, tl.associative_scan(x, 0, add))
    tl.store(count_ptr, tl.reduce(x, 0, add))


@triton.jit
def while_kernel(x_ptr, out_ptr, n):
    i = 0
    total = 0.0
    while i < n:
        x = tl.load(x_ptr + i)
        if x > 0:
            total += tl.load(x_ptr + i + 1)
        else:
            tl.store(out_ptr + i, total)
        i += 1
    tl.store(out_ptr, total)


@triton.jit
def pointless_kernel(BLOCK: tl.constexpr):
    pass


# name: (kernel, signature, constexprs, options)
KERNELS = {
    "loop": (loop_kernel, dict(x_ptr="*fp32", out_ptr="*fp32", n="i32"), dict(BLOCK=1024), {}),
    "limited": (loop_kernel, dict(x_ptr="*fp32", out_ptr="*fp32", n="i32"), dict(BLOCK=4096), dict(maxnreg=24)),
    "matmul": (matmul_kernel, dict(a_ptr="*fp16", b_ptr="*fp16", c_ptr="*fp16", M="i32", N="i32", K="i32", sam="i32", sbk="i32", scm="i32"),
               dict(BM=128, BN=128, BK=64), dict(num_stages=3, num_warps=8)),
    "softmax": (softmax_kernel, dict(out_ptr="*fp32", in_ptr="*fp32", stride="i32", cols="i32"), dict(BLOCK=2048), {}),
    "layer_norm": (layer_norm_kernel, dict(x_ptr="*fp16", y_ptr="*fp16", w_ptr="*fp16", b_ptr="*fp16", mean_ptr="*fp32", rstd_ptr="*fp32",
                                           stride="i32", N="i32", eps="fp32"), dict(BLOCK=1024), {}),
    "attention": (attention_kernel, dict(q_ptr="*fp16", k_ptr="*fp16", v_ptr="*fp16", out_ptr="*fp16", sz="i32", sm="i32", scale="fp32", CTX="i32"),
                  dict(BM=128, BN=64, D=64), dict(num_stages=2, num_warps=8)),
    "pipelined": (matmul_kernel, dict(a_ptr="*fp16", b_ptr="*fp16", c_ptr="*fp16", M="i32", N="i32", K="i32", sam="i32", sbk="i32", scm="i32"),
                  dict(BM=128, BN=128, BK=32), dict(num_stages=3, num_warps=8)),
    "specialised": (specialised_kernel, dict(a_desc="tensordesc<fp16[64, 64]>", b_desc="tensordesc<fp16[64, 64]>", c_ptr="*fp16", N="i32", K="i32"),
                    dict(BM=64, BN=64, BK=64), dict(num_stages=3, num_warps=4)),
    "histogram": (histogram_kernel, dict(x_ptr="*i32", bins_ptr="*i32", lock_ptr="*i32", n="i32"), dict(BLOCK=1024), {}),
    "nested": (nested_kernel, dict(x_ptr="*fp32", out_ptr="*fp32", rows="i32", cols="i32"), dict(BLOCK=256), {}),
    "early": (early_kernel, dict(x_ptr="*fp32", out_ptr="*fp32", n="i32"), dict(BLOCK=256), {}),
    "unrolled": (unrolled_kernel, dict(x_ptr="*fp32", out_ptr="*fp32"), dict(BLOCK=256, TIMES=8), {}),
    "long": (unrolled_kernel, dict(x_ptr="*fp32", out_ptr="*fp32"), dict(BLOCK=256, TIMES=110), {}),
    "inlined": (inlined_kernel, dict(x_ptr="*fp32", y_ptr="*fp32", out_ptr="*fp32"), dict(BLOCK=256), {}),
    "calling": (calling_kernel, dict(x_ptr="*fp32", out_ptr="*fp32"), {}, {}),
    "scan": (scan_kernel, dict(x_ptr="*fp32", out_ptr="*fp32", count_ptr="*fp32"), dict(BLOCK=256), {}),
    "while": (while_kernel, dict(x_ptr="*fp32", out_ptr="*fp32", n="i32"), {}, {}),
    "pointless": (pointless_kernel, {}, dict(BLOCK=256), {}),
}
