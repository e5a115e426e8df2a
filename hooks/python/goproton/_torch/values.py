"""What the native side needs to read the arguments of torch's operators: objects of known content, and the bits of tensors."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The promotion order of ELEMENT_... in hooks/torchvalues.h.
_BOOL, _INTEGER, _FLOAT, _COMPLEX = 1, 2, 3, 4


def facts() -> tuple[Any, ...]:
    """Two tensors with the address, size and strides of each; a call with them as first arguments; a tensor of each dtype; bits.

    The call is ``convolution(x, w, None, [4, 6], [1, 2], [1, 1], False, [0, 0], 2)``.
    """
    import torch
    x, w = torch.zeros(3, 6, 17, 19), torch.zeros(8, 3, 2, 5)

    def call() -> None:
        with torch.no_grad():
            torch.convolution(x, w, None, [4, 6], [1, 2], [1, 1], False, [0, 0], 2)

    elements = [torch.empty(1, dtype=dtype) for dtype in _dtypes()]
    kinds = [(t._cdata, t.element_size(), _kind(t.dtype)) for t in elements]
    samples = [x, w, x.clone().requires_grad_()]
    keys = [(t._cdata, _bits(torch._C._dispatch_keys(t))) for t in samples]
    alive = elements, samples  # their addresses are read
    return (x._cdata, list(x.shape), list(x.stride()), w._cdata, call, kinds, keys, *_masks(x), alive)


def _dtypes() -> list[Any]:
    import torch
    names = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 " \
            "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz"
    return [getattr(torch, name) for name in names.split() if hasattr(torch, name)]


def _kind(dtype: Any) -> int:
    import torch
    if dtype.is_complex:
        return _COMPLEX
    if dtype.is_floating_point:
        return _FLOAT
    return _BOOL if dtype == torch.bool else _INTEGER


def _bits(keys: Any) -> int:
    if hasattr(keys, "raw_repr"):
        return int(keys.raw_repr()) & 0xffffffffffffffff
    bits = 0  # torch 2.4 writes their names only: "DispatchKeySet(CPU, ADInplaceOrView)"
    for name in str(keys).partition("(")[2].rstrip(")").split(", "):
        bits |= _bit_of(name)
    return bits


def _bit_of(name: str) -> int:
    """Bits of one key: one for each backend, and above them one for each kind of behaviour."""
    import torch
    key = torch._C.DispatchKey
    backends = (int(key.AutogradCPU) - int(key.CPU)) // 5 - 1  # five kinds of behaviour have a key for each backend

    def behaviour(name: str) -> int:
        return 1 << (backends + int(getattr(key, name)) - 1)

    for backend, bit in ("CPU", 1), ("CUDA", 2):
        if name == backend:
            return behaviour("Dense") | bit
        if name == "Autograd" + backend:
            return behaviour("AutogradFunctionality") | bit
    return behaviour(name)


def _masks(x: Any) -> tuple[int, int, int]:
    """The bits of tensors whose elements lie in memory; that of memory on a GPU; that of dense tensors."""
    import torch
    key, make = torch._C.DispatchKey, torch._C.DispatchKeySet
    cpu, cuda = _bits(make(key.CPU)), _bits(make(key.CUDA))
    with torch.inference_mode():
        samples = [x, x.clone(), x.clone().requires_grad_(), torch.ones(1, dtype=torch.complex64).conj(), torch._neg_view(torch.ones(1))]
    known = cpu | cuda
    for sample in samples:
        known |= _bits(torch._C._dispatch_keys(sample))
    for name in "AutogradCPU", "AutogradCUDA", "AutocastCPU", "AutocastCUDA", "ADInplaceOrView":
        if hasattr(key, name):
            known |= _bits(make(getattr(key, name)))
    return known, cuda & ~cpu, cuda & cpu
