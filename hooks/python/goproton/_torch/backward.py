"""Backward passes have the scopes of the thread that calls ``backward``, on whichever thread torch runs them: hooks/torchlend.c.

With a torch that differs they have the scopes that the main thread had when they first met the session.
"""

from __future__ import annotations

import sys
from functools import partial

from .. import _library

_lending = False


def lend() -> None:
    """Called once torch is imported and the native side is loaded."""
    global _lending
    Variable = getattr(sys.modules.get("torch.autograd"), "Variable", None)
    engine = getattr(Variable, "_execution_engine", None)
    native = _library.native
    if _lending or native is None or not hasattr(engine, "run_backward") or not native.torch_lend():
        return
    _lending = True

    class Engine(type(engine)):
        def run_backward(self, *arguments, **keywords):
            return native.torch_lending(partial(super().run_backward, *arguments, **keywords))

    Engine.__name__, Engine.__qualname__, Engine.__module__ = type(engine).__name__, type(engine).__qualname__, type(engine).__module__
    Variable._execution_engine = Engine()
