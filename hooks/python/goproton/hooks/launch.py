"""The launch hook: names and metrics of Triton kernels, from their launch metadata.

On its own and without a filter it is the native module's two functions that Triton calls, with no Python in between
(a Python frame per launch costs as much as all the rest of the hook). With a filter, or beside other hooks,
HookManager calls the methods below.
"""

from __future__ import annotations

from _thread import _local

from .. import _library, _triton
from ..state import COMPUTE_METADATA_SCOPE_NAME as COMPUTE_METADATA_SCOPE_NAME  # Triton 3.6 has it here
from ..state import metadata_state
from .hook import Hook, HookManager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern
    from typing import Any, Callable


_here = _local()  # evaluating: this thread is inside a metadata function, for the filter


class LaunchHook(Hook):
    """``hook="triton"``: one object per process.

    Every number in the metadata that a kernel's ``launch_metadata`` function returns becomes a metric of the kernel
    (``flops8`` .. ``flops64``, ``bytes`` feed the roofline), tensors too; "name" replaces the kernel's name. Metadata
    functions that raise do not break the launch.
    """

    priority = 100

    _instance: LaunchHook | None = None
    _include: Pattern | None = None
    _exclude: Pattern | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> LaunchHook:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def configure(self, *, include: str | None = None, exclude: str | None = None) -> None:
        """Chooses kernels by name, for all sessions. The others keep being timed, under their compiled name.

        Args:
            include: regular expression that must match at the start of the name; None means every kernel.
            exclude: regular expression that must not match at the start of the name.

        The compiled name is looked at first, so the metadata of a kernel that it rules out are never evaluated; then
        the name that the metadata give.
        """
        import re
        self._include = re.compile(include) if include else None
        self._exclude = re.compile(exclude) if exclude else None
        HookManager.refresh()

    def activate(self) -> None:
        pass

    def deactivate(self) -> None:
        pass

    def enter(self, metadata: Any) -> None:
        # A kernel that a metadata function launches is no launch of its own: it stays under the metadata state.
        if getattr(_here, "evaluating", False) or metadata is not None and not self._chosen(metadata):
            return
        _library.native.launch_enter(metadata)

    def exit(self, metadata: Any) -> None:
        if getattr(_here, "evaluating", False):
            return
        _library.native.launch_exit(metadata)

    def destroy_handle(self, module: Any, function: Any, name: str, metadata_group: dict[str, str], hash: str) -> None:
        unload = getattr(_library.native, "launch_unload", None)
        if unload is not None:
            unload(module, function, name, metadata_group, hash)

    def native_heads(self) -> dict[str, Callable] | None:
        """What Triton may call directly while this is the only hook; None while a filter is set."""
        if type(self) is not LaunchHook or self._include or self._exclude:
            return None
        native = _library.native
        heads = {_triton.ENTER: native.launch_enter}
        if not _triton.knows_function():
            heads[_triton.EXIT] = native.launch_exit
        unload = getattr(native, "launch_unload", None)
        if unload is not None:
            heads[_triton.UNLOAD] = unload
        return heads

    def _chosen(self, metadata: Any) -> bool:
        if not (self._include or self._exclude):
            return True
        compiled = metadata.data.get("name")
        if not self._matches(compiled):
            return False
        _here.evaluating = True
        try:
            with metadata_state(compiled):
                given = metadata.get().get("name")
        except Exception:
            return True  # the native side meets the same error and reports it once
        finally:
            _here.evaluating = False
        return given == compiled or self._matches(given)

    def _matches(self, name: str | None) -> bool:
        if name is None:
            return True
        if self._include and not self._include.match(name):
            return False
        return not (self._exclude and self._exclude.match(name))


class _LastOp:
    """Reads like a ContextVar: the last launch of this thread that the hook named.

    The value is asked for when it is read, so a launch pays nothing for it.
    """

    def __init__(self, name: str, position: int) -> None:
        self.name = name
        self._position = position

    def get(self, default: Any = None) -> Any:
        """The value, or ``default`` when this thread has not launched a named kernel yet."""
        if _library.native is None:
            return default
        number, name = _library.native.last_op()
        return (number, name)[self._position] if number else default


id = _LastOp("id", 0)
op_name = _LastOp("op_name", 1)
