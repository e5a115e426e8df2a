"""As much of torch as reproducers need to build their arguments, on a machine without it: tensors of numbers in memory that
they may share, with torch's strides, and nothing fast. What it stands for is in the functions' names."""

import ctypes
import io
import itertools
import math
import os
import pickle
import random
import struct

__version__ = "stub"


class dtype:
    def __init__(self, name, code, itemsize, floating=False, is_complex=False):
        self.name, self.code, self.itemsize = name, code, itemsize
        self.is_floating_point, self.is_complex = floating, is_complex

    def __repr__(self):
        return "torch." + self.name


for _name, _code in {"bool": "?", "uint8": "B", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q"}.items():
    globals()[_name] = dtype(_name, _code, struct.calcsize(_code))
for _name, _code in {"float16": "e", "float32": "f", "float64": "d"}.items():
    globals()[_name] = dtype(_name, _code, struct.calcsize(_code), True)
bfloat16 = dtype("bfloat16", "e", 2, True)  # rounds differently; no test looks
float8_e4m3fn, float8_e5m2 = dtype("float8_e4m3fn", "b", 1, True), dtype("float8_e5m2", "b", 1, True)
float4_e2m1fn_x2 = dtype("float4_e2m1fn_x2", "not computed with", 1, True)
complex64 = dtype("complex64", "ff", 8, False, True)


class device(str):
    @property
    def type(self):
        return self.split(":")[0]


class Tensor:
    def __init__(self, storage, dtype, shape, stride, offset, on):
        self.storage, self.dtype, self.shape, self._stride, self._offset, self.device = storage, dtype, tuple(shape), tuple(stride), offset, device(on)

    itemsize = property(lambda self: self.dtype.itemsize)

    data = property(lambda self: self)
    is_cuda = property(lambda self: self.device.type == "cuda")

    def get_device(self):
        return 0 if self.is_cuda else -1

    def is_contiguous(self):
        return list(self._stride) == _steps(self.shape)

    def stride(self):
        return self._stride

    def storage_offset(self):
        return self._offset

    def numel(self):
        n = 1
        for size in self.shape:
            n *= size
        return n

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def is_complex(self):
        return self.dtype.is_complex

    def element_size(self):
        return self.dtype.itemsize

    def data_ptr(self):
        return ctypes.addressof(ctypes.c_char.from_buffer(self.storage)) + self._offset * self.dtype.itemsize

    def view(self, dtype):
        if dtype.itemsize == self.dtype.itemsize:
            return Tensor(self.storage, dtype, self.shape, self._stride, self._offset, self.device)
        assert len(self.shape) == 1 and self._stride == (1,)
        size = len(self.storage) // dtype.itemsize
        return Tensor(self.storage, dtype, (size,), (1,), self._offset * self.dtype.itemsize // dtype.itemsize, self.device)

    def as_strided(self, size, stride, storage_offset=0):
        return Tensor(self.storage, self.dtype, size, stride, storage_offset, self.device)

    def narrow(self, dim, start, length):
        shape = list(self.shape)
        shape[dim] = length
        return Tensor(self.storage, self.dtype, shape, self._stride, self._offset + start * self._stride[dim], self.device)

    def places(self):
        for index in itertools.product(*map(range, self.shape)):
            yield (self._offset + sum(i * s for i, s in zip(index, self._stride))) * self.dtype.itemsize

    def tolist(self):
        values = [struct.unpack_from(self.dtype.code, self.storage, p) for p in self.places()]
        return [complex(*v) if self.dtype.is_complex else v[0] for v in values]

    def put(self, values):
        if any(n > 1 and s == 0 for n, s in zip(self.shape, self._stride)):
            raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory location")
        for place, value in zip(self.places(), values, strict=True):
            if self.dtype.is_complex:
                struct.pack_into("ff", self.storage, place, value.real, value.imag)
            elif self.dtype.name.startswith("float8"):
                struct.pack_into("b", self.storage, place, -128 if value != value else max(-100, min(100, int(value * 16))))
            else:
                whole = not self.dtype.is_floating_point
                struct.pack_into(self.dtype.code, self.storage, place, (value != 0 if self.dtype.name == "bool" else int(value)) if whole else value)
        return self

    def copy_(self, other):
        assert self.shape == other.shape, (self.shape, other.shape)
        return self.put(other.tolist())

    def to(self, kind):
        other = isinstance(kind, dtype)
        return empty(self.shape, kind if other else self.dtype, self.device if other else kind).put(self.tolist())

    def cpu(self):
        return self.to("cpu")

    def clone(self):
        return self.to(self.dtype)

    contiguous = clone

    def double(self):
        return self.to(float64)

    def reshape(self, size):
        assert size == -1
        return empty([self.numel()], self.dtype, self.device).put(self.tolist())

    def split(self, size):
        assert self.numel() <= size
        return (self,)

    def of_each(self, f, *others):
        return empty(self.shape, float64, self.device).put([f(*v) for v in zip(self.tolist(), *(o.tolist() for o in others), strict=True)])

    def __eq__(self, other):
        return self.of_each(lambda a, b: a == b, other)

    __hash__ = object.__hash__

    def __or__(self, other):
        return self.of_each(lambda a, b: a or b, other)

    def __and__(self, other):
        return self.of_each(lambda a, b: a and b, other)

    def __sub__(self, other):
        return self.of_each(lambda a, b: a - b, other)

    def abs(self):
        return self.of_each(abs)

    def isnan(self):
        return self.of_each(math.isnan)

    def isfinite(self):
        return self.of_each(math.isfinite)

    def __getitem__(self, mask):
        kept = [v for v, wanted in zip(self.tolist(), mask.tolist()) if wanted]
        return empty([len(kept)], self.dtype, self.device).put(kept)

    def max(self):
        return empty([], self.dtype, self.device).put([max(self.tolist())])

    def item(self):
        return self.tolist()[0]

    def zero_(self):
        return self

    def map_(self, f):
        return self.put([f(v) for v in self.tolist()])

    def fill_(self, x):
        return self.map_(lambda v: x)

    def mul_(self, x):
        return self.map_(lambda v: v * x)

    def add_(self, x):
        return self.map_(lambda v: v + x)

    def round_(self):
        return self.map_(round)

    def clamp_(self, least, most):
        return self.map_(lambda v: min(max(v, least), most))

    def random_(self):
        return self.map_(lambda v: random.randrange(0, 2))

    def __lt__(self, x):
        return empty(self.shape, globals()["bool"], self.device).put([v < x for v in self.tolist()])

    def __reduce__(self):
        return _rebuild, (bytes(self.storage), self.dtype.name, self.shape, self._stride, self._offset)


def _rebuild(storage, kind, shape, stride, offset):
    return Tensor(bytearray(storage), globals()[kind], shape, stride, offset, "cpu")


def _steps(size):
    stride, step = [], 1
    for n in reversed(size):
        stride.insert(0, step)
        step *= max(n, 1)
    return stride


def zeros(size, dtype=None, device="cpu"):
    size = [size] if isinstance(size, int) else list(size)
    if str(device).startswith("cuda") and not cuda.is_available():
        raise RuntimeError("no GPU")
    dtype, n = dtype or float32, 1
    for s in size:
        n *= s
    return Tensor(bytearray(n * dtype.itemsize), dtype, size, _steps(size), 0, device)


empty = zeros


def randn(size, dtype=None, device="cpu"):
    one = (lambda v: complex(random.gauss(0, 1), random.gauss(0, 1))) if dtype and dtype.is_complex else (lambda v: random.gauss(0, 1))
    return empty(size, dtype, device).map_(one)


def rand(size, dtype=None, device="cpu"):
    return empty(size, dtype, device).map_(lambda v: random.random())


def randint(least, limit, size, dtype=None, device="cpu"):
    return empty(size, dtype or int64, device).map_(lambda v: random.randrange(least, limit))


def arange(n, dtype):
    return empty([n], dtype).put(range(n))


def manual_seed(seed):
    random.seed(seed)


def zeros_like(tensor):
    return zeros(tensor.shape, tensor.dtype, tensor.device)


def where(condition, a, b):
    return condition.of_each(lambda c, x, y: x if c else y, a, b)


def nan_to_num(tensor, nan):
    return tensor.of_each(lambda v: nan if math.isnan(v) else v)


def is_tensor(value):
    return isinstance(value, Tensor)


def save(value, file):
    if isinstance(file, io.BytesIO):
        return pickle.dump(value, file)
    with open(file, "wb") as opened:
        pickle.dump(value, opened)


def load(file, map_location=None, weights_only=False):
    if isinstance(file, io.BytesIO):
        return pickle.load(file)
    with open(file, "rb") as opened:
        return pickle.load(opened)


class cuda:
    class OutOfMemoryError(RuntimeError):
        pass

    @staticmethod
    def is_available():
        return "STUB_WITHOUT_GPU" not in os.environ

    @staticmethod
    def synchronize():
        assert cuda.is_available()

    @staticmethod
    def get_device_name(device):
        return "no GPU"

    @staticmethod
    def get_device_properties(device):
        return None

    class Event:
        """Of a GPU that needs 1.5 ms for whatever is between two of them, or another time with noise that a test asks for."""

        def __init__(self, enable_timing):
            pass

        def record(self):
            pass

        def elapsed_time(self, end):
            if "FAKE_MS" in os.environ:
                return float(os.environ["FAKE_MS"]) * random.gauss(1, float(os.environ["FAKE_NOISE"]))
            return 1.5
