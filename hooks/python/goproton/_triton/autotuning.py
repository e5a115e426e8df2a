"""What autotuners launch to choose a configuration, below a frame of its own: a kernel's time would have it otherwise.

Triton's autotuner and Inductor's measure each configuration in one method, which is replaced while a launch hook is active. A benchmark function
of the program's own is left alone, and under Triton's names nothing is added to what Triton's profiler shows.
"""

from __future__ import annotations

import sys
from functools import wraps

from .. import _imports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FRAME = "<autotune>"

_PLACES = {"triton.runtime.autotuner": ("Autotuner", "_bench"), "torch._inductor.runtime.triton_heuristics": ("CachingAutotuner", "bench")}

_replaced: dict[str, tuple[Any, str, Any, Any]] = {}  # by module: class, name, what was there, ours
_active = False


def begin() -> None:
    """A launch hook is active from here on."""
    global _active
    _active = True
    for module in _PLACES:
        _imports.when_imported(module, _Replace(module))


def end() -> None:
    """No launch hook is active any more."""
    global _active
    _active = False
    for kind, name, before, ours in _replaced.values():
        if vars(kind).get(name) is ours:
            setattr(kind, name, before)
    _replaced.clear()


class _Replace:

    def __init__(self, module: str) -> None:
        self.module = module

    def __eq__(self, other: object) -> bool:  # the same wait
        return isinstance(other, _Replace) and self.module == other.module

    def __call__(self) -> None:
        name, method = _PLACES[self.module]
        kind = getattr(sys.modules.get(self.module), name, None)
        before = vars(kind).get(method) if isinstance(kind, type) else None
        if before is None or self.module in _replaced or not _active:
            return
        from ..scope import scope

        @wraps(before)
        def measure(self: Any, *args: Any, **kwargs: Any) -> Any:
            if _under_tritons_names() or _of_the_program(self):
                return before(self, *args, **kwargs)
            with scope(FRAME):
                return before(self, *args, **kwargs)

        setattr(kind, method, measure)
        _replaced[self.module] = kind, method, before, measure


def _under_tritons_names() -> bool:
    drop_in = sys.modules.get(f"{__package__}.dropin")
    return bool(drop_in and drop_in.trace_form())


def _of_the_program(autotuner: Any) -> bool:
    given = getattr(autotuner, "_do_bench", vars(autotuner).get("do_bench"))
    return given is not None and not str(getattr(given, "__module__", "")).startswith("triton.")
