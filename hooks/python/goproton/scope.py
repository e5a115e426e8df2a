"""Scopes: named frames that a program puts around the work it launches.

A scope that was made before the library was loaded is a small Python object. After that, calling ``scope`` makes the
native object without a Python frame in between. The switch is the metaclass's ``__call__``: Python looks it up on the
type of ``scope``, so names that were imported before ``start`` switch too.
"""

from __future__ import annotations

from _thread import _local

from . import _imports, _library
from .flags import flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Mapping


class _ScopeType(type):
    """Type of ``scope``. Its ``__call__`` is set to the native scope when the library is loaded."""

    def __instancecheck__(cls, thing: Any) -> bool:
        return type.__instancecheck__(cls, thing) or isinstance(thing, cls.__dict__.get("_native", ()))


class _TimedScopeType(_ScopeType):
    """Type of ``cpu_timed_scope``: a separate metaclass, because each metaclass has one ``__call__``."""


class _DerivedScopeType(_ScopeType):
    """Type of classes that users derive from ``scope``: they keep Python's object creation."""

    __call__ = type.__call__


class scope(metaclass=_ScopeType):
    """Names the work launched inside it; a context manager and a decorator.

        with proton.scope("attention", {"tokens": 4096}):
            ...

        @proton.scope("step")
        def step(): ...

    Kernels launched by this thread inside the block appear below a frame of this name. While no session is active, a
    scope costs almost nothing.

    Args:
        name: the frame's text.
        metrics: values added to the frame at entry: numbers, flat lists of numbers, or tensors (those on a GPU are
            read without waiting for the GPU). A metric whose name ends in "(exc)" is exclusive, one in "(pty)" is a
            property and is set instead of added; the values of both may be texts. A unit is part of the name: "latency (ns)".

    Attributes:
        id: number of the most recent entry; None before the first entry and while nothing is profiled.

    Raises:
        ValueError: at entry, if a metric that was an integer on this frame is now a float, or the reverse.
        RuntimeError: at exit, if an inner scope is still open.
    """

    _made_by = "scope"
    _native: Any = ()
    id: int | None = None
    _inner: Any = None  # the native scope, which knows the entries of each thread and task

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if type(cls) is not _TimedScopeType or "_made_by" not in cls.__dict__:
            cls.__class__ = _DerivedScopeType  # type: ignore[assignment, method-assign]

    def __init__(self, name: str, metrics: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self.metrics = metrics

    def __enter__(self):
        if flags.profiling_on:
            if self._inner is None:
                self._inner = _made[self._made_by](self.name, self.metrics)
            inner = self._inner
            inner.name, inner.metrics = self.name, self.metrics
            inner.__enter__()
            self.id = inner.id
        return self

    def __exit__(self, exc_type, exc_value, traceback) -> None:
        if self._inner is not None:
            self._inner.__exit__(exc_type, exc_value, traceback)

    def __call__(self, func: Callable) -> Callable:
        # A fresh scope per call: the decorated function may recurse and may run on several threads.
        from functools import wraps

        from ._tasks import is_asynchronous

        def inside(*args: Any, **kwargs: Any) -> Any:
            if not flags.profiling_on:
                return func(*args, **kwargs)
            with type(self)(self.name, self.metrics):
                return func(*args, **kwargs)

        async def inside_task(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.name, self.metrics):
                return await func(*args, **kwargs)

        return wraps(func)(inside_task if is_asynchronous(func) else inside)


class cpu_timed_scope(scope, metaclass=_TimedScopeType):
    """A scope that also measures the wall time spent in it, as the exclusive metric ``cpu_time (ns)``.

    Args:
        name: the frame's text.
        metrics: as for :class:`scope`.

    Raises:
        ValueError: ``metrics`` has the key "cpu_time".
    """

    _made_by = "cpu_timed_scope"

    def __init__(self, name: str, metrics: Mapping[str, Any] | None = None) -> None:
        if metrics and "cpu_time" in metrics:
            raise ValueError("The metric name 'cpu_time' is reserved.")
        self.name = name
        self.metrics = metrics


class _OnThread(_local):
    """What enter_scope entered on this thread, innermost first: (_run, number, name, opened, what is around it), or None. opened is 0 if the call
    path did not get the scope, as while every session is deactivated: its exit must not close the scope around it. Of a task, native.names_of_task
    has the same."""

    innermost: Any = None


_on_thread = _OnThread()
_loops = False  # whether a module with an event loop has been imported, see _tasks.py
_run = 0  # counts finalize() calls: scopes left open by an earlier run are forgotten


def forget_open_scopes() -> None:
    """Called when all sessions are finalized: scopes that are still open do not belong to later sessions."""
    global _run
    _run += 1


def enter_scope(name: str, *, metrics: Mapping[str, Any] | None = None) -> int | None:
    """Opens a scope without a ``with`` block; :func:`exit_scope` on the same thread closes it.

    Args:
        name: the frame's text.
        metrics: as for :class:`scope`.

    Returns:
        The number of this entry, counted from 1 in the process, or None if nothing is profiled.
    """
    if not flags.profiling_on:
        return None
    native = _library.native
    number = native.record_scope()
    opened = native.enter_scope(name)
    in_task = _loops and native.following()
    entry = (_run, number, name, opened, native.names_of_task.get() if in_task else _on_thread.innermost)
    if in_task:
        native.names_of_task.set(entry)
    else:
        _on_thread.innermost = entry
    if metrics and opened:
        native.add_metrics(metrics)
    return number


def exit_scope(name: str | None = None, *, metrics: Mapping[str, Any] | None = None) -> int | None:
    """Closes the scope that :func:`enter_scope` opened last on this thread.

    Args:
        name: if given, must be that scope's name.
        metrics: added to the scope before it closes.

    Returns:
        The number that enter_scope returned for the scope, or None if nothing is profiled.

    Raises:
        ValueError: the innermost scope has another name; it stays open.
        IndexError: no scope is open on this thread.
    """
    if not flags.profiling_on:
        return None
    native = _library.native
    in_task = _loops and native.following()
    entry = native.names_of_task.get() if in_task else _on_thread.innermost
    if not entry or entry[0] != _run:
        raise IndexError("exit_scope: no scope is open on this thread; each exit_scope needs an enter_scope before it")
    _, number, innermost, opened, outer = entry
    if name and name != innermost:
        raise ValueError(f"Scope name mismatch: {name} != {innermost}")
    if metrics and opened:
        native.add_metrics(metrics)
    if in_task:
        native.names_of_task.set(outer)
    else:
        _on_thread.innermost = outer
    if opened:
        native.exit_scope()
    return number


_made: dict[str, Any] = {}  # class name -> what makes a native scope of that kind


def _use_native(native: ModuleType) -> None:
    for ours, metaclass in ((scope, _ScopeType), (cpu_timed_scope, _TimedScopeType)):
        theirs = getattr(native, ours._made_by)
        _made[ours._made_by] = theirs
        ours._native = theirs
        metaclass.__call__ = theirs  # type: ignore[method-assign]
    native.set_tensor_handler(_take_tensor)
    _imports.when_imported("torch", _torch_is_here)


def _torch_is_here() -> None:
    from ._torch import backward
    backward.lend()



def _take_tensor(name: str, tensor: Any, leaf: tuple) -> None:
    # The first tensor replaces this with the real handler: most programs have no tensor metrics.
    from ._torch import tensors
    _library.native.set_tensor_handler(tensors.take)
    tensors.take(name, tensor, leaf)


_library.when_loaded(_use_native)
