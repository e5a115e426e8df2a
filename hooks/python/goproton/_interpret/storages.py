"""The memory of tensors: a storage is what several tensors may be views of."""

from __future__ import annotations

from typing import Any


class Array:
    """An array of numpy as Triton takes arguments: with an address and the name of a type."""

    __slots__ = ("array", "dtype", "begin", "bytes", "address")

    def __init__(self, array: Any):
        self.array, self.dtype = array, str(array.dtype)
        if self.dtype == "bool":
            self.dtype = "int1"
        self.address = array.ctypes.data
        own = array
        while type(own.base) is type(array):
            own = own.base
        self.begin, self.bytes = own.ctypes.data, own.nbytes
        if not array.flags.writeable:
            raise TypeError("the array is read-only: a kernel may write to it; pass a copy")

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
