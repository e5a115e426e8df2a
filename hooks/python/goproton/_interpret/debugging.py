"""What a debugger needs of the compile: ``breakpoint()``, ``pdb.set_trace()`` and ``print`` in kernels, and marks of assignments.

Handlers stand in two tables of Triton's code generator while a kernel is compiled for the interpreter, and at no other time. Each writes a
``tt.print`` whose text begins with \\x01, at its place in the kernel: an effect, which passes leave where it is. The interpreter
takes it for what it stands for.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import linecache
import os
import pdb
import threading
from typing import Any, Callable, Iterator

from triton.compiler.code_generator import CodeGenerator
from triton.language import core

from .. import _library

MARK = "\x01"
VALUE = "\x02"  # in the text of print: the place of a value

_lock = threading.RLock()


class Marks:
    """What the compile of one kernel has written."""

    def __init__(self, variables: bool):
        self.variables = variables  # mark assignments
        self.breaks = 0


@contextlib.contextmanager
def handlers(marks: Marks) -> Iterator[None]:
    """Has the code generator know breakpoint, pdb.set_trace and print."""
    tables = CodeGenerator.builtin_namespace, CodeGenerator.statically_implemented_functions
    with _lock:
        before = [dict(table) for table in tables]
        visits = {name: getattr(CodeGenerator, name) for name in ("visit_Assign", "visit_AnnAssign")}
        names, functions = tables
        names.update(breakpoint=builtins.breakpoint, print=builtins.print)
        stop = lambda generator, node: _break(generator, marks)  # noqa: E731
        functions.update({builtins.breakpoint: stop, pdb.set_trace: stop, builtins.print: _print})
        known: Any = getattr(pdb.set_trace, "__func__", pdb.set_trace)  # pytest's is a method
        known.__triton_builtin__ = True  # Triton refuses to look at other functions
        if marks.variables:
            for name, visit in visits.items():
                setattr(CodeGenerator, name, _marking(visit))
        try:
            yield
        finally:
            del known.__triton_builtin__
            for table, kept in zip(tables, before):
                table.clear()
                table.update(kept)
            for name, visit in visits.items():
                setattr(CodeGenerator, name, visit)


def _write(generator: Any, text: str, values: list[Any]) -> None:
    signed = [v.dtype.scalar.is_int_signed() if v.dtype.scalar.is_int() else False for v in values]
    generator.builder.create_print(MARK + text, False, [v.handle for v in values], signed)


def _break(generator: Any, marks: Marks) -> None:
    marks.breaks += 1
    _write(generator, "break", [])


def _print(generator: Any, node: ast.Call) -> None:
    """print(x, "text", f"{x} {y}", x.shape, sep=""): a text with the places of values."""
    separator = " "
    for keyword in node.keywords:
        if keyword.arg == "sep":
            separator = str(_constant(generator.visit(keyword.value)))
    parts: list[str] = []
    values: list[Any] = []
    for i, argument in enumerate(node.args):
        if i:
            parts.append(separator)
        if isinstance(argument, ast.JoinedStr):
            for piece in argument.values:
                if isinstance(piece, ast.FormattedValue):
                    _say(generator.visit(piece.value), _format(piece), parts, values)
                else:
                    parts.append(_plain(str(piece.value)))  # type: ignore[attr-defined]
        else:
            _say(generator.visit(argument), "", parts, values)
    _write(generator, "print " + "".join(parts), values)


def _format(piece: ast.FormattedValue) -> str:
    """The format of {x:.3f}, if it is a constant."""
    spec = piece.format_spec
    if isinstance(spec, ast.JoinedStr) and all(isinstance(v, ast.Constant) for v in spec.values):
        return "".join(str(v.value) for v in spec.values)  # type: ignore[attr-defined]
    return ""


def _constant(value: Any) -> Any:
    return value.value if isinstance(value, core.constexpr) else value


def _plain(text: str) -> str:
    return text.replace(MARK, "").replace(VALUE, "")


def _say(value: Any, spec: str, parts: list[str], values: list[Any]) -> None:
    value = _constant(value)
    if isinstance(value, core.tensor):
        parts.append(VALUE)
        values.append(value)
    elif isinstance(value, (core.tuple, tuple, list)):
        parts.append("(")
        for i, item in enumerate(value):
            if i:
                parts.append(", ")
            _say(item, "", parts, values)
        parts.append(",)" if len(value) == 1 else ")")
    else:
        try:
            parts.append(_plain(format(value, spec)))
        except (TypeError, ValueError):
            parts.append(_plain(str(value)))


def _marking(visit: Callable[[Any, ast.AST], Any]) -> Callable[[Any, ast.AST], Any]:
    """A visit of an assignment that marks the variables that it sets, and before it the constants that were set otherwise."""

    def marked(generator: Any, node: Any) -> Any:
        if generator.jit_fn.__module__.startswith("triton."):
            return visit(generator, node)
        _mark_constants(generator)
        result = visit(generator, node)
        for target in getattr(node, "targets", None) or [node.target]:
            for name in _names(target):
                _mark(generator, name, generator.lscope.get(name))
        return result

    return marked


def _names(target: Any) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _names(element)


def _mark(generator: Any, name: str, value: Any) -> None:
    if isinstance(value, core.tensor):
        _write(generator, f"var {name}", [value])
    elif isinstance(value, core.tuple):
        for i, item in enumerate(value.values):
            _mark(generator, f"{name}.{i}", item)
    elif isinstance(value, core.constexpr):
        known = generator.__dict__.setdefault("_goproton_constants", {})
        if name not in known or known[name] is not value.value:
            known[name] = value.value
            _write(generator, f"const {name} {_plain(str(value.value))[:200]}", [])
    elif hasattr(value, "type"):
        _write(generator, f"const {name} {_plain(str(value.type))[:200]}", [])


def _mark_constants(generator: Any) -> None:
    """Parameters that are constants, and counters of unrolled loops."""
    for name, value in list(generator.lscope.items()):
        if isinstance(value, core.constexpr):
            _mark(generator, name, value)


def sources(function: Any) -> dict[str, str]:
    """The texts of sources that are in no file, as those of cells of notebooks."""
    found = {}
    seen = set()
    queue = [function]
    while queue:
        one = queue.pop()
        code = getattr(getattr(one, "fn", one), "__code__", None)
        if code is None or one in seen:
            continue
        seen.add(one)
        if not os.path.exists(code.co_filename):
            lines = linecache.getlines(code.co_filename)
            if lines:
                found[code.co_filename] = "".join(lines)
        names = getattr(one, "fn", one).__globals__
        queue += [names[name] for name in code.co_names if hasattr(names.get(name), "cache_key")]
    return found


def ask(said: dict[str, Any]) -> dict[str, Any]:
    """The next command for a launch that a debugger has stopped: from input(), which notebooks have too."""
    import sys
    sys.stdout.flush()
    while True:
        try:
            line = input(said["ask"])
        except EOFError:
            return {"launch": said["launch"], "end": True}
        except KeyboardInterrupt:
            print("\n(quit ends the launch)")
            continue
        if not sys.stdin.isatty() and not hasattr(builtins, "__IPYTHON__"):
            print(line)  # what a terminal would show
        return {"launch": said["launch"], "line": line}


def serve(run: int, host: str, port: int) -> None:
    """Passes the connections of editors on to Go, which has no network in this process."""
    import socket
    import sys
    listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _library.call("interpret.editor", run=run, descriptor=connection.detach())

    threading.Thread(target=accept, name="goproton-editors", daemon=True).start()
    print(f"proton: waiting for an editor at {host}:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
