"""Compiles kernels for an AMD GPU, of which this machine needs none, and has goproton write the trace.

    PYTHONPATH=TRITON:GOPROTON python3 compile_hip.py FOLDER KERNELS.PY ARCH NAME…"""

import os
import sys

import goproton.trace
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

folder, script, arch, *names = sys.argv[1:]
sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
goproton.trace.init(folder)
for name, fn, signature, constants, options in __import__(os.path.basename(script).removesuffix(".py")).KERNELS:
    if name in names:
        source = ASTSource(fn=fn, signature={**signature, **{c: "constexpr" for c in constants}}, constexprs=constants)
        triton.compile(source, target=GPUTarget("hip", arch, 64 if arch.startswith("gfx9") else 32), options=options)
