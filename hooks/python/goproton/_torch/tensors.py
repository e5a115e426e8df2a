"""Metrics whose values are still on a GPU.

The launching thread must not wait for the GPU, and the value is usually not computed yet when a metric is added. This
module therefore

1. copies the tensor to a slot of pinned host memory, asynchronously, on the stream that computes it;
2. records an event after a chunk on that stream when the chunk's slots are full;
3. reads a chunk and adds its values to their call paths after its event: it checks events when later chunks are full,
   and waits for them when a session is flushed or finalized.

Chunks are reused, so a million launches take a few hundred slots.

A tensor that is added during a stream capture has no value yet, and another one at every replay: a node of the graph, which
the native side captures, stores it at each replay. Where that cannot be done the metric is left out, with one message per
metric name.
"""

from __future__ import annotations

import atexit
import sys
import time
from threading import RLock

from .. import _library
from ..metric import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# Slots per chunk: enough that the event after it (about 2 us) costs little per value, few enough that a chunk fits in a
# page.
_SLOTS = 256
# The largest number of full chunks that wait for their event, per process. A GPU queue holds about a thousand launches, so
# the stream is blocked if more are waiting; the thread then waits too, which limits the memory.
_WAITING = 64

_lock = RLock()  # guards everything below; reentrant, since a destructor may run while it is held
_open: dict[tuple, _Chunk] = {}  # (device, stream, dtype) -> the chunk being filled
_full: list[_Chunk] = []  # in the order in which they were filled
_free: dict[tuple, list[_Chunk]] = {}  # (device, dtype) -> chunks to use again
_vectors: list[tuple] = []  # (leaf, name, pinned copy, event)
_left_out: set[str] = set()  # metrics that a message was printed for


class _Chunk:
    """Pinned slots of one dtype, filled by one stream at a time. The event always belongs to the same device."""

    __slots__ = ("device", "values", "slots", "owners", "event")

    def __init__(self, torch: Any, device: int, dtype: Any) -> None:
        self.device = device
        with torch.inference_mode(False):  # slots made in inference mode could not be written outside of it
            self.values = torch.empty(_SLOTS, dtype=dtype, device="cpu", pin_memory=True)
            self.slots = list(self.values.split(1))  # made once, because making a view costs as much as the copy
        self.owners: list[tuple] = []
        self.event = torch.cuda.Event()


def take(name: str, tensor: Any, leaf: tuple) -> None:
    """Adds a tensor to a call path, without waiting for its value. The native side calls this for every tensor metric.

    Args:
        name: the metric.
        tensor: an object with data_ptr. A host tensor's value is added at once. One element is a number, more are a
            vector.
        leaf: the result of ``_native.leaf()`` at the call path of the metric.
    """
    if not getattr(tensor, "is_cuda", False):
        _library.native.add_metrics_at(leaf, {name: plain(name, tensor)})
        return
    torch = sys.modules["torch"]
    if torch.cuda.is_current_stream_capturing():
        _capture(torch, leaf, name, tensor)
    elif tensor.numel() == 1:
        _add_number(torch, leaf, name, tensor)
    else:
        _add_vector(torch, leaf, name, tensor)


def flush(wait: Callable[[Any], None] | None = None) -> None:
    """Waits for the values that are still being copied and adds them.

    Args:
        wait: waits for an event; None waits without limit.
    """
    wait = wait or (lambda event: event.synchronize())
    with _lock:
        chunks = _full + list(_open.values())
        vectors = list(_vectors)
        for (device, stream, _), chunk in _open.items():
            _record(device, stream, chunk)
        _full.clear()
        _open.clear()
        _vectors.clear()
        for chunk in chunks:
            wait(chunk.event)
            _read(chunk)
        for leaf, name, copy, event in vectors:
            wait(event)
            _add(leaf, name, _numbers(copy))


_PART = 0.001  # seconds between two checks of an event


def _wait_at_exit(event: Any) -> None:
    if event.query():
        return
    left = patience = _library.call("exit.patience")["seconds"]  # PROTON_EXIT_PATIENCE, the limit of all waits at the exit
    while not event.query():
        if left <= 0:
            raise TimeoutError(f"the GPU finished nothing within {patience:g} s; if a kernel takes longer than that, set "
                               "PROTON_EXIT_PATIENCE to more seconds")
        time.sleep(_PART)
        left -= _PART  # excludes time in which the process was stopped


def flush_at_exit() -> None:
    """flush() with a limit: a hanging GPU must not prevent the process from ending."""
    # The library writes unfinished sessions after Python has ended, so the values must be added before.
    try:
        flush(_wait_at_exit)
    except Exception as error:
        print(f"goproton: unread tensor metrics are missing: {error!r}", file=sys.stderr)


atexit.register(flush_at_exit)


def _add_number(torch: Any, leaf: tuple, name: str, tensor: Any) -> None:
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.dim() > 1:
        tensor = tensor.reshape(1)
    device = tensor.device.index
    key = (device, torch._C._cuda_getCurrentRawStream(device), tensor.dtype)
    with _lock:
        chunk = _open.get(key)
        if chunk is None:
            chunk = _open[key] = _chunk(torch, device, tensor.dtype)
        chunk.slots[len(chunk.owners)].copy_(tensor, non_blocking=True)
        chunk.owners.append((leaf, name))
        if len(chunk.owners) == _SLOTS:
            del _open[key]
            _record(device, key[1], chunk)
            _full.append(chunk)
            _collect(wait=len(_full) > _WAITING)


