"""Metric values: the accepted types, and the type in the profile.

A metric is an int (summed as int64), a float (summed as double), a sequence of them (summed element by element), a
tensor or, for a property or an exclusive metric, a text. Roofline metrics have a fixed type for every caller: ``flops``, ``flops8`` .. ``flops64`` and ``flops_TYPE`` are doubles
(FLOP), ``bytes`` is an int64 (bytes).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

FLOPS_WIDTHS = (8, 16, 32, 64)
_FLOPS_TYPES = ("fp4", "fp6", "fp8", "int8", "fp16", "bf16", "tf32", "xf32", "fp32", "fp32-vector", "fp64", "fp64-vector")

# Type indices of the native module's TensorMetric.
INT64, DOUBLE, VECTOR_INT64, VECTOR_DOUBLE = 1, 2, 5, 6

ROOFLINE_TYPES = {"bytes": int, "flops": float, **{f"flops{width}": float for width in FLOPS_WIDTHS},
                  **{f"flops_{dtype}": float for dtype in _FLOPS_TYPES}}


class TensorMetric:
    """A tensor in device memory whose value is a metric.

    Attributes:
        ptr: device address of the first element.
        index: the metric's type (1 int64, 2 double, 5 and 6 vectors of those).
        size: number of elements.
    """

    __slots__ = ("_ptr", "_index", "_size", "_tensor")

    def __init__(self, ptr: int, index: int, size: int = 1, tensor: Any = None) -> None:
        self._ptr, self._index, self._size = ptr, index, size
        self._tensor = tensor  # keeps the memory alive, and is what gets copied

    ptr = property(lambda self: self._ptr)
    index = property(lambda self: self._index)
    size = property(lambda self: self._size)


def is_tensor(value: Any) -> bool:
    """Whether a value is a torch-like tensor, on any device."""
    return hasattr(value, "data_ptr")


def plain(name: str, value: Any) -> Any:
    """A host value as the int, float or list of them that the profile stores.

    numpy scalars and arrays, Fractions, Decimals, ranges and CPU tensors are accepted.

    Raises:
        TypeError: the value is not a number or a flat sequence of numbers; or it is a text, and the metric is neither a
            property nor exclusive.
    """
    if isinstance(value, str) and ("(pty)" in name or "(exc)" in name):
        return value
    convert = ROOFLINE_TYPES.get(name)
    if hasattr(value, "tolist"):  # numpy scalars and arrays, tensors
        value = value.tolist()
        if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], list):
            value = value[0]
    if isinstance(value, (list, tuple, range)):
        items = [_number(name, item) for item in value]
        if convert:
            return [convert(item) for item in items]
        return [float(item) for item in items] if any(isinstance(item, float) for item in items) else items
    number = _number(name, value)
    return convert(number) if convert else number


def _number(name: str, value: Any) -> int | float:
    if isinstance(value, (bool, int)):
        number = int(value)
        return number if -(1 << 63) <= number < 1 << 63 else float(number)
    if hasattr(value, "__index__"):
        return int(value)
    if isinstance(value, (str, bytes, complex)) or not hasattr(value, "__float__"):
        raise TypeError(f"metric {name!r} has a value of type {type(value).__name__}: give a number, a flat list of "
                        "numbers or a tensor")
    return float(value)


def split(metrics: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Host values, converted, and the tensors that live on a device."""
    host, device = {}, {}
    for name, value in metrics.items():
        if is_tensor(value) and getattr(getattr(value, "device", None), "type", "cpu") != "cpu":
            device[name] = value
        else:
            host[name] = plain(name, value)
    return host, device


def transform_tensor_metrics(metrics: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, TensorMetric]]:
    """Metrics as the native module's ``add_metrics`` takes them: host values, and device tensors as TensorMetric.

    Roofline metrics are converted to their fixed type. CPU tensors are converted to numbers or lists.
    """
    host, device = split(metrics)
    return host, {name: _tensor_metric(name, tensor) for name, tensor in device.items()}


def _tensor_metric(name: str, tensor: Any) -> TensorMetric:
    wanted = ROOFLINE_TYPES.get(name) or (float if tensor.is_floating_point() else int)
    tensor = tensor.double() if wanted is float else tensor.long()
    scalar, vector = (DOUBLE, VECTOR_DOUBLE) if wanted is float else (INT64, VECTOR_INT64)
    size = tensor.numel()
    return TensorMetric(tensor.data_ptr(), vector if size > 1 else scalar, size, tensor)


def set_metric_kernels() -> None:
    """Does nothing, since tensor metrics are read without a device kernel. It exists because scripts call it."""
