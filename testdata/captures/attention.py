"""attention.capture.gz was recorded with this program: PROTON_RECORD=attention.capture.gz python attention.py

An attention kernel without a mask, with scopes around what its loop does, and a kernel without scopes."""

import sys

import torch
import triton
import triton.language as tl

import goproton as proton

proton.install()

import triton.profiler.language as pl  # noqa: E402

pl.enable_semantic("triton")


@triton.jit
def attention(q, k, v, out, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    with pl.scope("tile"):
        rows = tl.program_id(0) * M + tl.arange(0, M)
        columns = tl.arange(0, D)
        query = tl.load(q + rows[:, None] * D + columns[None, :])
        most = tl.full((M,), float("-inf"), tl.float32)
        total = tl.zeros((M,), tl.float32)
        sums = tl.zeros((M, D), tl.float32)
        for start in range(0, n, N):
            keys = start + tl.arange(0, N)
            with pl.scope("load"):
                key = tl.load(k + keys[None, :] * D + columns[:, None])
                value = tl.load(v + keys[:, None] * D + columns[None, :])
            with pl.scope("scores"):
                scores = tl.dot(query, key) * scale
            with pl.scope("softmax"):
                new = tl.maximum(most, tl.max(scores, 1))
                shares = tl.exp(scores - new[:, None])
                old = tl.exp(most - new)
                total = total * old + tl.sum(shares, 1)
                most = new
            with pl.scope("values"):
                sums = sums * old[:, None] + tl.dot(shares.to(tl.float16), value)
        with pl.scope("store"):
            tl.store(out + rows[:, None] * D + columns[None, :], sums / total[:, None])


@triton.jit
def scaled(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def main(name, data):
    length, depth = 512, 64
    q, k, v = (torch.randn(length, depth, device="cuda", dtype=torch.float16) for _ in range(3))
    out = torch.empty(length, depth, device="cuda", dtype=torch.float32)
    twice = torch.empty_like(out)
    proton.start(name, backend="instrumentation", data=data)
    for step in range(4):
        with proton.scope("step"):
            with proton.scope("attend"):
                attention[(length // 64,)](q, k, v, out, length, depth**-0.5, M=64, N=64, D=depth)
            scaled[(out.numel() // 1024,)](out, twice, out.numel(), B=1024)
    torch.cuda.synchronize()
    proton.finalize()
    want = torch.softmax(q.float() @ k.float().T * depth**-0.5, 1) @ v.float()
    print("error", (twice / 2 - want).abs().max().item(), file=sys.stderr)


main(*(sys.argv[1:] or ["attention"])[:1], (sys.argv[2:] or ["tree"])[0])
