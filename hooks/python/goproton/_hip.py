"""Calls libproton when the program has loaded HIP, which has no variable for that as CUDA's driver has.

roctracer looks for libamdhip64 once, and among the loaded libraries only, so it is opened after torch or Triton has loaded HIP and
before the first launch.
"""

from __future__ import annotations

import sys

from . import _imports, _library

_LIBRARY = "libamdhip64.so"
_reported = False
_watching = False


def watch() -> None:
    """Has libproton called once HIP is loaded: now, after the import of torch, or when Triton's driver is made."""
    global _watching
    if _watching or report():
        return
    _watching = True
    _imports.when_imported("torch", report)
    _imports.when_imported("triton.backends.amd.driver", _watch_triton)


def report() -> bool:
    """Calls libproton if HIP is loaded; returns whether it has been called."""
    global _reported
    if _reported or not _loaded():
        return _reported
    import ctypes
    _reported = True
    ctypes.CDLL(_library.native.__file__).proton_hip_loaded()
    return True


def _loaded() -> bool:
    try:
        with open("/proc/self/maps") as maps:
            return any(_LIBRARY in line for line in maps)
    except OSError:
        return False


def _watch_triton() -> None:
    # Triton's driver opens HIP when its utilities are made.
    utils = getattr(sys.modules.get("triton.backends.amd.driver"), "HIPUtils", None)
    make = getattr(utils, "__init__", None)
    if make is None:
        return
    from functools import wraps

    @wraps(make)
    def __init__(self, *arguments, **named):
        make(self, *arguments, **named)
        report()

    utils.__init__ = __init__
