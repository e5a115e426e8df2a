"""Sessions: start, activate, deactivate, finalize, and the decorator ``profile``."""

from __future__ import annotations

import functools
import os
import sys

from . import _library
from .flags import flags, is_on
from .scope import forget_open_scopes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence

    from .hooks import Hook
    from .mode import BaseMode
    from .counting import Prometheus
    from .pushing import Push

DEFAULT_PROFILE_NAME = "proton"

_PROFILERS = {"cuda": "cupti", "hip": "rocprofiler"}
# Where several libraries collect on a kind of GPU, this name stands for the one that is installed.
_ANY_OF = {"hip": "hip"}

_said: set[str] = set()  # messages that were printed on standard error


def start(name: str | None = None, *, context: str | None = "shadow", data: str | None = "tree",
          backend: str | None = None, mode: str | BaseMode | None = None, hook: str | Hook | None = None,
          stats: bool | None = None, activities: str | Sequence[str] | None = None, idle: bool = False,
          inside: str | Sequence[str] | None = None, schedule: Callable[[int], Any] | None = None, push: str | Push | None = None,
          prometheus: str | Prometheus | None = None, budget: str | None = None, metrics: str | Prometheus | None = None,
          energy: bool = False, pm: str | None = None) -> int | None:
    """Starts a session, or activates the one that writes to the same file.

    Args:
        name: output path without suffix, relative to the current directory; "proton" by default. "" or "-" writes
            to standard output.
        context: "shadow" attributes work to the scopes around it, "python" to the Python call stack.
        data: "tree" adds up the work at each call path; "timeline" records events in time, and is written
            while the program runs; upstream calls it "trace".
        backend: "cupti" (NVIDIA), "rocprofiler" or "roctracer" (AMD). By default that of the imported torch, else of Triton's
            active driver, else "cupti". Of AMD's, the default is the one whose library is installed, rocprofiler if both are.
            "instrumentation" records scopes inside Triton kernels in addition, see :mod:`goproton.language`.
        mode: a mode string or an object from :mod:`goproton.mode`. "periodic_flushing[:format=hatchet]" writes a phase
            as soon as it has ended and all its work has arrived, and frees its memory.
        hook: "triton" takes names and metrics from ``launch_metadata`` of Triton kernels; a
            :class:`goproton.hooks.Hook` object is called around every Triton launch.
        stats: record the distribution of kernel times at each call path of a tree, for median and percentiles; by
            default yes, unless PROTON_STATS=0. Triton's profiler has neither this argument nor those below.
        activities: what to record in addition to kernels: "memcpy", "memset", "sync"; by default all in a timeline and
            none in a tree.
        idle: sum, in a tree, how long GPUs had nothing to do before the work of each call path, as metrics ``idle (ns)``,
            ``busy (ns)`` and ``idle_gaps``. Copies and fills are recorded too.
        inside: names of Triton kernels that get scopes without being edited, around loops, loads, stores, dots, waits and
            barriers, by source line; patterns like "matmul_*", separated by commas or in a sequence. Implies backend
            "instrumentation". Some launches run without scopes, and ``finalize`` says what the scopes cost.
        schedule: in which steps of the program to record, from :func:`goproton.schedule` or ``torch.profiler.schedule``;
            :func:`goproton.step` ends a step. Between its windows the session costs what a deactivated one costs.
        push: URL of a server, or a :class:`goproton.Push`: what is recorded in each minute is sent to Pyroscope, Parca or an
            OpenTelemetry collector, in addition to the file, by a process of its own; a collector gets counters as well with ``counters=True`` there.
        prometheus: HOST:PORT, or a :class:`goproton.Prometheus`: counters are served to Prometheus there, at /metrics, by a process of its own. A process
            has counters of one session at a time.
        metrics: an older name of ``prometheus``.
        budget: the share of the program's time that the profiler may take, such as "1%". As far as needed, instructions are sampled
            for a part of the time, and the Python call paths of some launches are not taken; kernels are timed for a part of it too,
            and sums are then estimates with their errors.
        energy: read the energy of GPUs, and share it out among the call paths whose kernels ran, in equal parts where several ran at the
            same time: ``energy (J)``; what a GPU took without work is below ``<idle>``. A timeline has power (W) and clocks (MHz).
            NVML's counter moves on ten times a second.
        pm: the time between two samples of hardware counters of whole GPUs, such as "1ms", which are shared out likewise: how long
            multiprocessors and tensor cores were active (ns), and the bytes of PCIe and NVLink. A timeline shows them.

    Returns:
        The session's id. None if profiling is off: under ``proton run``, with TRITON_PROTON_DISABLE=1
        (``triton.knobs.proton.disable``), or if libproton.so cannot be loaded, which is reported once on standard error.

    Raises:
        ValueError: unknown context, data, backend, mode or hook, a URL that cannot be pushed to, a budget that is not a share or cannot be kept, or a mode that differs from an existing session's; or
            HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES is set on AMD GPUs.
        RuntimeError: the GPU's profiling library cannot be used; the text says what to do.
        NotImplementedError: a feature that this version does not have.
    """
    if flags.command_line or disabled():
        return None
    if _library.forked():
        say_forked()
        return None
    if schedule is not None and not callable(schedule):
        raise ValueError(f"schedule={schedule!r}: give goproton.schedule(…) or torch.profiler.schedule(…)")
    hook = _resolve_hook(hook)
    if _library.load() is None:
        _say(f"profiling is off: {_library.problem}")
        return None
    backend, scopes = _scopes_inside(backend, mode, inside)
    mode = scopes.mode if scopes else mode
    backend = _select_backend() if backend is None else backend
    _check_devices(backend)
    name = DEFAULT_PROFILE_NAME if name is None else name
    asked = {"name": name, "context": context or "", "data": data or "", "backend": backend,
             "mode": upstream_mode("" if mode is None else str(mode), backend), "graph": "", "site_packages": site_packages(), "stats": stats,
             "activities": _comma_separated(activities), "idle": idle, "trace_form": trace_form(),
             "when": {"by_caller": True} if schedule else None, "budget": "" if budget is None else str(budget),
             "energy": energy, "pm": pm or ""}
    _end_after_ctrl_c()
    answer = _library.call("start", **asked, **_readers(name, asked, push, metrics if prometheus is None else prometheus))
    _say_problems(answer)
    session = answer["session"]
    if of_amd(backend):
        from . import _hip
        _hip.watch()
    if mode is not None and str(mode).startswith("pcsampling"):
        _report_loaded()
    if context == "python":
        from . import torch
        torch.attribute_backward(True)
    memory = sys.modules.get(f"{__package__}._torch.memory")
    if memory and not flags.profiling_on:
        memory.session_begins()
    flags.profiling_on = True
    _register((hook, scopes), session)
    if schedule is not None:
        from . import recording
        recording.begin(session, schedule)
    return session


