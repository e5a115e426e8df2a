"""Just enough of torch for tensor metrics: memory on a device whose contents arrive when the test says so."""

import ctypes
import sys
import types

streams = {}  # raw stream -> pending copies
capturing = [False]
answers = [False]  # whether the GPU reports progress when it is asked
synchronized = []


class Event:
    def __init__(self):
        self.waits_for = []

    def record(self, stream=None):
        self.waits_for = list(streams.setdefault(stream.raw, []))

    def query(self):
        if answers[0]:
            for copy in self.waits_for:
                copy.land()
        return all(copy.done for copy in self.waits_for)

    def synchronize(self):
        synchronized.append(self)
        for copy in self.waits_for:
            copy.land()


class Stream:
    def __init__(self, raw, device=None):
        self.raw = raw


class Copy:
    def __init__(self, target, index, source):
        self.target, self.index, self.source, self.done = target, index, source, False

    def land(self):
        if not self.done:
            self.target[self.index:self.index + len(self.source)] = self.source
            self.done = True


class Slot:
    def __init__(self, values, index):
        self.values, self.index = values, index

    def copy_(self, tensor, non_blocking=False):
        assert non_blocking
        copy = Copy(self.values, self.index, tensor.elements)
        streams.setdefault(current[0], []).append(copy)


class Host:
    def __init__(self, n, dtype):
        self.values, self.dtype = [None] * n, dtype

    def split(self, size):
        return [Slot(self.values, i) for i in range(0, len(self.values), size)]

    def tolist(self):
        return list(self.values)


class Tensor:
    """A tensor on a device."""
    is_cuda, requires_grad, dtype = True, False, "float32"

    def __init__(self, *elements, dtype="float32"):
        self.elements, self.dtype = list(elements), dtype
        self.device = types.SimpleNamespace(type="cuda", index=0)
        self.memory = None

    def data_ptr(self):
        if self.memory is None:
            kind = {"float32": ctypes.c_float, "float64": ctypes.c_double, "int8": ctypes.c_int8, "int32": ctypes.c_int32, "int64": ctypes.c_int64}
            self.memory = (kind[self.dtype] * len(self.elements))(*self.elements)
        return ctypes.addressof(self.memory)

    def set(self, *elements):
        """What a kernel of the graph would do before a replay."""
        self.elements[:] = elements
        if self.memory is not None:
            self.memory[:] = elements

    def numel(self):
        return len(self.elements)

    def dim(self):
        return 1

    def detach(self):
        return self

    contiguous = detach

    def reshape(self, *shape):
        return self

    def tolist(self):
        raise AssertionError("this would wait for the GPU")

    item = tolist

    def to(self, device, non_blocking=False):
        assert device == "cpu" and non_blocking
        host = Host(len(self.elements), self.dtype)
        copy = Copy(host.values, 0, self.elements)
        streams.setdefault(current[0], []).append(copy)
        return host


current = [0]


class _Nothing:
    def __init__(self, *args):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass


def land(stream=0):
    """Everything that was queued on a stream arrives."""
    for copy in streams.get(stream, ()):
        copy.land()


def make():
    torch = types.ModuleType("torch")
    torch.empty = lambda n, dtype, device, pin_memory: Host(n, dtype)
    torch.inference_mode = _Nothing
    torch.version = types.SimpleNamespace(hip=None)
    torch.cuda = types.SimpleNamespace(
        Event=Event, ExternalStream=Stream, default_stream=lambda device: Stream(0),
        current_stream=lambda device: Stream(current[0]), is_current_stream_capturing=lambda: capturing[0])
    torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: current[0])
    sys.modules["torch"] = torch
    return torch
