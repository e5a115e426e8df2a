"""The kernels of inside.py, with scopes at the level of their loops. PL is the module with the scopes: ours or Triton's own."""
import torch
import triton
import triton.language as tl
import PL as pl

pl.enable_semantic("triton")


@triton.jit
def vector_add(x, y, out, n, B: tl.constexpr):
    with pl.scope("whole"):
        i = tl.program_id(0) * B + tl.arange(0, B)
        with pl.scope("load"):
            a = tl.load(x + i, mask=i < n)
            b = tl.load(y + i, mask=i < n)
        with pl.scope("store"):
            tl.store(out + i, a + b, mask=i < n)


@triton.jit
def layer_norm(x, out, n, eps, B: tl.constexpr):
    with pl.scope("whole"):
        row = tl.program_id(0)
        total = tl.zeros((B,), tl.float32)
        for at in range(0, n, B):
            with pl.scope("mean"):
                i = at + tl.arange(0, B)
                total += tl.load(x + row * n + i, mask=i < n, other=0.0)
        mean = tl.sum(total) / n
        squares = tl.zeros((B,), tl.float32)
        for at in range(0, n, B):
            with pl.scope("variance"):
                i = at + tl.arange(0, B)
                v = tl.where(i < n, tl.load(x + row * n + i, mask=i < n, other=0.0) - mean, 0.0)
                squares += v * v
        scale = 1 / tl.sqrt(tl.sum(squares) / n + eps)
        for at in range(0, n, B):
            with pl.scope("write"):
                i = at + tl.arange(0, B)
                tl.store(out + row * n + i, (tl.load(x + row * n + i, mask=i < n, other=0.0) - mean) * scale, mask=i < n)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    with pl.scope("whole"):
        pid = tl.program_id(0)
        m, n = pid // (N // BN), pid % (N // BN)
        rm, rn, rk = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
        pa, pb = a + rm[:, None] * K + rk[None, :], b + rk[:, None] * N + rn[None, :]
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            with pl.scope("load"):
                x = tl.load(pa)
                y = tl.load(pb)
            with pl.scope("dot"):
                acc = tl.dot(x, y, acc)
            pa += BK
            pb += BK * N
        with pl.scope("store"):
            tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def attention(q, k, v, out, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    with pl.scope("whole"):
        base = tl.program_id(1) * n * D
        rm, rd = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
        queries = tl.load(q + base + rm[:, None] * D + rd[None, :])
        most = tl.full((BM,), float("-inf"), tl.float32)
        total = tl.zeros((BM,), tl.float32)
        acc = tl.zeros((BM, D), tl.float32)
        for at in range(0, n, BN):
            rn = at + tl.arange(0, BN)
            with pl.scope("scores"):
                keys = tl.load(k + base + rn[:, None] * D + rd[None, :])
                s = tl.dot(queries, tl.trans(keys)) * scale
            with pl.scope("softmax"):
                now = tl.maximum(most, tl.max(s, 1))
                p = tl.exp2(s - now[:, None])
                fade = tl.exp2(most - now)
                total = total * fade + tl.sum(p, 1)
                most = now
            with pl.scope("values"):
                values = tl.load(v + base + rn[:, None] * D + rd[None, :])
                acc = tl.dot(p.to(tl.float16), values, acc * fade[:, None])
        with pl.scope("store"):
            tl.store(out + base + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(tl.float16))


def work():
    """By name, a kernel's launch and what it writes."""
    torch.manual_seed(0)
    f32 = lambda *shape: torch.randn(shape, device="cuda")
    f16 = lambda *shape: torch.randn(shape, device="cuda", dtype=torch.float16)
    x, y, added = f32(1 << 20), f32(1 << 20), f32(1 << 20)
    rows, normed = f32(1024, 4096), f32(1024, 4096)
    a, b, c = f16(4096, 4096), f16(4096, 4096), f16(4096, 4096)
    q, k, v, attended = f16(16, 4096, 64), f16(16, 4096, 64), f16(16, 4096, 64), f16(16, 4096, 64)
    return {
        "vector_add": (lambda: vector_add[(1024,)](x, y, added, 1 << 20, B=1024), added),
        "layer_norm": (lambda: layer_norm[(1024,)](rows, normed, 4096, 1e-5, B=1024), normed),
        "matmul": (lambda: matmul[(1024,)](a, b, c, 4096, 4096, 4096, BM=128, BN=128, BK=64, num_warps=8, num_stages=3), c),
        "attention": (lambda: attention[(32, 16)](q, k, v, attended, 4096, 0.125 * 1.44269504, D=64, BM=128, BN=64, num_warps=8), attended),
    }
