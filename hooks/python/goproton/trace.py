"""TritonParse traces: compilations and launches of Triton with their arguments, written with or without a profile.

    from goproton import trace

    with trace.init("logs"):
        matmul(a, b)

    trace.info("logs")                                     # what the trace has, as `proton trace info logs`
    trace.reproduce("logs", kernel="matmul_kernel")        # a script that repeats a launch
    trace.parse("logs", "parsed")                          # files for TritonParse's website

A traced launch costs microseconds: the launching thread writes a few bytes to a ring, and a thread of the library
formats the record.
"""

from __future__ import annotations

import json
import os
import shutil
import sys

from . import _imports, _library
from ._trace.reading import info, parse, reproduce
from ._trace.slots import Slot
from .flags import flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Trace", "finalize", "info", "init", "parse", "reproduce"]

_LAUNCHES = {False: 0, "none": 0, True: 1, "all": 1, "profiled": 2}
_PATIENCE = 30.0  # seconds to wait for compilations to be completed; `proton trace` completes the others

_INDUCTOR = "TORCHINDUCTOR_RUN_JIT_POST_COMPILE_HOOK"

_current: Trace | None = None


def init(
    folder: str | None = None,
    *,
    launches: bool | str | None = None,
    compression: str | None = None,
    kernels: str | None = None,
    sass: bool | None = None,
    full_source: bool | None = None,
    statistics: bool | None = None,
    tensors: bool | None = None,
    tensor_limit: int | None = None,
    tensor_quota: int | None = None,
    tensor_skip: int | None = None,
    tensor_max: int | None = None,
) -> Trace:
    """Begins the trace of this process. An argument that is None is what TritonParse's variable says, such as
    TRITONPARSE_SAVE_TENSOR_BLOBS=1 (docs/environment.md has all), and otherwise its default.

    Args:
        folder: the folder for traces, one file per process; created if needed. None means the variable PROTON_TRACE, or
            TRITON_TRACE.
        launches: True or ``"all"``, the default, ``"profiled"`` (while a session of this package or torch.profiler
            records), or False for compilations alone.
        compression: ``"zstd"``, the default, ``"gzip"`` or ``"none"``.
        kernels: names of the kernels to trace: patterns as in "matmul_*", separated by commas.
        sass: disassemble compiled kernels with nvdisasm, in a separate process while the program runs.
        full_source: store the whole source file of a kernel, not the function alone.
        statistics: record minimum, maximum, mean and deviation of each tensor at each launch. Waits for the GPU, except at
            launches that the autotuner times.
        tensors: store the data of tensors. Waits for the GPU, copies and writes.
        tensor_limit: bytes of the largest tensor to store; 10 GiB.
        tensor_quota: compressed bytes of all stored tensors of this process; 100 GiB.
        tensor_skip: number of first launches of each compilation whose tensors are not stored.
        tensor_max: number of launches of each compilation whose tensors are stored; 0 for all.

    Returns:
        The trace, which is a context manager and ends with :func:`finalize`. Under ``proton run --trace`` this and
        :func:`finalize` have no effect: the process is traced to its end, as the command line says.

    Raises:
        ValueError: an invalid argument.
        RuntimeError: libproton.so is missing, another trace is being written, or this Triton has no listeners (before 3.4).
        OSError: the folder cannot be written.
    """
    folder = folder or os.environ.get("PROTON_TRACE") or os.environ.get("TRITON_TRACE")
    if not folder:
        raise ValueError("no folder for the trace: pass one, or set PROTON_TRACE")
    if launches not in (None, *_LAUNCHES):
        raise ValueError(f"launches={launches!r} is not known: use True, 'profiled' or False")
    if compression not in (None, "zstd", "gzip", "none"):
        raise ValueError(f"compression={compression!r} is not known: use 'zstd', 'gzip' or 'none'")
    if flags.command_line_trace:
        return _Ignored(folder)
    if _library.forked():
        raise RuntimeError(f"{_library.IN_CHILD}, or begin the trace in it alone")
    if _current is not None:
        raise RuntimeError(f"a trace is being written into {_current.folder} already: call goproton.trace.finalize() first")
    options = _completed(launches=launches, compression=compression, kernels=kernels, sass=sass, full_source=full_source,
                         statistics=statistics, tensors=tensors, tensor_limit=tensor_limit, tensor_quota=tensor_quota,
                         tensor_skip=tensor_skip, tensor_max=tensor_max)
    trace = _begin(os.path.abspath(folder), options, options.pop("compression"), options.pop("sass"))
    import atexit
    atexit.register(trace.finalize)
    _library.call("trace_folder", name=folder)
    return trace


