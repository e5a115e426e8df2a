"""Compiles kernels of inside_kernels with scopes and without, with Triton's own passes and without a GPU.

    python inside_compile.py cuda|hip PATTERN KERNEL…

Prints a line of JSON for each kernel.
"""

import json
import os
import re
import sys
import tempfile

import triton
from triton._C.libtriton import amd, ir, nvidia, passes, proton
from triton.backends import backends
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import inside_kernels
from goproton import _library
from goproton._inside import comparison
from goproton._inside import compiler as inside

MAX_SHARED = {"cuda": 232448, "hip": 65536}
TARGETS = {"cuda": GPUTarget("cuda", 90, 32), "hip": GPUTarget("hip", "gfx942", 64)}
CLOCK = {"cuda": "%clock;", "hip": "s_memtime"}
ASSEMBLY = {"cuda": "ptx", "hip": "amdgcn"}
BINARY = {"cuda": "cubin", "hip": "hsaco"}


def register(kind):
    """Has Triton lower records, as a session of backend "instrumentation" does."""

    def first(pm):
        if inside.without_records():
            return
        proton.add_convert_proton_to_protongpu(pm, proton.METRIC_TYPE.CYCLE, proton.SAMPLING_STRATEGY.NONE, "", proton.GRANULARITY.WARP,
                                               proton.BUFFER_STRATEGY.CIRCULAR, proton.BUFFER_TYPE.SHARED, 0, MAX_SHARED[kind], 1, 128, True)
        passes.common.add_cse(pm)
        proton.add_allocate_proton_shared_memory(pm)

    def second(pm):
        if inside.without_records():
            return
        if hasattr(proton, "add_allocate_proton_global_scratch_buffer"):  # up to Triton 3.7
            proton.add_allocate_proton_global_scratch_buffer(pm)
        if kind == "cuda":
            proton.add_convert_proton_nvidia_gpu_to_llvm(pm)
        else:
            proton.add_convert_proton_amd_gpu_to_llvm(pm, TARGETS[kind].arch)

    name = {"cuda": "nvidia", "hip": "amd"}[kind]
    try:
        from triton._instrumentation import register_instrumentation
    except ImportError:  # up to Triton 3.8

        class Passes:

            def load_dialects(self, context):
                proton.load_dialects(context)

            def patch(self, stage, pm, context):
                proton.load_dialects(context)
                {"ttgpuir_to_llvmir": first, "llvmir_to_llvm": second}[stage](pm)

        backends[name].compiler.instrumentation = Passes()
    else:
        register_instrumentation(point="load-dialects", backend=name, callback=proton.load_dialects)
        register_instrumentation(point="ttgpuir-to-llvmir", backend=name, callback=first)
        register_instrumentation(point="llvmir-to-llvm", backend=name, callback=second)


def compile(kind, name, mode=""):
    kernel, signature, constants, options = inside_kernels.KERNELS[name]
    if kind == "hip":
        options = {**options, "num_stages": min(2, options.get("num_stages", 2))}  # 64 KiB of shared memory
    aligned = {(position,): [["tt.divisibility", 16]] for position in range(len(signature))} if name == "pipelined" else {}
    source = ASTSource(fn=kernel, signature={**signature, **{constant: "constexpr" for constant in constants}}, constexprs=constants,
                       attrs=aligned)
    return triton.compile(source, target=TARGETS[kind], options={**options, "instrumentation_mode": mode})


def read(text):
    """What Triton makes of TTGIR: names and parents of scopes by id, and the text again."""
    context = ir.context()
    for load in ir.load_dialects, nvidia.load_dialects, amd.load_dialects, proton.load_dialects:
        load(context)
    with tempfile.NamedTemporaryFile("w", suffix=".ttgir") as file:
        file.write(text)
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
    module.context = context
    return dict(proton.get_scope_id_names(module)), dict(proton.get_scope_id_parents(module)), str(module)


def describe(kind, name, plain, hook):
    kernel = compile(kind, name, hook.key)
    names, parents, printed = read(kernel.asm["ttgir"])
    without = re.sub(r"(?m)^\s*proton\.record .*\n", "", printed)
    assembly, binary = ASSEMBLY[kind], BINARY[kind]
    again = comparison._compile(kernel) if names else plain
    return {
        "name": kernel.name, "compared with the same": again.kernel == plain.kernel and again.hash == plain.hash, "done": getattr(kernel.metadata, inside.METADATA, None),
        "ids": names, "parents": parents, "ttgir": kernel.asm["ttgir"], "scratch": kernel.metadata.profile_scratch_size,
        "same without records": without == read(plain.asm["ttgir"])[2], "same binary": kernel.asm[binary] == plain.asm[binary],
        "clocks": kernel.asm[assembly].count(CLOCK[kind]) - plain.asm[assembly].count(CLOCK[kind]),
    }


def main():
    kind, pattern, *names = sys.argv[1:]
    plain = {name: compile(kind, name) for name in names}
    register(kind)
    _library.load()
    hook = inside.Compiler([pattern])
    hook.attach()
    for name in names:
        print(json.dumps({"kernel": name, **describe(kind, name, plain[name], hook)}), flush=True)


if __name__ == "__main__":
    main()
