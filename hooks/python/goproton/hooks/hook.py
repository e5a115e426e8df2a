"""The interface of hooks, and the manager that calls them for sessions."""

from __future__ import annotations

import sys
from collections import defaultdict
from threading import RLock

from .. import _imports, _library
from .._triton import slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class Hook:
    """Called around every Triton kernel launch of the sessions it is registered for.

    Attributes:
        priority: hooks of higher priority are entered first and left last.
    """

    priority: int = 0

    def init_handle(self, module: Any, function: Any, name: str, metadata_group: dict[str, str], hash: str) -> None:
        """A kernel was loaded onto a device."""

    def destroy_handle(self, module: Any, function: Any, name: str, metadata_group: dict[str, str], hash: str) -> None:
        """A kernel is about to be unloaded: its function handle may be reused."""

    def enter(self, metadata: Any) -> None:
        """A kernel is about to be launched; ``metadata.get()`` evaluates its metadata: name, function, stream, ..."""
        raise NotImplementedError

    def exit(self, metadata: Any) -> None:
        """The launch has been made."""
        raise NotImplementedError

    def activate(self) -> None:
        """Called when the first session uses this hook."""
        raise NotImplementedError

    def deactivate(self) -> None:
        """Called when no session uses this hook any longer."""
        raise NotImplementedError

    def native_heads(self) -> dict[str, Callable] | None:
        """Functions that Triton may call instead of HookManager's while this is the only hook, by slot; None for none."""
        return None


class HookManager:
    """The active hooks of each session, and the functions through which Triton calls them.

    Attributes:
        active_hooks: highest priority first.
        session_hooks: session -> hook -> whether that session is active.
    """

    active_hooks: list[Hook] = []
    session_hooks: dict[int, dict[Hook, bool]] = defaultdict(lambda: defaultdict(bool))

    _lock = RLock()  # guards the two above and _attached; a hook's activate may call back into the manager
    _attached: dict[str, slots.Attachment] = {}

    @staticmethod
    def register(hook: Hook, session: int) -> None:
        """Adds a hook to a session and activates it."""
        with HookManager._lock:
            HookManager.session_hooks[session][hook] = True
            HookManager._update()

    @staticmethod
    def activate(session: int | None = None) -> None:
        """Activates the hooks of a session; None means all sessions."""
        HookManager._set(session, True)

    @staticmethod
    def deactivate(session: int | None = None) -> None:
        """Deactivates the hooks of a session, unless other sessions use them; None means all sessions."""
        HookManager._set(session, False)

    @staticmethod
    def unregister(session: int | None = None) -> None:
        """Removes the hooks of a session; None means all sessions."""
        with HookManager._lock:
            if session is None:
                HookManager.session_hooks.clear()
            else:
                HookManager.session_hooks.pop(session, None)
            HookManager._update()

    @staticmethod
    def refresh() -> None:
        """Updates Triton's slots: after Triton was imported, or when another tool has replaced a slot's value."""
        with HookManager._lock:
            HookManager._update()

    # ---- what Triton calls when other hooks than the launch hook are active ----

    @staticmethod
    def enter(metadata: Any) -> None:
        """A launch begins: enters hooks by priority. If one raises, those entered before it are exited."""
        hooks = list(HookManager.active_hooks)
        for position, hook in enumerate(hooks):
            try:
                hook.enter(metadata)
            except BaseException:
                # Triton skips its exit hooks after an error, so the hooks that were entered are exited here.
                for entered in reversed(hooks[:position]):
                    entered.exit(metadata)
                raise

    @staticmethod
    def exit(metadata: Any) -> None:
        """A launch was made: exits hooks in the reverse order."""
        for hook in reversed(list(HookManager.active_hooks)):
            hook.exit(metadata)

    @staticmethod
    def init_handle(module: Any, function: Any, name: str, metadata_group: dict[str, str], hash: str) -> None:
        for hook in list(HookManager.active_hooks):
            hook.init_handle(module, function, name, metadata_group, hash)

    @staticmethod
    def destroy_handle(module: Any, function: Any, name: str, metadata_group: dict[str, str], hash: str) -> None:
        for hook in reversed(list(HookManager.active_hooks)):
            hook.destroy_handle(module, function, name, metadata_group, hash)

    # ---- inside; the lock is held ----

    @staticmethod
    def _set(session: int | None, on: bool) -> None:
        with HookManager._lock:
            sessions = list(HookManager.session_hooks) if session is None else [session]
            for one in sessions:
                hooks = HookManager.session_hooks.get(one, {})
                for hook in hooks:
                    hooks[hook] = on
            HookManager._update()

    @staticmethod
    def _update() -> None:
        wanted = [hook for hooks in HookManager.session_hooks.values() for hook, on in hooks.items() if on]
        for hook in [hook for hook in HookManager.active_hooks if hook not in wanted]:
            HookManager.active_hooks.remove(hook)
            hook.deactivate()
        for hook in wanted:
            if hook not in HookManager.active_hooks:
                hook.activate()
                HookManager.active_hooks.append(hook)
        HookManager.active_hooks.sort(key=lambda hook: hook.priority, reverse=True)
        if HookManager.active_hooks and "triton" not in sys.modules:
            _imports.when_imported("triton", HookManager.refresh)
        HookManager._attach(_heads(HookManager.active_hooks) if slots.imported() else {})

    @staticmethod
    def _attach(heads: dict[str, Callable]) -> None:
        attached = HookManager._attached
        for slot, present in list(attached.items()):
            if heads.get(slot) != present.ours or not present.alive():
                attached.pop(slot).detach()
        for slot, head in heads.items():
            added = None if slot in attached else slots.attach(slot, head)
            if added is not None:
                attached[slot] = added


def _heads(hooks: list[Hook]) -> dict[str, Callable]:
    """The functions that Triton calls, by slot."""
    if not hooks:
        return {}
    native = [hook.native_heads() for hook in hooks]
    if all(native):
        return _together(native)
    return {
        slots.ENTER: HookManager.enter,
        slots.EXIT: HookManager.exit,
        slots.LOADED: HookManager.init_handle,
        slots.UNLOAD: HookManager.destroy_handle,
    }


def _together(heads: list[dict[str, Callable]]) -> dict[str, Callable]:
    """The functions that hooks in order of priority have in common. Equal ones are called once."""
    joined: dict[str, list[Callable]] = {}
    for one in heads:
        for slot, function in one.items():
            functions = joined.setdefault(slot, [])
            if function not in functions:
                functions.insert(len(functions) if slot == slots.ENTER else 0, function)
    return {slot: _Joined.of(functions) for slot, functions in joined.items()}


class _Joined:
    """Several functions in the place of one. Equal ones are the same head, so that it stays attached."""

    def __init__(self, functions: tuple[Callable, ...]) -> None:
        self.functions = functions

    @staticmethod
    def of(functions: list[Callable]) -> Callable:
        return functions[0] if len(functions) == 1 else _Joined(tuple(functions))

    def __call__(self, *arguments: Any) -> None:
        for function in self.functions:
            function(*arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Joined) and self.functions == other.functions

    def __hash__(self) -> int:
        return hash(self.functions)


def _forget_in_child() -> None:
    # A thread that does not exist in the child may have held the lock.
    HookManager._lock = RLock()
    for attachment in HookManager._attached.values():
        attachment.detach()
    HookManager._attached.clear()
    HookManager.active_hooks.clear()
    HookManager.session_hooks.clear()


_library.after_fork(_forget_in_child)
