"""The kernels of all checks. This file stands alone: it is copied, recorded and removed again when launches are reproduced."""
import triton
import triton.language as tl
from triton.language.extra import libdevice as fast

try:
    from triton.language.extra.cuda import globaltimer  # for spin_kernel only
except ImportError:  # a Triton without NVIDIA's part
    globaltimer = None

SLOPE = tl.constexpr(0.01)


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, SLOPE * x)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


described_add_kernel = triton.jit(
    launch_metadata=lambda grid, kernel, args: {"name": f"add_{args['n']}", "flops32": args["n"], "bytes": 12 * args["n"], "shoes": 2})(add_kernel.fn)


@triton.autotune(
    configs=[triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_warps=8, num_stages=3), triton.Config({"BM": 64, "BN": 128, "BK": 32}, num_warps=4, num_stages=4)],
    key=["M", "N", "K"],
)
@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BK"] == 0})
@triton.jit(launch_metadata=lambda grid, kernel, args: {"name": kernel.name, "flops16": 2.0 * args["M"] * args["N"] * args["K"]})
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EVEN_K: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    om, on, ok = pid_m * BM + tl.arange(0, BM), pid_n * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_ptrs = a_ptr + om[:, None] * sam + ok[None, :] * sak
    b_ptrs = b_ptr + ok[:, None] * sbk + on[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        if EVEN_K:
            a, b = tl.load(a_ptrs), tl.load(b_ptrs)
        else:
            a = tl.load(a_ptrs, mask=ok[None, :] < K - k * BK, other=0.0)
            b = tl.load(b_ptrs, mask=ok[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    c = leaky_relu(acc).to(tl.float16)
    tl.store(c_ptr + om[:, None] * scm + on[None, :] * scn, c, mask=(om[:, None] < M) & (on[None, :] < N))


@triton.jit(repr=lambda s: f"softmax_{s.constants['BLOCK']}")
def softmax_kernel(out_ptr, in_ptr, row_stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * row_stride + offsets, mask=offsets < cols, other=-float("inf"))
    e = fast.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=offsets < cols)


@triton.jit
def layer_norm_kernel(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    d = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(d * d, axis=0) / N + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    w, b = tl.load(w_ptr + cols, mask=mask), tl.load(b_ptr + cols, mask=mask)
    tl.store(y_ptr + row * stride + cols, d * rstd * w + b, mask=mask)


@triton.jit
def attention_kernel(Q, K, V, Out, sz, sm, sd, scale, CTX, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    start, z = tl.program_id(0), tl.program_id(1)
    om, on, od = start * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q = tl.load(Q + z * sz + om[:, None] * sm + od[None, :] * sd)
    m, l, acc = tl.full((BM,), -float("inf"), tl.float32), tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for n in range(0, CTX, BN):
        k = tl.load(K + z * sz + (n + on)[None, :] * sm + od[:, None] * sd)
        s = tl.dot(q, k) * scale
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        alpha = tl.exp(m - new)
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(V + z * sz + (n + on)[:, None] * sm + od[None, :] * sd)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m = new
    tl.store(Out + z * sz + om[:, None] * sm + od[None, :] * sd, (acc / l[:, None]).to(tl.float16))


@triton.jit
def strided_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets % N * N + offsets // N))  # neighbouring threads read addresses that are N apart


@triton.jit
def turned_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    rows, cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x_ptr + rows[:, None] * N + cols[None, :])
    tl.store(y_ptr + cols[:, None] * N + rows[None, :], tl.trans(tile))  # through shared memory, so that both are coalesced


@triton.jit
def descriptor_kernel(in_desc, out_desc, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    out_desc.store([m, n], in_desc.load([m, n]) * 2)


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, n, kind: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + offsets, mask=offsets < n, other=0)
    tl.store(out_ptr + offsets, tl.load(x_ptr + index).to(kind), mask=offsets < n)


@triton.jit
def in_place_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets * 2, mask=offsets < n)
    tl.store(y_ptr + offsets * 2, x + 5, mask=offsets < n)


def nested():
    factor = tl.constexpr(3)

    @triton.jit
    def nested_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
        o = tl.arange(0, BLOCK)
        tl.store(out_ptr + o, tl.load(x_ptr + o) * factor)

    return nested_kernel


@triton.jit
def tripled(x):
    return x * 3


@triton.jit
def given_kernel(x_ptr, out_ptr, FN: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(out_ptr + o, FN(tl.load(x_ptr + o)))


@triton.jit(do_not_specialize=["n"])
def step_kernel(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, tl.load(x + i) + 1.0)


@triton.jit
def read_kernel(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m).to(tl.float32), mask=m)


@triton.jit
def scale_kernel(x, out, factor, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) * factor, mask=m)


@triton.jit
def pair_kernel(pair, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(pair[1] + i, tl.load(pair[0] + i, mask=i < n), mask=i < n)


def unwilling(grid, metadata, arguments):
    raise ValueError("no metadata")


unwilling_kernel = triton.jit(launch_metadata=unwilling)(read_kernel.fn)


@triton.autotune(configs=[triton.Config({"B": 256}), triton.Config({"B": 1024})], key=["n"])
@triton.jit
def tuned_kernel(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) * 2.0, mask=m)


@triton.jit(noinline=True)
def polish(p, steps):
    i = tl.arange(0, 1024)
    v = tl.load(p + i)
    for _ in range(steps):
        v = tl.sqrt(v * v + 1.0)  # the callee's hot line
    tl.store(p + i, v)


@triton.jit
def polished_kernel(x, steps):
    polish(x + tl.program_id(0) * 1024, steps)


@triton.jit
def chain_kernel(x, steps, C: tl.constexpr):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    v = tl.load(x + i)
    for _ in range(steps):
        v = tl.sqrt(v * v + C)  # the hot line
    tl.store(x + i, v)


# It reads the GPU's clock, since a number of iterations measured beforehand is too small by far while the GPU's clocks are still low.
@triton.jit
def spin_kernel(out, nanoseconds):
    begin = globaltimer()
    now = begin
    while now - begin < nanoseconds:
        now = globaltimer()
    tl.store(out, now)
