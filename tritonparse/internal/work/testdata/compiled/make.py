"""Compiles kernels and keeps their TTIR and their PTX, for the tests that count both. No GPU is needed.

    PYTHONPATH=.venv/oracles/triton-3.6.0 TRITON_CACHE_DIR=/tmp/cache .venv/bin/python tritonparse/internal/count/testdata/compiled/make.py

Locations and debug information are left out: nothing here needs them."""
import gzip
import os
import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../../../../gpu/cubin/testdata/zoo"))
import kernels as zoo  # noqa: E402


@triton.jit
def vector_add(x, y, z, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(z + o, tl.load(x + o, mask=o < n) + tl.load(y + o, mask=o < n), mask=o < n)


@triton.jit
def products(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    m, o, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=c.dtype.element_ty)
    for i in range(0, n):
        x = tl.load(a + i * BM * BK + m[:, None] * BK + k[None, :])
        y = tl.load(b + i * BK * BN + k[:, None] * BN + o[None, :])
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=c.dtype.element_ty)
    tl.store(c + tl.program_id(0) * BM * BN + m[:, None] * BN + o[None, :], acc)


ZOO = {name: (fn, signature, constants, options) for name, fn, signature, constants, options in zoo.KERNELS}


def matmul(bm, bn, bk, element="*fp16", **options):
    fn, signature, _, _ = ZOO["matmul"]
    return fn, dict(signature, a=element, b=element), dict(BM=bm, BN=bn, BK=bk), options


def product(bm, bn, bk, element, out, precision, **options):
    return products, dict(a=element, b=element, c=out, n="i32"), dict(BM=bm, BN=bn, BK=bk, PRECISION=precision), options


KERNELS = {
    "vector_add": (vector_add, dict(x="*fp32", y="*fp32", z="*fp32", n="i32"), dict(B=1024), {}),
    "softmax": ZOO["softmax"],
    "layer_norm": ZOO["layer_norm"],
    "flash_attention": ZOO["flash_attention"],
    "matmul_128_128_32": matmul(128, 128, 32, num_stages=3),
    "matmul_64_256_64": matmul(64, 256, 64, num_stages=3),
    "matmul_128_64_64": matmul(128, 64, 64, num_stages=3),
    "matmul_32_32_16": matmul(32, 32, 16, num_stages=2),
    "product_bf16": product(64, 32, 64, "*bf16", "*fp32", "tf32"),
    "product_tf32": product(64, 64, 32, "*fp32", "*fp32", "tf32"),
    "product_tf32x3": product(64, 64, 32, "*fp32", "*fp32", "tf32x3"),
    "product_ieee": product(32, 32, 32, "*fp32", "*fp32", "ieee"),
    "product_int8": product(64, 64, 64, "*i8", "*i32", "tf32"),
    "product_fp8": product(64, 64, 64, "*fp8e5", "*fp32", "tf32"),
}


def write(path, text):
    with open(path, "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0, filename="") as z:
        z.write(text.encode())


for sm in (80, 90):
    for name, (fn, signature, constants, options) in KERNELS.items():
        source = ASTSource(fn=fn, signature={**signature, **{c: "constexpr" for c in constants}}, constexprs=constants)
        asm = triton.compile(source, target=GPUTarget("cuda", sm, 32), options=options).asm
        ttir = re.sub(r"(?m)^#loc(?!.*\"\().*\n", "", asm["ttir"])
        ptx = re.sub(r"(?s)\n\s*\.section\s+\.debug.*", "\n", re.sub(r"(?m)^\s*(\.loc|\.file|//).*\n", "", asm["ptx"]))
        write(f"{HERE}/{name}.sm{sm}.ttir.gz", ttir)
        write(f"{HERE}/{name}.sm{sm}.ptx.gz", ptx)
        print(name, sm, len(ttir), len(ptx), flush=True)
