"""The slots of Triton's launch hooks, from Triton 3.0 to 3.9, found by inspection instead of by version.

    3.0 - 3.3   one callable or None, class attributes of triton.compiler.CompiledKernel
    3.4         one callable or None, attributes of triton.knobs.runtime
    3.5 -       a chain with add and remove, attributes of triton.knobs.runtime

Another tool may set these slots, before or after this module. Its hook is called too, and stays when ours is removed.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

ENTER = "launch_enter_hook"
EXIT = "launch_exit_hook"
LOADED = "kernel_load_end_hook"
UNLOAD = "kernel_unload_hook"


def imported() -> bool:
    """Whether Triton is imported and has hooks."""
    return _holder(ENTER) is not None


def attach(slot: str, ours: Callable) -> Attachment | None:
    """Puts ``ours`` into one of Triton's hook slots; None when this Triton does not have the slot."""
    holder = _holder(slot)
    if holder is None or not hasattr(holder, slot):
        return None
    present = getattr(holder, slot)
    if hasattr(present, "add") and hasattr(present, "remove"):
        present.add(ours)
        return _InChain(holder, slot, present, ours)
    return _Alone(holder, slot, present, ours)


class Attachment:
    """Our hook in one of Triton's slots."""

    ours: Callable

    def alive(self) -> bool:
        """Whether Triton still calls it: another tool may have replaced the slot's value."""
        raise NotImplementedError

    def detach(self) -> None:
        """Removes it and keeps the hooks of others."""
        raise NotImplementedError


class _InChain(Attachment):

    def __init__(self, holder: Any, slot: str, chain: Any, ours: Callable) -> None:
        self.holder, self.slot, self.chain, self.ours = holder, slot, chain, ours

    def alive(self) -> bool:
        in_place = getattr(self.holder, self.slot, None) is self.chain
        return in_place and self.ours in getattr(self.chain, "calls", (self.ours,))

    def detach(self) -> None:
        # From the chain that it was added to, even if the slot has another one now: tests copy and replace all knobs.
        self.chain.remove(self.ours)


class _Alone(Attachment):
    """The only hook in a slot, or one of two together with the previous one."""

    def __init__(self, holder: Any, slot: str, before: Callable | None, ours: Callable) -> None:
        self.holder, self.slot, self.before, self.ours = holder, slot, before, ours
        self.put: Callable = ours if before is None else _Both(before, ours, reverse=slot == EXIT)
        setattr(holder, slot, self.put)

    def alive(self) -> bool:
        return getattr(self.holder, self.slot, None) is self.put

    def detach(self) -> None:
        if self.alive():
            setattr(self.holder, self.slot, self.before)
        elif isinstance(self.put, _Both):
            self.put.second = None  # another tool wrapped our hook: only pass calls on to the previous one
        # else another tool replaced or wrapped our function itself, which does nothing while no session is active


class _Both:
    """Two hooks in a slot made for one. Not a function: a slot on a class would bind that to the instance."""

    def __init__(self, first: Callable, second: Callable | None, reverse: bool) -> None:
        self.first, self.second, self.reverse = first, second, reverse

    def __call__(self, metadata: Any) -> None:
        second = self.second
        if second is not None and self.reverse:
            second(metadata)
        self.first(metadata)
        if second is not None and not self.reverse:
            second(metadata)


def _holder(slot: str) -> Any:
    """The object whose attribute the slot is, None if Triton is not imported or has no such slot."""
    runtime = getattr(sys.modules.get("triton.knobs"), "runtime", None)
    if runtime is not None:
        return runtime
    return compiled_kernel() if slot in (ENTER, EXIT) else None


def compiled_kernel() -> Any:
    """Triton's class of compiled kernels; None if Triton is not imported."""
    for name in ("triton.compiler.compiler", "triton.compiler"):
        found = getattr(sys.modules.get(name), "CompiledKernel", None)
        if found is not None:
            return found
    return None
