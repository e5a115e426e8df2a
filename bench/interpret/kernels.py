"""Twelve kernels with what they must give by numpy, for interpreters of Triton.

    proton interpret kernels.py                 each kernel once, with arrays of numpy
    proton interpret kernels.py --torch         with tensors of torch on the CPU
    proton interpret kernels.py --time add …    milliseconds of a launch, the least of several
    TRITON_INTERPRET=1 python kernels.py --torch --time …      the same by Triton's own interpreter
"""

import sys
import time

import numpy as np
import triton
import triton.language as tl

f16, f32 = np.float16, np.float32
TORCH = "--torch" in sys.argv
random = np.random.default_rng(7)


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=inside) + tl.load(y_ptr + at, mask=inside), mask=inside)


@triton.jit
def softmax(out_ptr, in_ptr, rows, columns, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        at = tl.arange(0, BLOCK)
        x = tl.load(in_ptr + row * columns + at, mask=at < columns, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * columns + at, e / tl.sum(e, axis=0), mask=at < columns)


def multiply(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    across = tl.cdiv(N, BLOCK_N)
    first = pid // (GROUP * across) * GROUP
    height = min(tl.cdiv(M, BLOCK_M) - first, GROUP)
    row = first + pid % (GROUP * across) % height
    column = pid % (GROUP * across) // height
    rows = row * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = column * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    a = a_ptr + rows[:, None] * K + steps[None, :]
    b = b_ptr + steps[:, None] * N + columns[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        left = tl.load(a, mask=(rows[:, None] < M) & (steps[None, :] < K - k * BLOCK_K), other=0.0)
        right = tl.load(b, mask=(columns[None, :] < N) & (steps[:, None] < K - k * BLOCK_K), other=0.0)
        total = tl.dot(left, right, total)
        a += BLOCK_K
        b += BLOCK_K * N
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))


CONFIGS = [triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": 32}, num_warps=4, num_stages=3) for m, n in ((64, 64), (128, 64), (32, 32))]
matmul = triton.jit(multiply)
matmul_autotuned = triton.autotune(configs=CONFIGS, key=["M", "N", "K"])(triton.jit(multiply))
matmul_heuristics = triton.heuristics({"GROUP": lambda args: 8 if args["M"] > 64 else 1})(triton.jit(multiply))


@triton.jit
def layer_norm(x_ptr, y_ptr, weight_ptr, bias_ptr, columns, eps, BLOCK: tl.constexpr):
    x_ptr += tl.program_id(0) * columns
    y_ptr += tl.program_id(0) * columns
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < columns, other=0.0).to(tl.float32)
        x = tl.where(at < columns, x - mean, 0.0)
        squares += x * x
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        inside = at < columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        y = (x - mean) * scale * tl.load(weight_ptr + at, mask=inside) + tl.load(bias_ptr + at, mask=inside)
        tl.store(y_ptr + at, y, mask=inside)


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out_ptr, scale, length, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    head = tl.program_id(1) * length * D
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head + rows[:, None] * D + d[None, :], mask=rows[:, None] < length, other=0.0)
    most = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    weight = tl.zeros([BLOCK_M], dtype=tl.float32)
    total = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    last = length
    if CAUSAL:
        last = min((tl.program_id(0) + 1) * BLOCK_M, length)
    for begin in range(0, last, BLOCK_N):
        at = tl.multiple_of(begin, BLOCK_N) + columns
        k = tl.load(k_ptr + head + at[None, :] * D + d[:, None], mask=at[None, :] < length, other=0.0)
        scores = tl.where(at[None, :] < length, tl.dot(q, k) * (scale * 1.44269504), -1.0e6)
        if CAUSAL:
            scores = tl.where(rows[:, None] >= at[None, :], scores, -1.0e6)
        new = tl.maximum(most, tl.max(scores, 1))
        p = tl.math.exp2(scores - new[:, None])
        shrink = tl.math.exp2(most - new)
        weight = weight * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + head + at[:, None] * D + d[None, :], mask=at[:, None] < length, other=0.0)
        total = tl.dot(p.to(v.dtype), v, total * shrink[:, None])
        most = new
    tl.store(out_ptr + head + rows[:, None] * D + d[None, :], (total / weight[:, None]).to(out_ptr.dtype.element_ty), mask=rows[:, None] < length)


