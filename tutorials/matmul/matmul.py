"""Matrix multiplication: an autotuned Triton kernel and cuBLAS, named and measured launch by launch.

    proton run matmul.py        writes matmul.hatchet
    python matmul.py            the same
"""

import torch
import triton
import triton.language as tl

import goproton as proton

# M, N, K: squares of powers of two, one square that tiles badly, one flat and one deep shape.
SHAPES = ((512, 512, 512), (1024, 1024, 1024), (1920, 1920, 1920), (4096, 4096, 4096), (256, 4096, 1024),
          (1024, 1024, 8192))
CALLS = 10  # of each provider per shape
TRIALS = 5  # of each configuration while autotuning


def work(m, n, k):
    """What one multiplication of float16 matrices has to do: flops16 for util, flops for tflop/s of any width."""
    flops = 2 * m * n * k
    return {"flops": flops, "flops16": flops, "bytes": (m * k + k * n + m * n) * 2}


def launch_metadata(grid, metadata, args):
    """What one launch is called and what it has to do. Called by Triton for each launch while a hook listens."""
    x, y, z = (*grid, 1, 1)[:3]
    # Triton up to 3.4 gives the cluster's shape, later versions only its size.
    cx, cy, cz = getattr(metadata, "cluster_dims", (metadata.num_ctas, 1, 1))
    return {
        "name": f"matmul_<grid:{x}x{y}x{z}>_<cluster:{cx}x{cy}x{cz}>_<warps:{metadata.num_warps}>"
                f"_<shared:{metadata.shared}>_<stages:{metadata.num_stages}>",
        **work(args["M"], args["N"], args["K"]),
    }


def bench(call, quantiles):
    """How the autotuner times one configuration. Its kernels get a scope of their own.

    Triton's default repeats each configuration for an eighth of a second; a few calls are enough to choose here and
    keep the profile readable.
    """
    with proton.scope("<autotune>"):
        call()  # compiles
        events = [torch.cuda.Event(enable_timing=True) for _ in range(TRIALS + 1)]
        events[0].record()
        for event in events[1:]:
            call()
            event.record()
        torch.cuda.synchronize()
    times = torch.tensor([a.elapsed_time(b) for a, b in zip(events, events[1:])])
    return torch.quantile(times, torch.tensor(quantiles)).tolist()


CONFIGS = [
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_warps=8, num_stages=3),
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=8, num_stages=3),
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32}, num_warps=4, num_stages=4),
    triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}, num_warps=4, num_stages=4),
    triton.Config({"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32}, num_warps=2, num_stages=5),
]


@triton.autotune(configs=CONFIGS, key=["M", "N", "K"], do_bench=bench)
@triton.jit(launch_metadata=launch_metadata)
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    # Programs walk down the tiles of one column of C, so that neighbours share a slice of B in the L2 cache.
    tiles_m = tl.cdiv(M, BLOCK_M)
    tile = tl.program_id(0)
    rows = (tile % tiles_m) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = (tile // tiles_m) * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    a = a_ptr + rows[:, None] * stride_am + steps[None, :] * stride_ak
    b = b_ptr + steps[:, None] * stride_bk + cols[None, :] * stride_bn
    row_in, col_in = rows[:, None] < M, cols[None, :] < N

    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        left = tl.load(a, mask=row_in & (steps[None, :] < K - k), other=0.0)
        right = tl.load(b, mask=col_in & (steps[:, None] < K - k), other=0.0)
        total = tl.dot(left, right, total)
        a += BLOCK_K * stride_ak
        b += BLOCK_K * stride_bk

    c = c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn
    tl.store(c, total.to(tl.float16), mask=row_in & col_in)


def matmul(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    matmul_kernel[lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)](
        a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride())
    return c


def compare(m, n, k):
    """Multiplies one shape both ways and checks that both agree."""
    with proton.scope("inputs"):
        a = torch.randn((m, k), device="cuda", dtype=torch.float16)
        b = torch.randn((k, n), device="cuda", dtype=torch.float16)
    with proton.scope(f"matmul_{m}_{n}_{k}"):
        # cuBLAS can't describe its launches, so the scope does, once per call.
        for _ in range(CALLS):
            with proton.scope("cublas", metrics=work(m, n, k)):
                expected = torch.mm(a, b)
        for _ in range(CALLS):
            with proton.scope("triton"):
                result = matmul(a, b)
    # Compared on the processor, so that no kernel of the comparison gets into the profile.
    torch.testing.assert_close(result.cpu(), expected.cpu(), atol=0.05 * k**0.5, rtol=0.01)


def main():
    torch.manual_seed(0)
    proton.start("matmul", hook="triton")
    for shape in SHAPES:
        compare(*shape)
    proton.finalize()


if __name__ == "__main__":
    main()
