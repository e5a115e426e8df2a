"""The text of objects that contain tensors, without the contents of those: printing these would copy them from the GPU and
wait at each launch, and would give each launch its own kind."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable

_DEEPEST = 8


def is_tensor(type_: type) -> bool:
    """Whether a value is torch's, without importing torch."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and issubclass(type_, tensor)


def holds_tensors(value: Any, depth: int = 0) -> bool:
    """Whether str() of a value would print tensors."""
    if is_tensor(type(value)):
        return True
    return depth < _DEEPEST and any(holds_tensors(one, depth + 1) for _, one in _parts(value))


def outline(value: Any, depth: int = 0) -> str:
    """repr() of a value, with the shapes of tensors in place of their contents."""
    type_ = type(value)
    if is_tensor(type_):
        return f"Tensor(shape={tuple(value.shape)}, dtype={value.dtype}, device={str(value.device)!r}{_strides(value)})"
    if depth == _DEEPEST:
        return "..."
    parts = [(name, outline(one, depth + 1)) for name, one in _parts(value)]
    if _is_reinterpreted(value):
        return f"TensorWrapper[{value.dtype}]({parts[0][1]})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {text}" for name, text in parts) + "}"
    if hasattr(value, "_fields") or hasattr(type_, "__dataclass_fields__"):
        return f"{type_.__name__}(" + ", ".join(f"{name}={text}" for name, text in parts) + ")"
    listed = ", ".join(text for _, text in parts)
    if isinstance(value, tuple):
        return f"({listed},)" if len(parts) == 1 else f"({listed})"
    return f"[{listed}]" if isinstance(value, list) else repr(value)


def _strides(value: Any) -> str:
    """The strides of a tensor that has gaps or another order than its shape: without them it cannot be rebuilt."""
    try:
        return "" if value.is_contiguous() else f", stride={tuple(value.stride())}"
    except Exception:  # sparse tensors have no strides
        return ""


def _parts(value: Any) -> Iterable[tuple[Any, Any]]:
    """What a value is made of, with names."""
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, (tuple, list)):
        return zip(getattr(value, "_fields", range(len(value))), value)
    if _is_reinterpreted(value):
        return [("base", value.base)]
    return [(name, getattr(value, name, None)) for name in getattr(type(value), "__dataclass_fields__", ())]


def _is_reinterpreted(value: Any) -> bool:
    return type(value).__name__ == "TensorWrapper" and type(value).__module__ == "triton.runtime.jit"
