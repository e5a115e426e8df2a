"""The memory of tensors: a storage is what several tensors may be views of."""

from __future__ import annotations

from typing import Any


_names: dict[Any, str] = {}  # of numpy's types, which take microseconds to say them


class Array:
    """An array of numpy as Triton takes arguments: with an address and the name of a type."""

    __slots__ = ("array", "dtype", "begin", "bytes", "address")

    def __init__(self, array: Any):
        self.array, kind = array, array.dtype
        self.dtype = _names.get(kind) or _names.setdefault(kind, "int1" if kind == bool else str(kind))
        own = array
        while type(own.base) is type(array):
            own = own.base
        self.address = array.__array_interface__["data"][0]
        self.begin, self.bytes = self.address if own is array else own.__array_interface__["data"][0], own.nbytes

    def data_ptr(self) -> int:
        return self.address

    def element_size(self) -> int:
        return self.array.itemsize

    @property
    def shape(self) -> Any:
        return self.array.shape

    def stride(self, dim: Any = None) -> Any:
        strides = tuple(s // self.array.itemsize for s in self.array.strides)
        return strides if dim is None else strides[dim]
