"""The first exam: a part of these programs was known when the rules of explain were written."""

import time

import cupy
import numpy
import torch
import triton.language as tl

import kernels as k
from cases import case, halves, random

N = 1 << 25
x, y, z = random(N), random(N), random(N)
A, B = halves(4096, 4096), halves(4096, 4096)
C = torch.empty_like(A)
F, G = random(2048, 2048), random(2048, 2048)
E = torch.empty_like(F)
index = torch.randint(0, N, (N,), device="cuda", dtype=torch.int32)
chain = torch.randperm(1 << 24, device="cuda").to(torch.int32)
ends = torch.empty_like(chain)
rows = random(8192, 8192)
out = torch.empty_like(rows)
ints = torch.randint(1, 1 << 30, (N,), device="cuda", dtype=torch.int32)
quotients = torch.empty_like(ints)
w, one = random(8192), torch.zeros(1, device="cuda")
lock = torch.zeros(1, device="cuda", dtype=torch.int32)
host = torch.randn(1 << 25)
parameters = [random(1000) for _ in range(200)]

STREAM = dict(bytes=2 * 4 * N)
ROWS = dict(bytes=2 * 4 * 8192 * 8192)


def product(n):
    return dict(flops16=2 * n * n * 4096, bytes=2 * 3 * n * n)


def cuda(name, grid, block, *arguments):
    module = cupy.RawModule(code=k.CUDA + f"// {name}", options=("-lineinfo",))
    kernel = module.get_function(name)
    with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
        for _ in range(20):
            kernel((grid,), (block,), tuple(cupy.from_dlpack(v) if isinstance(v, torch.Tensor) else numpy.int32(v) for v in arguments))


