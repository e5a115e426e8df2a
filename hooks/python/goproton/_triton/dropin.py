"""Replaces ``triton.profiler`` and ``triton._C.libproton`` without importing Triton.

A finder at the front of ``sys.meta_path`` returns the modules of this package for these names: the same module objects,
under a second name in ``sys.modules``. Modules that were imported under these names before are restored on uninstall.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

_OURS = __package__.rpartition(".")[0]
_PROFILER = "triton.profiler"
_LIBPROTON = "triton._C.libproton"

_set_aside: dict[str, ModuleType] = {}

_upstream = True  # the argument of install


def installed() -> bool:
    """Whether the names are replaced at the moment."""
    return _Finder in sys.meta_path


def trace_form() -> str:
    """The form in which timelines are written."""
    return "triton" if _upstream and installed() else ""


def mode(text: str) -> str:
    """A mode of a session, with what Triton's profiler does where the mode does not say: it samples one kernel at a time."""
    kind, _, options = text.partition(":")
    if kind.lower() != "pcsampling" or not _upstream or not installed():
        return text
    # What follows "kernels=" belongs to that, so it stays last.
    given = dict(option.partition("=")[::2] for option in options.partition("kernels=")[0].split(":"))
    added = [] if given.get("collection") == "continuous" else [f"{key}={value}" for key, value in _SAMPLING.items() if key not in given]
    return ":".join(filter(None, [kind, *added, options]))


# The warps of a fill of 4 KiB live for about 300 cycles on an H200. Of 100 fills, 29 had samples every 1024 cycles (Triton's
# interval, with which its profiler hit 27), 61 every 512 and all every 256. But CUPTI decodes about 20 million samples a second while
# the program waits, so a kernel of 5 ms on the whole GPU takes 75, 126 and 260 ms.
_SAMPLING = {"collection": "serialized", "interval": "512"}


def install(*, upstream: bool = True) -> None:
    """Replaces the names; see :func:`goproton.install`."""
    global _upstream
    _upstream = upstream
    if installed():
        return
    sys.meta_path.insert(0, _Finder)
    for name in list(sys.modules):
        if _covers(name):
            _set_aside[name] = sys.modules.pop(name)
    # Only if Triton's own modules were imported: attributes of packages that were imported earlier.
    for name in (_PROFILER, _LIBPROTON):
        if name in _set_aside:
            importlib.import_module(name)


def uninstall() -> None:
    """Restores the names."""
    if not installed():
        return
    sys.meta_path.remove(_Finder)
    for name in list(sys.modules):
        if _covers(name):
            del sys.modules[name]
    for name in (_PROFILER, _LIBPROTON):
        parent, _, child = name.rpartition(".")
        package = sys.modules.get(parent)
        if package is not None and child in vars(package):
            delattr(package, child)
            if name in _set_aside:
                setattr(package, child, _set_aside[name])
    sys.modules.update(_set_aside)
    _set_aside.clear()


def _covers(name: str) -> bool:
    return name in (_PROFILER, _LIBPROTON) or name.startswith((_PROFILER + ".", _LIBPROTON + "."))


class _Finder:

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not _covers(name):
            return None
        ours = _ours(name)
        if ours is None:
            return None
        original = find_spec(ours)
        is_package = name == _LIBPROTON or original.submodule_search_locations is not None
        return ModuleSpec(name, _Loader(ours), origin=original.origin, is_package=is_package)


def _ours(name: str) -> str | None:
    """The module of this package for one of the covered names, None if there is no such module."""
    if name == _LIBPROTON or name == _LIBPROTON + ".proton":
        return f"{_OURS}._triton.libproton"
    if name.startswith(_LIBPROTON):
        return None
    ours = _OURS + name[len(_PROFILER):]
    if ours == _OURS:
        return ours
    return ours if find_spec(ours) is not None else None


class _Loader:
    """Puts an existing module under a second name. Importing machinery allows a module to replace itself while it runs."""

    def __init__(self, ours: str) -> None:
        self.ours = ours

    def create_module(self, spec):
        return None

    def get_code(self, name):
        """For ``python -m triton.profiler.proton``."""
        return find_spec(self.ours).loader.get_code(self.ours)

    def exec_module(self, module):
        sys.modules[module.__name__] = importlib.import_module(self.ours)
        if self.ours != _OURS:
            return
        # goproton.scope is a class, and also a module. If the second were imported as triton.profiler.scope, the
        # import would bind the module over the class; one that is in sys.modules already is not bound again.
        for name in ("flags", "profile", "scope", "state"):
            sys.modules[f"{_PROFILER}.{name}"] = sys.modules[f"{_OURS}.{name}"]
