"""The names of PyTorch's modules as frames: the call of a module opens one.

torch's global hooks would do the same, but each call would take another, slower way through torch, and torch.compile would warn
of them and compile its regions again.
"""

from __future__ import annotations

import sys

from .. import _imports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

problem: str | None = None  # why modules have no frames
_original: Any = None  # torch.nn.Module.__call__, while it is replaced


def watch(native: ModuleType | None) -> None:
    """Opens frames for modules from now on; None: no longer."""
    global _original, problem
    if native is None and _original is None:
        return
    import torch
    if _original is not None:
        torch.nn.Module.__call__ = _original
        _original = problem = None
    if native is None:
        return
    _original = torch.nn.Module.__call__
    torch.nn.Module.__call__ = _call(native, _original, torch.compiler.is_compiling)  # type: ignore[method-assign]
    _imports.when_imported("torch._dynamo.eval_frame", _keep_out_of_compilation)


def _keep_out_of_compilation() -> None:
    """Has torch.compile begin with a module's forward, as it does without us, instead of what opens the frame."""
    global problem
    import torch
    skip = getattr(sys.modules["torch._dynamo.eval_frame"], "skip_code", None)
    if skip is None:
        watch(None)
        problem = "torch.compile would compile what opens the frames of modules: this torch is not known here"
    elif _original is not None:
        skip(torch.nn.Module.__call__.__code__)


def _call(native: ModuleType, original: Any, is_compiling: Any) -> Any:
    import weakref

    from . import MODULES
    enter, leave, wanted = native.torch_enter, native.torch_exit, MODULES
    names: dict[int, tuple[Any, str]] = {}  # by the module's id, which another may have later

    def add(root: Any) -> str:
        """Names a module that no other one of the program's calls has named, and everything in it."""
        compiled = getattr(root, "_orig_mod", root)  # of torch.compile's wrapper
        kind = type(compiled).__name__
        for path, module in (*compiled.named_modules(), ("", root)):
            known = names.get(id(module))
            if known is None or known[0]() is not module:
                names[id(module)] = weakref.ref(module), f"{kind}.{path}" if path else kind
        return names[id(root)][1]

    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        if is_compiling():
            return original(self, *args, **keywords)
        known = names.get(id(self))
        opened = enter(known[1] if known and known[0]() is self else add(self), self, wanted)
        try:
            return original(self, *args, **keywords)
        finally:
            if opened:
                leave(self)

    return call
