"""The memory of tensors. A storage is what several tensors may be views of; a kernel may use all of it."""

from __future__ import annotations

import sys
from typing import Any, Callable, Iterator

class Type(str):
    """The name of a type, with the size that tensor descriptors ask for."""

    itemsize: int


def _type(name: str, size: int) -> Type:
    named = Type(name)
    named.itemsize = size
    return named


_names: dict[Any, Type] = {}  # of numpy's types, which take microseconds to say them


class Array:
    """An array of numpy as Triton takes arguments: with an address and the name of a type.

    Arrays are passed to interpreted kernels as they are. This is for types that numpy does not have: ``Array(bits, "bfloat16")`` or
    ``"float8_e4m3fn"`` of an array of unsigned integers.
    """

    __slots__ = ("array", "dtype", "begin", "bytes", "address")

    def __init__(self, array: Any, dtype: str | None = None):
        self.array, kind = array, array.dtype
        self.dtype = _type(dtype, kind.itemsize) if dtype else _names.get(kind) or _names.setdefault(kind, _type("int1" if kind == bool else str(kind), kind.itemsize))
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


class Launched:
    """The storages of one launch: their words for Go (see launchOf in interpreter/run), and the copies of what Go cannot use where it is."""

    __slots__ = ("copies", "after")

    def __init__(self) -> None:
        self.copies: dict[int, Any] = {}
        self.after: list[Callable[[], None]] = []

    def pointer(self, value: Any) -> str:
        """A storage, and the offset of a tensor in it."""
        if type(value) is Array:
            if not value.array.flags.writeable:
                return self._read_only(value)
            return f"{value.begin} {value.bytes} {value.begin} {value.address - value.begin}"
        if hasattr(value, "untyped_storage"):
            storage = value.untyped_storage()
            begin, size = storage.data_ptr(), storage.nbytes()
            if not size and value.numel():
                raise RuntimeError(f"a kernel is launched with a tensor of the shape {list(value.shape)} whose storage was freed: it has 0 bytes")
            if on_cpu(value):
                return f"{begin} {size} {begin} {value.data_ptr() - begin}"
            return f"{self._copy(value, storage)} {size} {begin} {value.data_ptr() - begin}"
        if hasattr(value, "base"):  # triton.reinterpret
            return self.pointer(value.base)
        if hasattr(value, "__array_interface__"):
            import numpy
            return self.pointer(Array(numpy.asarray(value)))
        raise TypeError(f"a kernel cannot be interpreted with an argument of the type {type(value).__name__}: pass tensors of torch, arrays of numpy and numbers")

    def _copy(self, value: Any, storage: Any) -> int:
        """Where the copy of a storage is; the storage gets what the kernel has left in it."""
        begin = storage.data_ptr()
        if begin not in self.copies:
            if value.device.type == "meta":
                raise RuntimeError("a kernel is launched with a tensor of the device meta, which has no memory")
            torch = sys.modules["torch"]
            there = torch.empty(0, dtype=torch.uint8, device=value.device).set_(storage)
            here = there.to("cpu", copy=True)
            self.copies[begin] = here
            self.after.append(lambda: there.copy_(here))
        return self.copies[begin].data_ptr()

    def _read_only(self, value: Array) -> str:
        import numpy
        memory = numpy.frombuffer((_bytes_at(value.begin, value.bytes)), numpy.uint8)
        copy = memory.copy()
        self.copies[id(value)] = copy

        def compare() -> None:
            if (copy != memory).any():
                raise ValueError("the kernel has written to an array that is read-only: pass a copy")

        self.after.append(compare)
        return f"{copy.__array_interface__['data'][0]} {value.bytes} {value.begin} {value.address - value.begin}"

    def others(self) -> Iterator[str]:
        """All storages of the process on the CPU, into which addresses in memory may point."""
        known = set()
        for tensor in _tensors():
            try:
                words = self.pointer(tensor if hasattr(tensor, "untyped_storage") else Array(tensor)).rsplit(" ", 1)[0]
            except Exception:  # one without memory
                continue
            if words not in known:
                known.add(words)
                yield f"x {words}"


def on_cpu(tensor: Any) -> bool:
    """Whether a tensor of torch is in memory that Go can use."""
    return tensor.is_cpu


def _bytes_at(begin: int, size: int) -> Any:
    import ctypes
    return (ctypes.c_char * size).from_address(begin)


def _tensors() -> Iterator[Any]:
    """The tensors of the process: those of a GPU too, which are copied, in kernels that take addresses from memory."""
    import gc
    kinds = tuple(filter(None, (getattr(sys.modules.get("torch"), "Tensor", None), getattr(sys.modules.get("numpy"), "ndarray", None))))
    frame, held = sys._getframe(1), gc.get_objects()
    while frame is not None:  # variables of functions are not the garbage collector's
        held += frame.f_locals.values()
        frame = frame.f_back
    found = {id(value): value for value in [*held, *gc.get_referents(*held)] if isinstance(value, kinds)}
    yield from found.values()