@triton.jit
def talk(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.static_print("BLOCK is", BLOCK)
    tl.static_assert(BLOCK % 2 == 0, "an even block")
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.device_print("at", at)
    tl.device_assert(x < 100.0, "x is small")
    tl.assume(n > 0)
    tl.store(out_ptr + at, x * 2, mask=at < n)


@triton.jit
def indirect(addresses, out_ptr, n, BLOCK: tl.constexpr):
    x_ptr = tl.load(addresses + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.program_id(0) * n + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


@triton.jit
def bf16(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x * tl.load(y_ptr + at, mask=at < n) + x, mask=at < n)


@triton.jit
def f8(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n).to(out_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def step(a, b, c, d):
    return a * c, c * b + d


@triton.jit
def scan(a_ptr, b_ptr, out_ptr, length, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * length
    a = tl.load(a_ptr + row + at, mask=at < length, other=1.0)
    b = tl.load(b_ptr + row + at, mask=at < length, other=0.0)
    _, sums = tl.associative_scan((a, b), 0, step)
    tl.store(out_ptr + row + at, sums, mask=at < length)


def given(array, dtype=None):
    """An array as a kernel's argument; dtype names a type that numpy does not have, of which the array has the bits."""
    if TORCH:
        import torch
        tensor = torch.from_numpy(array)
        return tensor.view(getattr(torch, dtype)) if dtype else tensor
    if dtype:
        import goproton
        return goproton.Array(array, dtype)
    return array


def near(got, want, tolerance):
    """Fails unless all elements are equal within a tolerance, of the largest one if that is above 1."""
    error = np.abs(got.astype(np.float64) - want).max() / max(1.0, np.abs(want).max())
    assert error <= tolerance, f"the error is {error}, and {tolerance} is allowed"


def normal(*shape, dtype=f32):
    return random.standard_normal(shape, f32).astype(dtype)


def brain(x):
    """The bits of numbers as bf16, to the nearest, ties to even."""
    u = np.asarray(x, f32).view(np.uint32)
    return ((u + 0x7FFF + (u >> 16 & 1)) >> 16).astype(np.uint16)


def wide(bits):
    return (bits.astype(np.uint32) << 16).view(f32)


def case_add(n=5000):
    x, y, out = normal(n), normal(n), np.zeros(n, f32)
    return lambda: add[(triton.cdiv(n, 1024),)](given(x), given(y), given(out), n, BLOCK=1024), lambda: near(out, x + y, 0)


def case_softmax(rows=37, columns=781):
    x, out = normal(rows, columns), np.zeros((rows, columns), f32)
    e = np.exp(x - x.max(1, keepdims=True))
    return lambda: softmax[(rows,)](given(out), given(x), rows, columns, BLOCK=1024), lambda: near(out, e / e.sum(1, keepdims=True), 1e-6)


def product(kernel, m, n, k, **constants):
    a, b, c = normal(m, k, dtype=f16), normal(k, n, dtype=f16), np.zeros((m, n), f16)
    grid = lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)
    return lambda: kernel[grid](given(a), given(b), given(c), m, n, k, **constants), lambda: near(c, a.astype(f32) @ b.astype(f32), 1e-3)


def case_matmul(m=130, n=96, k=100):
    return product(matmul, m, n, k, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP=8)


def case_matmul_autotuned(m=130, n=96, k=100):
    return product(matmul_autotuned, m, n, k, GROUP=8)


def case_matmul_heuristics(m=130, n=96, k=100):
    return product(matmul_heuristics, m, n, k, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)


def case_layer_norm(rows=9, columns=1000, block=1024):
    x, y, w, b = normal(rows, columns, dtype=f16), np.zeros((rows, columns), f16), normal(columns, dtype=f16), normal(columns, dtype=f16)
    wide_x = x.astype(f32)
    centred = wide_x - wide_x.mean(1, keepdims=True)
    want = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * w.astype(f32) + b.astype(f32)
    return lambda: layer_norm[(rows,)](given(x), given(y), given(w), given(b), columns, 1e-5, BLOCK=block), lambda: near(y, want, 2e-3)


def case_attention(heads=2, length=100, d=64):
    q, k, v, out = (normal(heads, length, d, dtype=f16) for _ in range(4))
    scores = np.where(np.tril(np.ones((length, length), bool)), q.astype(f32) @ k.astype(f32).swapaxes(1, 2) * 0.125, -np.inf)
    p = np.exp(scores - scores.max(2, keepdims=True))
    want = p / p.sum(2, keepdims=True) @ v.astype(f32)
    grid = (triton.cdiv(length, 64), heads)
    return (lambda: attention[grid](given(q), given(k), given(v), given(out), 0.125, length, D=d, BLOCK_M=64, BLOCK_N=32, CAUSAL=True), lambda: near(out, want, 2e-3))


def case_talk():
    x, out = normal(12), np.zeros(12, f32)
    return lambda: talk[(1,)](given(x), given(out), 12, BLOCK=16, debug=True), lambda: near(out, 2 * x, 0)


def case_indirect():
    x, y, out = normal(10), normal(10), np.zeros((2, 10), f32)
    addresses = np.array([x.__array_interface__["data"][0], y.__array_interface__["data"][0]], np.int64)
    return lambda: indirect[(2,)](given(addresses), given(out), 10, BLOCK=16), lambda: near(out, np.stack([x, y]), 0)


def case_bf16(n=500):
    x, y, out = brain(normal(n)), brain(normal(n)), np.zeros(n, np.uint16)
    want = [wide(brain(wide(brain(wide(x) * wide(y))) + wide(x))), wide(brain(wide(x) * wide(y) + wide(x)))]  # with and without a rounding between

    def check():
        assert np.logical_or(*(wide(out) == w for w in want)).all()

    return lambda: bf16[(1,)](given(x, "bfloat16"), given(y, "bfloat16"), given(out, "bfloat16"), n, BLOCK=512), check


def case_f8():
    x, out = np.array([1.0625, 480, 1e9, 0.00146, -2, 0, 448, 0.3], f32), np.zeros(8, np.uint8)

    def check():
        assert [f"{b:02x}" for b in out] == ["38", "7e", "7e", "01", "c0", "00", "7e", "2a"], out

    return lambda: f8[(1,)](given(x), given(out, "float8_e4m3fn"), 8, BLOCK=8), check


def case_scan(rows=8, length=1000):
    a, b, out = random.random((rows, length), f32), normal(rows, length), np.zeros((rows, length), f32)
    want, last = np.empty((rows, length)), np.zeros(rows)
    for i in range(length):
        last = want[:, i] = a[:, i] * last + b[:, i]
    return lambda: scan[(rows,)](given(a), given(b), given(out), length, BLOCK=1024), lambda: near(out, want, 1e-5)


CASES = {name.removeprefix("case_"): made for name, made in list(globals().items()) if name.startswith("case_")}
SIZES = {"add": (1 << 20,), "softmax": (1823, 781), "matmul": (512, 512, 512), "layer_norm": (1151, 8192, 8192), "attention": (4, 512, 64), "scan": (8, 1024)}


def main(words):
    names = [word for word in words if not word.startswith("--")]
    for name in names or (SIZES if "--time" in words else CASES):
        launch, check = CASES[name](*SIZES.get(name, ()) if "--time" in words else ())
        launch()
        check()
        if "--time" not in words:
            print(name, "is right")
            continue
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            launch()
            times.append(time.perf_counter() - begin)
        print(f"{name} {min(times) * 1e3:.3f} ms")


if __name__ == "__main__":
    main(sys.argv[1:])
