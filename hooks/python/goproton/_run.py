"""The part of ``proton run`` inside every Python process of the target, and of ``proton attach`` inside its process.

The bootstrap's sitecustomize calls :func:`begin` before the program's first line. This code must neither stop the
program nor write to its output: errors go to the process's status file, which ``proton run`` reads.
"""

from __future__ import annotations

import json
import os
import sys

from . import _imports, _library
from ._triton import dropin
from .flags import flags
from .profile import disabled, flush_tensors, of_amd, site_packages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

# Processes that multiprocessing starts for itself. They run no work, but the second one forks the workers.
_RESOURCE_TRACKER = "from multiprocessing.resource_tracker import main"
_FORK_SERVER = "from multiprocessing.forkserver import main"

_PATIENCE = 5.0  # seconds to wait for compilations to be completed at the end of a process


def begin(config: dict[str, Any]) -> None:
    """Starts the session of ``proton run`` in this process.

    Args:
        config: PROTON_RUN_CONFIG, decoded.
    """
    if not _is_main_interpreter():
        return  # the session is the process's, and would end with this interpreter
    command = _command()
    if any(_RESOURCE_TRACKER in word for word in command):
        return
    dropin.install(upstream=False)
    flags.command_line = True
    if disabled():
        _report(config, command, "profiling Python code is off: TRITON_PROTON_DISABLE is set: unset it")
        return
    if any(_FORK_SERVER in word for word in command):
        # A session begun here would record nothing in the forked workers, which do the work.
        os.register_at_fork(after_in_child=lambda: _begin_session(config, command))
        return
    _begin_session(config, command)


def _is_main_interpreter() -> bool:
    # Each interpreter of a process runs sitecustomize. The module that distinguishes them takes up to 10 ms to import.
    import _signal
    try:
        before = _signal.set_wakeup_fd(-1)
    except ValueError:
        return False
    if before != -1:
        _signal.set_wakeup_fd(before)
    return True


def _begin_session(config: dict[str, Any], command: list[str]) -> None:
    try:
        native = _library.load()
        if native is None:
            raise RuntimeError(_library.problem)
        session = _library.call("run.begin", site_packages=site_packages()).get("session")
    except Exception as error:
        _report(config, command, f"profiling Python code is off in this process: {error}")
        return
    if session is None:
        return
    backend = config.get("backend") or ""
    if of_amd(backend) or not backend and os.path.exists("/dev/kfd"):  # the library chooses among the drivers that are there
        from . import _hip
        _hip.watch()
    if config.get("trace"):
        flags.command_line_trace = True
        # Only after the import of Triton: most processes of a program have nothing to trace.
        _imports.when_imported("triton", lambda: _begin_trace(config, command))
    flags.profiling_on = True
    _observe_torch(config)
    if config.get("memory"):
        from ._torch import memory
        memory.record()
    _imports.when_imported("torch.distributed.distributed_c10d", _learn_rank)
    if (config.get("when") or {}).get("schedule"):
        _imports.when_imported("torch", lambda: _count_steps(config, command))
    if config.get("hook") == "triton":
        _imports.when_imported("triton", lambda: _hook(config, command, session))
    if backend.lower() == "instrumentation":
        _imports.when_imported("triton", lambda: _inside(config, command, session))
    import atexit  # handlers run last in, first out: tensor metrics are read before _end
    atexit.register(_end, config, command, os.getpid())
    _end_before_exit(config, command, os.getpid())
    _checkpoint_before_exec(os.getpid())


def _count_steps(config: dict[str, Any], command: list[str]) -> None:
    try:
        from .recording import count_optimizer_steps
        count_optimizer_steps()
    except Exception as error:  # torch before 2.1 has no such hook
        _report(config, command, f"steps of torch's optimizers are not counted: {error!r}: call proton.step()")


def _observe_torch(config: dict[str, Any]) -> None:
    wanted = (config.get("torch") or "").split(",")
    if config.get("context") != "python" and wanted == [""]:
        return
    from . import torch
    if config.get("context") == "python":
        torch.attribute_backward(True)
    if wanted != [""]:
        torch.install(operators="operators" in wanted, modules="modules" in wanted, flops="flops" in wanted)


def _learn_rank() -> None:
    """Has the profile named after the rank that the process joins a group with, if no launcher has given it one."""
    from functools import wraps
    module: Any = sys.modules["torch.distributed.distributed_c10d"]
    join = module.init_process_group

    @wraps(join)
    def init_process_group(*arguments: Any, **named: Any) -> Any:
        answer = join(*arguments, **named)
        try:
            _library.call("rank", rank=module.get_rank(), world=module.get_world_size())
        except Exception:  # the program goes on, and the file has another name
            pass
        return answer

    module.init_process_group = init_process_group


def _checkpoint_before_exec(pid: int) -> None:
    """Writes the profile before the process executes another program, which has its own. If it does not start, this one continues."""
    from functools import wraps
    for name in "execv", "execve":
        replace = getattr(os, name)

        def go(*arguments: Any, _replace: Any = replace) -> Any:
            try:
                if os.getpid() == pid:
                    flush_tensors(at_exit=True)
                    _library.call("run.checkpoint")
            except BaseException:  # whatever fails here, the program goes on
                pass
            return _replace(*arguments)

        setattr(os, name, wraps(replace)(go))


def _end_before_exit(config: dict[str, Any], command: list[str], pid: int) -> None:
    """Ends the profile of a process that leaves through os._exit, as workers of multiprocessing's fork server do."""
    from functools import wraps
    leave = os._exit

    @wraps(leave)
    def _exit(status: int) -> Any:
        try:
            if os.getpid() == pid:
                flush_tensors(at_exit=True)
            _end(config, command, pid)
        finally:
            leave(status)

    os._exit = _exit


