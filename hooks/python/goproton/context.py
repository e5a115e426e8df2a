"""The depth of the current call path."""

from __future__ import annotations

from . import _library
from .flags import flags


def depth(session: int | None = 0) -> int | None:
    """Length of this thread's call path in a session.

    Args:
        session: from :func:`goproton.start`.

    Returns:
        Shadow context: the number of open scopes. Python context: the number of Python frames, this call included.
        None when nothing is profiled or session is None.
    """
    if not flags.profiling_on or session is None:
        return None
    node, pynode, _ = _library.native.leaf()
    return _library.call("depth", session=session, node=node, pynode=pynode)["depth"]
