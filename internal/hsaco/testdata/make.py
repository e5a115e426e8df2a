"""Compiles code objects for the tests; no GPU is needed. Usage: make.py FOLDER KERNELS.PY ARCH…

It needs triton in PYTHONPATH. KERNELS.PY has a list KERNELS of (name, kernel, signature, constants, options). FOLDER gets
NAME.ARCH.hsaco and the assembly that it was made of, NAME.ARCH.amdgcn. What an architecture does not take is a line on stderr."""
import os
import sys

from triton import compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


def make(folder, script, architectures):
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    kernels = __import__(os.path.basename(script).removesuffix(".py")).KERNELS
    for arch in architectures:
        threads = 64 if arch.startswith("gfx9") else 32
        for name, fn, signature, constants, options in kernels:
            source = ASTSource(fn=fn, signature={**signature, **{c: "constexpr" for c in constants}}, constexprs=constants)
            try:
                compiled = compile(source, target=GPUTarget("hip", arch, threads), options=options)
            except Exception as e:
                print(f"{name} for {arch}: {type(e).__name__}: {str(e).strip().splitlines()[-1:]}", file=sys.stderr)
                continue
            for stage, mode in (("hsaco", "wb"), ("amdgcn", "w")):
                with open(f"{folder}/{name}.{arch}.{stage}", mode) as f:
                    f.write(compiled.asm[stage])


if __name__ == "__main__":
    make(sys.argv[1], sys.argv[2], sys.argv[3:])