def _add_vector(torch: Any, leaf: tuple, name: str, tensor: Any) -> None:
    # to() with non_blocking gives pinned memory from torch's own cache.
    copy = tensor.detach().reshape(-1).to("cpu", non_blocking=True)
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(tensor.device))
    with _lock:
        _vectors.append((leaf, name, copy, event))
        if len(_vectors) > _WAITING:
            leaf, name, copy, event = _vectors.pop(0)
            event.synchronize()
            _add(leaf, name, _numbers(copy))


def _chunk(torch: Any, device: int, dtype: Any) -> _Chunk:
    free = _free.get((device, dtype))
    return free.pop() if free else _Chunk(torch, device, dtype)


def _record(device: int, stream: int, chunk: _Chunk) -> None:
    cuda = sys.modules["torch"].cuda
    chunk.event.record(cuda.ExternalStream(stream, device=device) if stream else cuda.default_stream(device))


def _collect(wait: bool) -> None:
    """Reads the full chunks whose values have arrived, oldest first; with wait, the oldest in any case."""
    if wait:
        _full[0].event.synchronize()
    while _full and _full[0].event.query():
        _read(_full.pop(0))


def _read(chunk: _Chunk) -> None:
    for (leaf, name), value in zip(chunk.owners, _numbers(chunk.values)):
        _add(leaf, name, value)
    chunk.owners.clear()
    _free.setdefault((chunk.device, chunk.values.dtype), []).append(chunk)


def _numbers(copy: Any) -> list:
    try:
        return copy.tolist()
    except (RuntimeError, NotImplementedError, TypeError):
        return copy.double().tolist()  # tolist does not convert 8 bit floats


def _add(leaf: tuple, name: str, value: Any) -> None:
    try:
        _library.native.add_metrics_at(leaf, {name: plain(name, value)})
    except (TypeError, ValueError) as error:
        _say_once(name, f"goproton: metric {name!r} from a tensor was left out: {error}")


# enum hp_element of hotpath/hotpath.h
_ELEMENTS = {"int8": 0, "uint8": 1, "bool": 1, "int16": 2, "uint16": 3, "int32": 4, "uint32": 5, "int64": 6, "uint64": 6,
             "float16": 7, "bfloat16": 8, "float32": 9, "float64": 10}
_MOST = 1 << 16  # HP_TENSOR_MOST: elements of one metric
_TAKEN, _OFF, _UNKNOWN, _WHOLE, _DRIVER = 0, 1, 2, 3, 100000  # enum hp_tensor_status
_OTHERWISE = "give a number in launch_metadata, or measure outside the capture"


def _capture(torch: Any, leaf: tuple, name: str, tensor: Any) -> None:
    count = tensor.numel()
    if not 0 < count <= _MOST:
        if count:
            _leave_out(name, f"it has {count} elements, and {_MOST} can be stored at a replay; reduce it first")
        return
    tensor = tensor.detach()
    element = _ELEMENTS.get(str(tensor.dtype).rpartition(".")[2])
    if element is None:
        if getattr(tensor.dtype, "is_complex", False):
            return _leave_out(name, f"a value of type {tensor.dtype} cannot be stored; give its parts")
        tensor, element = tensor.double(), _ELEMENTS["float64"]  # such as 8 bit floats
    tensor = tensor.contiguous()
    # As with the arguments of the graph's kernels, the program keeps the memory for as long as it replays the graph.
    stream = torch._C._cuda_getCurrentRawStream(tensor.device.index)
    status = _library.native.tensor_metric(leaf, name, tensor.data_ptr(), count, element, count > 1, stream)
    if status == _UNKNOWN:
        _leave_out(name, f"a tensor has no value while a stream is captured, and this backend cannot read it at the replays; {_OTHERWISE}")
    elif status == _WHOLE:
        _leave_out(name, "graphs are timed as a whole; leave out --graph graph or PROTON_GRAPH=graph to time their nodes")
    elif status >= _DRIVER:
        _leave_out(name, f"the driver refused, with error {status - _DRIVER}, the memory or the kernel that would read it; {_OTHERWISE}")


def _leave_out(name: str, reason: str) -> None:
    _say_once(name, f"goproton: metric {name!r} was left out of a CUDA graph: {reason}")


def _say_once(name: str, text: str) -> None:
    if name not in _left_out:
        _left_out.add(name)
        print(text, file=sys.stderr)


_not_ours: list = []  # in a forked child: what belongs to the parent


def _forget_in_child() -> None:
    # Another thread may have held the lock. The GPU does not belong to the child, so its memory is kept, not freed.
    global _lock, _open, _full, _free, _vectors
    _not_ours.extend((_open, _full, _free, _vectors))
    _lock, _open, _full, _free, _vectors = RLock(), {}, [], {}, []


_library.after_fork(_forget_in_child)
