"""Frames for the kernels that torch.compile makes: the lines of the program that a fused kernel comes from, and the operators that it
computes.

Inductor writes the operators into comments of the Python file that launches its kernels, also when the file comes from a cache:

    # Topologically Sorted Source Nodes: [linear, relu], Original ATen: [aten.addmm, aten.relu]
    triton_poi_fused_addmm_relu_0 = async_compile.triton(...

For each line of that file it keeps, in memory and in its cache, where the program called the operator that the line launches: of a fused
kernel the last one.
"""

from __future__ import annotations

import functools
import os
import re
import sys

from .. import _imports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, ModuleType
    from typing import Any

_LAUNCHES = "torch._inductor.runtime.triton_heuristics"
_CACHE = "torch._inductor.codecache"
_ORIGIN = "Original ATen: ["
_KERNEL = re.compile(r"(\w+)(?: = async_compile\.|\.run\()")
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

    from . import OPERATORS
    wrappers: Any = weakref.WeakKeyDictionary()

    @functools.wraps(original)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        native = _native
        if native is None:
            return original(self, *args, **options)
        wrapper = wrappers.get(self)
        if wrapper is None:
            wrapper = wrappers[self] = _Wrapper(self, sys._getframe(1))
        frames = wrapper.frames(sys._getframe(1))
        opened = sum(native.torch_enter(frame, self, OPERATORS) for frame in frames)
        try:
            return original(self, *args, **options)
        finally:
            for _ in range(opened):
                native.torch_exit(self)

    run._goproton = True  # type: ignore[attr-defined]
    launcher.run = run


_BETWEEN = 4  # frames from a launch to the wrapper: the choice between several kernels is another one


class _Wrapper:
    """The file that launches a kernel, possibly from several lines, and the frames of each launch. It does not keep the file's module, which
    has the kernel: neither would ever be freed."""

    def __init__(self, kernel: Any, frame: FrameType | None) -> None:
        self.path = ""
        self.operators: tuple[str, ...] = ()
        self.known: dict[tuple[int, int], tuple[str, ...]] = {}
        for _ in range(_BETWEEN):
            if frame is None:
                return
            name = next((name for name, value in frame.f_globals.items() if value is kernel), None)
            if name:
                self.path = frame.f_code.co_filename
                origin = origins(frame.f_globals.get("__file__") or self.path).get(name)
                self.operators = (origin,) if origin else ()
                return
            frame = frame.f_back

    def frames(self, frame: FrameType | None) -> tuple[str, ...]:
        """The frames of a launch, the outermost first."""
        for _ in range(_BETWEEN):
            if frame is None or not self.path:
                break
            if frame.f_code.co_filename == self.path:
                at = id(frame.f_code), frame.f_lasti  # a line would be searched for in the code's table
                found = self.known.get(at)
                if found is None:
                    found = self.known[at] = lines(self.path, frame.f_lineno) + self.operators
                return found
            frame = frame.f_back
        return self.operators


def lines(path: str, line: int) -> tuple[str, ...]:
    """The lines of the program that a line of a wrapper comes from, named as frames of Python are: /home/me/model.py:12@forward."""
    global problem
    if _CACHE not in sys.modules:
        return ()
    cache: Any = getattr(sys.modules[_CACHE], "PyCodeCache", None)
    try:
        frames = cache.stack_frames_for_code(path, line) if cache.linemaps.get(path) else None
        return tuple(f"{frame['filename']}:{frame['line']}@{frame['name']}" for frame in reversed(frames or ()) if _is_programs(frame["filename"]))
    except (AttributeError, KeyError, TypeError, ValueError):
        problem = "lines of the program at kernels of torch.compile: this torch keeps them in another way than is known here"
        return ()


def _is_programs(path: str) -> bool:
    """Whether a file is neither torch's nor ours: what opens the frames of modules calls them."""
    packages = (sys.modules["torch"].__file__ or "", _imports.__file__)
    return not path.startswith(tuple(os.path.dirname(package) + os.sep for package in packages))


@functools.lru_cache(maxsize=None)
def origins(path: str) -> dict[str, str]:
    """The operators of each kernel that a file of Inductor launches."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return _origins(file)
    except OSError:
        return {}


def _origins(text: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    last = ""
    for line in text:
        line = line.lstrip()
        if line.startswith("#"):
            _, is_origin, operators = line.partition(_ORIGIN)
            if is_origin:
                last = _joined(operators.partition("]")[0])
        elif match := _KERNEL.match(line):
            found.setdefault(match[1], last)
            last = ""
    return found


def _joined(operators: str) -> str:
    names = [name.replace(".", "::", 1) for name in operators.replace(" ", "").split(",") if name]
    more = len(names) - _SHOWN
    return "+".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
