"""Compiles code objects for the tests; no GPU is needed. Usage: [DWARF=5] make.py FOLDER KERNELS.PY ARCH…

It needs triton in PYTHONPATH. KERNELS.PY has a list KERNELS of (name, kernel, signature, constants, options); a type that ends
with ":16" is that of multiples of 16. FOLDER gets
NAME.ARCH.hsaco and the assembly that it was made of, NAME.ARCH.amdgcn. DWARF is the version of the line tables; Triton's is 4. What an architecture does not take is a line on stderr."""
import os
import re
import sys

from triton import compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


def with_dwarf(version):
    """Has LLVM write line tables of another version, by a flag of the module."""
    from triton.backends.amd.compiler import HIPBackend

    made = HIPBackend.make_amdgcn

    def make_amdgcn(src, *arguments):
        flags = re.search(r"(?m)^!llvm.module.flags = !\{(.*)\}$", src)
        src = src.replace(flags[0], f"!llvm.module.flags = !{{{flags[1]}, !99999}}\n!99999 = !{{i32 7, !\"Dwarf Version\", i32 {version}}}")
        return made(src, *arguments)

    HIPBackend.make_amdgcn = staticmethod(make_amdgcn)


def make(folder, script, architectures):
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    kernels = __import__(os.path.basename(script).removesuffix(".py")).KERNELS
    for arch in architectures:
        threads = 64 if arch.startswith("gfx9") else 32
        for name, fn, signature, constants, options in kernels:
            aligned = {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(signature.values()) if kind.endswith(":16")}
            types = {name: kind.removesuffix(":16") for name, kind in signature.items()}
            source = ASTSource(fn=fn, signature={**types, **{c: "constexpr" for c in constants}}, constexprs=constants, attrs=aligned)
            try:
                compiled = compile(source, target=GPUTarget("hip", arch, threads), options=options)
            except Exception as e:
                print(f"{name} for {arch}: {type(e).__name__}: {str(e).strip().splitlines()[-1:]}", file=sys.stderr)
                continue
            for stage, mode in (("hsaco", "wb"), ("amdgcn", "w")):
                with open(f"{folder}/{name}.{arch}.{stage}", mode) as f:
                    f.write(compiled.asm[stage])


if __name__ == "__main__":
    if "DWARF" in os.environ:
        with_dwarf(int(os.environ["DWARF"]))
    make(sys.argv[1], sys.argv[2], sys.argv[3:])