def _readers(name: str, asked: dict[str, Any], push: str | Push | None, metrics: str | Prometheus | None) -> dict[str, Any]:
    """Starts the processes that send and serve what a session records, and returns what it has to know of them."""
    if push is None and metrics is None:
        return {}
    from . import counting, pushing
    push = push if push is None or isinstance(push, pushing.Push) else pushing.Push(str(push))
    metrics = metrics if metrics is None or isinstance(metrics, counting.Prometheus) else counting.Prometheus(metrics)
    counts = _check(asked, push, metrics)  # before anything is started
    pushed, folders, sends = None, [], None
    if push is not None:
        pushed, folder, sender = pushing.begin(push, name, counts and push.counters)
        folders.append(folder)
        sends = pushed["spool"], sender
    if metrics is not None:
        folders.append(counting.begin(metrics, sends, any(folders)))
    folders = [folder for folder in folders if folder]
    return {"push": pushed, "metrics": {"folders": folders, "scopes": metrics.scopes if metrics else counting.SCOPES} if folders else None}


def _check(asked: dict[str, Any], push: Push | None, metrics: Prometheus | None) -> bool:
    """Refuses what cannot be started, and says whether the session is counted."""
    from . import pushing
    pushed = pushing.asks(push) if push else None
    if metrics is not None or not (push and push.counters):
        _library.call("check", **asked, push=pushed, metrics={} if metrics else None)
        return metrics is not None
    try:
        _library.call("check", **asked, push=pushed, metrics={})
    except ValueError as error:
        if push.counters_asked:
            raise
        _library.call("check", **asked, push=pushed)  # what PROTON_PUSH_METRICS asks for is for the sessions that can have it
        _say(f"PROTON_PUSH_METRICS is set, and the counters of {asked['name']} are not pushed: {str(error).removeprefix('[PROTON] ')}")
        return False
    return True


