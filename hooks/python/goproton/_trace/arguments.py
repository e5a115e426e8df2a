"""Descriptions of arguments and constants, from which a reproducer makes them again.

A description has TritonParse's members, and for what these do not define further ones:

    object               of a function or class: its module and qualified name, as in "pkg.kernels:relu"
    class, member        of a member of an enumeration; the names of several flags stand between "|"
    class, items, names  of a tuple; the class and the names of its fields if it is a named one. Lists and sets have items alone
    entries              of a dict: pairs of descriptions
    class, fields        of any other object that consists of attributes
    constexpr            true for a tl.constexpr; the other members are of the value in it
"""

from __future__ import annotations

import copyreg
import inspect
import json
import os
from enum import Enum

from .outline import holds_tensors, is_tensor, outline
from .values import compact, has_base, is_constexpr, is_dtype, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator

# How the native side handles arguments of a type (enum value_class in hooks/trace.h).
_TENSOR, _DESCRIPTOR, _CONSTANT, _TEXT = 1, 2, 3, 4

_LONGEST = 200  # characters of the text of an object without its own description
_LONGEST_OUTLINE = 4000  # characters for an object that contains tensors: a list of several dozen
_LONGEST_HANDLE = 256
_MOST_PARTS = 1000  # of an object: a larger one has only its text
_DEEPEST = 16

# Stands in a description for a tensor within it. It is new in each process, so that no text of the program contains it.
_HOLE = os.urandom(16).hex()


def classify(type_: type) -> int:
    """How the native side handles arguments of this type."""
    if is_tensor(type_):
        return _TENSOR
    if _is_descriptor(type_):
        return _DESCRIPTOR
    if type_ is str or issubclass(type_, (Enum, type)) or is_dtype(type_) or is_constexpr(type_) or is_function(type_):
        return _CONSTANT
    return _TEXT


def is_function(type_: type) -> bool:
    """Whether values of this type are functions of Python or of Triton."""
    return type_.__name__ == "function" or any(base.__name__ in ("JITFunction", "JITCallable", "ConstexprFunction") for base in type_.__mro__)


def _is_descriptor(type_: type) -> bool:
    return type_.__name__ == "TensorDescriptor" and "triton" in type_.__module__ and ".gluon." not in type_.__module__


def _is_gluon_descriptor(type_: type) -> bool:
    """Gluon's descriptors have a layout, and more, which the native side does not write."""
    return type_.__name__.startswith("TensorDescriptor") and ".gluon." in type_.__module__


def _is_kernels_wrapper(type_: type) -> bool:
    return type_.__name__ in ("Tensor", "Storage") and type_.__module__.startswith("triton_kernels")


def path(value: Any) -> str:
    """Module and qualified name of a function or class."""
    named = getattr(value, "fn", value)
    return f"{named.__module__}:{named.__qualname__}"


def parts(value: Any) -> Iterator[Any]:
    """What a constant consists of, itself first: items of tuples, attributes of objects."""
    reached = [value]
    for _ in range(_MOST_PARTS):
        if not reached:
            break
        one = reached.pop()
        yield one
        if is_constexpr(type(one)):
            reached.append(one.value)
        elif isinstance(one, (tuple, list, set, frozenset)):
            reached.extend(one)
        elif isinstance(one, dict):
            reached.extend([*one, *one.values()])
        elif not isinstance(one, (Enum, type, str, int, float)) and not is_tensor(type(one)) and not is_function(type(one)):
            reached.extend((_attributes(one) or {}).values())


