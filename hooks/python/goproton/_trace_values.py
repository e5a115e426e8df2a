"""Values as TritonParse writes them: metadata, options, and arguments that the native side does not know."""

from __future__ import annotations

import json
import math
import sys
from enum import Enum

from ._trace_outline import holds_tensors, is_tensor, outline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How the native side handles arguments of a type (enum value_class in hooks/trace.h).
_TENSOR, _DESCRIPTOR, _CONSTANT, _TEXT = 1, 2, 3, 4

_LONGEST = 200  # characters of the text of an object without its own description
_LONGEST_OUTLINE = 4000  # characters for an object that contains tensors: a list of several dozen
_LONGEST_HANDLE = 256


def text(value: Any) -> str:
    """A value as JSON."""
    return compact(plain(value))


def compact(value: Any) -> str:
    """The result of :func:`plain` as JSON that is valid UTF-8. A lone surrogate, as in a file name that is not UTF-8, is
    written as the text of its escape, because most JSON readers (orjson and GoProton's own among them) reject the escape."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if not written.isascii():
        try:
            written.encode()
        except UnicodeEncodeError:
            return "".join(rf"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in written)
    return written


def say(what: str) -> None:
    """Writes one line to the program's standard error. A closed standard error is ignored, so that no launch fails."""
    try:
        if sys.stderr is not None:
            print(f"goproton: trace: {what}", file=sys.stderr)
    except Exception:
        pass


def plain(value: Any) -> Any:
    """A value in JSON's types; a value without a counterpart is replaced by its text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (list, tuple)):
        if hasattr(value, "_asdict"):
            return plain(value._asdict())
        return [plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return [plain(one) for one in sorted(value, key=str)]
    if hasattr(value, "items") and hasattr(value, "keys"):
        return {str(name): plain(one) for name, one in value.items()}
    return _object(value)


def _object(value: Any) -> Any:
    if isinstance(value, Enum):
        return plain(value.value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if _has_base(type(value), "Layout", "triton_kernels"):
        layout = {"type": type(value).__name__}
        for name in ("initial_shape", "name", *getattr(type(value), "__dataclass_fields__", ())):
            if hasattr(value, name):
                layout[name] = plain(getattr(value, name))
        return layout
    if hasattr(type(value), "__dataclass_fields__"):
        from dataclasses import asdict
        return plain(asdict(value))
    if _is_dtype(type(value)):
        return f"triton.language.core.dtype('{value}')"
    return str(value)


def _has_base(type_: type, name: str, package: str) -> bool:
    return any(base.__name__ == name and str(base.__module__).startswith(package) for base in type_.__mro__)


def _is_dtype(type_: type) -> bool:
    return _has_base(type_, "dtype", "triton.language")


def _is_descriptor(type_: type) -> bool:
    return type_.__name__ == "TensorDescriptor" and "triton" in type_.__module__


def _is_kernels_wrapper(type_: type) -> bool:
    return type_.__name__ in ("Tensor", "Storage") and type_.__module__.startswith("triton_kernels")


def classify(type_: type) -> int:
    """How the native side handles arguments of this type."""
    if is_tensor(type_):
        return _TENSOR
    if _is_descriptor(type_):
        return _DESCRIPTOR
    if type_ is str or _is_dtype(type_) or type_.__name__ in ("JITFunction", "constexpr"):
        return _CONSTANT
    return _TEXT


def _without_contents(value: Any) -> Any:
    """A list of sizes, of which some may be computed on the GPU: printing these would wait for the GPU."""
    return [outline(one) if is_tensor(type(one)) else one for one in value] if isinstance(value, list) else value


class Describer:
    """Descriptions of arguments.

    Args:
        define: gives a text the number by which launches refer to it.
        more: further members of a tensor's description, as JSON without braces.
    """

    def __init__(self, define, more=None) -> None:
        self._define, self._more = define, more

    def describe(self, value: Any) -> int:
        """The number of a constant's description."""
        return self._define(self.inlined(value))

    def inlined(self, value: Any) -> str:
        """The description of an argument, as JSON."""
        return compact(self.description(value))

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

    def description(self, value: Any) -> dict[str, Any]:
        """TritonParse's description of an argument."""
        type_ = type(value)
        if is_tensor(type_):
            return self._tensor(value)
        if _is_kernels_wrapper(type_):
            return self._wrapper(value)
        if _is_descriptor(type_):
            return self._descriptor(value)
        if isinstance(value, (int, float)):
            return {"type": type_.__name__, "value": plain(value)}
        if isinstance(value, str):
            return {"type": "str", "value": value, "length": len(value)}
        shown, longest = (outline(value), _LONGEST_OUTLINE) if holds_tensors(value) else (str(value), _LONGEST)
        return {"type": type_.__name__, "repr": shown if len(shown) <= longest else shown[:longest] + "..."}

    def _tensor(self, value: Any) -> dict[str, Any]:
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

    def _wrapper(self, value: Any) -> dict[str, Any]:
        kind = type(value).__name__
        info: dict[str, Any] = {"type": f"triton_kernels.tensor.{kind}"}
        if kind == "Storage":
            if is_tensor(type(getattr(value, "data", None))):
                info["data"] = self._tensor(value.data)
            if hasattr(value, "layout"):
                info["layout"] = plain(value.layout)
            return info
        for name in ("shape", "shape_max", "dtype"):
            if hasattr(value, name):
                info[name] = plain(_without_contents(getattr(value, name)))
        if hasattr(value, "storage"):
            info["storage"] = self.description(value.storage)
        return info

    def _descriptor(self, value: Any) -> dict[str, Any]:
        info: dict[str, Any] = {"type": "TensorDescriptor"}
        if is_tensor(type(getattr(value, "base", None))):
            info["base"] = self._tensor(value.base)
        for name in ("shape", "strides", "block_shape"):
            if hasattr(value, name):
                info[name] = plain(getattr(value, name))
        info["padding"] = plain(getattr(value, "padding", "zero")) or "zero"
        return info
