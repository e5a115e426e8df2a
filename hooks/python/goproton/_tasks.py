"""Scopes follow the tasks of asyncio: what a task holds over ``await`` is open while the task runs, and not while others do.

The steps of tasks are callbacks of the event loop, each with the context of its task. The scopes that a task holds are in that context.
"""

from __future__ import annotations

import sys

from . import _imports
from .flags import flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def install(native: ModuleType) -> None:
    """Has scopes follow tasks, once a module with an event loop is imported."""
    _imports.when_imported("asyncio.events", lambda: _follow_handles(native))
    _imports.when_imported("uvloop", lambda: _follow_uvloop(native))


def is_asynchronous(function: Any) -> bool:
    """Whether a function is declared with ``async def``, so that its body runs after the call."""
    coroutine = 0x80  # inspect.CO_COROUTINE, without an import of 10 ms
    return bool(getattr(getattr(function, "__code__", None), "co_flags", 0) & coroutine)


def _scopes_can_be_of_tasks() -> None:
    sys.modules[f"{__package__}.scope"]._loops = True  # type: ignore[attr-defined]


def _follow_handles(native: ModuleType) -> None:
    from functools import wraps
    handle: Any = sys.modules["asyncio.events"].Handle
    run, scopes, states = handle._run, native.scopes_of_task, native.states_of_task

    @wraps(run)
    def _run(self):
        if not flags.profiling_on:
            return run(self)
        context = self._context
        before = native.follow(context.get(scopes), context.get(states))
        try:
            return run(self)
        finally:
            native.unfollow(before)

    handle._run = _run
    _scopes_can_be_of_tasks()


def _follow_uvloop(native: ModuleType) -> None:
    """Its handles are not Python's. It runs what is passed to ``call_soon``, as steps of tasks are, in the context that is passed too."""
    from functools import wraps
    loop: Any = sys.modules["uvloop"].Loop
    call_soon, scopes, states = loop.call_soon, native.scopes_of_task, native.states_of_task

    def step(callback, *args):
        if not flags.profiling_on:
            return callback(*args)
        before = native.follow(scopes.get(None), states.get(None))
        try:
            return callback(*args)
        finally:
            native.unfollow(before)

    @wraps(call_soon)
    def wrapped(self, callback, *args, context=None):
        return call_soon(self, step, callback, *args, context=context)

    loop.call_soon = wrapped
    _scopes_can_be_of_tasks()
