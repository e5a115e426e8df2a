"""Values in JSON's types, as TritonParse writes metadata and options."""

from __future__ import annotations

import json
import math
import sys
from enum import Enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
    if has_base(type(value), "Layout", "triton_kernels"):
        layout = {"type": type(value).__name__}
        for name in ("initial_shape", "name", *getattr(type(value), "__dataclass_fields__", ())):
            if hasattr(value, name):
                layout[name] = plain(getattr(value, name))
        return layout
    if is_constexpr(type(value)):
        return plain(value.value)
    if hasattr(type(value), "__dataclass_fields__"):
        return {name: plain(getattr(value, name, None)) for name in type(value).__dataclass_fields__}
    if is_dtype(type(value)):
        return f"triton.language.core.dtype('{value}')"
    return str(value)


def has_base(type_: type, name: str, package: str) -> bool:
    return any(base.__name__ == name and str(base.__module__).startswith(package) for base in type_.__mro__)


def is_dtype(type_: type) -> bool:
    return has_base(type_, "dtype", "triton.language")


def is_constexpr(type_: type) -> bool:
    return has_base(type_, "constexpr", "triton.language")
