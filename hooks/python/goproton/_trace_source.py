"""The source of a kernel, the helpers that it calls and the constants that it reads."""

from __future__ import annotations

import ast
import inspect
import os
import sys

from ._trace_values import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator

_LARGEST = 10 << 20  # bytes of the largest file that is stored whole


def python_source(src: Any, whole_file: bool) -> dict[str, Any] | None:
    """TritonParse's python_source of a compilation; None for kernels that are not from Python."""
    fn = getattr(src, "fn", None)
    if fn is None:
        return None
    function = getattr(fn, "fn", fn)
    file = inspect.getfile(function)
    lines, first = _lines(fn)
    if whole_file:
        text = _whole(file)
        if text is not None:
            return {"file_path": file, "start_line": 1, "end_line": len(text.split("\n")), "code": text,
                    "function_start_line": first, "function_end_line": first + len(lines) - 1}
    return {"file_path": file, "start_line": first, "end_line": first + len(lines) - 1, "code": "".join(lines)}


def _lines(fn: Any) -> tuple[list[str], int]:
    if hasattr(fn, "raw_src") and hasattr(fn, "starting_line_number"):
        return fn.raw_src, fn.starting_line_number
    return inspect.getsourcelines(getattr(fn, "fn", fn))


def _whole(file: str) -> str | None:
    try:
        if os.path.getsize(file) > _LARGEST:
            return None
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except (OSError, UnicodeDecodeError):
        return None


def params(fn: Any) -> list[dict[str, Any]]:
    """Name, kind and default of each parameter."""
    listed = []
    for param in getattr(fn, "params", ()):
        one = {"name": param.name, "constexpr": bool(param.is_constexpr)}
        default = getattr(getattr(param, "_param", None), "default", inspect.Parameter.empty)
        if default is not inspect.Parameter.empty:
            one["default"] = plain(getattr(default, "value", default))
        listed.append(one)
    return listed


def functions_among(constants: Any) -> list[Any]:
    """The functions among the arguments that a kernel was compiled for."""
    return [value for value in constants.values() if _is_callable(value)] if hasattr(constants, "values") else []


class Uses:
    """The external names of a kernel, transitively: the functions that it calls and the globals that they read.

    Args:
        fn: the kernel.
        given: functions that it gets as arguments.
    """

    def __init__(self, fn: Any, given: Iterable[Any] = ()) -> None:
        self.dependencies: list[dict[str, Any]] = []
        self.globals: list[dict[str, Any]] = []
        self._seen = {id(fn)}
        self._visit(fn, _without_tuning(_tree(fn)))
        for one in given:
            self._depend(one)
            if _is_of_triton(one):
                function = getattr(one, "fn", one)
                self._add(function.__name__, getattr(fn, "fn", fn).__name__, "import", f"{function.__module__}:{function.__name__}")

    def _visit(self, fn: Any, tree: ast.AST) -> None:
        function = getattr(fn, "fn", fn)
        owner = function.__name__
        for name, value in _references(tree, function):
            if _is_callable(value):
                self._depend(value)
                called = getattr(value, "fn", value).__name__
                if _is_of_triton(value):
                    self._add(name, owner, "import", f"{getattr(value, '__module__', '')}:{called}")
                elif called != name and "." not in name:
                    self._add(name, owner, "alias", called)
            elif inspect.ismodule(value):
                self._add(name, owner, "module", value.__name__)
            elif _is_constant(value):
                value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
                self._add(name, owner, type(value).__name__, plain(value))
            elif isinstance(value, type) and value.__module__ != "builtins":
                self._add(name, owner, "import", f"{value.__module__}:{value.__qualname__}")

    def _add(self, name: str, owner: str, kind: str, value: Any) -> None:
        entry = {"name": name, "owner": owner, "type": kind, "value": value}
        if entry not in self.globals:
            self.globals.append(entry)

    def _depend(self, value: Any) -> None:
        function = getattr(value, "fn", value)
        module = str(getattr(function, "__module__", ""))
        if id(value) in self._seen or _is_of_triton(value):
            return
        self._seen.add(id(value))
        lines, first = _lines(value)
        self.dependencies.append({"name": function.__name__, "module": module, "file": inspect.getfile(function), "line": first,
                                  "code": "".join(lines), "kind": _kind(value)})
        self._visit(value, _tree(value))


def _is_callable(value: Any) -> bool:
    return inspect.isfunction(value) or any(base.__name__ in ("JITFunction", "JITCallable", "ConstexprFunction") for base in type(value).__mro__)


def _kind(value: Any) -> str:
    names = {base.__name__ for base in type(value).__mro__}
    return "constexpr_function" if "ConstexprFunction" in names else "jit" if names & {"JITFunction", "JITCallable"} else "python"


def _is_of_triton(value: Any) -> bool:
    return str(getattr(getattr(value, "fn", value), "__module__", "")).split(".")[0] == "triton"


def _is_constant(value: Any) -> bool:
    return not isinstance(value, type) and not inspect.ismodule(value) and not inspect.isbuiltin(value)


def _references(tree: ast.AST, function: Any) -> Iterator[tuple[str, Any]]:
    """The global names and the attributes of modules that a function's source reads, with their values."""
    known = dict(getattr(function, "__globals__", {}))
    known.update(inspect.getclosurevars(function).nonlocals if function.__closure__ else {})
    local = set(function.__code__.co_varnames)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in local and node.id in known:
            yield node.id, known[node.id]
        elif isinstance(node, ast.Attribute):
            path = _dotted(node)
            if path and path[0] in known and path[0] not in local:
                value = _resolve(known[path[0]], path[1:])
                if value is not None:
                    yield ".".join(path), value


def _tree(fn: Any) -> ast.AST:
    from textwrap import dedent
    return ast.parse(dedent("".join(_lines(fn)[0])))


def _without_tuning(tree: ast.AST) -> ast.AST:
    """A kernel's source without the decorators that choose configurations and name launches: they read much of the program
    (lists of configurations, a benchmark's loop) and are not needed to compile the kernel for one configuration."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            function.decorator_list = function.decorator_list[-1:]
            for decorator in function.decorator_list:
                if isinstance(decorator, ast.Call):
                    decorator.keywords = [k for k in decorator.keywords if k.arg not in ("launch_metadata", "repr")]
            break
    return tree


def _dotted(node: ast.AST) -> list[str]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else []


def _resolve(value: Any, names: list[str]) -> Any:
    """The value of ``module.name``, for modules outside of Triton; attributes of classes and objects are ignored."""
    for name in names:
        if not inspect.ismodule(value) or value.__name__.split(".")[0] == "triton":
            return None
        value = getattr(value, name, None)
    return value


def stack(skip: int) -> list[tuple[str, int, str]]:
    """The calling thread's frames, outermost first, without this package's own."""
    here = os.path.dirname(os.path.abspath(__file__)) + os.sep
    frames = []
    frame = sys._getframe(skip)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(here):
            frames.append((file, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    frames.reverse()
    return frames