def _begin_trace(config: dict[str, Any], command: list[str]) -> None:
    try:
        from . import trace
        trace.begin_for_run(**config["trace"], status=config.get("status") or "")
    except Exception as error:
        _report_trace(config, str(error))


def _report_trace(config: dict[str, Any], problem: str) -> None:
    """Reports to `proton run` why nothing is traced, in the file in which the trace writer would report its counts."""
    import json
    folder = config.get("status")
    try:
        if not folder:
            raise OSError("no folder for status files")
        with open(os.path.join(folder, f"{os.getpid()}.trace"), "w") as file:
            json.dump({"problems": [problem]}, file)
    except OSError:
        print(f"goproton: nothing is traced: {problem}", file=sys.stderr)


def _end_trace(config: dict[str, Any]) -> None:
    module = sys.modules.get(__package__ + ".trace")
    try:
        if module is not None:
            module.end_for_run(_PATIENCE)
    except BaseException as error:  # the profile must still be written, even after Ctrl-C
        _report_trace(config, f"the trace was not ended: {error!r}; what is left of it was completed afterwards")


def _hook(config: dict[str, Any], command: list[str], session: int) -> None:
    try:
        from .hooks import HookManager, LaunchHook
        HookManager.register(LaunchHook(), session)
    except Exception as error:
        _report(config, command, f"launch metadata are missing, the hook did not fit this Triton: {error!r}")


def _inside(config: dict[str, Any], command: list[str], session: int) -> None:
    try:
        from .hooks.hook import HookManager
        from .hooks.instrumentation import hook_for
        from ._inside import patterns
        HookManager.register(hook_for(config.get("mode") or None, patterns(config.get("inside"))), session)
    except Exception as error:
        _report(config, command, f"scopes inside kernels are missing: {error}")


def _end(config: dict[str, Any], command: list[str], pid: int) -> None:
    if os.getpid() != pid:
        return  # a forked child: the session is its parent's
    _end_trace(config)
    torch = sys.modules.get(f"{__package__}.torch")
    if config.get("torch") and torch and torch.problem():
        _report(config, command, f"frames of PyTorch are missing: {torch.problem()}")
    memory = sys.modules.get(f"{__package__}._torch.memory")
    if memory:
        memory.add_peak()
        if memory.problem:
            _report(config, command, f"memory of PyTorch is missing: {memory.problem}")
    answer: dict[str, Any] = {}
    try:
        answer = _library.call("run.end")
        problem = answer.get("problem")
    except Exception as error:
        problem = f"writing the profile: {error}"
    if problem:
        _report(config, command, problem)
    try:
        _report_inside(config, command, answer.get("files") or [])
    except Exception as error:
        _report(config, command, f"what scopes inside kernels cost is not known: {error!r}")
    flags.profiling_on = False


def _report_inside(config: dict[str, Any], command: list[str], files: list[str]) -> None:
    """Passes on what became of the kernels of --inside."""
    hooks = sys.modules.get(f"{__package__}.hooks.instrumentation")
    if not config.get("inside") or hooks is None or not config.get("status"):
        return
    from ._inside import report
    for inside in hooks.chosen():
        _write_status(config["status"], command, problems=report.problems(inside), notes=report.costs(inside, files),
                      inside={"kernels": sorted(inside.comparisons.seen), "matched": report.matched(inside)})


def _command() -> list[str]:
    words = getattr(sys, "orig_argv", None)  # from Python 3.10 on
    if words:
        return list(words)
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [word.decode(errors="replace") for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return [sys.executable or "python"]


def _report(config: dict[str, Any], command: list[str], problem: str) -> None:
    """Writes a message to this process's status file, or to standard error if there is none."""
    folder = config.get("status")
    try:
        if not folder:
            raise OSError("no folder for status files")
        _write_status(folder, command, [problem])
    except OSError:
        print(f"goproton: {problem}", file=sys.stderr)


def _write_status(folder: str, command: list[str], problems: Sequence[str], **more: Any) -> None:
    import json
    path = os.path.join(folder, f"{os.getpid()}.json")
    status: dict[str, Any] = {"pid": os.getpid(), "command": " ".join(command), "kernels": 0, "gpu_time_ns": 0, "lost": 0,
              "unattributed": 0, "files": [], "problems": []}
    try:
        with open(path) as file:
            status.update(json.load(file))
    except (OSError, ValueError):
        pass  # the runtime has not written one
    status["problems"] = [*(status["problems"] or ()), *problems]
    status["finished"] = True
    more["notes"] = [*(status.get("notes") or ()), *more.get("notes", ())]
    status.update(more)
    with open(path + ".python", "w") as file:
        json.dump(status, file)
    os.replace(path + ".python", path)


_attached: int | None = None  # the session of proton attach


def attach(folder: str, library: str) -> None:
    """Starts the session that the folder's configuration asks for; on a thread of the profiler."""
    global _attached
    path = os.path.join(folder, "attach.json")
    with open(path) as file:
        config = json.load(file)
    if _library.load(library) is None:
        raise RuntimeError(_library.problem)
    session = _library.call("run.attach", config=path, site_packages=site_packages())["session"]
    _attached = session
    flags.profiling_on = True
    if config.get("context") == "python":
        from . import torch
        torch.attribute_backward(True)
    if config.get("hook") == "triton":
        _imports.when_imported("triton", lambda: _launches(session))


def _launches(session: int) -> None:
    from .hooks import HookManager, LaunchHook
    HookManager.register(LaunchHook(), session)


def detach() -> None:
    """Takes back what attach has changed, once the session has ended."""
    if _attached is not None:
        from .hooks import HookManager
        HookManager.unregister(_attached)
