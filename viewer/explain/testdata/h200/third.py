"""The third exam: kernels as they stand in libraries, with one mistake each, and programs in PyTorch. They were written, with their causes, before the rules saw
any of them, and no rule was changed for them since."""

import torch
import triton
import triton.language as tl

from cases import case, halves, random

BF16 = torch.bfloat16


@triton.jit
def norm_of_columns(x, w, y, R, C, B: tl.constexpr):
    c = tl.program_id(0)
    total = 0.0
    for r in range(0, R, B):
        v = tl.load(x + (r + tl.arange(0, B)) * C + c).to(tl.float32)  # fault
        total += tl.sum(v * v, 0)
    scale = tl.rsqrt(total / R + 1e-6) * tl.load(w + c)
    for r in range(0, R, B):
        at = (r + tl.arange(0, B)) * C + c
        tl.store(y + at, tl.load(x + at) * scale)  # fault


@triton.jit
def attention(q, k, v, o, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1) * T * D
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    query = tl.load(q + head + m[:, None] * D + d[None, :])
    total, most, sums = tl.zeros((BM, D), tl.float32), tl.full((BM,), -1e30, tl.float32), tl.zeros((BM,), tl.float32)
    for n in range(0, T, BN):
        at = head + (n + tl.arange(0, BN))[:, None] * D + d[None, :]
        s = tl.dot(query, tl.trans(tl.load(k + at))) * 0.088  # fault
        more = tl.maximum(most, tl.max(s, 1))  # fault
        p, old = tl.exp2(s - more[:, None]), tl.exp2(most - more)  # fault
        sums, most = sums * old + tl.sum(p, 1), more
        total = tl.dot(p.to(tl.bfloat16), tl.load(v + at), total * old[:, None])  # fault
    tl.store(o + head + m[:, None] * D + d[None, :], (total / sums[:, None]).to(tl.bfloat16))


@triton.jit
def decode(q, k, v, o, T, D: tl.constexpr, BN: tl.constexpr):
    head, d = tl.program_id(0), tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    total, most, sums = tl.zeros((D,), tl.float32), -1e30, 0.0
    for n in range(0, T, BN):
        at = head * T * D + (n + tl.arange(0, BN))[:, None] * D + d[None, :]
        s = tl.sum(tl.load(k + at).to(tl.float32) * query[None, :], 1)  # fault
        more = tl.maximum(most, tl.max(s, 0))
        p, old = tl.exp2(s - more), tl.exp2(most - more)
        total = total * old + tl.sum(tl.load(v + at).to(tl.float32) * p[:, None], 0)  # fault
        sums, most = sums * old + tl.sum(p, 0), more
    tl.store(o + head * D + d, total / sums)


@triton.jit
def embedding_gradient(ids, g, y, D: tl.constexpr):
    t, d = tl.program_id(0), tl.arange(0, D)
    tl.atomic_add(y + tl.load(ids + t) * D + d, tl.load(g + t * D + d))  # fault


@triton.jit
def softplus(x, y, TIMES: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i)
    for _ in range(TIMES):
        v = tl.log(1.0 + tl.exp(v)) * tl.cos(v)  # fault
    tl.store(y + i, v)


