"""Attention whose warps are specialised: those of the producer copy tiles to shared memory, those of two consumers compute.

    proton run --inside attention attention.py       writes attention.hatchet

Nothing in the kernel is made for the profiler. The compiler splits the loop with ``warp_specialize`` between warps, which
hand over tiles through barriers; with --inside, one sees how long each side waits for the other, with two and with three
buffers between them. Needs a GPU of NVIDIA's Hopper generation.
"""

import argparse

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import goproton as proton

LENGTH, D = 4096, 64
BM, BN = 128, 128


@triton.jit
def attention(q_desc, k_desc, v_desc, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    first = tl.program_id(1) * length
    row = first + tl.program_id(0) * BM
    q = q_desc.load([row, 0])
    m = tl.full((BM,), -float("inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in tl.range(0, length, BN, warp_specialize=True):
        k = k_desc.load([first + n, 0])
        s = tl.dot(q, k.T) * scale
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = v_desc.load([first + n, 0])
        acc = tl.dot(p.to(tl.float16), v, acc)
        m = new
    rows = row + tl.arange(0, BM)
    tl.store(out + rows[:, None] * D + tl.arange(0, D)[None, :], (acc / l[:, None]).to(tl.float16))


def run(q, k, v, stages):
    out = torch.empty_like(q)
    tile = lambda tensor, rows: TensorDescriptor.from_tensor(tensor.view(-1, D), [rows, D])
    attention[LENGTH // BM, len(q)](tile(q, BM), tile(k, BN), tile(v, BN), out, LENGTH, 1.44269504 / D**0.5, BM, BN, D,
                                   num_warps=4, num_stages=stages)
    return out


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--heads", type=int, default=64)
    arguments.add_argument("--launches", type=int, default=20)
    given = arguments.parse_args()
    torch.manual_seed(0)
    with proton.scope("inputs"):
        q, k, v = (torch.randn(given.heads, LENGTH, D, device="cuda", dtype=torch.float16) for _ in range(3))
    for stages in (2, 3):
        with proton.scope(f"{stages} buffers"):
            for _ in range(given.launches):
                out = run(q, k, v, stages)
        with proton.scope("check"):
            error = (out - torch.nn.functional.scaled_dot_product_attention(q, k, v)).abs().max().item()
        print(f"{stages} buffers: largest difference to torch {error:.4f}")


if __name__ == "__main__":
    main()