def _scopes_inside(backend: str | None, mode: str | BaseMode | None, inside: str | Sequence[str] | None):
    """The backend, and the hook of a session that records scopes inside kernels."""
    if inside and backend is None:
        backend = "instrumentation"
    if backend is None or backend.lower() != "instrumentation":
        if inside:
            raise ValueError(f"scopes inside kernels need backend 'instrumentation', not {backend!r}: leave the backend out")
        return backend, None
    from ._inside import patterns
    from .hooks.instrumentation import hook_for
    return backend, hook_for(mode, patterns(inside))


def _register(hooks: Sequence[Hook | None], session: int) -> None:
    for hook in hooks:
        if hook is not None:
            from .hooks.hook import HookManager
            HookManager.register(hook, session)


def _only_session(session: int | None, done: str) -> None:
    """Refuses all sessions but the one of ``proton run``."""
    if flags.command_line and session != 0:
        raise ValueError(f"Only one session can be {done} when running from the command line.")


def activate(session: int | None = None) -> None:
    """Resumes a session. Activating an active session has no effect.

    Args:
        session: from :func:`start`; None means all.

    Raises:
        ValueError: under ``proton run``, for any session but 0.
        IndexError: there is no such session.
    """
    _only_session(session, "activated")
    if _library.native is None:
        return
    _library.call("activate", session=session)
    _library.native.following()  # has open what the task holds in whose step this is
    manager = _hook_manager()
    if manager:
        manager.activate(session)


def deactivate(session: int | None = None, flushing: bool = False) -> None:
    """Pauses a session and keeps its data. While no session is active, no callbacks are enabled.

    Args:
        session: from :func:`start`; None means all.
        flushing: wait for the GPU and process everything launched so far, so that :mod:`goproton.data` returns it.

    Raises:
        ValueError: under ``proton run``, for any session but 0.
        IndexError: there is no such session.
    """
    _only_session(session, "deactivated")
    if _library.native is None:
        return
    manager = _hook_manager()
    if manager:
        manager.deactivate(session)
    if flushing:
        flush_tensors()
    _library.call("deactivate", session=session, flushing=flushing)


def finalize(session: int | None = None, output_format: str | None = "") -> None:
    """Ends a session and writes its file. One that has ended is ignored, and so is an unknown one, with a message.

    Under ``proton run`` this has no effect: the profile is written when the program ends.

    Args:
        session: from :func:`start`; None means all.
        output_format: "hatchet" or "hatchet_msgpack" for a tree, "chrome_trace" for a trace; "" is the default format of
            the data.

    Raises:
        ValueError: under ``proton run``, for any session but 0; or the format is unknown or for the other kind of data,
            in which case all sessions continue.
    """
    if flags.command_line:
        _only_session(session or 0, "finalized")
        return
    if _library.native is None:
        return
    flush_tensors()
    memory = sys.modules.get(f"{__package__}._torch.memory")
    if memory:
        memory.add_peak()
    # The hooks are removed last, because a refused format must leave the session as it was.
    answer = _library.call("finalize", session=session, output_format=output_format or "")
    _say_problems(answer)
    pushing = sys.modules.get(f"{__package__}.pushing")
    if pushing:
        pushing.finish()
    recording = sys.modules.get(f"{__package__}.recording")
    if recording:
        recording.end(session)
    manager = _hook_manager()
    if manager:
        manager.unregister(session)
        _say_inside(answer.get("files") or [])
    if session is None:
        flags.profiling_on = False
        forget_open_scopes()
        torch = sys.modules.get(f"{__package__}.torch")
        if torch:
            torch.attribute_backward(False)


