"""Kernels that Triton loaded before a session begins to sample instructions.

CUPTI shows the code of a module when it is loaded, and never again. Triton keeps the code of its kernels, so that
their lines can be told nevertheless.
"""

from __future__ import annotations

from . import _library
from ._triton import compiled_kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator


def hand_over() -> None:
    """Tells the native side which functions are loaded, and their code."""
    from base64 import b64encode
    for handle, name, image in _loaded():
        _library.call("code.loaded", handle=handle, name=name, image=b64encode(image).decode())


def _loaded() -> Iterator[tuple[int, str, bytes]]:
    kind = compiled_kernel()
    if kind is None:
        return
    import gc
    # By type(), since isinstance() asks objects for their __class__, and proxies answer with whatever they stand for.
    for kernel in [o for o in gc.get_objects() if type(o) is kind]:
        handle, name, image = (getattr(kernel, what, None) for what in ("function", "name", "kernel"))
        if isinstance(handle, int) and handle and isinstance(name, str) and isinstance(image, bytes):
            yield handle, name, image
