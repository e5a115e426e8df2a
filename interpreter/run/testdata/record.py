"""Records launches on a GPU: python record.py FOLDER, with Triton and torch. Each kernel has a folder as `proton interpret --save` writes it, and next to
each array what the GPU left in it, NAME.after.npy. The test TestAsOnGPU runs them again.
"""

import json
import sys
from pathlib import Path

import numpy
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

FOLDER = Path(sys.argv[1])
GPU = "cuda"
TYPES = {"fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp64": "f64", "fp8e4nv": "f8E4M3FN", "fp8e5": "f8E5M2", "i1": "i1", "u8": "i8", "u32": "i32"}


def array(tensor):
    """The tensor's bits as numpy has them."""
    bits = {torch.bfloat16: torch.uint16, torch.float8_e4m3fn: torch.uint8, torch.float8_e5m2: torch.uint8}.get(tensor.dtype)
    return (tensor.view(bits) if bits else tensor).cpu().numpy()


def record(kernel, grid, *arguments, **constants):
    """Launches the kernel and writes what it was given, and what it made."""
    names = [name for name in kernel.arg_names if name not in constants]
    given = dict(zip(names, arguments))
    before = {name: array(value).copy() for name, value in given.items() if isinstance(value, torch.Tensor)}
    compiled = kernel[grid](*arguments, **constants)
    torch.cuda.synchronize()
    folder = FOLDER / kernel.__name__
    folder.mkdir(parents=True)
    (folder / "kernel.ttir").write_text(compiled.asm["ttir"])
    launch = {"version": 1, "ttir": "kernel.ttir", "grid": [*grid, 1, 1][:3], "args": [], "buffers": {}}
    for name, value in given.items():
        kind = compiled.src.signature[name]
        if kind == "constexpr":  # 1, which Triton makes part of the kernel
            continue
        if not isinstance(value, torch.Tensor):
            launch["args"].append({"name": name, "value": value})
            continue
        numpy.save(folder / f"{name}.npy", before[name])
        if not numpy.array_equal(array(value), before[name]):
            numpy.save(folder / f"{name}.after.npy", array(value))
        launch["args"].append({"name": name, "buffer": name})
        launch["buffers"][name] = {"type": TYPES.get(kind[1:], kind[1:]), "file": f"{name}.npy"}
    (folder / "launch.json").write_text(json.dumps(launch, indent=1) + "\n")
    print(kernel.__name__, sum(f.stat().st_size for f in folder.iterdir()))


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * columns + i, i < columns, -float("inf"))
    e = tl.exp(row - tl.max(row, 0))
    tl.store(out + tl.program_id(0) * columns + i, e / tl.sum(e, 0), i < columns)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    columns = tl.program_id(1) * N + tl.arange(0, N)[None, :]
    sums = tl.zeros((M, N), tl.float32)
    for at in range(0, k, K):
        ks = at + tl.arange(0, K)
        left = tl.load(a + rows * k + ks[None, :], (rows < m) & (ks[None, :] < k), 0)
        right = tl.load(b + ks[:, None] * n + columns, (ks[:, None] < k) & (columns < n), 0)
        sums = tl.dot(left, right, sums)
    tl.store(c + rows * n + columns, sums.to(c.dtype.element_ty), (rows < m) & (columns < n))


@triton.jit
def matmul_tf32(a, b, c, K: tl.constexpr):
    i, k = tl.arange(0, 32), tl.arange(0, K)
    left, right = tl.load(a + i[:, None] * K + k[None, :]), tl.load(b + k[:, None] * 32 + i[None, :])
    tl.store(c + i[:, None] * 32 + i[None, :], tl.dot(left, right))


@triton.jit
def layer_norm(x, w, b, out, columns, eps, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * columns + i, i < columns, 0).to(tl.float32)
    mean = tl.sum(row, 0) / columns
    centred = tl.where(i < columns, row - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / columns + eps)
    y = centred * scale * tl.load(w + i, i < columns, 0) + tl.load(b + i, i < columns, 0)
    tl.store(out + tl.program_id(0) * columns + i, y.to(out.dtype.element_ty), i < columns)