def profile(func: Callable | None = None, *, name: str | None = None, context: str | None = "shadow",
            data: str | None = "tree", backend: str | None = None, mode: str | BaseMode | None = None,
            hook: str | Hook | None = None, stats: bool | None = None,
            activities: str | Sequence[str] | None = None, idle: bool = False,
            inside: str | Sequence[str] | None = None, schedule: Callable[[int], Any] | None = None,
            budget: str | None = None) -> Callable:
    """Decorator that profiles every call of a function into one session; :func:`finalize` writes the file.

        @proton.profile
        def train(): ...

        @proton.profile(name="train", context="python")
        def train(): ...

    Args: as for :func:`start`.
    """

    def decorate(func: Callable) -> Callable:
        from functools import wraps

        @wraps(func)
        def profiled(*args: Any, **kwargs: Any) -> Any:
            session = start(name, context=context, data=data, backend=backend, mode=mode, hook=hook, stats=stats,
                            activities=activities, idle=idle, inside=inside, schedule=schedule, budget=budget)
            try:
                return func(*args, **kwargs)
            finally:
                if session is not None:
                    deactivate(session)

        return profiled

    return decorate if func is None else decorate(func)


def _drop_in():
    """The module that puts this package under Triton's names, if it has been imported."""
    return sys.modules.get(f"{__package__}._triton.dropin")


def trace_form() -> str:
    """The form in which timelines are written: under Triton's names that of Triton's profiler."""
    drop_in = _drop_in()
    return drop_in.trace_form() if drop_in else ""


def upstream_mode(mode: str, backend: str) -> str:
    """A mode with the defaults of Triton's profiler, if this package is under its names. It samples NVIDIA's GPUs only."""
    drop_in = _drop_in()
    return drop_in.mode(mode) if drop_in and not of_amd(backend) else mode


def _comma_separated(words: str | Sequence[str] | None) -> str:
    return words if isinstance(words, str) else ",".join(words or ())


def select_profiler(triton_backend: str) -> str:
    """The profiler of a Triton backend: cuda -> cupti, hip -> rocprofiler. Raises ValueError for others."""
    try:
        return _PROFILERS[triton_backend]
    except KeyError:
        raise ValueError(f"No profiler registered for triton backend {triton_backend}") from None


def _select_backend() -> str:
    kind = _active_triton_backend()
    if kind not in _PROFILERS and "torch" in sys.modules:
        kind = _torch_backend()
    kind = kind or _machine_backend()
    return _ANY_OF.get(kind) or select_profiler(kind)


def _torch_backend() -> str | None:
    """The backend that torch is built for, which it names without using the GPU; None for the CPU alone."""
    version = getattr(sys.modules["torch"], "version", None)
    return next((kind for kind in ("hip", "cuda") if getattr(version, kind, None)), None)


def _machine_backend() -> str:
    """The backend of the one driver whose library the process has loaded, or which the machine has; "cuda" if both or none."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            text = maps.read()
    except OSError:
        text = ""
    loaded = [kind for kind, library in (("hip", "/libamdhip64.so"), ("cuda", "/libcuda.so")) if library in text]
    if len(loaded) == 1:
        return loaded[0]
    return "hip" if os.path.exists("/dev/kfd") and not os.path.exists("/dev/nvidiactl") else "cuda"


def _active_triton_backend() -> str | None:
    """The backend of Triton's driver, None if the program has not made one active: choosing one may initialise the GPU."""
    config = getattr(sys.modules.get("triton.runtime.driver"), "driver", None)
    active = getattr(config, "_active", None)  # Triton 3.4 and later; the property would make one
    try:
        return active.get_current_target().backend if active is not None else None
    except Exception:
        return None