_DEFAULTS = {"launches": True, "compression": "zstd", "tensor_limit": 10 << 30, "tensor_quota": 100 << 30, "tensor_skip": 0, "tensor_max": 0,
             "kernels": None}  # of all others: False


def _completed(**options: Any) -> dict[str, Any]:
    """Options, with those that are None as variables say, or as by default."""
    given: dict[str, Any] = {}
    if _library.load() is not None:
        found = _library.call("trace.variables")
        given = found["given"]
        for remark in found["remarks"]:
            from ._trace.values import say
            say(remark)
    return {name: given.get(name, _DEFAULTS.get(name, False)) if value is None else value for name, value in options.items()}


def _begin(folder: str, options: dict[str, Any], compression: str, sass: bool, status: str = "") -> Trace:
    global _current
    trace = Trace(folder, options)
    trace._begin(compression, sass, status)
    _current = trace
    return trace


def begin_for_run(folder: str, name: str, compression: str, sass: bool, status: str, **options: Any) -> None:
    """Begins the trace of ``proton run --trace`` in each process. :func:`end_for_run` ends it, after the program's own exit
    handlers.

    Args:
        name: the folder as it was given, because folders are moved together with profiles.
        status: folder of the files that report the end of the trace to ``proton run``.
    """
    _begin(folder, options, compression, sass, status)
    _library.call("trace_folder", name=name)


def end_for_run(patience: float) -> None:
    """Ends the trace of :func:`begin_for_run`, if there is one."""
    if _current is not None:
        _current.finalize(patience)


def finalize(patience: float = _PATIENCE) -> dict[str, int]:
    """Ends the trace of this process and writes the remaining records. Without a trace it has no effect.

    Args:
        patience: seconds to wait for compilations to be disassembled and written. The next ``proton trace`` of the folder,
            or the end of ``proton run``, completes the others.

    Returns:
        The numbers of compilations, those that failed included, launches and autotunes, and of lost launches.
    """
    trace = _current
    return trace.finalize(patience) if trace is not None and not flags.command_line_trace else {}


