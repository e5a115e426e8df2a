"""The part of ``proton interpret`` inside every Python process of the program."""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

from .. import _imports, _library


def begin(settings: dict[str, Any]) -> None:
    """Has kernels run on the CPU as soon as Triton is imported.

    Args:
        settings: PROTON_INTERPRET_CONFIG, decoded.
    """
    os.environ.pop("TRITON_INTERPRET", None)
    _imports.when_imported("triton", lambda: _begin(settings))


def _begin(settings: dict[str, Any]) -> None:
    from . import hook, runs
    try:
        run = runs.Run(tuple(settings.get("kernels") or ()), (), settings)
    except Exception as error:
        print(f"proton: {error}", file=sys.stderr)
        os._exit(2)
    hook.runs.insert(0, run)
    pid = os.getpid()

    def end() -> None:
        if os.getpid() == pid:
            _library.call("interpret.end", run=run.number, unmatched=[p for p in run.patterns if p not in run.matched], others=list(hook.others))

    atexit.register(end)