def of_amd(backend: str) -> bool:
    """Whether a backend is one of AMD's; "hip" stands for the one whose library is installed."""
    return backend.lower() in ("rocprofiler", "roctracer", "hip")


def _check_devices(backend: str) -> None:
    """Refuses variables that number AMD's devices anew, as Triton's profiler does."""
    if not of_amd(backend):
        return
    for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        if name in os.environ:
            raise ValueError(f"Proton does not work when the environment variable {name} is set on AMD GPUs. Please unset it and "
                             "use `ROCR_VISIBLE_DEVICES` instead")


def disabled() -> bool:
    """Whether the user switched profiling off, with Triton's knob or its variable."""
    proton_knobs = getattr(sys.modules.get("triton.knobs"), "proton", None)
    if proton_knobs is not None:
        return bool(proton_knobs.disable)
    return is_on("TRITON_PROTON_DISABLE")


def _resolve_hook(hook: str | Hook | None) -> Hook | None:
    if hook is None:
        return None
    from .hooks import Hook, LaunchHook
    if isinstance(hook, Hook):
        return hook
    if hook == "triton":
        return LaunchHook()
    raise ValueError(f"Unsupported hook: {hook!r}; use 'triton', a goproton.hooks.Hook or None")


def _hook_manager():
    """HookManager if some session used a hook, without importing it for those that did not."""
    module = sys.modules.get(f"{__package__}.hooks.hook")
    return module.HookManager if module else None


@functools.cache
def _end_after_ctrl_c() -> None:
    """Python ends itself by SIGINT after an exception of Ctrl-C, so that the library's own handler of exits does not run."""
    import atexit

    def end() -> None:
        if getattr(sys, "last_type", None) is KeyboardInterrupt:
            flush_tensors(at_exit=True)
            _library.call("exit")
    atexit.register(end)


def flush_tensors(at_exit: bool = False) -> None:
    """Waits for tensor metrics whose values are still being copied from the GPU, and adds them.

    Args:
        at_exit: the process is ending, which a hanging GPU must not prevent.
    """
    tensors = sys.modules.get(f"{__package__}._torch.tensors")
    if tensors:
        (tensors.flush_at_exit if at_exit else tensors.flush)()


def site_packages() -> list[str]:
    """Folders of installed packages: torch and Triton install the CUPTI that fits them."""
    return [folder for folder in sys.path if folder.rstrip("/").endswith(("site-packages", "dist-packages"))]


def _report_loaded() -> None:
    from ._triton import loaded
    try:
        loaded.report()
    except Exception as error:
        _say(f"kernels that were loaded before the session are sampled without their lines: {error}")


def _say_problems(answer: dict[str, Any]) -> None:
    """Reports why a session records less than requested (no GPU, another profiler, ...), each message once."""
    for problem in answer.get("problems") or ():
        _say(problem)


def _say_inside(files: list[str]) -> None:
    """Says what scopes by machine came to in sessions that have ended."""
    hooks = sys.modules.get(f"{__package__}.hooks.instrumentation")
    for inside in hooks.ended() if hooks else ():
        from ._inside import report
        for sentence in [*report.unmatched(inside), *report.problems(inside), *report.costs(inside, files)]:
            _say(sentence)


def _say(sentence: str) -> None:
    if sentence not in _said:
        _said.add(sentence)
        print(f"goproton: {sentence}", file=sys.stderr)


def say_forked() -> None:
    _say(f"profiling is off: {_library.IN_CHILD}")


def _stop_in_child() -> None:
    flags.profiling_on = False
    forget_open_scopes()


_library.after_fork(_stop_in_child)
