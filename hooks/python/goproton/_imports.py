"""Runs something right after a module has been imported, without importing it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

_waiting: dict[str, list[Callable[[], None]]] = {}


def when_imported(name: str, callback: Callable[[], None]) -> None:
    """Calls ``callback()`` when module ``name`` has been executed, or now if it has."""
    if name in sys.modules:
        callback()
        return
    if not _waiting:
        sys.meta_path.insert(0, _Watcher)
    callbacks = _waiting.setdefault(name, [])
    if callback not in callbacks:
        callbacks.append(callback)


class _Watcher:
    """A finder that uses the other finders and runs the callbacks after the module is executed."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in _waiting:
            return None
        spec = _found_by_others(name, path, target)
        if spec is not None and spec.loader is not None:
            _after_exec(spec.loader, name)
        return spec


def _found_by_others(name, path, target):
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if finder is _Watcher or find is None:
            continue
        spec = find(name, path, target)
        if spec is not None:
            return spec
    return None


def _after_exec(loader, name: str) -> None:
    # An attribute on the loader object shadows its method: the loader keeps its type, which inspect and
    # importlib.resources look at. A loader that is a class, or has no attributes, is left alone: no callback then.
    if isinstance(loader, type):
        return
    original = loader.exec_module

    def exec_module(module):
        del loader.exec_module
        original(module)
        _run(name)

    try:
        loader.exec_module = exec_module
    except AttributeError:
        pass


def _run(name: str) -> None:
    callbacks = _waiting.pop(name, ())
    if not _waiting and _Watcher in sys.meta_path:
        sys.meta_path.remove(_Watcher)
    # The module is executed, but importlib would let other threads wait for it, and a callback may wait for a thread: torch 2.4
    # imports torch in some of its functions.
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is not None:
        spec._initializing = False
    for callback in callbacks:
        try:
            callback()
        except Exception as error:  # the program's import itself has succeeded
            print(f"goproton: after the import of {name}: {error!r}; please report this", file=sys.stderr)