@triton.jit
def attention(q, k, v, out, scale, length, BLOCK: tl.constexpr, D: tl.constexpr):
    rows, d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    queries = tl.load(q + rows[:, None] * D + d[None, :])
    largest, total = tl.full((BLOCK,), -float("inf"), tl.float32), tl.zeros((BLOCK,), tl.float32)
    sums = tl.zeros((BLOCK, D), tl.float32)
    for at in range(0, (tl.program_id(0) + 1) * BLOCK, BLOCK):
        columns = at + tl.arange(0, BLOCK)
        scores = tl.dot(queries, tl.trans(tl.load(k + columns[:, None] * D + d[None, :]))) * scale
        scores = tl.where(rows[:, None] >= columns[None, :], scores, -float("inf"))
        now = tl.maximum(largest, tl.max(scores, 1))
        p, shrink = tl.exp2(scores - now[:, None]), tl.exp2(largest - now)
        total = total * shrink + tl.sum(p, 1)
        sums = tl.dot(p.to(tl.float16), tl.load(v + columns[:, None] * D + d[None, :]), sums * shrink[:, None])
        largest = now
    tl.store(out + rows[:, None] * D + d[None, :], sums / total[:, None])


@triton.jit
def both(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def scan(a, b, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    _, y = tl.associative_scan((tl.load(a + i), tl.load(b + i)), 0, both)
    tl.store(out + i, y)


@triton.jit
def gelu_bf16(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x + i).to(tl.float32)
    tl.store(out + i, (0.5 * y * (1 + tl.erf(y * 0.7071067811865476))).to(tl.bfloat16))


@triton.jit
def f8(x, e4, e5, back4, back5, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x + i)
    a, b = y.to(tl.float8e4nv), y.to(tl.float8e5)
    tl.store(e4 + i, a)
    tl.store(e5 + i, b)
    tl.store(back4 + i, a.to(tl.float16))
    tl.store(back5 + i, b.to(tl.float32))


@triton.jit
def bins(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + i, i < n, 0) % 16, 1, i < n)


@triton.jit
def dropout(x, out, seed, p, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, i) > p
    tl.store(out + i, tl.where(keep, tl.load(x + i, i < n) / (1 - p), 0.0), i < n)


@triton.jit
def argmax(x, value, index, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v, k = tl.max(tl.load(x + tl.program_id(0) * columns + i, i < columns, -float("inf")), 0, return_indices=True)
    tl.store(value + tl.program_id(0), v)
    tl.store(index + tl.program_id(0), k)


@triton.jit
def sorted_rows(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.sort(tl.load(x + i), descending=True))


@triton.jit
def integers(x, y, quotient, rest, shifted, high, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(quotient + i, a // b)
    tl.store(rest + i, a % b)
    tl.store(shifted + i, (a >> (b & 7)) ^ (a << (b & 3)))
    tl.store(high + i, tl.umulhi(a.to(tl.uint32), b.to(tl.uint32)))


@triton.jit
def functions(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    y = tl.load(x + i)
    p = tl.abs(y) + 0.1
    tl.store(out + i, tl.exp(y))
    tl.store(out + n + i, tl.log(p))
    tl.store(out + 2 * n + i, tl.sin(y))
    tl.store(out + 3 * n + i, tl.cos(y))
    tl.store(out + 4 * n + i, tl.sqrt(p))
    tl.store(out + 5 * n + i, tl.rsqrt(p))
    tl.store(out + 6 * n + i, tl.sigmoid(y))
    tl.store(out + 7 * n + i, libdevice.tanh(y))
    tl.store(out + 8 * n + i, libdevice.pow(p, y))
    tl.store(out + 9 * n + i, tl.div_rn(y, p))
    tl.store(out + 10 * n + i, libdevice.expm1(y))
    tl.store(out + 11 * n + i, tl.fma(y, p, y))


@triton.jit
def scaled(a, a_scale, b, b_scale, c, K: tl.constexpr):
    i, k, s = tl.arange(0, 64), tl.arange(0, K), tl.arange(0, K // 32)
    left, right = tl.load(a + i[:, None] * K + k[None, :]), tl.load(b + k[:, None] * 64 + i[None, :])
    sums = tl.dot_scaled(left, tl.load(a_scale + i[:, None] * (K // 32) + s[None, :]), "e4m3", right, tl.load(b_scale + i[:, None] * (K // 32) + s[None, :]), "e4m3")
    tl.store(c + i[:, None] * 64 + i[None, :], sums)


def main():
    torch.manual_seed(1)
    normal = lambda *shape, dtype=torch.float32: torch.randn(*shape, device=GPU).to(dtype)
    zeros = lambda *shape, dtype=torch.float32: torch.zeros(*shape, device=GPU, dtype=dtype)
    whole = lambda low, high, *shape: torch.randint(low, high, shape, device=GPU, dtype=torch.int32)
    record(add, (4,), normal(1000), normal(1000), zeros(1000), 1000, BLOCK=256)
    record(softmax, (7,), normal(7, 201), zeros(7, 201), 201, BLOCK=256)
    record(matmul, (2, 2), normal(50, 90, dtype=torch.float16), normal(90, 60, dtype=torch.float16), zeros(50, 60, dtype=torch.float16), 50, 60, 90, M=32, N=32, K=32)
    record(matmul_tf32, (1,), normal(32, 64), normal(64, 32), zeros(32, 32), K=64)
    record(layer_norm, (5,), normal(5, 300, dtype=torch.float16), normal(300), normal(300), zeros(5, 300, dtype=torch.float16), 300, 1e-5, BLOCK=512)
    record(attention, (3,), *(normal(96, 32, dtype=torch.float16) for _ in range(3)), zeros(96, 32), 0.25, 96, BLOCK=32, D=32)
    record(scan, (2,), normal(512), normal(512), zeros(512), BLOCK=256)
    record(gelu_bf16, (2,), normal(512, dtype=torch.bfloat16) * 3, zeros(512, dtype=torch.bfloat16), BLOCK=256)
    special = torch.tensor([0.0, -0.0, 448, 449, 464, 465, 57344, 61440, 65536, 1e9, -1e9, float("inf"), -float("inf"), float("nan"), 2.0**-9, 2.0**-10, 1.5 * 2.0**-10, 2.0**-16, 2.0**-17], device=GPU)
    many = torch.cat([special, normal(512 - len(special)) * torch.exp(normal(512 - len(special)) * 4)])
    record(f8, (2,), many, zeros(512, dtype=torch.float8_e4m3fn), zeros(512, dtype=torch.float8_e5m2), zeros(512, dtype=torch.float16), zeros(512), BLOCK=256)
    record(bins, (4,), whole(0, 1000, 900), zeros(16, dtype=torch.int32), 900, BLOCK=256)
    record(dropout, (4,), normal(1000), zeros(1000), 123, 0.3, 1000, BLOCK=256)
    ties = normal(6, 100).round()
    record(argmax, (6,), ties, zeros(6), zeros(6, dtype=torch.int32), 100, BLOCK=128)
    record(sorted_rows, (3,), normal(3, 64), zeros(3, 64), BLOCK=64)
    divisor = whole(-50, 50, 256)
    record(integers, (1,), whole(-2**31, 2**31 - 1, 256), torch.where(divisor == 0, 7, divisor), *(zeros(256, dtype=torch.int32) for _ in range(4)), BLOCK=256)
    record(functions, (1,), normal(256) * 4, zeros(12 * 256), 256, BLOCK=256)
    scales = lambda: torch.randint(120, 134, (64, 2), device=GPU, dtype=torch.uint8)
    record(scaled, (1,), normal(64, 64).to(torch.float8_e4m3fn), scales(), normal(64, 64).to(torch.float8_e4m3fn), scales(), zeros(64, 64), K=64)
    (FOLDER / "machine.txt").write_text(f"{torch.cuda.get_device_name()}, Triton {triton.__version__}, torch {torch.__version__}\n")


main()