class Describer:
    """Descriptions of arguments.

    Args:
        define: gives a text the number by which launches refer to it.
        more: further members of a tensor's description, as JSON without braces.
    """

    def __init__(self, define: Callable[[str], int] | None = None, more: Callable[[Any], str] | None = None) -> None:
        self._define, self._more = define, more

    def describe(self, value: Any) -> int:
        """The number of a constant's description."""
        return self._define(compact(self.description(value)))

    def inlined(self, value: Any) -> str | tuple:
        """The description of an argument, as JSON. If there are tensors in the argument, it is a tuple in which they stand
        between the parts of the JSON; the native side describes them."""
        tensors: list[Any] = []
        text = compact(_Description(self, tensors).of(value))
        if not tensors:
            return text
        texts = text.split(f'"{_HOLE}"')
        return tuple(each for pair in zip(texts, [*tensors, None]) for each in pair)[:-1]

    def description(self, value: Any) -> dict[str, Any]:
        """The description of a value, with those of the tensors in it."""
        return _Description(self, None).of(value)

    def handle(self, value: Any) -> int:
        """The number of a function handle that is not an int, which some backends use. The handle is defined as a number or
        a short text, as TritonParse writes it and its schema requires."""
        if isinstance(value, int) and not isinstance(value, bool):
            return self._define(str(int(value)))
        if isinstance(value, (bytes, bytearray, memoryview)):
            size = memoryview(value).nbytes  # first: such a handle may be a whole binary
            shown, omitted = str(bytes(value)) if size <= _LONGEST_HANDLE else None, f"{size} bytes"
        else:
            shown = str(value)
            omitted = f"{len(shown)} chars"
        if shown is None or len(shown) > _LONGEST_HANDLE:
            shown = f"<{type(value).__name__}: {omitted} omitted>"
        return self._define(compact(shown))

    def dtype(self, value: Any) -> int:
        """The number of a torch.dtype."""
        return self._define(json.dumps({"name": str(value), "size": value.itemsize}))

    def tensor(self, value: Any) -> dict[str, Any]:
        info: dict[str, Any] = {"type": "tensor", "shape": plain(list(value.shape)), "dtype": str(value.dtype), "device": str(value.device)}
        for name, ask in (
            ("stride", lambda: plain(list(value.stride()))),
            ("numel", lambda: plain(value.numel())),
            ("is_contiguous", value.is_contiguous),
            ("element_size", value.element_size),
            ("storage_offset", lambda: plain(value.storage_offset())),
            ("memory_usage", lambda: plain(value.numel() * value.element_size())),
            ("data_ptr", lambda: hex(value.data_ptr())),
        ):
            try:
                info[name] = ask()
            except Exception:
                pass  # tensors without data have no address
        if self._more is not None:
            info.update(json.loads("{" + self._more(value) + "}"))
        return info


