"""The hook of backend "instrumentation": while it is active, kernels are compiled with records of their scopes."""

from __future__ import annotations

import sys

from .. import _library
from .._inside import Inside, kernels, passes
from .._triton.slots import EXIT, LOADED, UNLOAD
from ..flags import flags
from ..mode import instrumentation_mode
from .hook import Hook, HookManager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence

    from ..mode import InstrumentationMode


class _Switches(type):
    """Has Triton call the hook's methods, or the native functions in their place, as the switch says."""

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "enable_host_buffer":
            HookManager.refresh()


class InstrumentationHook(Hook, metaclass=_Switches):
    """Compiles records into kernels, and lends them the memory to write to.

    One can be active in a process. What the compiler, the allocator and the mode were before is put back when it is deactivated.

    Attributes:
        active_count: 1 while one is active.
        enable_host_buffer: for debugging: after each launch, wait for its records and keep them in ``host_buffer``.
        host_buffer: a tensor of bytes: a header, then the slots of all blocks, of which a kernel without scopes has none; None before a launch.
        profile_buffer_size: the least bytes of a launch, in Triton's profiler; has no effect here.
        profile_buffer_alignment: of the memory of a launch.

    Args:
        mode_obj: an object of goproton.mode, or its text.
        inside: patterns of the names of kernels that get scopes without being edited.

    Raises:
        ValueError: the mode is unknown, or one of its options.
    """

    priority = 0
    active_count = 0
    enable_host_buffer = False
    host_buffer: Any = None
    profile_buffer_size = 1
    profile_buffer_alignment = 128

    _active: InstrumentationHook | None = None
    _described: dict[int, dict[str, Any]] = {}  # by function: what was loaded in one session may be launched in another

    def __init__(self, mode_obj: InstrumentationMode | str | None = None, inside: Sequence[str] = ()) -> None:
        self.mode = instrumentation_mode(mode_obj)
        self.inside = Inside(list(inside), cheap=not mode_obj)
        self._undo: list[Callable[[], None]] = []

    # ---- sessions ----

    def activate(self) -> None:
        if InstrumentationHook.active_count > 0:
            raise RuntimeError("Only one instance of the instrumentation hook can be active at a time.")
        if _library.load() is None:
            raise RuntimeError(_library.problem)
        _need_triton()
        self._undo = [passes.install(self.mode)]
        self._undo += [_replace_mode(passes.key(self.mode) + self.inside.key()), _replace_allocator()]
        self.inside.attach()
        if self.inside.chosen and self not in _attached:
            _attached.append(self)
        self._undo.append(self.inside.detach)
        InstrumentationHook.active_count += 1
        InstrumentationHook._active = self
        flags.instrumentation_on = True

    def deactivate(self) -> None:
        if InstrumentationHook.active_count == 0:
            return
        InstrumentationHook.active_count -= 1
        InstrumentationHook._active = None
        flags.instrumentation_on = False
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        InstrumentationHook.host_buffer = None

    # ---- launches ----

    def init_handle(self, module: Any, function: Any, name: str, metadata_group: dict[str, str], hash: str) -> None:
        if not function:
            return
        try:
            for doubt in kernels.doubts(metadata_group, self.inside.chooses(name)):
                _say(f"kernel {name} {doubt}")
            kernel = kernels.described(name, metadata_group, self.mode)
            if kernel is None:
                return
            self._check(kernel)
            _library.call("inside.kernel", function=function, inside=kernel)
            _replace_allocator.needed = True
            self._described[function] = kernel
        except Exception as error:  # the program's launch goes on
            _say(f"the scopes inside kernel {name} are not recorded: {error}; please report this")

    def destroy_handle(self, module: Any, function: Any, name: str, metadata_group: dict[str, str], hash: str) -> None:
        if function and self._described.pop(function, None) is not None:
            _library.call("inside.forget", function=function)

    def enter(self, metadata: Any) -> None:
        InstrumentationHook.host_buffer = None

    def exit(self, metadata: Any) -> None:
        native = _library.native
        if not InstrumentationHook.enable_host_buffer:
            native.inside_launched(metadata)
            return
        native.inside_keep(True)
        native.inside_launched(metadata)
        kernel = self._described.get(getattr(metadata, "data", metadata).get("function"))
        slots = native.inside_last() if kernel else None
        native.inside_keep(False)
        InstrumentationHook.host_buffer = _with_header(kernel or _WITHOUT_SCOPES, slots or b"")

    def native_heads(self) -> dict[str, Callable] | None:
        if type(self) is not InstrumentationHook or InstrumentationHook.enable_host_buffer:
            return None
        return {EXIT: _library.native.inside_launched, LOADED: HookManager.init_handle, UNLOAD: HookManager.destroy_handle}

    # ---- inside ----

    def _check(self, kernel: dict[str, Any]) -> None:
        name, warps, units = kernel["name"], kernel["warps"], kernel["units"]
        if not kernel["scopes"]:
            _say(f"kernel {name}: Triton kept only the binary of it, so its scopes have numbers instead of names: have Triton store all files, clear its cache and compile the kernel again")
        if units and units[-1] >= warps:
            kernel["units"] = [unit for unit in units if unit < warps]
            _say(f"kernel {name} has {warps} warps: sampling_options={self.mode.sampling_options} names warps that it does not have")


