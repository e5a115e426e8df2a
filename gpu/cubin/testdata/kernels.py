import triton, triton.language as tl, sys
from triton.compiler import ASTSource
from triton.backends.compiler import GPUTarget

@triton.jit
def add(x, y, z, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    tl.store(z + o, tl.load(x + o, mask=m) + tl.load(y + o, mask=m), mask=m)

@triton.jit
def act(v):
    w = v * 0.5
    return tl.where(w > 0, tl.exp(w), w * 0.1)

@triton.jit
def twice(v):
    return act(act(v))

@triton.jit
def inlined(x, z, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    k = tl.cdiv(n, 3)
    v = tl.load(x + o, mask=o < k)
    tl.store(z + o, twice(v), mask=o < n)

@triton.jit
def softmax(x, z, n, s, B: tl.constexpr):
    r = tl.program_id(0)
    o = tl.arange(0, B)
    v = tl.load(x + r * s + o, mask=o < n, other=-float('inf'))
    v = v - tl.max(v, axis=0)
    e = tl.exp(v)
    tl.store(z + r * s + o, e / tl.sum(e, axis=0), mask=o < n)

@triton.jit
def matmul(a, b, c, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    nm = tl.cdiv(M, BM)
    pm, pn = pid % nm, pid // nm
    om = pm * BM + tl.arange(0, BM)
    on = pn * BN + tl.arange(0, BN)
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
    tl.store(c + om[:, None] * sc + on[None, :], acc.to(tl.float16), mask=(om[:, None] < M) & (on[None, :] < N))

def build(fn, sig, const, cap, **opt):
    src = ASTSource(fn=fn, signature=sig, constexprs=const)
    k = triton.compile(src, target=GPUTarget("cuda", cap, 32), options=opt)
    open(f"{fn.__name__}.sm{cap}.cubin", "wb").write(k.asm["cubin"])
    open(f"{fn.__name__}.sm{cap}.ptx", "w").write(k.asm["ptx"])
    print(fn.__name__, cap, len(k.asm["cubin"]), k.metadata.shared)

for cap in (80, 90):
    build(add, dict(x="*fp32", y="*fp32", z="*fp32", n="i32", B="constexpr"), {"B": 1024}, cap)
    build(inlined, dict(x="*fp32", z="*fp32", n="i32", B="constexpr"), {"B": 256}, cap)
    build(softmax, dict(x="*fp32", z="*fp32", n="i32", s="i32", B="constexpr"), {"B": 2048}, cap)
    build(matmul, dict(a="*fp16", b="*fp16", c="*fp16", M="i32", N="i32", K="i32", sa="i32", sb="i32", sc="i32", BM="constexpr", BN="constexpr", BK="constexpr"), {"BM": 64, "BN": 64, "BK": 32}, cap, num_warps=4)
