"""The source of a kernel, the helpers that it calls and the constants that it reads."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import symtable
import sys
import textwrap
from enum import EnumMeta
from types import ModuleType

from .arguments import Describer, is_function, parts, path
from .outline import holds_tensors
from .values import is_constexpr, is_dtype, plain

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


def _lines(of: Any) -> tuple[list[str], int]:
    """The source lines of a function or class, with decorators, and the number of the first."""
    if isinstance(of, type):
        return _class_lines(of)
    if hasattr(of, "raw_src") and hasattr(of, "starting_line_number"):
        return of.raw_src, of.starting_line_number
    return inspect.getsourcelines(getattr(of, "fn", of))


def _class_lines(of: type) -> tuple[list[str], int]:
    """Those of the last class of its name: inspect takes the line from the class, which a decorator may have replaced."""
    lines = linecache.getlines(inspect.getfile(of))
    found: list[ast.ClassDef] = []

    def search(node: ast.AST, names: list[str]) -> None:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                search(child, names)
            elif child.name == names[0] and len(names) > 1:
                search(child, names[1:])
            elif child.name == names[0] and isinstance(child, ast.ClassDef):
                found.append(child)

    search(ast.parse("".join(lines)), of.__qualname__.replace("<locals>.", "").split("."))
    if not found:
        raise OSError(f"there is no class {of.__qualname__} in {inspect.getfile(of)}")
    first = min([found[-1].lineno, *(one.lineno for one in found[-1].decorator_list)])
    return lines[first - 1:found[-1].end_lineno], first


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


def options(fn: Any) -> dict[str, Any]:
    """The options of triton.jit that a function has, however it got them."""
    given = {name: getattr(fn, name, None) for name in ("do_not_specialize", "do_not_specialize_on_alignment", "noinline", "debug")}
    return {name: plain(value) for name, value in given.items() if value}


_MOST_DEPENDENCIES = 1000  # of a kernel, which then needs more of its program than a script may have


class Uses:
    """The external names of a kernel, transitively: the functions and classes that it uses, and the globals that they read.

    Args:
        fn: the kernel.
        constants: the values that it was compiled for, in which there may be functions and objects of the program's classes.
        tuning: whether the decorators of autotuner and heuristics belong to it.
    """

    def __init__(self, fn: Any, constants: Iterable[Any] = (), tuning: bool = False) -> None:
        self.dependencies: list[dict[str, Any]] = []
        self.globals: list[dict[str, Any]] = []
        self._seen = {id(fn)}
        self._visit(fn, tuning)
        for one in constants:
            self._need(one, getattr(fn, "fn", fn).__name__)

    def _visit(self, of: Any, tuning: bool = False) -> None:
        source = textwrap.dedent("".join(_lines(of)[0]))
        tree = ast.parse(source)
        if kind(of) in ("jit", "gluon"):
            _remove_decorators(tree, tuning)
        named = getattr(of, "fn", of)
        outside, known = _outside(source), _known(named)
        for node in ast.walk(tree):
            dotted = _dotted(node)
            if dotted and isinstance(node.ctx, ast.Load) and dotted[0] in outside and dotted[0] in known:
                value = _resolve(known[dotted[0]], dotted[1:])
                if value is not _UNKNOWN:
                    self._refer(".".join(dotted), value, named.__name__)

    def _refer(self, name: str, value: Any, owner: str) -> None:
        """Notes what a name stands for."""
        if inspect.ismodule(value):
            self._add(name, owner, "module", value.__name__)
        elif has_path(value):
            self._depend(value)
            defined = getattr(value, "fn", value).__name__
            if is_installed(value):
                self._add(name, owner, "import", path(value))
            elif defined != name:
                self._add(name, owner, "alias", defined)
        elif type(value).__module__ == "typing" or type(value).__name__ in ("GenericAlias", "UnionType"):
            self._add(name, owner, "typing", str(value))
        else:
            self._need(value, owner)
            self._add_constant(name, owner, value)

    def _need(self, value: Any, owner: str) -> None:
        for one in needed_by(value):
            self._depend(one)
            if is_installed(one):
                self._add(getattr(one, "fn", one).__name__, owner, "import", path(one))

    def _add_constant(self, name: str, owner: str, value: Any) -> None:
        described = _describer.description(value)
        more = {"constexpr": True} if described.pop("constexpr", False) else {}
        if more:
            value = value.value
        if not described.keys() <= {"type", "value", "repr", "length"}:
            more["described"] = described
        elif isinstance(value, (list, tuple, set, dict)) or holds_tensors(value):
            value = described["repr"]  # too large, or of what has no value
        self._add(name, owner, type(value).__name__, plain(value), more)

    def _add(self, name: str, owner: str, kind: str, value: Any, more: dict[str, Any] | None = None) -> None:
        entry = {"name": name, "owner": owner, "type": kind, "value": value, **(more or {})}
        if entry not in self.globals:
            self.globals.append(entry)

    def _depend(self, value: Any) -> None:
        if id(value) in self._seen or is_installed(value):
            return
        if len(self.dependencies) == _MOST_DEPENDENCIES:
            raise ValueError(f"{_MOST_DEPENDENCIES} functions and classes, or more")
        self._seen.add(id(value))
        named = getattr(value, "fn", value)
        entry = {"name": named.__name__, "module": str(named.__module__), "qualname": named.__qualname__, "kind": kind(value)}
        self.dependencies.append(entry)
        try:
            lines, first = _lines(value)
            ast.parse(textwrap.dedent("".join(lines)))
        except (OSError, TypeError, ValueError, SyntaxError):  # made by a call, such as namedtuple("Pair", "a b"), or by exec
            entry.update(_without_source(value))
            return
        entry.update(file=inspect.getfile(named), line=first, code="".join(lines))
        if entry["kind"] in ("jit", "gluon"):
            entry["options"] = options(value)
        self._visit(value)


_describer = Describer()
_UNKNOWN = object()


def needed_by(value: Any) -> Iterator[Any]:
    """The functions in a value, and the classes of its objects, without those that a script has anyway."""
    for one in parts(value):
        needed = one if has_path(one) else type(one)
        if needed is one or not (needed.__module__.split(".")[0] in ("builtins", "torch", "numpy") or is_constexpr(needed) or is_dtype(needed)):
            yield needed


def has_path(value: Any) -> bool:
    """Whether a value is a function or a class, which a script defines or imports."""
    if isinstance(value, type) or is_function(type(value)):
        return True
    return not inspect.ismethod(value) and isinstance(getattr(value, "__qualname__", None), str) and isinstance(getattr(value, "__module__", None), str)


def kind(value: Any) -> str:
    names = {base.__name__ for base in type(value).__mro__}
    for name, kind in ("type", "class"), ("ConstexprFunction", "constexpr_function"), ("GluonJITFunction", "gluon"):
        if name in names:
            return kind
    return "jit" if names & {"JITFunction", "JITCallable"} else "python"


def _without_source(value: Any) -> dict[str, Any]:
    """Enough to make a class that has no source: the members of an enumeration, or the fields of a named tuple."""
    if isinstance(value, EnumMeta):
        base = next(one.__name__ for one in value.__mro__ if one.__module__ == "enum")
        return {"base": base, "members": {name: plain(one.value) for name, one in value.__members__.items()}}
    named = isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")
    return {"base": "tuple", "members": list(value._fields)} if named else {}


_LIBRARY = os.path.dirname(os.__file__) + os.sep


def is_installed(value: Any) -> bool:
    """Whether a function or class comes with Python, torch, Triton or numpy, so that a script imports it."""
    value = inspect.unwrap(getattr(value, "fn", value))
    file = getattr(getattr(value, "__code__", None), "co_filename", None)
    return _comes_with(str(value.__module__), file)


def _comes_with(module: str, file: str | None = None) -> bool:
    root = module.split(".")[0]
    package = str(getattr(sys.modules.get(root), "__file__", None) or "")
    if root == "torch":  # Inductor calls the modules so that it writes elsewhere
        return not file or file.startswith(os.path.dirname(package))
    if root in ("triton", "numpy") or root in sys.builtin_module_names:
        return True
    return package.startswith(_LIBRARY) and f"-packages{os.sep}" not in package


def _known(named: Any) -> dict[str, Any]:
    """The values of the names that a function or class finds outside."""
    known = dict(vars(sys.modules.get(named.__module__, object)))
    for one in vars(named).values() if isinstance(named, type) else (named, ):
        function = inspect.unwrap(getattr(one, "fget", None) or getattr(one, "__func__", getattr(one, "fn", one)))
        if inspect.isfunction(function) and function.__module__ == named.__module__:
            known.update(function.__globals__)
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
                try:
                    known[name] = cell.cell_contents
                except ValueError:
                    pass  # not bound yet
    return known


def _outside(source: str) -> set[str]:
    """The names that a source reads and does not bind itself."""
    found = set()

    def read(table: symtable.SymbolTable, top: bool = False) -> None:
        found.update(one.get_name() for one in table.get_symbols() if one.is_referenced() and (top or one.is_global()))
        for inner in table.get_children():
            read(inner)

    read(symtable.symtable(source, "source", "exec"), top=True)
    return found


def _remove_decorators(tree: ast.Module, tuning: bool) -> None:
    """Removes decorators from a kernel's source: those that choose configurations read much of the program (lists of
    configurations, a benchmark's loop), and are not needed to compile the kernel for one of them. The options of triton.jit are
    recorded by their values."""
    function = tree.body[0]
    function.decorator_list = function.decorator_list[:-1] if tuning else []


def _dotted(node: ast.AST) -> list[str]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else []


def _resolve(value: Any, names: list[str]) -> Any:
    """The value of ``module.name``, for the program's own modules; attributes of classes and objects are ignored."""
    for name in names:
        if not inspect.ismodule(value) or _comes_with(value.__name__):
            return _UNKNOWN
        value = getattr(value, name, _UNKNOWN)
    return value


def stack(skip: int) -> list[tuple[str, int, str]]:
    """The calling thread's frames, outermost first, without this package's own."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    frames = []
    frame = sys._getframe(skip)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(here):
            frames.append((file, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    frames.reverse()
    return frames
