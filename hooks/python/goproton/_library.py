"""Finds libproton.so and loads it as the extension module ``goproton._native``.

One file is both the CUDA injection library and the extension module. Loading it starts the Go runtime, so that
happens at the first ``start`` and never at import. Modules that use the native side (scope, state) register a callback
with :func:`when_loaded`.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

NAME = "goproton._native"

# The functions that this package calls. A library without one of them is another version.
REQUIRED = ("scope", "cpu_timed_scope", "enter_scope", "exit_scope", "enter_state", "exit_state", "enter_op", "exit_op",
            "record_scope", "active", "leaf", "add_metrics", "add_metrics_at", "launch_enter", "launch_exit", "last_op",
            "set_tensor_handler", "set_launch_filter", "call", "trace_open", "trace_close", "trace_launch", "trace_rank",
            "trace_watch", "inside_take", "inside_launched", "inside_launched_in", "inside_keep", "inside_last",
            "tensor_metric", "companion", "follow", "unfollow", "following", "scopes_of_task", "states_of_task", "names_of_task")

native: Any = None  # the module; None until it is loaded
problem: str | None = None

_is_child = False
_lock = allocate_lock()  # held while loading
_waiting: list[Callable[[ModuleType], None]] = []
_fork_callbacks: list[Callable[[], None]] = []


def candidates() -> list[str]:
    """The files to try, in order. If PROTON_LIB is set, it is the only one: an explicit choice has no fallback."""
    explicit = os.environ.get("PROTON_LIB")
    if explicit:
        return [explicit]
    here = os.path.dirname(os.path.abspath(__file__))
    above = os.path.dirname(here)
    return [os.path.join(folder, "libproton.so") for folder in (here, above, os.path.dirname(above))]


def load(path: str | None = None) -> ModuleType | None:
    """The native module, loaded if needed; None if that is impossible, with the reason in ``problem``.

    A failure is remembered: the second call does not search again. A path is tried alone, without a memory of failures.
    """
    global problem
    if native is None and (problem is None or path):
        with _lock:
            problem = None
            _load(path)
    return native


def _load(path: str | None) -> None:
    global problem
    if native is not None or problem is not None:
        return  # another thread has loaded it
    try:
        module = _import(path)
    except Exception as error:
        problem = str(error)
        return
    missing = [name for name in REQUIRED if not hasattr(module, name)]
    if missing:
        problem = (f"{getattr(module, '__file__', NAME)} does not have {', '.join(missing)}: it is another version of "
                   "libproton.so; use the one that was built with this package")
        return
    _adopt(module)


def when_loaded(callback: Callable[[ModuleType], None]) -> None:
    """Calls ``callback(native)`` when the library is loaded, or now if it is."""
    if native is not None:
        callback(native)
    else:
        _waiting.append(callback)


def after_fork(callback: Callable[[], None]) -> None:
    """Calls ``callback()`` in forked children, in which the native side records nothing."""
    _fork_callbacks.append(callback)


IN_CHILD = ("this process was forked after goproton had begun its work, and nothing is recorded in it: start it by multiprocessing's spawn or "
            "forkserver")


def forked() -> bool:
    """Whether this process is a forked child of one with the native side, which records nothing here."""
    return _is_child


def call(method: str, **params: Any) -> Any:
    """One control call into Go: a method with JSON parameters and a JSON result. Errors raise the exception that Go names."""
    import json
    return json.loads(native.call(method, json.dumps(params)))


def _import(path: str | None) -> ModuleType:
    present = sys.modules.get(NAME)
    if present is not None:
        return present
    if sys.implementation.name != "cpython":
        raise ImportError(f"{sys.implementation.name} is not supported: run the program with CPython 3.9 or newer")
    path = path or next((p for p in candidates() if os.path.exists(p)), None)
    if path is None:
        raise ImportError(f"libproton.so was not found (looked for {', '.join(candidates())}): set PROTON_LIB to its path")
    import importlib.util
    from importlib.machinery import ExtensionFileLoader
    loader = ExtensionFileLoader(NAME, path)
    spec = importlib.util.spec_from_file_location(NAME, path, loader=loader)
    assert spec is not None, "a loader was given"
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise ImportError(f"loading {path}: {error}") from error
    return module


def _adopt(module: ModuleType) -> None:
    global native
    sys.modules[NAME] = module
    native = module
    os.register_at_fork(after_in_child=_in_child)
    for callback in _waiting:
        callback(module)
    _waiting.clear()
    from . import _tasks
    _tasks.install(module)


def _in_child() -> None:
    global _is_child
    _is_child = True
    for callback in _fork_callbacks:
        callback()
