"""Compiles eight kernels for three architectures into a folder, without a GPU: more cubins for the tests that read CUBINS.

    PYTHONPATH=.venv/oracles/triton-3.9.0 .venv/bin/python internal/cubin/testdata/more.py /tmp/cubins
    CUBINS=/tmp/cubins go test -v -run EveryInstruction ./internal/cubin ./cupti/abicheck
"""
import os, sys

import triton
import triton.language as tl
from triton.compiler import ASTSource
from triton.backends.compiler import GPUTarget

OUT = sys.argv[1]
os.makedirs(OUT, exist_ok=True)


@triton.jit
def flash(Q, K, V, O, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    m0 = tl.program_id(0) * BM
    om = m0 + tl.arange(0, BM)
    od = tl.arange(0, D)
    on = tl.arange(0, BN)
    q = tl.load(Q + om[:, None] * D + od[None, :])
    mi = tl.full((BM,), float("-inf"), tl.float32)
    li = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = n
    if CAUSAL:
        end = m0 + BM
    for s in range(0, end, BN):
        k = tl.load(K + (s + on)[None, :] * D + od[:, None])
        qk = tl.dot(q, k) * scale
        if CAUSAL:
            qk = tl.where(om[:, None] >= (s + on)[None, :], qk, float("-inf"))
        mn = tl.maximum(mi, tl.max(qk, 1))
        p = tl.exp(qk - mn[:, None])
        alpha = tl.exp(mi - mn)
        li = li * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V + (s + on)[:, None] * D + od[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc)
        mi = mn
    tl.store(O + om[:, None] * D + od[None, :], (acc / li[:, None]).to(tl.float16))


@triton.jit
def layer_norm(x, y, w, b, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    m = i < n
    v = tl.load(x + row * n + i, mask=m, other=0.0)
    mean = tl.sum(v, 0) / n
    d = tl.where(m, v - mean, 0.0)
    r = tl.rsqrt(tl.sum(d * d, 0) / n + eps)
    tl.store(y + row * n + i, d * r * tl.load(w + i, mask=m) + tl.load(b + i, mask=m), mask=m)


@triton.jit
def rows_softmax(x, z, n, s, B: tl.constexpr):
    r = tl.program_id(0)
    o = tl.arange(0, B)
    v = tl.load(x + r * s + o, mask=o < n, other=-float('inf'))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(z + r * s + o, e / tl.sum(e, axis=0), mask=o < n)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a + rm[:, None] * K + (k * BK + rk)[None, :])
        y = tl.load(b + (k * BK + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def cumsum_sort(x, z, B: tl.constexpr):
    o = tl.arange(0, B)
    v = tl.load(x + o)
    tl.store(z + o, tl.cumsum(tl.sort(v), 0))


@triton.jit
def atomics(x, h, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(h + tl.load(x + o, mask=o < n, other=0), 1, mask=o < n)


@triton.jit
def dropout(x, z, n, p, seed, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(z + o, tl.where(tl.rand(seed, o) > p, tl.load(x + o, mask=o < n) / (1 - p), 0.0), mask=o < n)


def build(fn, sig, const, cap, tag="", **opt):
    sig = {**sig, **{k: "constexpr" for k in const}}
    k = triton.compile(ASTSource(fn=fn, signature=sig, constexprs=const), target=GPUTarget("cuda", cap, 32), options=opt)
    with open(f"{OUT}/{fn.__name__}{tag}.sm{cap}.cubin", "wb") as f:
        f.write(k.asm["cubin"])


for cap in (80, 90, 100):
    for causal in (False, True):
        build(flash, dict(Q="*fp16", K="*fp16", V="*fp16", O="*fp16", n="i32", scale="fp32"), dict(D=64, BM=128, BN=64, CAUSAL=causal), cap, f"-{causal}", num_warps=4)
    build(layer_norm, dict(x="*fp32", y="*fp32", w="*fp32", b="*fp32", n="i32", eps="fp32"), dict(B=4096), cap, num_warps=8)
    build(rows_softmax, dict(x="*fp32", z="*fp32", n="i32", s="i32"), dict(B=2048), cap)
    build(matmul, dict(a="*fp16", b="*fp16", c="*fp16", M="i32", N="i32", K="i32"), dict(BM=128, BN=128, BK=64), cap, num_warps=8)
    build(cumsum_sort, dict(x="*fp32", z="*fp32"), dict(B=512), cap)
    build(atomics, dict(x="*i32", h="*i32", n="i32"), dict(B=512), cap)
    build(dropout, dict(x="*fp32", z="*fp32", n="i32", p="fp32", seed="i32"), dict(B=1024), cap)