@triton.jit
def to_channels_last(x, y, C, HW, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    image, rest = i // (C * HW), i % (C * HW)
    tl.store(y + i, tl.load(x + image * C * HW + (rest % C) * HW + rest // C))  # fault


@triton.jit
def recurrence(x, y, T, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i)
    for t in range(T):
        v = v * 0.99 + 0.01 * tl.abs(v)  # fault
        tl.debug_barrier()  # fault
    tl.store(y + i, v)


@triton.jit
def small_products(a, b, c, S: tl.constexpr):
    at = tl.program_id(0) * S * S + tl.arange(0, S)[:, None] * S + tl.arange(0, S)[None, :]
    left, right = tl.load(a + at), tl.load(b + at)
    for _ in range(20):
        left = tl.dot(left, right, input_precision="ieee")  # fault
    tl.store(c + at, left)


@triton.jit
def hashes(x, y, TIMES: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i).to(tl.int64)
    for t in range(TIMES):
        v = (v * 6364136223846793005 + 1442695040888963407) % 1000003  # fault
    tl.store(y + i, v.to(tl.int32))


@triton.jit
def scans(x, y, TIMES: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i)
    for _ in range(TIMES):
        v = tl.cumsum(v, 0) * 0.01  # fault
    tl.store(y + i, v)


@triton.jit
def gemv(a, x, y, K, BK: tl.constexpr):
    r = tl.program_id(0)
    total = tl.zeros((BK,), tl.float32)
    for k in range(0, K, BK):
        at = k + tl.arange(0, BK)
        total += tl.load(a + r * K + at).to(tl.float32) * tl.load(x + at).to(tl.float32)  # fault
    tl.store(y + r, tl.sum(total, 0))


@triton.autotune([triton.Config({"B": b}, num_warps=w) for b in (256, 512, 1024, 2048) for w in (2, 4, 8)], key=["n"])
@triton.jit
def tuned(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, i < n) + 1.0, i < n)


@triton.jit
def rotated(x, cos, sin, y, D: tl.constexpr):
    t, d = tl.program_id(0), tl.arange(0, D)
    head = tl.program_id(1)
    at = (t * tl.num_programs(1) + head) * 2 * D
    a, b = tl.load(x + at + d).to(tl.float32), tl.load(x + at + D + d).to(tl.float32)
    c, s = tl.load(cos + t * D + d), tl.load(sin + t * D + d)
    tl.store(y + at + d, (a * c - b * s).to(tl.bfloat16))
    tl.store(y + at + D + d, (b * c + a * s).to(tl.bfloat16))


@triton.jit
def swiglu(x, y, C, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.program_id(1) * B + tl.arange(0, B)
    g, u = tl.load(x + r * 2 * C + c).to(tl.float32), tl.load(x + r * 2 * C + C + c).to(tl.float32)
    tl.store(y + r * C + c, (g * tl.sigmoid(g) * u).to(tl.bfloat16))


@triton.jit
def grouped_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr):
    width = G * (N // BN)
    group, inside = tl.program_id(0) // width, tl.program_id(0) % width
    m = (group * G + inside % G) * BM + tl.arange(0, BM)
    n = inside // G * BN + tl.arange(0, BN)
    pa, pb = a + m[:, None] * K + tl.arange(0, BK)[None, :], b + tl.arange(0, BK)[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(pa), tl.load(pb), total)
        pa += BK
        pb += BK * N
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.bfloat16))


n = 1 << 25
x, y = random(n), random(n)
ints = torch.randint(1, 1 << 30, (n,), device="cuda", dtype=torch.int32)
rows = halves(8192, 8192, dtype=BF16)
out, w = torch.empty_like(rows), random(8192)
q, k, v = (halves(4 * 16, 4096, 128, dtype=BF16) for _ in range(3))
o = torch.empty_like(q)
ids = torch.randint(0, 4, (32768,), device="cuda")
spread = torch.randint(0, 50000, (32768,), device="cuda")
spare = torch.empty_like(x)
gradient, table = random(32768, 512), random(50000, 512)
model = torch.nn.Sequential(*(f for _ in range(8) for f in (torch.nn.Linear(256, 256), torch.nn.ReLU()))).cuda()
batch = random(64, 256)
angles = random(4096, 64)

# With a cause.
case("norm_of_columns", "data movement")(lambda: norm_of_columns[(8192,)](rows, w, out, 8192, 8192, 1024))
case("attention_in_128_registers", "spill")(lambda: attention[(4096 // 128, 64)](q, k, v, o, 4096, 128, 128, 128, num_warps=4, num_stages=2, maxnreg=128))
case("decode_of_one_request", "occupancy")(lambda: decode[(32,)](q, k, v, spare, 8192, 128, 64))
case("embedding_gradient", "data movement|synchronisation")(lambda: embedding_gradient[(32768,)](ids, gradient, table, 512))
case("softplus", "compute")(lambda: softplus[(n // 1024,)](x, y, 50, 1024))
case("to_channels_last", "data movement")(lambda: to_channels_last[(n // 1024,)](x, y, 512, 4096, 1024))
case("recurrence", "synchronisation|compute")(lambda: recurrence[(528,)](x, y, 2000, 1024, num_warps=32))
case("small_products", "compute")(lambda: small_products[(4096,)](x, y, spare, 64))
case("hashes", "compute")(lambda: hashes[(n // 1024,)](ints, ints, 30, 1024))
case("scans", "layout|synchronisation")(lambda: scans[(2112,)](x, y, 100, 4096, num_warps=8))
case("gemv_of_one_warp", "data movement|occupancy")(lambda: gemv[(256,)](rows, rows, y, 8192 * 32, 64, num_warps=1))
case("first_call", "host", None, "cold")(lambda: tuned[lambda c: (triton.cdiv(n, c["B"]),)](x, y, n))
case("float32_attention", "compute")(lambda a=random(2, 8, 2048, 64): torch.softmax(a @ a.transpose(2, 3), 3) @ a)
case("eager_norm", "data movement")(lambda: (x - x.mean()) / (x.var() + 1e-5).sqrt() * 1.5 + 0.5)


@case("loop_over_rows", "launch", None, "timeline")
def _():
    for i in range(300):
        rows[i].mul_(0.5)


@case("norms_as_numbers", "synchronisation|launch", None, "timeline")
def _():
    [p.norm().item() for p in model.parameters() for _ in range(4)]


@case("small_model", "launch", None, "timeline")
def _():
    for _ in range(5):
        model(batch).sum().backward()


@case("masks", "synchronisation", None, "timeline")
def _(part=x[: 1 << 22]):
    for _ in range(20):
        part[part > 1.0].sum()


@case("batches_from_the_host", "data movement|host", None, "timeline")
def _(host=torch.randn(4096, 8192)):
    for _ in range(5):
        host.cuda().relu_().sum()


@case("tokens_in_python", "host", None, "timeline")
def _():
    for _ in range(10):
        torch.mm(rows, rows, out=out)
        [str(i) for i in range(60000)]


# Healthy.
case("healthy_rotary", "")(lambda: rotated[(4096, 64)](q, angles, angles, o, 64, num_warps=2))
case("healthy_swiglu", "")(lambda: swiglu[(8192, 4)](rows, out, 4096, 1024))
case("healthy_matmul", "")(lambda: grouped_matmul[(64 * 32,)](rows, rows, out, 8192, 8192, 8192, 128, 256, 64, 8, num_warps=8, num_stages=3))
case("healthy_sdpa", "")(lambda: torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True))
case("healthy_cast", "")(lambda: x.to(BF16))
case("healthy_cat", "")(lambda: torch.cat([rows, rows]))
case("healthy_rows", "")(lambda: table.index_select(0, spread))
case("healthy_rms_norm", "")(lambda: torch.nn.functional.rms_norm(rows, (8192,)))
case("healthy_argmax", "")(lambda: rows.argmax(1))
graph = torch.cuda.CUDAGraph()
with torch.cuda.stream(torch.cuda.Stream()):
    rows.mul_(1.0)
torch.cuda.synchronize()
with torch.cuda.graph(graph):
    for _ in range(20):
        rows.mul_(1.0)
case("healthy_graph", "", None, "timeline")(lambda: [graph.replay() for _ in range(10)])


@case("healthy_layers", "", None, "timeline")
def _():
    for _ in range(10):
        torch.mm(rows, rows, out=out)
        torch.nn.functional.gelu(out)
