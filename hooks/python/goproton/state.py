"""States: one frame between the scopes and the kernels, naming a phase of the work.

States nest: after one is left, the state around it is current again. (Triton's own profiler has one state at a time.)
"""

from __future__ import annotations

from . import _library
from .flags import flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# The frame under which the viewer hides work that is done only to compute metrics.
COMPUTE_METADATA_SCOPE_NAME = "__proton_launch_metadata"
COMPUTE_METADATA_SCOPE_PREFIX = COMPUTE_METADATA_SCOPE_NAME + ":"


class state:
    """Adds one frame below all open scopes and above the kernels; a context manager and a decorator.

        with proton.state("backward"):
            loss.backward()

    Metrics added while the state is entered belong to the state's frame.

    Args:
        name: the frame's text.
    """

    _open: Any = ()  # a list while entered under a session; one object may be entered again inside itself

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self):
        if flags.profiling_on:
            _library.native.enter_state(self.name)
            self._open = [*self._open, True]
        elif self._open:
            self._open.append(False)
        return self

    def __exit__(self, exc_type, exc_value, traceback) -> None:
        if self._open and self._open.pop():
            _library.native.exit_state()

    def __call__(self, func: Callable) -> Callable:
        from functools import wraps

        from ._tasks import is_asynchronous

        def inside(*args: Any, **kwargs: Any) -> Any:
            with state(self.name):
                return func(*args, **kwargs)

        async def inside_task(*args: Any, **kwargs: Any) -> Any:
            with state(self.name):
                return await func(*args, **kwargs)

        return wraps(func)(inside_task if is_asynchronous(func) else inside)


class metadata_state(state):
    """The state for work that only computes metrics: the viewer hides it and does not count its time.

    Args:
        kernel_name: the kernel whose metrics are computed, if there is one.
    """

    def __init__(self, kernel_name: str | None = None) -> None:
        super().__init__(get_metadata_state_name(kernel_name))


def enter_state(name: str) -> None:
    """Enters a state without a ``with`` block; :func:`exit_state` on the same thread leaves it."""
    if _library.native is not None:
        _library.native.enter_state(name)


def exit_state() -> None:
    """Leaves the innermost state of this thread. Without one, nothing happens."""
    if _library.native is not None:
        _library.native.exit_state()


def get_metadata_state_name(kernel_name: str | None = None) -> str:
    """The name that :class:`metadata_state` gives its state."""
    return COMPUTE_METADATA_SCOPE_PREFIX + kernel_name if kernel_name else COMPUTE_METADATA_SCOPE_NAME
