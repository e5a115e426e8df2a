"""Compilations that fail. Triton tells no listener of them: while a trace is written, its compile function is replaced by one that
looks at its errors."""

from __future__ import annotations

import functools
import inspect
import sys

from .arguments import Describer
from .values import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_LONGEST = 64 << 10  # characters of an error's text: ptxas and LLVM may repeat the program


_failed: Callable[[dict[str, Any], BaseException], None] | None = None
_replaced: list[tuple[Any, Any, Any]] = []  # modules, with Triton's function and ours


def attach(failed: Callable[[dict[str, Any], BaseException], None], functions: tuple[type, ...], objects: list[Any]) -> None:
    """Replaces the function in Triton's modules, and in JIT functions that hold it already.

    Args:
        failed: called with the local variables of a compilation that fails, and the error.
        functions: classes of JIT functions.
        objects: those to look at.
    """
    global _failed
    _failed = failed
    modules = [sys.modules.get(name) for name in ("triton.compiler.compiler", "triton.compiler", "triton")]
    theirs = getattr(modules[0], "compile", None)
    if theirs is None or hasattr(theirs, "__goproton__"):
        return
    ours = _around(theirs)
    for one in [*modules, *(o for o in objects if type(o) in functions)]:
        if vars(one).get("compile") is theirs:
            one.compile = ours
            if inspect.ismodule(one):
                _replaced.append((one, theirs, ours))


def leave() -> None:
    """Puts Triton's function back. JIT functions that hold ours keep it; it then only calls Triton's."""
    global _failed
    _failed = None
    for module, theirs, ours in _replaced:
        if module.compile is ours:
            module.compile = theirs
    _replaced.clear()


def _around(theirs: Any) -> Any:

    @functools.wraps(theirs)
    def compile(*args: Any, **kwargs: Any) -> Any:
        try:
            return theirs(*args, **kwargs)
        except Exception as error:
            frame = error.__traceback__
            while frame is not None and frame.tb_frame.f_code is not theirs.__code__:
                frame = frame.tb_next
            if frame is not None and _failed is not None:
                _failed(frame.tb_frame.f_locals, error)
            raise

    compile.__goproton__ = True
    return compile


def described(error: BaseException, stage: str) -> dict[str, Any]:
    """An error, with those that caused it, innermost first."""
    causes, seen = [], {id(error)}
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        causes.insert(0, f"{type(cause).__name__}: {cause}"[:_LONGEST])
        cause = cause.__cause__ or cause.__context__
    return {"type": type(error).__name__, "message": str(error)[:_LONGEST], "stage": stage, "causes": causes}


def inputs(src: Any, options: Any, backend: Any) -> dict[str, Any]:
    """What the compiler was called with, so that it can be called again."""
    describe = Describer().description
    return {
        "signature": [[name, plain(kind)] for name, kind in src.signature.items()],
        "constants": [[list(at), describe(value)] for at, value in src.constants.items()],
        "attrs": [[list(at), plain(value)] for at, value in src.attrs.items()],
        "options": _unusual(options, backend),
    }


def _unusual(options: Any, backend: Any) -> dict[str, Any]:
    """The options that are not those that the compiler takes by itself."""
    usual = vars(backend.parse_options({}))
    return {name: plain(value) for name, value in vars(options).items() if usual.get(name) != value}
