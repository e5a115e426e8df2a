"""Compiles a kernel to TTIR. Nothing of Triton's own cache of files is read or written."""

from __future__ import annotations

import contextlib
from typing import Any, Callable

from triton._C.libtriton import ir
from triton.compiler.compiler import make_backend

from .launching import Kernel

# Context managers to be entered while the front end works, each called with the run: what adds to the code generator's tables.
around: list[Callable[[Any], Any]] = []


def options_of(target: Any, options: Any) -> dict[str, Any]:
    """Those options that a target has: Inductor's are of another."""
    known = make_backend(target).parse_options({}).__dict__
    return {name: value for name, value in dict(options or {}).items() if name in known and value is not None}


def compile_for(run: Any, src: Any, target: Any, options: Any) -> Kernel:
    """The kernel of a source, in the form that the run asks for."""
    src.fn.cache_key  # Triton collects the globals that the kernel uses here, and refuses launches after one has changed
    backend = make_backend(target)
    options = backend.parse_options(dict(options or {}))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    with contextlib.ExitStack() as entered:
        for manager in around:
            entered.enter_context(manager(run))
        module = src.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    if run.form != "front":
        stages: dict[str, Any] = {}
        backend.add_stages(stages, options, src.language)
        module = stages["ttir"](module, {"target": target, **options.__dict__})
    return Kernel(run, src, str(module), target, options)
