"""The oracle for TTIR: a wheel of Triton, without GPU and torch. It reads one object of JSON:

{"make": FOLDER}         writes the texts of all kernels: NAME.TARGET.front as the front end makes it, .ttir after Triton's passes, .ttgir
{"print": [PATH, …]}     prints a line for each: the text as the wheel prints it, its operations in the order of the walk, or the error
"""

import json
import os
import runpy
import sys

from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend

TARGETS = {"sm90": GPUTarget("cuda", 90, 32), "gfx942": GPUTarget("hip", "gfx942", 64)}


def context_of(target):
    context = ir.context()
    ir.load_dialects(context)
    backend = make_backend(target)
    backend.load_dialects(context)
    return context, backend


def compile(folder, name, fn, signature, constants, options, target):
    context, backend = context_of(TARGETS[target])
    options = backend.parse_options(dict(options))
    source = ASTSource(fn, {**signature, **{c: "constexpr" for c in constants}}, constants,
                       {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(signature.values()) if kind[0] == "*"})
    module = source.make_ir(TARGETS[target], options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    stages, metadata = {}, {"target": TARGETS[target], **options.__dict__}
    backend.add_stages(stages, options, source.language)
    for form in "front", "ttir", "ttgir":
        if form != "front":
            module = stages[form](module, metadata)
        with open(f"{folder}/{name}.{target}.{form}", "w") as f:
            f.write(str(module))


def make(folder):
    kernels = runpy.run_path(os.path.join(os.path.dirname(__file__), "kernels.py"))["KERNELS"]
    for kernel in kernels:
        for target in TARGETS:
            try:
                compile(folder, *kernel, target)
            except Exception as e:  # not every version has every operation for every target
                print(f"{kernel[0]} {target}: {type(e).__name__}: {e}".replace("\n", " ")[:300], flush=True)


def printed(path):
    context, _ = context_of(TARGETS["sm90"])  # a context remembers all that it has read, so each text has its own
    try:
        module = ir.parse_mlir_module(path, context)
        walked = []
        module.walk(lambda op: walked.append([op.get_name(), op.get_num_operands(), op.get_num_results(), op.get_num_regions()]))
        if not module.verify():
            return {"error": "the module is not valid"}
        return {"text": str(module), "walk": walked}
    except Exception as e:
        return {"error": str(e) or type(e).__name__}


def main():
    asked = json.load(sys.stdin)
    if "make" in asked:
        make(asked["make"])
    for path in asked.get("print", []):
        print(json.dumps(printed(path)), flush=True)


main()
