"""Three kernels: one that the GPU's memory limits, one that its tensor cores limit, and one whose loads are not coalesced. Each says in its
launch_metadata how many bytes and flops it should need; cuBLAS's kernel says nothing.
"""

import torch
import triton
import triton.language as tl

SIZE = 4096  # of all matrices


def twice(grid, metadata, args):
    return {"name": metadata.name, "bytes": 2 * args["x"].numel() * args["x"].element_size()}


def products(grid, metadata, args):
    m, n, k, element = args["M"], args["N"], args["K"], args["a"].element_size()
    return {"name": metadata.name, "flops16": 2 * m * n * k, "bytes": element * (m * k + k * n + m * n)}


@triton.jit(launch_metadata=twice)
def scale(x, y, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, 2 * tl.load(x + offsets))


@triton.jit(launch_metadata=twice)
def transpose(x, y, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, column = offsets % N, offsets // N
    tl.store(y + offsets, tl.load(x + row * N + column))  # neighbouring threads read addresses that are N apart


@triton.jit(launch_metadata=products)
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        total = tl.dot(tl.load(a + rows[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + columns[None, :]), total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


def main():
    torch.manual_seed(0)
    x = torch.randn(SIZE, SIZE, device="cuda")
    scaled, transposed = torch.empty_like(x), torch.empty_like(x)
    a, b = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.float16) for _ in range(2))
    c, d = torch.empty_like(a), torch.empty_like(a)
    for _ in range(20):
        scale[(x.numel() // 1024,)](x, scaled, 1024)
        transpose[(x.numel() // 1024,)](x, transposed, SIZE, 1024)
        matmul[(SIZE // 128, SIZE // 128)](a, b, c, SIZE, SIZE, SIZE, 128, 128, 64, num_warps=8)
        torch.mm(a, b, out=d)
    torch.testing.assert_close(scaled, 2 * x)
    torch.testing.assert_close(transposed, x.T)
    torch.testing.assert_close(c, d, rtol=1e-2, atol=0.5)


if __name__ == "__main__":
    main()