class _Description:
    """The description of one value.

    Args:
        tensors: gets the tensors within the value, of which the description has holes; None to describe them too.
    """

    def __init__(self, describer: Describer, tensors: list[Any] | None) -> None:
        self._describer, self._tensors, self._left = describer, tensors, _MOST_PARTS

    def of(self, value: Any, depth: int = 0) -> Any:
        type_ = type(value)
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            raise ValueError("too large to be described")
        if is_tensor(type_) or _is_descriptor(type_):
            return self._tensor(value, depth)
        if is_constexpr(type_):
            return {**self.of(value.value, depth), "constexpr": True}
        if _is_kernels_wrapper(type_):
            return self._wrapper(value, depth)
        if _is_gluon_descriptor(type_):
            return self._gluon_descriptor(value, depth)
        if isinstance(value, (int, float)):
            described = {"type": type_.__name__, "value": plain(value)}
        elif isinstance(value, str):
            described = {"type": "str" if not isinstance(value, Enum) else type_.__name__, "value": str.__str__(value), "length": len(value)}
        else:
            shown, longest = (outline(value), _LONGEST_OUTLINE) if holds_tensors(value) else (str(value), _LONGEST)
            described = {"type": type_.__name__, "repr": shown if len(shown) <= longest else shown[:longest] + "..."}
        before = len(self._tensors or ())
        try:
            described.update(self._structure(value, depth + 1))
        except Exception:  # too large, with a part that is not a value, or its own code raises: there is the text
            if self._tensors:
                del self._tensors[before:]
            if depth:
                raise
        return described

    def _structure(self, value: Any, depth: int) -> dict[str, Any]:
        """The members from which the value can be made. An object with a part of another kind has none."""
        type_ = type(value)
        if isinstance(value, Enum):
            return {"class": path(type_), "member": value.name or "|".join(one.name for one in type_ if one in value)}
        if value is None or isinstance(value, (int, float, str)) or type_.__name__ == "dtype":
            return {}
        if isinstance(value, type) or is_function(type_):
            return {"object": path(value)}
        if isinstance(value, tuple):
            named = {"names": list(type_._fields)} if hasattr(type_, "_fields") else {}
            return {**({"class": path(type_)} if type_ is not tuple else {}), **named, "items": [self.of(one, depth) for one in value]}
        if type_ in (list, set, frozenset):
            return {"items": [self.of(one, depth) for one in value]}
        if type_ is dict:
            return {"entries": [[self.of(key, depth), self.of(one, depth)] for key, one in value.items()]}
        if type_.__name__ == "TensorWrapper" and type_.__module__ == "triton.runtime.jit":
            return {"base": self.of(value.base, depth), "dtype": str(value.dtype)}
        if type_ in (bytes, complex):
            return {}
        attributes = _attributes(value)
        if attributes is None:
            if depth > 1:
                raise ValueError(f"a {type_.__name__} is not made of attributes")
            return {}
        return {"class": path(type_), "fields": {name: self.of(one, depth) for name, one in attributes.items()}}

    def _tensor(self, value: Any, depth: int) -> Any:
        if depth and self._tensors is not None:
            self._tensors.append(value)
            return _HOLE
        return self._describer.tensor(value) if is_tensor(type(value)) else self._descriptor(value)

    def _wrapper(self, value: Any, depth: int) -> dict[str, Any]:
        kind = type(value).__name__
        info: dict[str, Any] = {"type": f"triton_kernels.tensor.{kind}"}
        if kind == "Storage":
            if is_tensor(type(getattr(value, "data", None))):
                info["data"] = self._tensor(value.data, depth + 1)
            if hasattr(value, "layout"):
                info["layout"] = plain(value.layout)
            return info
        for name in ("shape", "shape_max", "dtype"):
            if hasattr(value, name):
                info[name] = plain(_without_contents(getattr(value, name)))
        if hasattr(value, "storage"):
            info["storage"] = self.of(value.storage, depth + 1)
        return info

    def _descriptor(self, value: Any) -> dict[str, Any]:
        info: dict[str, Any] = {"type": "TensorDescriptor"}
        if is_tensor(type(getattr(value, "base", None))):
            info["base"] = self._describer.tensor(value.base)
        for name in ("shape", "strides", "block_shape"):
            if hasattr(value, name):
                info[name] = plain(getattr(value, name))
        info["padding"] = plain(getattr(value, "padding", "zero")) or "zero"
        return info

    def _gluon_descriptor(self, value: Any, depth: int) -> dict[str, Any]:
        info = {**self._descriptor(value), "base": self._tensor(value.base, depth + 1), "class": path(type(value))}
        info["fields"] = {name: self.of(one, depth + 1) for name, one in (_attributes(value) or {}).items() if name not in info}
        return info


def _attributes(value: Any) -> dict[str, Any] | None:
    """The attributes of an object that consists of nothing else, as pickle sees it; None for others."""
    type_ = type(value)
    if inspect.ismodule(value) or type_.__module__ == "builtins":
        return None
    fields = {name: getattr(value, name) for name in getattr(type_, "__dataclass_fields__", ()) if hasattr(value, name)}
    try:
        made, of, state = object.__reduce_ex__(value, 2)[:3]
    except Exception:
        return fields or None
    if made is not copyreg.__newobj__ or of != (type_,):
        return fields or None
    for each in state if isinstance(state, tuple) else (state,):
        if isinstance(each, dict):
            fields.update(each)
    return fields


def _without_contents(value: Any) -> Any:
    """A list of sizes, of which some may be computed on the GPU: printing these would wait for the GPU."""
    return [outline(one) if is_tensor(type(one)) else one for one in value] if isinstance(value, list) else value
