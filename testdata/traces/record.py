"""The programs whose traces are beside this file.

    python3 record.py CASE WRITER FOLDER      WRITER is goproton or tritonparse
    python3 record.py all FOLDER              every case by both, each in a child of its own: torch is imported once
"""

import os
import shutil
import sys

import torch
import triton
import triton.language as tl

SCALE = tl.constexpr(2.0)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def scaled(x, factor):
    return x * factor * SCALE


@triton.jit
def many_types_kernel(x_ptr, out_ptr, n, factor, flag, nothing, name: tl.constexpr, dtype: tl.constexpr, on: tl.constexpr,
                      BLOCK: tl.constexpr = 256):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n).to(dtype)
    tl.store(out_ptr + offsets, scaled(x, factor) + flag, mask=offsets < n)


@triton.jit
def softmax_kernel(out_ptr, in_ptr, row_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * row_stride + cols, mask=cols < n_cols, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * row_stride + cols, e / tl.sum(e, axis=0), mask=cols < n_cols)


def bench(launch, quantiles):
    """Always five launches, so that both writers see as many."""
    times = []
    for _ in range(5):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        launch()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return torch.quantile(torch.tensor(times), torch.tensor(quantiles)).tolist()


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_stages=2, num_warps=4),
        triton.Config({"BM": 128, "BN": 64, "BK": 32}, num_stages=3, num_warps=4),
    ],
    key=["M", "N", "K"],
    do_bench=bench,
)
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_n = tl.program_id(0) % tl.cdiv(N, BN)
    pid_m = tl.program_id(0) // tl.cdiv(N, BN)
    rows, cols, inner = pid_m * BM + tl.arange(0, BM), pid_n * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rows[:, None] * stride_am + (k + inner)[None, :] * stride_ak)
        b = tl.load(b_ptr + (k + inner)[:, None] * stride_bk + cols[None, :] * stride_bn)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn, acc.to(tl.float16))


@triton.jit
def copy_tile_kernel(source, target, ROWS: tl.constexpr, COLS: tl.constexpr):
    row, col = tl.program_id(0) * ROWS, tl.program_id(1) * COLS
    target.store([row, col], source.load([row, col]))


def vectors(n=98432):
    torch.manual_seed(0)
    x, y = torch.rand(n, device="cuda"), torch.rand(n, device="cuda")
    return x, y, torch.empty_like(x), n


def add(x, y, out, n):
    add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=1024)


def vector_add():
    for n in (98432, 98432, 4096):
        add(*vectors(n))
    torch.cuda.synchronize()


def small_vector_add():
    add(*vectors(1000))
    x, y, out, n = vectors(4000)
    add(x[::2], y[100:1100], out, 1000)  # views
    add(x[::2], y[100:1100], out, 1000)
    torch.cuda.synchronize()


def many_types():
    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    out = torch.empty_like(x)
    for factor in (0.5, float("inf"), float("nan")):
        many_types_kernel[(4, 1, 1)](x, out, 1000, factor, True, None, "a name", tl.float32, False)
    torch.cuda.synchronize()


def softmax():
    x = torch.randn(64, 781, device="cuda")
    out = torch.empty_like(x)
    for _ in range(2):
        softmax_kernel[(64,)](out, x, x.stride(0), 781, BLOCK=1024, num_warps=8)
    torch.cuda.synchronize()


def matmul():
    torch.manual_seed(0)
    a = torch.randn(256, 128, device="cuda", dtype=torch.float16)
    b = torch.randn(128, 192, device="cuda", dtype=torch.float16)
    c = torch.empty(256, 192, device="cuda", dtype=torch.float16)
    for _ in range(3):
        matmul_kernel[lambda meta: (triton.cdiv(256, meta["BM"]) * triton.cdiv(192, meta["BN"]),)](
            a, b, c, 256, 192, 128, *a.stride(), *b.stride(), *c.stride())
    torch.cuda.synchronize()


def descriptor():
    from triton.tools.tensor_descriptor import TensorDescriptor
    source = torch.randn(128, 256, device="cuda")
    target = torch.empty_like(source)
    for _ in range(2):
        copy_tile_kernel[(2, 4)](TensorDescriptor.from_tensor(source, [64, 64]), TensorDescriptor.from_tensor(target, [64, 64]), 64, 64)
    torch.cuda.synchronize()


def cuda_graph():
    x, y, out, n = vectors(4096)
    add(x, y, out, n)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add(x, y, out, n)
        add(out, y, out, n)
    graph.replay()
    torch.cuda.synchronize()


def inductor():
    import torch._inductor.config
    torch._inductor.config.triton.autotune_pointwise = False  # one configuration, no benchmarks

    @torch.compile
    def gelu(x, y):
        return torch.nn.functional.gelu(x + y) * 2

    for _ in range(2):
        gelu(torch.randn(128, 64, device="cuda"), torch.randn(128, 64, device="cuda"))
    torch.cuda.synchronize()


def ranks():
    add(*vectors(4096))  # before the rank is known
    torch.distributed.init_process_group("gloo")
    add(*vectors(4096 * (1 + torch.distributed.get_rank())))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


# case: program, options of goproton, of tritonparse
CASES = {
    "vector_add": (vector_add, {}, {}),  # gzip, as all but zstd
    "many_types": (many_types, {}, {}),
    "softmax_sass": (softmax, {"sass": True}, {"enable_sass_dump": True}),
    "matmul_autotuned": (matmul, {}, {}),
    "statistics": (small_vector_add, {"statistics": True}, {"enable_more_tensor_information": True}),
    "blobs": (small_vector_add, {"tensors": True}, {"enable_tensor_blob_storage": True}),
    "tensor_descriptor": (descriptor, {}, {}),
    "cuda_graph": (cuda_graph, {}, {}),
    "inductor": (inductor, {}, {}),
    "ranks": (ranks, {}, {}),
    "zstd": (vector_add, {"compression": "zstd"}, {"compression": "zstd"}),
    "whole_source": (vector_add, {"full_source": True}, {"enable_full_python_source": True}),
}


def with_goproton(folder, options):
    from goproton import trace
    trace.init(folder, **options)
    return trace.finalize


def with_tritonparse(folder, options):
    import tritonparse.structured_logging as tritonparse
    tritonparse.init(folder, enable_trace_launch=True, **options)
    return tritonparse.clear_logging_config


def main(case, writer, folder):
    program, ours, theirs = CASES[case]
    begin, options = (with_goproton, ours) if writer == "goproton" else (with_tritonparse, theirs)
    end = begin(folder, {"compression": "gzip", **options})
    program()
    print(case, writer, end())


def everything(folder):
    for case in CASES:
        for writer in ("goproton", "tritonparse"):
            for cache in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"):
                shutil.rmtree(os.environ[cache], ignore_errors=True)
            if case == "ranks":
                command = f"{sys.executable} -m torch.distributed.run --nproc-per-node 2 --master-port 29511"
                status = os.system(f"{command} {__file__} {case} {writer} {folder}/{case}/{writer}")
            else:
                child = os.fork()
                if not child:
                    main(case, writer, os.path.join(folder, case, writer))
                    sys.exit(0)
                _, status = os.waitpid(child, 0)
            if status:
                print(f"{case}, {writer}: status {status}", flush=True)


if __name__ == "__main__":
    everything(sys.argv[2]) if sys.argv[1] == "all" else main(*sys.argv[1:])
