"""Reads the data of a running session, phase by phase.

A session's data are divided into phases, numbered from 0. These functions do not wait for the GPU: call
``deactivate(session, flushing=True)`` first to get everything that was launched.

A forked child has no data: there, these functions return what they return for session None.
"""

from __future__ import annotations

from . import _library
from .flags import flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def get(session: int | None = 0, phase: int = 0) -> list[dict[str, Any]] | None:
    """The call-path tree of one phase, as the list that a .hatchet file holds: the root node and the devices.

    Args:
        session: from :func:`goproton.start`; None returns None.
        phase: the number of the phase.

    Raises:
        IndexError: no such session, or the phase has no data.
        RuntimeError: the session records a trace, which is only in its file.
        ValueError: under ``proton run``, for any session but 0.
    """
    if not _wanted(session, "Only one session can be retrieved when running from the command line."):
        return None
    return _library.call("data.get", session=session, phase=phase)


def get_msgpack(session: int | None = 0, phase: int = 0) -> bytes | None:
    """The same as MessagePack bytes: what a .hatchet_msgpack file holds.

    Args and errors: as for :func:`get`.
    """
    if not _wanted(session, "Only one session can be retrieved when running from the command line."):
        return None
    import base64
    return base64.b64decode(_library.call("data.get_msgpack", session=session, phase=phase)["msgpack"])


def advance_phase(session: int | None = 0) -> int | None:
    """Begins the next phase; all work from now on belongs to it.

    Returns:
        The number of the new phase, None for session None.
    """
    if not _wanted(session, "Only one session can advance phase when running from the command line."):
        return None
    return _library.call("data.advance_phase", session=session)["phase"]


def is_phase_complete(session: int | None = 0, phase: int = 0) -> bool:
    """Whether a phase has ended and all its GPU work has been processed. False for session None."""
    if not _wanted(session, "Only one session can check phase completion status when running from the command line."):
        return False
    return _library.call("data.is_phase_complete", session=session, phase=phase)["complete"]


def clear(session: int | None = 0, phase: int = 0, clear_up_to_phase: bool = False) -> None:
    """Drops the data of a phase. The current phase starts again empty.

    Args:
        session: from :func:`goproton.start`; None does nothing.
        phase: the number of the phase, which may be without data.
        clear_up_to_phase: drop all earlier phases too.
    """
    if _wanted(session, "Only one session can be cleared when running from the command line."):
        _library.call("data.clear", session=session, phase=phase, clear_up_to_phase=clear_up_to_phase)


def _wanted(session: int | None, text: str) -> bool:
    if session is None:
        return False
    if flags.command_line and session != 0:
        raise ValueError(text)
    return _library.native is not None and not _library.forked()
