"""``triton.profiler.language``: marks inside kernels, for intra-kernel profiling.

This version has no intra-kernel profiling, so the marks do nothing: a kernel that uses them compiles to the same code as
without them. Needs Triton.
"""

from triton.language import core as _core
from triton.language.core import builtin

# Triton accepts other functions in a kernel only if their module makes them look like its own.
_MODULE = "triton.profiler.language"

_semantics = {"gluon"}


def _mark(function):
    function.__module__ = _MODULE
    marked = builtin(function)
    marked.__module__ = _MODULE
    return marked


@_mark
def enter_scope(name: _core.constexpr, _semantic=None, _builder=None):
    """Begins a range inside a kernel."""


@_mark
def exit_scope(name: _core.constexpr, _semantic=None, _builder=None):
    """Ends a range inside a kernel."""


class scope:
    """``with pl.scope("load"):`` inside a kernel: a range around the block."""

    __module__ = _MODULE

    def __init__(self, name, _semantic=None, _builder=None):
        self.name = name

    def __enter__(self):
        return None

    def __exit__(self, exc_type, exc_value, traceback):
        return None


def record(is_start, scope_name, semantic):
    """Writes one end of a range; nothing while intra-kernel profiling is off."""


if hasattr(_core, "base_value") and hasattr(_core, "base_type"):

    class _EventType(_core.base_type):
        """Kernel-side type of an event: it has no representation in the IR while intra-kernel profiling is off."""

        def __eq__(self, other):
            return isinstance(other, _EventType)

        def __hash__(self):
            return hash(_EventType)

        def __str__(self):
            return "proton.event"

        def mangle(self):
            return "PEvent"

        def _flatten_ir_types(self, builder, out):
            return None

        def _unflatten_ir(self, handles, cursor):
            return Event(), cursor

    class Event(_core.base_value):
        """An asynchronous range, from :func:`allocate_event`, for :func:`start_event` and :func:`end_event` only."""

        __module__ = _MODULE

        def __init__(self, handle=None):
            self.handle = handle
            self.type = _EventType()

        def _flatten_ir(self, handles):
            return None

        def _set_name(self, builder, name):
            return None

    @_mark
    def allocate_event(name: _core.constexpr, _semantic=None, _builder=None):
        """Makes an event: a range whose ends may be in different loops, functions or warps."""
        return Event()

    @_mark
    def start_event(event, _semantic=None, _builder=None):
        """Begins an event's range."""

    @_mark
    def end_event(event, _semantic=None, _builder=None):
        """Ends an event's range."""


def enable_semantic(semantic_name: str) -> None:
    """Allows marks in kernels of one language: "triton" or "gluon" (on by default)."""
    _semantics.add(_known(semantic_name))


def disable_semantic(semantic_name: str) -> None:
    """Forbids marks in kernels of one language again."""
    _semantics.remove(_known(semantic_name))


def _known(semantic_name: str) -> str:
    if semantic_name not in ("triton", "gluon"):
        raise KeyError(semantic_name)
    return semantic_name
