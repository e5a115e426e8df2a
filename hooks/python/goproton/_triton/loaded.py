"""Kernels that Triton loaded before a session samples instructions.

CUPTI passes the code of a module to the profiler once, when the module is loaded. For modules that were loaded before
the session, the code comes from Triton, which keeps it. Samples can then be attributed to source lines as well.
"""

from __future__ import annotations

from .. import _library
from .slots import compiled_kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator


def report() -> None:
    """Passes the loaded functions and their code to the native side."""
    from base64 import b64encode
    for handle, name, image in _loaded():
        _library.call("code.loaded", handle=handle, name=name, image=b64encode(image).decode())


def _loaded() -> Iterator[tuple[int, str, bytes]]:
    kind = compiled_kernel()
    if kind is None:
        return
    import gc
    # By type(), because isinstance() uses __class__, which proxies replace.
    for kernel in [o for o in gc.get_objects() if type(o) is kind]:
        handle, name, image = (getattr(kernel, what, None) for what in ("function", "name", "kernel"))
        if isinstance(handle, int) and handle and isinstance(name, str) and isinstance(image, bytes):
            yield handle, name, image