def _replace_mode(ours: str) -> Callable[[], None]:
    """Puts the mode into the keys of Triton's caches."""
    from triton import knobs
    theirs = knobs.compilation.instrumentation_mode
    knobs.compilation.instrumentation_mode = ours

    def undo() -> None:
        if knobs.compilation.instrumentation_mode == ours:
            knobs.compilation.instrumentation_mode = theirs

    return undo


def _replace_allocator() -> Callable[[], None]:
    """Has kernels with scopes get their memory from the native library."""
    from triton.runtime import _allocation
    take = _library.native.inside_take
    theirs = _allocation._profile_allocator.get()
    if theirs is take:  # it stayed behind
        theirs = _replace_allocator.before
    _replace_allocator.before = theirs
    _allocation.set_profile_allocator(take)

    def undo() -> None:
        if _allocation._profile_allocator.get() is not take:
            return  # another tool's
        # A program may keep a kernel that was compiled with scopes, and launch it later: without an allocator, that raises.
        if _replace_allocator.needed and isinstance(theirs, _allocation.NullAllocator):
            return
        _allocation.set_profile_allocator(theirs)

    return undo


_replace_allocator.before = None
_replace_allocator.needed = False


_WITHOUT_SCOPES: dict[str, Any] = {"backend": "", "units": [], "warps": 0, "slot_size": 0}


def _with_header(kernel: dict[str, Any], slots: bytes) -> Any:
    """The form of Triton's profiler: 32-bit words, then the slots."""
    import struct

    import torch
    units = kernel["units"] if kernel["units"] is not None else list(range(kernel["warps"]))
    size = 40 + 4 * len(units)
    device_type = {"cuda": 1, "hip": 2}.get(kernel["backend"], 0)
    blocks = len(slots) // kernel["slot_size"] if slots else 0
    words = (1, 4, size, size, len(slots), device_type, blocks, kernel["warps"], kernel["slot_size"], len(units), *units)
    return torch.frombuffer(bytearray(struct.pack(f"<{len(words)}I", *words) + slots), dtype=torch.uint8)


def _say(sentence: str) -> None:
    if sentence not in _said:
        _said.add(sentence)
        print(f"goproton: {sentence}", file=sys.stderr)


_said: set[str] = set()


def _need_triton() -> None:
    try:
        import triton  # noqa: F401
    except ImportError:
        raise RuntimeError("scopes inside kernels need Triton, which cannot be imported: install it, or use another backend") from None


def _stop_in_child() -> None:
    """Nothing is recorded in a forked child: its kernels are compiled as without a session."""
    if InstrumentationHook._active is not None:
        InstrumentationHook._active.deactivate()


_library.after_fork(_stop_in_child)


def hook_for(mode: InstrumentationMode | str | None, inside: Sequence[str] = ()) -> InstrumentationHook:
    """The hook of that mode and these patterns that a session has, or a new one: such sessions share it."""
    wanted = InstrumentationHook(mode, inside)
    _need_triton()  # before a session begins
    for hook in _hooks_of_sessions():
        if str(hook.mode) == str(wanted.mode):
            if hook.inside.key() != wanted.inside.key():
                raise ValueError(f"kernels have one set of scopes: another session has inside={','.join(hook.inside.chosen)!r}: "
                                 "give all sessions the same, or finalize it first")
            return hook
    return wanted


def _hooks_of_sessions() -> list[InstrumentationHook]:
    return [hook for hooks in HookManager.session_hooks.values() for hook in hooks if isinstance(hook, InstrumentationHook)]


_attached: list[InstrumentationHook] = []


def chosen() -> list[Inside]:
    """What chose kernels for the sessions that there are."""
    return [hook.inside for hook in _attached]


def ended() -> list[Inside]:
    """What chose kernels for sessions that have ended since the last call."""
    left = [hook for hook in _attached if hook not in _hooks_of_sessions()]
    for hook in left:
        _attached.remove(hook)
    return [hook.inside for hook in left]
