"""``--device cpu``: tensors that a program makes on a GPU are made on the CPU, on a machine without one.

It covers ``device=`` and the positional device of torch's functions, ``.to("cuda")`` and ``.cuda()`` of tensors and modules, in the thread that
imports torch; and these of ``torch.cuda``: synchronize, current_device, set_device, empty_cache, manual_seed, manual_seed_all.
``torch.cuda.is_available()`` and ``tensor.is_cuda`` remain False.
"""

from __future__ import annotations

import sys
from typing import Any


def map_to_cpu() -> None:
    """Called when torch has been imported."""
    torch: Any = sys.modules["torch"]
    from torch.overrides import TorchFunctionMode

    cpu = torch.device("cpu")

    def mapped(value: Any) -> Any:
        if isinstance(value, torch.device) and value.type == "cuda" or isinstance(value, str) and value.partition(":")[0] == "cuda":
            return cpu
        return value

    class ToCPU(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if getattr(func, "__name__", "") == "cuda" and args:
                return args[0]
            named = {name: mapped(value) for name, value in (kwargs or {}).items()}
            return func(*map(mapped, args), **named)

    ToCPU().__enter__()
    for name, replacement in {"synchronize": None, "set_device": None, "empty_cache": None, "manual_seed": None, "manual_seed_all": None, "current_device": 0}.items():
        setattr(torch.cuda, name, lambda *args, _answer=replacement, **named: _answer)
