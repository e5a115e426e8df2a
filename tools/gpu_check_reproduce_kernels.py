"""Kernels for gpu_check_reproduce.py: each is launched twice on the same tensors, so that a trace with the tensors' contents
has what the first launch wrote."""

import sys

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice as fast
from triton.tools.tensor_descriptor import TensorDescriptor

DEVICE = "cuda"
SLOPE = tl.constexpr(0.01)


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, SLOPE * x)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


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


def main():
    torch.manual_seed(0)
    rand = lambda *size, dtype=torch.float32: torch.randn(size, device=DEVICE, dtype=dtype)
    x, y = rand(100_000), rand(100_000)
    out = torch.empty_like(x)
    launches = [lambda: add_kernel[(triton.cdiv(100_000, 1024),)](x, y, out, 100_000, BLOCK=1024)]

    M, N, K = 512, 384, 256
    a, b, c = rand(M, K, dtype=torch.float16), rand(N, K, dtype=torch.float16).t(), torch.empty((M, N), device=DEVICE, dtype=torch.float16)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
    matmul = lambda: matmul_kernel[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1))
    matmul()  # the autotuner's choice
    c.zero_()
    launches.append(matmul)

    s, so = rand(64, 1000)[:, 100:900], torch.empty((64, 800), device=DEVICE)
    launches.append(lambda: softmax_kernel[(64,)](so, s, s.stride(0), 800, BLOCK=1024))

    ln, lo, w, bias, mean, rstd = rand(32, 500), rand(32, 500), rand(500), rand(500), rand(32), rand(32)
    launches.append(lambda: layer_norm_kernel[(32,)](ln, lo, w, bias, mean, rstd, 500, 500, 1e-5, BLOCK=512, num_warps=8))

    qkv = rand(3, 4, 256, 64, dtype=torch.float16)
    o = torch.empty_like(qkv[0])
    launches.append(lambda: attention_kernel[(4, 4)](qkv[0], qkv[1], qkv[2], o, qkv.stride(1), qkv.stride(2), 1, 0.125, 256, BM=64, BN=64, D=64))

    d, do = rand(128, 128, dtype=torch.float16), torch.empty((128, 128), device=DEVICE, dtype=torch.float16)
    launches.append(lambda: descriptor_kernel[(2, 2)](TensorDescriptor.from_tensor(d, [64, 64]), TensorDescriptor.from_tensor(do, [64, 64]), BM=64, BN=64))

    table, index, picked = rand(1000), torch.randint(0, 1000, (5000,), device=DEVICE), torch.empty(5000, device=DEVICE, dtype=torch.float16)
    launches.append(lambda: gather_kernel[(5,)](table, index, picked, 5000, tl.float16, BLOCK=1024))

    z = torch.arange(64, device=DEVICE, dtype=torch.float32)
    launches.append(lambda: in_place_kernel[(1,)](z[0:], z[1:], 31, BLOCK=32))

    n, no, kernel = rand(64), rand(64), nested()
    launches.append(lambda: kernel[(1,)](n, no, BLOCK=64))

    g, go = rand(64), rand(64)
    launches.append(lambda: given_kernel[(1,)](g, go, tripled, BLOCK=64))

    for launch in launches:
        launch()
        launch()

    if "--inductor" in sys.argv:
        compiled = torch.compile(lambda x, w: torch.nn.functional.gelu(x * w).softmax(-1))
        p, q = rand(256, 512), rand(512)
        for _ in range(3):
            compiled(p, q)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
