"""What Triton's interpreter (TRITON_INTERPRET=1) answers where the answer of the compiled kernel is known, next to what `goproton.interpret` answers:

    PYTHONPATH=build/python:.venv/oracles/triton-3.9.0:.venv/oracles/torch-2.15.0 .venv/bin/python bench/interpret/wrong.py

(with `LD_LIBRARY_PATH=.venv/oracles/torch-2.15.0/cuda`) prints a table in Markdown. It runs itself twice: with the argument peer, and with ours. Each writes a line of JSON for each probe."""

import json
import os
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")
NAN, INF = float("nan"), float("inf")
PROBES = []


def probe(name, want):
    def add(f):
        PROBES.append((name, f, want))
        return f

    return add


if len(sys.argv) > 1:
    import torch
    import triton
    import triton.language as tl
    from triton.language.extra import libdevice

    F, B, T = torch.float32, lambda *v: torch.tensor(v, dtype=torch.bfloat16), lambda *v: torch.tensor(v, dtype=torch.float32)
    launch = (lambda k: k) if sys.argv[1] == "peer" else __import__("goproton").interpret

    def run(kernel, of, *given, n=4, shape=None, grid=1):
        out = torch.zeros(shape or (n,), dtype=of)
        launch(kernel)[(grid,)](*given, out, N=n)
        return out

    def numbers(t):
        return [round(x, 6) for x in t.float().flatten().tolist()]

    def bits(t):
        return [format(v & (0xFFFF if t.itemsize == 2 else 0xFF), "x") for v in t.view(torch.int16 if t.itemsize == 2 else torch.uint8).tolist()]

    @triton.jit
    def add(x, y, o, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(o + i, tl.load(x + i) + tl.load(y + i))

    @triton.jit
    def multiply_add(x, y, o, N: tl.constexpr):
        i = tl.arange(0, N)
        a = tl.load(x + i)
        tl.store(o + i, a * tl.load(y + i) + a)

    @triton.jit
    def cast(x, o, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(o + i, tl.load(x + i).to(o.dtype.element_ty))

    @triton.jit
    def compare(x, y, o, N: tl.constexpr):
        i = tl.arange(0, N)
        a, b = tl.load(x + i), tl.load(y + i)
        tl.store(o + i, (a != b).to(tl.int32) + 2 * (a < b).to(tl.int32) + 4 * (a == b).to(tl.int32))

    @triton.jit
    def dot(x, y, o, N: tl.constexpr):
        i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
        tl.store(o + i, tl.dot(tl.load(x + i), tl.load(y + i), input_precision="tf32"))

    @triton.jit
    def assembly(x, o, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(o + i, tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [tl.load(x + i)], dtype=tl.float32, is_pure=True, pack=1))

    @triton.jit
    def tanh(x, o, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(o + i, libdevice.tanh(tl.load(x + i)))

    @triton.jit
    def total(x, o, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.atomic_add(o + i * 0, tl.load(x + i))

    @triton.jit
    def indirect(p, o, N: tl.constexpr):
        q = tl.load(p).to(tl.pointer_type(tl.float32))
        i = tl.arange(0, N)
        tl.store(o + i, tl.load(q + i))

    @triton.jit
    def most(x, o, N: tl.constexpr):
        tl.store(o, tl.max(tl.load(x + tl.arange(0, N)), 0))

    @triton.jit
    def scalars(o, N: tl.constexpr):
        a = 3
        b = a + 1
        tl.store(o, b.to(tl.float32))

    @triton.jit
    def wraps(o, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(o + i, (i + 32766) * 65536)

    @triton.jit
    def shifts(x, o, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(o + i, tl.load(x + i) >> (i + 30))

    @triton.jit
    def fused(x, o, N: tl.constexpr):
        i = tl.arange(0, N)
        v = tl.load(x + i)
        tl.store(o + i, tl.fma(v, v, -1.0))

    I16 = torch.eye(16)

    @probe("bf16: 1 + 1, 2.5 + 2, -3 + 3, 100 + 0.5", [2.0, 4.5, 0.0, 100.5])
    def _():
        return numbers(run(add, torch.bfloat16, B(1, 2.5, -3, 100), B(1, 2, 3, 0.5)))

    @probe("bf16: x·y + x", [2.0, 7.5, -12.0, 6.0])
    def _():
        return numbers(run(multiply_add, torch.bfloat16, B(1, 2.5, -3, 4), B(1, 2, 3, 0.5)))

    @probe("bf16: -1 < 1, 1 < -1, -2 < -1, 3 = 3", [3, 1, 3, 4])
    def _():
        return run(compare, torch.int32, B(-1, 1, -2, 3), B(1, -1, -1, 3)).tolist()

    @probe("f32 → bf16: 1.01171875, 0.99999, 1e-40, 3.4e38", ["3f82", "3f80", "1", "7f80"])
    def _():
        return bits(run(cast, torch.bfloat16, T(1.01171875, 0.99999, 1e-40, 3.4e38)))

    @probe("f32 → f16: 1.0004885, 65520, 1e-8, -2", [1.000977, INF, 0.0, -2.0])
    def _():
        return numbers(run(cast, torch.float16, T(1.0004885, 65520.0, 1e-8, -2.0)))

    @probe("f32 → e4m3: 1.0625, 480, 1e9, 0.00146", ["38", "7e", "7e", "1"])
    def _():
        return bits(run(cast, torch.float8_e4m3fn, T(1.0625, 480.0, 1e9, 0.00146484375)))

    @probe("f32 → e5m2: 1.125, 61440, 1e9, -3", ["3c", "7b", "7b", "c2"])
    def _():
        return bits(run(cast, torch.float8_e5m2, T(1.125, 61440.0, 1e9, -3.0)))

    @probe("e4m3 → f32", [1.0, 448.0, 0.001953, -1.0])
    def _():
        return numbers(run(cast, F, torch.tensor([0x38, 0x7E, 0x01, 0xB8], dtype=torch.uint8).view(torch.float8_e4m3fn)))

    @probe("NaN: !=, <, ==", [1, 1, 1, 4])
    def _():
        return run(compare, torch.int32, T(NAN, 1, NAN, 2), T(1, NAN, NAN, 2)).tolist()

    @probe("dot of f16 with 1 and 2 on the diagonals, summed", 32.0)
    def _():
        return run(dot, F, I16.half(), (I16 * 2).half(), n=16, shape=(16, 16)).sum().item()

    @probe("dot of bf16, the same", 32.0)
    def _():
        return run(dot, F, I16.bfloat16(), (I16 * 2).bfloat16(), n=16, shape=(16, 16)).sum().item()

    @probe("dot of f32 in TF32: 1 + 2⁻¹² has 11 bits", 1.0)
    def _():
        return run(dot, F, I16 * (1 + 2.0**-12), I16, n=16, shape=(16, 16))[0, 0].item()

    @probe("fma: (1 + 2⁻¹²)² - 1 is rounded once", 2.0**-11 + 2.0**-24)
    def _():
        return run(fused, F, T(1 + 2.0**-12, 0, 0, 0))[0].item()

    @probe("a load behind a tensor's end", "a finding")
    def _():
        run(cast, F, torch.ones(2))
        return "no finding"

    @probe("inline PTX: ex2 of 0, 1, 2, 3", [1.0, 2.0, 4.0, 8.0])
    def _():
        return numbers(run(assembly, F, T(0, 1, 2, 3)))

    @probe("libdevice's tanh of 0, 1, -1, 9", [0.0, 0.761594, -0.761594, 1.0])
    def _():
        return numbers(run(tanh, F, T(0, 1, -1, 9)))

    @probe("atomic additions of bf16: 1 + 2 + 3 + 4", 10.0)
    def _():
        return numbers(run(total, torch.bfloat16, B(1, 2, 3, 4)))[0]

    @probe("atomic additions of f16", 10.0)
    def _():
        return numbers(run(total, torch.float16, B(1, 2, 3, 4).half()))[0]

    @probe("a pointer that is stored in memory", [0.0, 1.0, 2.0, 3.0])
    def _():
        x = torch.arange(4.0)
        return numbers(run(indirect, F, torch.tensor([x.data_ptr()])))

    @probe("the largest of 1, NaN, 3, 2", 3.0)
    def _():
        return run(most, F, T(1, NAN, 3, 2))[0].item()

    @probe("the largest of NaN only", NAN)
    def _():
        return run(most, F, T(NAN, NAN, NAN, NAN))[0].item()

    @probe("a = 3; b = a + 1; b.to(tl.float32)", 4.0)
    def _():
        return run(scalars, F)[0].item()

    @probe("i32 wraps around", [2147352576, 2147418112, -2147483648, -2147418112])
    def _():
        return run(wraps, torch.int32).tolist()

    @probe("i32 >> 30, 31, 32, 33 of -5 (the last two are undefined; the sign)", [-1, -1, -1, -1])
    def _():
        return run(shifts, torch.int32, torch.full((4,), -5, dtype=torch.int32)).tolist()


def answers():
    for name, f, want in PROBES:
        try:
            got = f()
        except BaseException as e:
            got = "a finding" if type(e).__name__ == "Finding" else type(e).__name__ + ": " + str(e).strip().split("\n")[-1][:70]
        print(json.dumps({"probe": name, "want": str(want), "got": str(got)}), flush=True)


def main():
    if len(sys.argv) > 1:
        return answers()
    found = {}
    for who in "peer", "ours":
        env = {**os.environ, "TRITON_INTERPRET": "1" if who == "peer" else "0"}
        done = subprocess.run([sys.executable, __file__, who], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if not done.stdout:
            sys.exit(done.stderr)
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                a = json.loads(line)
                found.setdefault(a["probe"], {"want": a["want"]})[who] = a["got"]
    print("| probe | right | TRITON_INTERPRET | `proton interpret` |\n|---|---|---|---|")
    right = {"peer": 0, "ours": 0}
    for name, a in found.items():
        cells = []
        for who in right:
            ok = a.get(who) == a["want"]
            right[who] += ok
            cells.append("right" if ok else "**" + a.get(who, "nothing").replace("|", "\\|") + "**")
        print(f"| {name} | {a['want']} | {cells[0]} | {cells[1]} |")
    print(f"| right of {len(found)} | | {right['peer']} | {right['ours']} |")
    sys.exit(right["ours"] != len(found))


main()
