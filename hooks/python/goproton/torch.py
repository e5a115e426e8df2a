"""PyTorch's own words in profiles: operators, modules, and backward passes below the forward operators that caused them.

    import goproton as proton

    proton.start("train")
    proton.torch.install()                 # or `proton run --torch train.py`
    loss = model(batch)                    # kernels below TransformerEncoder.layers.3.linear1 > aten::linear > aten::addmm

A session in python context needs none of this for its backward passes: with every torch that can be observed, their kernels
stand below the Python path of the forward operator and a frame ``<backward>``.
"""

from __future__ import annotations

import sys

from . import _imports, _library
from ._torch import BACKWARD, MODULES, OPERATORS, WORK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Versions of torch whose observers were seen to work; see docs/python.md.
OLDEST, NEWEST = (2, 4), (2, 15)

_wanted = 0
_problem: str | None = None  # why torch is not observed; None while it is, or before torch is imported
_without_work: str | None = None  # why operators are observed without their flops and bytes


def install(*, operators: bool = True, modules: bool = True, flops: bool = False) -> None:
    """Adds frames of PyTorch between scopes and kernels, in all sessions of this process, now or once torch is imported.

    Args:
        operators: ``aten::addmm``, nodes of backward passes such as ``AddmmBackward0``, and above a kernel of ``torch.compile`` the lines
            of the program that it comes from, and what it computes, ``aten::add+aten::relu``.
        modules: ``TransformerEncoder.layers.3.linear1``, named from the module that the program calls. Backward passes have them too.
        flops: flops and bytes of operators on a GPU, from the shapes of their arguments. They stand at the operators' frames, which
            it includes.
    """
    _want((_wanted & BACKWARD) | OPERATORS * (operators or flops) | MODULES * modules | WORK * flops)


def record_memory(on: bool = True) -> None:
    """Records the memory of torch's allocator for GPUs by call path, as ``proton run --memory`` does: ``alloc_bytes`` and ``allocs`` sum
    up what was allocated, and ``peak_bytes`` is what of it was allocated at the peak, when most was.
    """
    from ._torch import memory
    memory.record(on)


def uninstall() -> None:
    """Reverts :func:`install`. Backward passes stay below their forward operators in sessions in python context."""
    _want(_wanted & BACKWARD)


def problem() -> str | None:
    """What is missing of PyTorch's frames in this process, and why; None: nothing that is wanted, or torch is not imported."""
    parts = [sys.modules.get(f"{__package__}._torch.{name}") for name in ("modules", "inductor", "memory")]
    return _problem or _without_work or next((part.problem for part in parts if part and part.problem), None)


def attribute_backward(on: bool) -> None:
    """Called when the first session in python context starts, and when the last one has ended."""
    _want(_wanted | BACKWARD if on else _wanted & ~BACKWARD)


def _want(wanted: int) -> None:
    global _wanted
    _wanted = wanted
    if wanted:
        _imports.when_imported("torch", _apply)
    elif "torch" in sys.modules:
        _apply()


def _apply() -> None:
    global _problem, _without_work
    native = _library.native
    if native is None:
        return  # no session has started: start applies it
    from ._torch import inductor, modules
    modules.watch(native if _wanted & MODULES else None)
    inductor.watch(native if _wanted & OPERATORS else None)
    if not _wanted:
        native.torch_end()
        return
    from ._torch import values
    _problem = _unknown_version() or native.torch_begin(_wanted, _sample, values.facts)
    _without_work = None
    if _problem and _wanted & WORK:
        _without_work, _problem = f"flops and bytes: {_problem}", _unknown_version() or native.torch_begin(_wanted & ~WORK, _sample, None)
    if _problem:
        modules.watch(None)
        inductor.watch(None)


def _unknown_version() -> str | None:
    import torch
    words = torch.__version__.split(".")
    try:
        version = int(words[0]), int(words[1])
    except ValueError:
        version = OLDEST
    if OLDEST <= version <= NEWEST:
        return None
    return f"torch {torch.__version__} is not known to this version of goproton, only {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"


def _sample() -> Any:
    """Runs copies on another thread, then their backward nodes on this one, without the engine of autograd, which must
    not start before a fork. Returns their sequence numbers.
    """
    import threading
    import torch
    nodes = []

    def forward() -> None:  # a new thread records gradients
        x = torch.zeros((), requires_grad=True)
        for _ in range(4):
            nodes.append(x.clone().grad_fn)
            x.sin()  # another number for the next

    thread = threading.Thread(target=forward, daemon=True)
    thread.start()
    thread.join(5)
    if thread.is_alive():
        return None  # it waits for something that this thread holds
    one = torch.ones(())
    with torch.no_grad():
        for node in nodes:
            node(one)
    return [node._sequence_nr() for node in nodes]


_library.when_loaded(lambda native: _want(_wanted))