def matmul(n, bm, bn, bk, **options):
    k.matmul[(n // bm, n // bn)](A, B, C, n, n, 4096, bm, bn, bk, **options)


# Data movement, layout, occupancy.
case("strided_load", "data movement", STREAM)(lambda: k.strided[(N // 1024,)](x, z, N, 33, 1024))
case("strided_load_65", "data movement", STREAM)(lambda: k.strided[(N // 512,)](x, z, N, 65, 512, num_warps=8))
case("strided_store", "data movement", STREAM)(lambda: k.strided_store[(N // 1024,)](x, z, N, 33, 1024))
case("gather", "data movement", dict(bytes=12 * N))(lambda: k.gather[(N // 1024,)](x, index, z, N, 1024))
case("column_sums", "data movement", dict(bytes=4 * 8192 * 8192))(lambda: k.column_sums[(8192,)](rows, w, 8192, 8192, 1024))
case("pointer_chase", "data movement")(lambda: k.pointer_chase[(1056,)](chain, ends, 200, 128))
case("cuda_uncoalesced", "data movement", dict(bytes=20 * (8 << 24)), "cold")(lambda: cuda("strided_copy", (1 << 24) // 1024, 1024, x, z, 1 << 24))
case("few_blocks_8", "occupancy", dict(bytes=4 * N))(lambda: k.one_program_sum[(8,)](x, z, N, 1024))
case("few_blocks_32", "occupancy", dict(bytes=4 * N))(lambda: k.one_program_sum[(32,)](x, z, N, 2048, num_warps=8))
case("tail", "occupancy", product(1536))(lambda: matmul(1536, 128, 128, 64, num_warps=8, num_stages=4))
case("matmul_low_occupancy", "occupancy", product(4096))(lambda: matmul(4096, 64, 64, 32, num_warps=1, num_stages=5))
case("matmul_1_block", "occupancy|data movement", product(4096))(lambda: matmul(4096, 128, 128, 64, num_warps=8, num_stages=4))
case("matmul_1_stage", "data movement", product(4096))(lambda: matmul(4096, 128, 128, 64, num_warps=8, num_stages=1))
case("matmul_small_tiles", "layout|data movement", product(4096))(lambda: matmul(4096, 16, 16, 32, num_warps=4))
case("softmax_1_warp", "spill", ROWS)(lambda: k.wide_softmax[(8192,)](rows, out, 8192, 8192, num_warps=1))
case("local_array", "spill", None, "cold")(lambda: cuda("indexed", 2048, 256, z, 300))
case("sort", "layout", dict(bytes=8 * 512 * 4096))(lambda: k.sorted_rows[(512,)](rows, out, 8192, 4096, num_warps=4))
case("transposes", "layout", dict(bytes=8 * 4096 * 64 * 64))(lambda: k.transposed_in_turn[(4096,)](x, z, 100, 64))
case("bank_conflicts", "layout", None, "cold")(lambda: cuda("conflicts", 2048, 1024, z, 200))
# Compute, synchronisation.
case("matmul_ieee", "compute", dict(flops32=2 * 2048**3))(lambda: k.matmul[(32, 32)](F, G, E, 2048, 2048, 2048, 64, 64, 32, "ieee", tl.float32))
case("torch_fp32", "compute", dict(flops32=2 * 2048**3))(lambda: F @ G)
case("exp2_chain", "compute", STREAM)(lambda: k.sines[(N // 1024,)](x, z, N, 200, 1024))
case("fma_chain_1_warp", "compute", dict(bytes=8 * 32 * 528))(lambda: k.chain[(528,)](x, z, N, 5000, 32, num_warps=1))
case("integer_divisions", "compute", STREAM)(lambda: k.divisions[(N // 1024,)](ints, quotients, N, 7, 50, 1024))
case("divergent", "compute", dict(bytes=20 * 8 * (1 << 21)), "cold")(lambda: cuda("divergent", 8192, 256, x, z, 100))
case("one_warp_works", "synchronisation", None, "cold")(lambda: cuda("barriers", 528, 1024, z, 50))
case("spin_lock", "synchronisation")(lambda: k.locked[(1024,)](lock, one, 1, num_warps=1))
case("contended_atomics", "data movement|synchronisation")(lambda: k.contended[(1056,)](one, 20, 128))
case("sums_in_turn", "synchronisation|layout", dict(bytes=8 * 2048 * 1024))(lambda: k.sums_in_turn[(2048,)](rows, out, 8192, 300, 1024, num_warps=8))


# The program.
@case("unfused", "data movement")
def _():
    for f in (torch.sin, torch.cos, torch.exp, torch.abs, torch.neg, torch.sigmoid):
        f(x)


@case("pageable_copies", "data movement", None, "timeline")
def _():
    host.to("cuda")
    x.mul_(1.0)


@case("copies_back", "data movement", None, "timeline")
def _():
    for _ in range(10):
        k.add[(N // 1024,)](x, y, z, N, 1024)
        z[: 1 << 22].cpu()


@case("small_launches", "launch", None, "timeline")
def _():
    for _ in range(300):
        k.add[(4,)](x, y, z, 4096, 1024)


@case("small_torch_launches", "launch", None, "timeline")
def _():
    v = x[:4096]
    for _ in range(300):
        v = v + 1


@case("unfused_optimizer", "launch", None, "timeline")
def _():
    for p in parameters:
        p.mul_(0.9).add_(p, alpha=0.1).div_(1.1)


@case("short_kernels", "launch")
def _():
    for p in parameters:
        p.mul_(0.9).add_(p, alpha=0.1).div_(1.1)


@case("items", "synchronisation", None, "timeline")
def _():
    for _ in range(100):
        (x[: 1 << 20] * 2).sum().item()


@case("items_of_long_kernels", "synchronisation", None, "timeline")
def _():
    for _ in range(30):
        (x * 2).sum().item()


@case("synchronising", "synchronisation", None, "timeline")
def _():
    for _ in range(50):
        k.add[(N // 8192,)](x, y, z, N // 8, 1024)
        torch.cuda.synchronize()


@case("host_sleeps", "host", None, "timeline")
def _():
    for _ in range(10):
        k.add[(N // 1024,)](x, y, z, N, 1024)
        time.sleep(0.003)


@case("python_work", "host", None, "timeline")
def _():
    for _ in range(10):
        k.add[(N // 1024,)](x, y, z, N, 1024)
        sum(i * i for i in range(40000))


# Healthy.
case("healthy_add", "", dict(bytes=12 * N))(lambda: k.add[(N // 1024,)](x, y, z, N, 1024))
case("healthy_softmax", "", ROWS)(lambda: k.wide_softmax[(8192,)](rows, out, 8192, 8192, num_warps=16))
case("healthy_norm", "", ROWS)(lambda: k.norm[(8192,)](rows, w, out, 8192, 8192, num_warps=16))
case("healthy_cublas", "", product(4096))(lambda: torch.mm(A, B, out=C))
case("healthy_large_cublas", "", dict(flops16=2 * 8192**3))(lambda a=halves(8192, 8192): torch.mm(a, a))
case("healthy_attention", "", dict(flops16=4 * 8 * 16 * 2048 * 2048 * 128))(
    lambda q=halves(8, 16, 2048, 128): torch.nn.functional.scaled_dot_product_attention(q, q, q)
)
case("healthy_sum", "", dict(bytes=4 * N))(lambda: x.sum())
case("healthy_layer_norm", "", ROWS)(lambda: torch.nn.functional.layer_norm(rows, (8192,)))
case("healthy_transpose", "", ROWS)(lambda: rows.t().contiguous())
case("healthy_cumsum", "", ROWS)(lambda: rows.cumsum(1))
case("healthy_embedding", "", dict(bytes=8 * 32768 * 1024))(
    lambda table=random(50000, 1024), ids=torch.randint(0, 50000, (32768,), device="cuda"): torch.nn.functional.embedding(ids, table)
)
case("healthy_convolution", "", dict(flops16=2 * 32 * 256 * 56 * 56 * 128 * 9))(
    lambda a=halves(32, 128, 56, 56), b=halves(256, 128, 3, 3): torch.nn.functional.conv2d(a, b, padding=1)
)
case("healthy_batches", "", dict(flops16=2 * 64 * 1024**3))(lambda a=halves(64, 1024, 1024): torch.bmm(a, a))
case("healthy_gelu", "", STREAM)(lambda: torch.nn.functional.gelu(x))
case("healthy_fill", "", dict(bytes=4 * N))(lambda: z.fill_(1.0))
case("healthy_cross_entropy", "")(
    lambda a=random(4096, 32000), t=torch.randint(0, 32000, (4096,), device="cuda"): torch.nn.functional.cross_entropy(a, t)
)
case("healthy_queue", "", None, "timeline")(lambda: [torch.mm(A, B, out=C) for _ in range(50)])
case("healthy_steps", "", None, "timeline")(lambda: [(torch.mm(A, B, out=C), C.mul_(0.01)) for _ in range(30)])
layers = torch.nn.Sequential(torch.nn.Linear(4096, 16384), torch.nn.GELU(), torch.nn.Linear(16384, 4096)).to("cuda", torch.float16)
case("healthy_training", "")(lambda: layers(A).sum().backward())
case("healthy_adam", "", dict(bytes=7 * 4 * 4096 * 4096))(
    lambda o=torch.optim.Adam([torch.nn.Parameter(random(4096, 4096), requires_grad=True)], fused=True): step(o)
)


def step(optimizer):
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is None:
                p.grad = torch.ones_like(p)
    optimizer.step()
