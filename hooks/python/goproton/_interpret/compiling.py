"""Compiles a kernel to TTIR. Nothing of Triton's own cache of files is read or written."""

from __future__ import annotations

import contextlib
from typing import Any, Callable

from triton._C.libtriton import ir
from triton.compiler.compiler import make_backend

from . import debugging
from .launching import Kernel

# Context managers to be entered while the front end works, each called with the run: what adds to the code generator's tables.
around: list[Callable[[Any], Any]] = []


def options_of(target: Any, options: Any) -> dict[str, Any]:
    """Those options that a target has: Inductor's are of another."""
    known = make_backend(target).parse_options({}).__dict__
    return {name: value for name, value in dict(options or {}).items() if name in known and value is not None}


def compile_for(run: Any, src: Any, target: Any, options: Any) -> Kernel:
    """The kernel of a source, in the form that the run asks for. One that calls breakpoint() has marks for the debugger, and the first form."""
    marks = debugging.Marks(variables=run.debugging)
    module, context, options, backend = _front(run, src, target, options, marks)
    if marks.breaks and not marks.variables:
        marks = debugging.Marks(variables=True)
        module, context, options, backend = _front(run, src, target, options.__dict__, marks)
    if run.form != "front" and not marks.breaks:
        stages: dict[str, Any] = {}
        backend.add_stages(stages, options, src.language)
        module = stages["ttir"](module, {"target": target, **options.__dict__})
    return Kernel(run, src, str(module), target, options, debugging.sources(src.fn))


def _front(run: Any, src: Any, target: Any, options: Any, marks: debugging.Marks) -> tuple[Any, Any, Any, Any]:
    backend = make_backend(target)
    options = backend.parse_options(dict(options or {}))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    with contextlib.ExitStack() as entered:
        entered.enter_context(debugging.handlers(marks))
        for manager in around:
            entered.enter_context(manager(run))
        src.fn.cache_key  # Triton collects the globals that the kernel uses here, and refuses launches after one has changed
        module = src.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    return module, context, options, backend
