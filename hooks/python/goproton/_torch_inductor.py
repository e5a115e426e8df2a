"""Frames for the kernels that torch.compile makes: the operators that a fused kernel computes.

Inductor writes these into comments of the Python file that launches its kernels, also when the file comes from a cache:

    # Topologically Sorted Source Nodes: [linear, relu], Original ATen: [aten.addmm, aten.relu]
    triton_poi_fused_addmm_relu_0 = async_compile.triton(...
"""

from __future__ import annotations

import functools
import re
import sys

from . import _imports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_LAUNCHES = "torch._inductor.runtime.triton_heuristics"
_ORIGIN = re.compile(r"^\s*# .*Original ATen: \[(.*?)\]", re.MULTILINE)
_KERNEL = re.compile(r"^\s*(\w+)(?: = async_compile\.|\.run\()", re.MULTILINE)
_SHOWN = 6  # operators in a name; fused kernels have up to a hundred

_native: ModuleType | None = None
problem: str | None = None  # why the kernels have no such frames


def watch(native: ModuleType | None) -> None:
    """Opens frames for Inductor's kernels from now on; None: no longer."""
    global _native, problem
    _native, problem = native, None
    if native is not None:
        _imports.when_imported(_LAUNCHES, _wrap)


def _wrap() -> None:
    global problem
    launcher: Any = getattr(sys.modules[_LAUNCHES], "CachingAutotuner", None)
    original = getattr(launcher, "run", None)
    if original is None:
        problem = "this torch launches the kernels of torch.compile in another way than is known here"
        return
    if hasattr(original, "_goproton"):
        return
    import weakref

    from .torch import OPERATORS
    names: Any = weakref.WeakKeyDictionary()

    @functools.wraps(original)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        name = names.get(self)
        if name is None:
            name = names[self] = _name(self, sys._getframe(1))
        native = _native
        if native is None or not name:
            return original(self, *args, **options)
        native.torch_enter(name, self, OPERATORS)
        try:
            return original(self, *args, **options)
        finally:
            native.torch_exit(self)

    run._goproton = True  # type: ignore[attr-defined]
    launcher.run = run


def _name(kernel: Any, frame: Any) -> str:
    """The operators of a kernel, aten::addmm+aten::relu, or "" if the file that launches it does not say."""
    for _ in range(4):  # the choice between several kernels is another frame
        if frame is None:
            break
        module = frame.f_globals
        names = [name for name, value in module.items() if value is kernel]
        if names:
            return origins(module.get("__file__") or frame.f_code.co_filename).get(names[0], "")
        frame = frame.f_back
    return ""


@functools.lru_cache(maxsize=None)
def origins(path: str) -> dict[str, str]:
    """The operators of each kernel that a file of Inductor launches."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return {}
    found: dict[str, str] = {}
    last = ""
    for match in sorted((*_ORIGIN.finditer(text), *_KERNEL.finditer(text)), key=lambda match: match.start()):
        if match.re is _ORIGIN:
            last = _joined(match[1])
        else:
            found.setdefault(match[1], last)
            last = ""
    return found


def _joined(operators: str) -> str:
    names = [name.replace(".", "::", 1) for name in operators.replace(" ", "").split(",") if name]
    more = len(names) - _SHOWN
    return "+".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
