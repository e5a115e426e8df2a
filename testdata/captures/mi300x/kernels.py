"""The kernels of mi300x_synthetic.capture.gz. ../README.md says how it was made."""
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    steps = tl.arange(0, BK)
    left = a + rows[:, None] * K + steps[None, :]
    right = b + steps[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        x = tl.load(left)
        y = tl.load(right)
        total = tl.dot(x, y, total)
        left += BK
        right += BK * N
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@triton.jit
def stable(row):
    return row - tl.max(row, axis=0)


@triton.jit
def softmax_kernel(x, z, stride, B: tl.constexpr):
    at = tl.program_id(0) * stride + tl.arange(0, B)
    row = tl.load(x + at).to(tl.float32)
    powers = tl.exp(stable(row))
    tl.store(z + at, (powers / tl.sum(powers, axis=0)).to(tl.float16))


@triton.jit
def add(x, y, z, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    inside = at < n
    tl.store(z + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


P16, P32, I32 = "*fp16:16", "*fp32:16", "i32:16"

# name, kernel, signature, constants, options: for gpu/hsaco/testdata/make.py
KERNELS = [
    ("matmul", matmul_kernel, dict(a=P16, b=P16, c=P16, M=I32, N=I32, K=I32), dict(BM=128, BN=128, BK=64), dict(num_warps=4)),
    ("softmax", softmax_kernel, dict(x=P16, z=P16, stride=I32), dict(B=4096), dict(num_warps=4)),
    ("add", add, dict(x=P32, y=P32, z=P32, n=I32), dict(B=1024), dict(num_warps=4)),
]