class Trace:
    """A trace that is being written. :func:`init` returns it.

    Attributes:
        folder: the folder that it is written to.
    """

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        from ._trace import events
        self.folder = folder
        self._options = options
        self._slots: list[Slot] = []
        self._pid = os.getpid()
        self._over = False
        self._launches = _LAUNCHES[options["launches"]]
        self._allowed = events.Allowed(options["kernels"])
        self._events = events.Events(self._allowed, options["full_source"], self._launches != 0)
        self._rank = -1
        self._inductor: Any = None  # its configuration, and the earlier values of the option and the variable

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.finalize()

    def finalize(self, patience: float = _PATIENCE) -> dict[str, int]:
        """Ends the trace. See :func:`goproton.trace.finalize`."""
        global _current
        if _current is not self:
            return {}
        _current, self._over = None, True
        if os.getpid() != self._pid:
            return {}  # a forked child: the trace is its parent's
        try:
            self._say_what_was_replaced()
            self._leave()
        except Exception as error:
            from ._trace.events import complain
            complain(f"Triton was not left as it was found: {error!r}")
        finally:
            _library.native.trace_close()
        import atexit
        atexit.unregister(self.finalize)
        counts = _library.call("trace.end", patience=patience)
        why = None if any(counts.values()) else self._allowed.why_nothing()
        if why is not None:
            from ._trace.values import say
            say(why)
        return counts

    # ---- inside ----

    def _begin(self, compression: str, sass: bool, status: str) -> None:
        native = _library.load()
        if native is None:
            raise RuntimeError(_library.problem)
        _check_triton()
        try:
            ring = _library.call("trace.begin", folder=self.folder, compression=compression,
                                 disassemblers={"cubin": _nvdisasm()} if sass else {}, status=status)
        except OSError as error:
            raise OSError(f"{error}; choose another folder") from None
        try:
            self._open(ring["ring"])
            self._listen()
        except BaseException:
            self._over = True
            try:
                self._leave()
            finally:
                _library.native.trace_close()
                _library.call("trace.end", patience=0)  # otherwise no other trace could begin
            raise

    def _listen(self) -> None:
        _imports.when_imported("triton", self._attach)
        if self._launches:
            _imports.when_imported("torch._inductor.config", self._ask_inductor)
            _imports.when_imported("torch._inductor.runtime.triton_heuristics", self._attach)
        _imports.when_imported("torch.distributed.distributed_c10d", self._watch_group)
        _imports.when_imported("torch.autograd.profiler", self._watch_profiler)
        _imports.when_imported("tritonparse.structured_logging", _share_with_tritonparse)

    def _open(self, ring: int) -> None:
        from ._trace.events import Carrier
        from ._trace.tensors import Blobs, Tensors
        from ._trace.arguments import Describer, classify
        from ._trace.values import text
        o = self._options
        tensors = None
        if o["statistics"] or o["tensors"]:
            blobs = Blobs(self.folder, o["tensor_limit"], o["tensor_quota"], o["tensor_skip"], o["tensor_max"]) if o["tensors"] else None
            tensors = Tensors(o["statistics"], blobs)
        describer = Describer(_define, tensors.more if tensors else None)
        _library.native.trace_open(
            ring, self._launches, Carrier, classify, describer.describe, describer.inlined, describer.handle, text, describer.dtype, _define,
            self._template, self._look_at_rank, tensors.more if tensors else None, tensors.prepare if tensors else None)

    def _template(self, metadata: Any, name: str, arguments: dict[str, Any], carrier: Any) -> int:
        """The number under which the launches of a kernel are recorded, 0 for kernels that are not traced."""
        if not self._allowed(name):
            return 0
        try:
            return self._describe_kernel(metadata, name, arguments, carrier)
        except Exception as error:
            if not self._over:  # another thread may have ended the trace
                from ._trace.events import complain
                complain(f"launches of {name} are missing: {error!r}")
            return 0

    def _describe_kernel(self, metadata: Any, name: str, arguments: dict[str, Any], carrier: Any) -> int:
        from ._trace.values import compact, plain
        shared: dict[str, Any] = {"name": name}
        if metadata is not None:
            shared.update(hash=str(getattr(metadata, "hash", "")), metadata=plain(metadata), args=list(arguments))
            if carrier is not None and carrier.inductor:
                shared["inductor"] = json.loads(carrier.inductor)
            if shared["hash"] not in self._events.seen:
                self._events.find(metadata)
        return _define(compact(shared))

    def _attach(self) -> None:
        # `import triton` and TritonParse's functions call this: an error here must not break them.
        try:
            self._take_slots()
        except Exception as error:
            from ._trace.events import complain
            complain(f"Triton is not listened to: {error!r}")

    def _take_slots(self) -> None:
        """Takes Triton's slots: when Triton is imported, and again when another tool may have taken them."""
        if self._over or os.getpid() != self._pid:
            return
        self._detach()
        from triton import knobs
        self._add(knobs.compilation, "listener", self._events.compiled)
        self._add(getattr(knobs, "autotuning", None), "listener", self._events.autotuned)
        if self._launches:
            self._add(knobs.runtime, "launch_enter_hook", _library.native.trace_launch)
            # For Inductor alone: with a hook there Triton serialises the constants of each compilation, which fails for some.
            if "torch._inductor.runtime.triton_heuristics" in sys.modules:
                self._add(knobs.runtime, "jit_post_compile_hook", self._events.post_compile)
        self._events.look_back()

    def _add(self, holder: Any, name: str, ours: Any) -> None:
        if holder is not None and hasattr(holder, name):
            self._slots.append(Slot(holder, name, ours))

    def _say_what_was_replaced(self) -> None:
        from ._trace.values import say
        for slot in self._slots:
            if not slot.alive():
                say(f"the program set triton.knobs' {slot.name} while it was traced: what came after is missing, unless its hook "
                    "calls the one that was there; add to hooks in place of setting them, or begin the trace after that")

    def _leave(self) -> None:
        self._events.over = True
        self._events.put_back()
        self._leave_inductor()
        self._detach()  # last, because the values that other tools have set may raise

    def _detach(self) -> None:
        for slot in reversed(self._slots):
            slot.leave()
        self._slots.clear()

    def _ask_inductor(self) -> None:
        if self._over or os.getpid() != self._pid:
            return
        config = sys.modules["torch._inductor.config"]
        self._inductor = config, getattr(config, "run_jit_post_compile_hook", None), os.environ.get(_INDUCTOR)
        os.environ[_INDUCTOR] = "1"  # for its workers
        if self._inductor[1] is not None:
            config.run_jit_post_compile_hook = True

    def _leave_inductor(self) -> None:
        if self._inductor is None:
            return
        config, option, variable = self._inductor
        if option is not None:
            config.run_jit_post_compile_hook = option
        if variable is None:
            os.environ.pop(_INDUCTOR, None)
        else:
            os.environ[_INDUCTOR] = variable

    def _watch_group(self) -> None:
        world = getattr(sys.modules["torch.distributed.distributed_c10d"], "_world", None)
        if world is not None:
            _library.native.trace_watch("group", world, "_default_pg" if hasattr(world, "_default_pg") else "default_pg")

    def _watch_profiler(self) -> None:
        _library.native.trace_watch("profiler", sys.modules["torch.autograd.profiler"], "_is_profiler_enabled")

    def _look_at_rank(self) -> None:
        distributed = sys.modules.get("torch.distributed")
        try:
            rank = distributed.get_rank() if distributed.is_available() and distributed.is_initialized() else -1
        except Exception:
            return
        if rank != self._rank:
            self._rank = rank
            _library.native.trace_rank(rank)


