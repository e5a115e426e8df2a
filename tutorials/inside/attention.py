"""Attention in which some warps produce and others consume: a producer copies tiles of k and v to shared memory, eight warps
compute. They hand tiles over through barriers: "full" says that a tile has arrived, "free" that its place may be used again.

    proton run --inside attention attention.py       writes attention.hatchet

Nothing in the kernel is made for the profiler. With --inside one sees how long each side waits for the other, with one
place for a tile and with two. The kernel is written in Gluon, Triton's lower language, for GPUs of NVIDIA's Hopper
generation.
"""

import argparse

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

import goproton as proton

BM, BN, D = 128, 128, 128


@gluon.jit
def produce(q_desc, k_desc, v_desc, q_tile, k_tiles, v_tiles, q_full, k_full, k_free, v_full, v_free, first, row, length,
            BN: gl.constexpr, PLACES: gl.constexpr):
    mbarrier.expect(q_full, q_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(q_desc, [row, 0], q_full, q_tile)
    for i in range(length // BN):
        place = i % PLACES
        phase = i // PLACES & 1
        mbarrier.wait(k_free.index(place), phase ^ 1)
        mbarrier.expect(k_full.index(place), k_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(k_desc, [first + i * BN, 0], k_full.index(place), k_tiles.index(place))
        mbarrier.wait(v_free.index(place), phase ^ 1)
        mbarrier.expect(v_full.index(place), v_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(v_desc, [first + i * BN, 0], v_full.index(place), v_tiles.index(place))


@gluon.jit
def consume(q_tile, k_tiles, v_tiles, q_full, k_full, k_free, v_full, v_free, out, row, length, scale,
            BM: gl.constexpr, BN: gl.constexpr, D: gl.constexpr, PLACES: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[8, 1], instr_shape=[16, BN, 16])
    rows: gl.constexpr = gl.SliceLayout(1, layout)
    most = gl.full([BM], -float("inf"), gl.float32, rows)
    total = gl.zeros([BM], gl.float32, rows)
    acc = gl.zeros([BM, D], gl.float32, layout)
    mbarrier.wait(q_full, 0)
    for i in range(length // BN):
        place = i % PLACES
        phase = i // PLACES & 1
        mbarrier.wait(k_full.index(place), phase)
        scores = warpgroup_mma(q_tile, k_tiles.index(place).permute((1, 0)), gl.zeros([BM, BN], gl.float32, layout), use_acc=False)
        gl.thread_barrier()
        mbarrier.arrive(k_free.index(place), count=1)
        scores = scores * scale
        new = gl.maximum(most, gl.max(scores, 1))
        p = gl.exp2(scores - gl.expand_dims(new, 1))
        old = gl.exp2(most - new)
        total = total * old + gl.sum(p, 1)
        acc = acc * gl.expand_dims(old, 1)
        p = gl.convert_layout(p.to(gl.float16), gl.DotOperandLayout(0, layout, 2))
        mbarrier.wait(v_full.index(place), phase)
        acc = warpgroup_mma(p, v_tiles.index(place), acc)
        gl.thread_barrier()
        mbarrier.arrive(v_free.index(place), count=1)
        most = new
    i = row + gl.arange(0, BM, rows)
    j = gl.arange(0, D, gl.SliceLayout(0, layout))
    gl.store(out + gl.expand_dims(i, 1) * D + gl.expand_dims(j, 0), (acc / gl.expand_dims(total, 1)).to(gl.float16))


@gluon.jit
def attention(q_desc, k_desc, v_desc, out, length, scale, BM: gl.constexpr, BN: gl.constexpr, D: gl.constexpr, PLACES: gl.constexpr):
    first = gl.program_id(1) * length
    row = first + gl.program_id(0) * BM
    q_tile = gl.allocate_shared_memory(gl.float16, [BM, D], q_desc.layout)
    k_tiles = gl.allocate_shared_memory(gl.float16, [PLACES, BN, D], k_desc.layout)
    v_tiles = gl.allocate_shared_memory(gl.float16, [PLACES, BN, D], v_desc.layout)
    q_full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    k_full = gl.allocate_shared_memory(gl.int64, [PLACES, 1], mbarrier.MBarrierLayout())
    k_free = gl.allocate_shared_memory(gl.int64, [PLACES, 1], mbarrier.MBarrierLayout())
    v_full = gl.allocate_shared_memory(gl.int64, [PLACES, 1], mbarrier.MBarrierLayout())
    v_free = gl.allocate_shared_memory(gl.int64, [PLACES, 1], mbarrier.MBarrierLayout())
    mbarrier.init(q_full, 1)
    for i in gl.static_range(PLACES):
        mbarrier.init(k_full.index(i), 1)
        mbarrier.init(k_free.index(i), 1)
        mbarrier.init(v_full.index(i), 1)
        mbarrier.init(v_free.index(i), 1)
    gl.warp_specialize([
        (consume, (q_tile, k_tiles, v_tiles, q_full, k_full, k_free, v_full, v_free, out, row, length, scale, BM, BN, D, PLACES)),
        (produce, (q_desc, k_desc, v_desc, q_tile, k_tiles, v_tiles, q_full, k_full, k_free, v_full, v_free, first, row, length, BN, PLACES)),
    ], [4], [40])


def tiles(tensor, rows):
    layout = gl.NVMMASharedLayout.get_default_for([rows, D], gl.float16)
    return TensorDescriptor.from_tensor(tensor.view(-1, D), [rows, D], layout)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--heads", type=int, default=64)
    arguments.add_argument("--length", type=int, default=4096)
    arguments.add_argument("--launches", type=int, default=20)
    given = arguments.parse_args()
    torch.manual_seed(0)
    with proton.scope("inputs"):
        q, k, v = (torch.randn(given.heads, given.length, D, device="cuda", dtype=torch.float16) for _ in range(3))
        out = torch.empty_like(q)
        wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    for places in (1, 2):
        name = "1 place" if places == 1 else f"{places} places"
        with proton.scope(name):
            for _ in range(given.launches):
                attention[given.length // BM, given.heads](tiles(q, BM), tiles(k, BN), tiles(v, BN), out, given.length,
                                                           1.44269504 / D**0.5, BM, BN, D, places, num_warps=8)
        with proton.scope("check"):
            error = (out - wanted).abs().max().item()
        print(f"{name}: the largest difference to torch is {error:.4f}")


if __name__ == "__main__":
    main()
