"""The launch hook: names and metrics of Triton kernels, from their launch metadata.

While it is the only hook, Triton calls the native module's two functions directly: a Python frame per launch would cost
as much as all the rest of the hook. When there are other hooks too, HookManager calls the methods below.
"""

from __future__ import annotations

from _thread import _local
from itertools import count

from .. import _library
from .._triton import autotuning, slots
from ..state import COMPUTE_METADATA_SCOPE_NAME as COMPUTE_METADATA_SCOPE_NAME  # Triton 3.6 has it here
from .hook import Hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class LaunchHook(Hook):
    """``hook="triton"``: one object per process.

    Every number and tensor in the metadata that a kernel's ``launch_metadata`` function returns is a metric of the kernel.
    ``flops8`` .. ``flops64``, those by type such as ``flops_bf16``, and ``bytes`` are used for the roofline. "name" replaces
    the kernel's name. An exception in a metadata function does not break the launch.
    """

    priority = 100

    _instance: LaunchHook | None = None
    _filter: Callable[[str], bool] | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> LaunchHook:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def configure(self, *, include: str | None = None, exclude: str | None = None) -> None:
        """Selects kernels by name, for all sessions. The others are still timed, under their compiled name.

        Args:
            include: regular expression that must match at the start of the name; None means every kernel.
            exclude: regular expression that must not match at the start of the name.

        The compiled name is tested first, so that the metadata of a kernel that it excludes are not evaluated; then the
        name in the metadata.
        """
        self._filter = _name_filter(include, exclude)
        if _library.native is not None:
            _library.native.set_launch_filter(self._filter)

    def activate(self) -> None:
        native = _library.load()  # a hook may be registered before the first session
        if native is not None:
            native.set_launch_filter(self._filter)  # it may have been set before the library was loaded
        autotuning.begin()

    def deactivate(self) -> None:
        autotuning.end()

    def enter(self, metadata: Any) -> None:
        if _library.native is not None:
            _library.native.launch_enter(metadata)

    def exit(self, metadata: Any) -> None:
        if _library.native is not None:
            _library.native.launch_exit(metadata)

    def native_heads(self) -> dict[str, Callable] | None:
        # A derived class needs its own enter and exit called.
        if type(self) is not LaunchHook or _library.native is None:
            return None
        # An op ends with the launch of its function, which Triton names from 3.6 on. The exit hook (50 ns) is for older
        # releases and for empty grids: Triton calls both hooks around those and launches nothing.
        return {slots.ENTER: _library.native.launch_enter, slots.EXIT: _library.native.launch_exit}


def _name_filter(include: str | None, exclude: str | None) -> Callable[[str], bool] | None:
    if not include and not exclude:
        return None
    import re
    wanted = re.compile(include).match if include else lambda name: True
    unwanted = re.compile(exclude).match if exclude else lambda name: False
    return lambda name: bool(wanted(name)) and not unwanted(name)


class _Thread(_local):
    """A number for this thread, which distinguishes its launches from those of other threads."""

    _numbers = count(1)

    def __init__(self) -> None:
        self.number = next(self._numbers)


_thread = _Thread()


class _LastOp:
    """Reads like a ContextVar: the last launch of this thread that the hook named.

    The value is made when it is read, so it does not slow down launches.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def get(self, default: Any = None) -> Any:
        """The value, or ``default`` if this thread has not launched a named kernel yet."""
        if _library.native is None:
            return default
        number, name = _library.native.last_op()
        if not number:
            return default
        # The native number counts the launches of one thread.
        return name if self.name == "op_name" else _thread.number << 32 | number


id = _LastOp("id")
op_name = _LastOp("op_name")