class _Ignored(Trace):
    """The trace that a script gets under ``proton run --trace``."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def finalize(self, patience: float = _PATIENCE) -> dict[str, int]:
        return {}


def _define(text: str) -> int:
    return int(_library.native.call("trace.define", text))


def _check_triton() -> None:
    triton = sys.modules.get("triton")
    if triton is not None and not hasattr(getattr(sys.modules.get("triton.knobs"), "compilation", None), "listener"):
        version = getattr(triton, "__version__", "this one")
        raise RuntimeError(f"Triton {version} does not report what it compiles: traces need Triton 3.4 or newer")


def _nvdisasm() -> str:
    """The path of nvdisasm, which Triton includes."""
    try:
        from triton import knobs
        path = knobs.nvidia.nvdisasm.path
    except Exception:
        path = None
    return shutil.which(path or "nvdisasm") or ""


def _share_with_tritonparse() -> None:
    """TritonParse overwrites Triton's slots without calling the previous value. This sets our functions again."""
    module = sys.modules["tritonparse.structured_logging"]
    for name in ("init_basic", "enable_launch_tracing", "disable_launch_tracing", "clear_logging_config"):
        function = getattr(module, name, None)
        if function is not None and not hasattr(function, "__goproton__"):
            setattr(module, name, _around(function))


def _around(function: Any) -> Any:
    from functools import wraps

    @wraps(function)
    def around(*args: Any, **kwargs: Any) -> Any:
        trace = _current
        if trace is None or trace._pid != os.getpid():
            return function(*args, **kwargs)
        trace._detach()
        try:
            return function(*args, **kwargs)
        finally:
            trace._attach()

    around.__goproton__ = True
    return around


def _in_child() -> None:
    global _current
    _current = None


_library.after_fork(_in_child)
