"""The part of ``proton interpret`` inside every Python process of the program."""

from __future__ import annotations

import atexit
import os
import sys
from functools import wraps
from typing import Any

from .. import _imports, _library
from . import unwritten


def begin(settings: dict[str, Any]) -> None:
    """Has kernels run on the CPU as soon as Triton is imported.

    Args:
        settings: PROTON_INTERPRET_CONFIG, decoded.
    """
    os.environ.pop("TRITON_INTERPRET", None)
    _imports.when_imported("triton", lambda: _begin(settings))
    if settings.get("scopes"):
        from .._triton import dropin
        dropin.install(upstream=False)  # scopes of triton.profiler are ours, as in a run that is profiled
    if unwritten.wanted(settings):
        unwritten.begin()
    if settings.get("device") == "cpu":
        from . import device
        _imports.when_imported("torch", device.map_to_cpu)


def _begin(settings: dict[str, Any]) -> None:
    from . import hook, host, inductor, runs
    try:
        run = runs.Run(tuple(settings.get("kernels") or ()), (), settings)
    except Exception as error:
        print(f"proton: {error}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(2)
    run.leave = _leave  # type: ignore[method-assign]
    hook.runs.insert(0, run)
    host.HOST.target = run.target
    if not hook.has_gpu():
        inductor.watch()
    pid, leave, ended = os.getpid(), os._exit, []

    def end() -> None:
        if os.getpid() == pid and not ended:
            ended.append(True)
            _library.call("interpret.end", run=run.number, unmatched=[p for p in run.patterns if p not in run.matched], others=list(hook.others))

    @wraps(leave)
    def end_and_leave(status: int) -> Any:
        """Workers of multiprocessing leave without atexit."""
        try:
            end()
        finally:
            leave(status)

    atexit.register(end)
    os._exit = end_and_leave


def _leave() -> None:
    """Ends the program whose debugger was left."""
    print("proton: the debugger was left", file=sys.stderr)
    raise SystemExit(1)
