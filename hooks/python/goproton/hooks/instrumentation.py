"""The hook of backend "instrumentation", which this version does not support."""

from __future__ import annotations

from .hook import Hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class InstrumentationHook(Hook):
    """Would compile records into kernels.

    Raises:
        NotImplementedError: always.
    """

    priority = 0
    enable_host_buffer = False
    host_buffer = None

    def __init__(self, mode: Any = None) -> None:
        raise NotImplementedError("intra-kernel profiling (backend 'instrumentation') is not supported yet; use backend 'cupti'")
