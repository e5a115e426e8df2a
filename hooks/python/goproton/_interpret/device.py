"""``--device cpu``: tensors that a program makes on a GPU are made on the CPU, on a machine without one.

It covers ``device=`` and the positional device of torch's functions, ``.to("cuda")`` and ``.cuda()`` of tensors and modules, and ``is_cuda``, which is
True, in the thread that imports torch; of ``torch.cuda`` what _ANSWERS has; and cuBLAS as Triton calls it. ``torch.cuda.is_available()`` remains False.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

from .. import _imports


class Nothing:
    """A stream, an event, or the context of a device: what is launched has ended when the next line begins."""

    cuda_stream = 0

    def __init__(self, *args: Any, **named: Any):
        pass

    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, *exception: Any) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Any) -> float:
        from .host import unknown_time
        return unknown_time()

    def nothing(self, *args: Any, **named: Any) -> None:
        pass

    record = wait = synchronize = wait_event = wait_stream = nothing

    def record_event(self, event: Any = None) -> Any:
        return event or self


class Graph(Nothing):
    """Without a GPU torch's own ends the process by a segmentation fault."""

    def __init__(self, *args: Any, **named: Any):
        raise RuntimeError("graphs cannot be captured with --device cpu: nothing would run again when they are replayed")


def _capability(device: Any = None) -> tuple[int, int]:
    """That of the GPU that kernels are compiled for."""
    from .host import HOST
    arch = HOST.target.arch
    return divmod(arch, 10) if isinstance(arch, int) else (int(arch[3:-2]), int(arch[-2]))


def _properties(device: Any = None) -> Any:
    from .host import HOST, PROPERTIES
    major, minor = _capability()
    shared = PROPERTIES["max_shared_mem"]
    return SimpleNamespace(
        name="CPU", major=major, minor=minor, multi_processor_count=PROPERTIES["multiprocessor_count"], warp_size=HOST.target.warp_size, gcnArchName=str(HOST.target.arch),
        regs_per_multiprocessor=PROPERTIES["max_num_regs"], max_threads_per_multi_processor=2048, shared_memory_per_block=49152, shared_memory_per_block_optin=shared,
        shared_memory_per_multiprocessor=shared + 1024, L2_cache_size=32 << 20, total_memory=16 << 30)


_ANSWERS: dict[str, Any] = {  # each an object of its own: Dynamo has a table of them
    **{name: lambda *args, **named: None for name in ("synchronize", "set_device", "set_stream", "empty_cache", "manual_seed", "manual_seed_all")},
    **{name: type(name, (Nothing,), {}) for name in ("device", "device_of", "_DeviceGuard", "Stream", "stream", "current_stream", "default_stream", "Event")},
    **{name: type(name, (Graph,), {}) for name in ("CUDAGraph", "graph")},
    "current_device": lambda: 0, "get_device_name": lambda device=None: "CPU", "get_device_capability": _capability, "get_device_properties": _properties,
}


class _Blas:
    """cuBLAS, of which programs have the product to compare with."""

    def __init__(self, workspace: Any):
        pass

    def matmul(self, a: Any, b: Any, out: Any) -> None:
        out.copy_(a.float() @ b.float().T)


def _replace_blas() -> None:
    from triton._C import libtriton
    for backend, library, name in (("nvidia", "cublas", "CublasLt"), ("amd", "hipblas", "HipblasLt")):
        if hasattr(getattr(libtriton, backend, None), library):
            setattr(getattr(getattr(libtriton, backend), library), name, _Blas)


def map_to_cpu() -> None:
    """Called when torch has been imported."""
    torch: Any = sys.modules["torch"]
    from torch.overrides import TorchFunctionMode

    cpu, is_cuda = torch.device("cpu"), torch.Tensor.is_cuda.__get__

    def mapped(value: Any) -> Any:
        if isinstance(value, torch.device) and value.type == "cuda" or isinstance(value, str) and value.partition(":")[0] == "cuda":
            return cpu
        return value

    class ToCPU(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if getattr(func, "__name__", "") == "cuda" and args:
                return args[0]
            if func == is_cuda:
                return args[0].device.type == "cpu"
            named = {name: mapped(value) for name, value in (kwargs or {}).items()}
            return func(*map(mapped, args), **named)

    ToCPU().__enter__()
    for name, answer in _ANSWERS.items():
        setattr(torch.cuda, name, answer)
        if not hasattr(torch.cpu, name):  # programs find the module by the device that Triton's driver says
            setattr(torch.cpu, name, answer)
    _imports.when_imported("triton", _replace_blas)
