"""Kernels of torch.compile. On a machine without a GPU, Inductor makes Triton's kernels for tensors on the CPU."""

from __future__ import annotations

import sys
from typing import Any

from .. import _imports


def watch() -> None:
    """Has Inductor write Triton for the CPU as soon as it is imported."""
    _imports.when_imported("torch._inductor.config", _configure)


def _configure() -> None:
    config: Any = sys.modules["torch._inductor.config"]
    if hasattr(config, "cpu_backend"):
        config.cpu_backend = "triton"
    config.compile_threads = 1  # this process compiles, not one without the hook
