"""The compiler passes that turn scopes inside kernels into code, and how they get into Triton.

Triton's own library has the passes. Releases let them in at different places:

    3.6, 3.7, 3.8   an object with load_dialects and patch, as attribute ``instrumentation`` of the compiler of each GPU vendor
    3.9 -           callbacks in triton._instrumentation
"""

from __future__ import annotations

import sys

from .compiler import own_mode, without_records
from ..mode import InstrumentationMode, Optimize, instrumentation_mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# Part of the keys of Triton's caches, as is the mode: to be raised whenever kernels are compiled differently for the same mode.
VERSION = 1

_VENDORS = ("nvidia", "amd")
_ALIGNMENT = 128  # of the memory of a launch
_NEEDED = ("load_dialects", "get_scope_id_names", "get_scope_id_parents", "create_proton_record", "add_convert_proton_to_protongpu",
           "add_schedule_buffer_store", "add_allocate_proton_shared_memory", "add_convert_proton_nvidia_gpu_to_llvm")


def install(mode: InstrumentationMode) -> Callable[[], None]:
    """Has kernels be compiled with records from here on.

    Returns:
        What undoes it.

    Raises:
        RuntimeError: this Triton has no such passes or no place for them, or another tool has taken it.
    """
    passes = _Passes(mode)
    if sys.modules.get("triton._instrumentation") or _has_callbacks():
        return _install_callbacks(passes)
    return _install_objects(passes)


def key(mode: InstrumentationMode) -> str:
    """What the caches know the compiled code by."""
    return f"{mode}:goproton={VERSION}"


def _refusal(what: str) -> RuntimeError:
    import triton
    return RuntimeError(f"scopes inside kernels cannot be compiled with Triton {triton.__version__}: {what}; releases 3.6 to 3.9 are supported")


class _Passes:

    def __init__(self, mode: InstrumentationMode) -> None:
        self.mode = mode
        try:
            from triton._C.libtriton import proton
        except ImportError:
            raise _refusal("it was built without Proton's passes") from None
        missing = [name for name in _NEEDED if not hasattr(proton, name)]
        if missing:
            raise _refusal(f"its passes differ, {', '.join(missing)} is missing")
        self.proton = proton

    def load_dialects(self, context: Any) -> None:
        self.proton.load_dialects(context)

    def before_llvm(self, passes: Any) -> None:
        """Turns records into stores to the buffer of the warp, whose place is in shared memory or in the slot."""
        if without_records():
            return
        from triton._C.libtriton import passes as triton_passes
        proton, mode = self.proton, instrumentation_mode(own_mode()) if own_mode() else self.mode
        compiled = lambda value: getattr(getattr(proton, type(value).__name__), value.name)
        arguments = (compiled(mode.metric_type), compiled(mode.sampling_strategy), mode.sampling_options, compiled(mode.granularity),
                     compiled(mode.buffer_strategy), compiled(mode.buffer_type), mode.buffer_size, _device_property("max_shared_mem"),
                     1, _ALIGNMENT, Optimize.CLOCK32 not in mode.optimizations)
        try:
            proton.add_convert_proton_to_protongpu(passes, *arguments)
        except TypeError as error:
            raise _refusal(f"its passes take other arguments ({str(error).splitlines()[0]})") from None
        triton_passes.common.add_cse(passes)
        if Optimize.SCHED_STORES in mode.optimizations:
            proton.add_schedule_buffer_store(passes)
        proton.add_allocate_proton_shared_memory(passes)
        if Optimize.SCHED_BARRIERS in mode.optimizations and _target() == "hip":
            proton.add_sched_barriers(passes)

    def in_llvm(self, passes: Any) -> None:
        """Lowers what is left of the records."""
        if without_records():
            return
        if hasattr(self.proton, "add_allocate_proton_global_scratch_buffer"):  # up to 3.7
            self.proton.add_allocate_proton_global_scratch_buffer(passes)
        if _target() == "hip":
            self.proton.add_convert_proton_amd_gpu_to_llvm(passes, _device_property("arch").split(":")[0])
        else:
            self.proton.add_convert_proton_nvidia_gpu_to_llvm(passes)


# The driver is asked while a kernel is compiled and not before: asking may initialise the GPU.

def _driver() -> Any:
    from triton.runtime.driver import driver
    return driver.active


def _target() -> str:
    return _driver().get_current_target().backend


def _device_property(name: str) -> Any:
    return _driver().utils.get_device_properties(_driver().get_current_device())[name]


# ---- 3.9 and newer ----

def _has_callbacks() -> bool:
    from importlib.util import find_spec
    return find_spec("triton._instrumentation") is not None


def _install_callbacks(passes: _Passes) -> Callable[[], None]:
    from triton._instrumentation import register_instrumentation, unregister_instrumentation
    points = {"load-dialects": passes.load_dialects, "ttgpuir-to-llvmir": passes.before_llvm, "llvmir-to-llvm": passes.in_llvm}
    registered: list[tuple[str, str]] = []

    def uninstall() -> None:
        for point, vendor in registered:
            unregister_instrumentation(point=point, backend=vendor)

    for vendor in _VENDORS:
        for point, callback in points.items():
            try:
                register_instrumentation(point=point, backend=vendor, callback=callback)
            except RuntimeError as error:
                uninstall()
                raise RuntimeError(f"another tool instruments kernels already ({error}): end it first") from None
            registered.append((point, vendor))
    return uninstall


# ---- 3.6 to 3.8 ----

class _Object:
    """What the compiler of these releases calls."""

    def __init__(self, passes: _Passes) -> None:
        self.passes = passes

    def load_dialects(self, context: Any) -> None:
        self.passes.load_dialects(context)

    def patch(self, place: str, passes: Any, context: Any) -> None:
        self.load_dialects(context)
        if place == "ttgpuir_to_llvmir":
            self.passes.before_llvm(passes)
        elif place == "llvmir_to_llvm":
            self.passes.in_llvm(passes)


def _install_objects(passes: _Passes) -> Callable[[], None]:
    from triton.backends import backends
    compilers = [backends[vendor].compiler for vendor in _VENDORS if vendor in backends]
    compilers = [compiler for compiler in compilers if hasattr(compiler, "instrumentation")]
    if not compilers:
        raise _refusal("its compilers have no place for them")
    ours = _Object(passes)
    before = []
    for compiler in compilers:
        before.append((compiler, compiler.instrumentation))
        compiler.instrumentation = ours

    def uninstall() -> None:
        for compiler, theirs in before:
            if compiler.instrumentation is ours:
                compiler.instrumentation = theirs

    return uninstall
