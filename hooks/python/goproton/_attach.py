"""The part of ``proton attach`` inside a Python process, on a thread of the profiler."""

from __future__ import annotations

import json
import os

from . import _imports, _library
from .flags import flags
from .profile import site_packages

_session: int | None = None


def begin(folder: str, library: str) -> None:
    """Starts the session that the folder's configuration asks for."""
    global _session
    path = os.path.join(folder, "attach.json")
    with open(path) as file:
        config = json.load(file)
    if _library.load(library) is None:
        raise RuntimeError(_library.problem)
    session = _library.call("run.attach", config=path, site_packages=site_packages())["session"]
    _session = session
    flags.profiling_on = True
    if config.get("context") == "python":
        from . import torch
        torch.attribute_backward(True)
    if config.get("hook") == "triton":
        _imports.when_imported("triton", lambda: _hook(session))


def _hook(session: int) -> None:
    from .hooks import HookManager, LaunchHook
    HookManager.register(LaunchHook(), session)


def end() -> None:
    """Takes back what begin has changed, once the session has ended."""
    if _session is not None:
        from .hooks import HookManager
        HookManager.unregister(_session)
