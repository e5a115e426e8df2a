"""The memory of torch's caching allocator as metrics of call paths; hooks/torchmemory.c counts it."""

from __future__ import annotations

from .. import _imports, _library

problem: str | None = None  # why it is not counted
_on = False
_everywhere = 0  # also on the CPU, for tests


def record(on: bool = True) -> None:
    """Counts memory from now on, or once torch is imported; or no longer."""
    global _on
    _on = on
    if on:
        _imports.when_imported("torch", _apply)
    elif _library.native is not None:
        _library.native.torch_memory_end()


def session_begins() -> None:
    """Called when a session begins and none recorded before."""
    if _on and _library.native is not None:
        _library.native.torch_memory_reset()


def add_peak() -> None:
    """Called before a profile is written: what was allocated at the peak is known only then."""
    if _on and _library.native is not None:
        _library.native.torch_memory_peak()


def _apply() -> None:
    global problem
    if _on and _library.native is not None:
        problem = _library.native.torch_memory_begin(_everywhere)


_library.when_loaded(lambda native: record(_on) if _on else None)
