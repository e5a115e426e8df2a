"""Triton's slots for listeners. A slot has room for one listener; this module lets it call ours and another tool's."""

from __future__ import annotations

import inspect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class Slot:
    """Our function in ``holder.name``. The previous one is called too, after ours, and is restored later."""

    def __init__(self, holder: Any, name: str, ours: Callable) -> None:
        self._holder, self.name, self._ours = holder, name, ours
        present = getattr(holder, name)
        self._chain = present if hasattr(present, "calls") and hasattr(present, "remove") else None
        self._before = present
        self._put: Any = None
        if self._chain is not None:
            # In front, because the arguments of a launch are available until the first hook evaluates the metadata. A new
            # list, because another thread may be iterating over this one.
            self._chain.calls = [ours, *self._chain.calls]
        else:
            self._put = ours if present is None else _Both(ours, present)
            setattr(holder, name, self._put)

    def alive(self) -> bool:
        """Whether Triton still calls it: another tool may have replaced the slot's value."""
        present = getattr(self._holder, self.name, None)
        return present is self._chain and self._ours in present.calls if self._chain is not None else present is self._put

    def leave(self) -> None:
        """Removes our function and keeps those of others."""
        if self._chain is not None:
            self._chain.calls = [one for one in self._chain.calls if one is not self._ours]
        elif self.alive():
            setattr(self._holder, self.name, self._before)
        elif isinstance(self._put, _Both):
            self._put.first = None  # another tool wrapped our function: only pass calls on to the previous one


class _Both:

    def __init__(self, first: Callable | None, second: Callable) -> None:
        self.first, self.second = first, second
        # Inductor inspects whether a hook takes inductor_args.
        try:
            self.__signature__ = inspect.signature(first)
        except (TypeError, ValueError):
            pass
        try:
            self._takes = set(inspect.signature(second).parameters)
            if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(second).parameters.values()):
                self._takes = None
        except (TypeError, ValueError):
            self._takes = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.first is not None:
            self.first(*args, **kwargs)
        if "inductor_args" in kwargs and self._takes is not None and "inductor_args" not in self._takes:
            del kwargs["inductor_args"]
        return self.second(*args, **kwargs)
