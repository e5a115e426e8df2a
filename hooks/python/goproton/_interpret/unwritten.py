"""Has memory that was asked for without a value be known as such, for the check for uninitialised values.

What ``torch.empty`` and ``numpy.empty`` return is filled with words that Go finds again when a kernel is launched, as far as nothing else was
written there by then.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable

from .. import _imports, _library

_TORCH = ("empty", "empty_like", "empty_strided")
_TENSOR = ("new_empty", "new_empty_strided")
_NUMPY = ("empty", "empty_like")
_watched: list[tuple[Any, str, Any]] = []  # owner, name, and what it had: None if it was inherited
_users = 0


def begin() -> None:
    """Fills new memory from now on, also of modules that are imported later."""
    global _users
    _users += 1
    if _users == 1:
        _imports.when_imported("torch", _watch_torch)
        _imports.when_imported("numpy", _watch_numpy)


def end() -> None:
    """Undoes one begin()."""
    global _users
    _users -= 1
    if _users == 0:
        while _watched:
            owner, name, plain = _watched.pop()
            delattr(owner, name) if plain is None else setattr(owner, name, plain)


def wanted(settings: dict[str, Any]) -> bool:
    """Whether a run checks for uninitialised values."""
    return not {"uninit", "all"}.isdisjoint(settings.get("check") or ())


def _watch_torch() -> None:
    import torch
    if _users:
        for owner, names in ((torch, _TORCH), (torch.Tensor, _TENSOR)):
            _watch(owner, names, _fill_tensor)


def _watch_numpy() -> None:
    import numpy
    if _users:
        _watch(numpy, _NUMPY, _fill_array)


def _watch(owner: Any, names: tuple[str, ...], fill: Callable[[Any], None]) -> None:
    for name in names:
        _watched.append((owner, name, owner.__dict__.get(name)))
        setattr(owner, name, _filling(getattr(owner, name), fill))


def _filling(plain: Any, fill: Callable[[Any], None]) -> Any:
    def empty(*args: Any, **named: Any) -> Any:
        made = plain(*args, **named)
        fill(made)
        return made

    return wraps(plain)(empty)


def _fill_tensor(tensor: Any) -> None:
    import torch
    if torch.compiler.is_compiling() or type(tensor) is not torch.Tensor or tensor.device.type != "cpu" or tensor.layout != torch.strided:
        return
    storage = tensor.untyped_storage()
    _fill(storage.data_ptr(), storage.nbytes())


def _fill_array(array: Any) -> None:
    if array.dtype.hasobject or array.base is not None or not array.flags.owndata:
        return
    _fill(array.ctypes.data, array.nbytes)


def _fill(address: int, size: int) -> None:
    if address and size >= 8 and _library.native is not None:
        _library.call("interpret.unwritten", address=address, bytes=size)
