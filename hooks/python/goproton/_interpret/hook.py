"""Takes the launches of chosen kernels, and leaves the others alone.

``JITFunction.run`` is replaced by a function that has Triton's own ``run`` do all of the work, while in this thread the driver is one
for the CPU. Triton keeps what it has compiled by the driver's device: interpreted kernels have a device of their own.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import host

# What the hook needs of Triton, of 3.5 to 3.9: module and name.
NEEDED = (
    ("triton.runtime.jit", "JITFunction.run"), ("triton.runtime.jit", "JITFunction.create_binder"), ("triton.runtime.driver", "driver.active"), ("triton.runtime.driver", "driver._active"),
    ("triton.runtime.autotuner", "Autotuner._bench"), ("triton.compiler", "compile"), ("triton.compiler", "ASTSource.make_ir"), ("triton.compiler.compiler", "make_backend"),
    ("triton.backends.compiler", "GPUTarget"), ("triton.backends.driver", "DriverBase"), ("triton._C.libtriton", "ir.context"), ("triton._C.libtriton", "ir.load_dialects"),
    ("triton.knobs", "runtime.launch_enter_hook"),
)

runs: list[Any] = []  # the last one that wants a kernel has it
others: dict[str, None] = {}  # names of kernels that were launched and not chosen
_installed = False
_plain_run: Any = None
_plain_compile: Any = None


def missing() -> list[str]:
    """What this Triton does not have of what the hook needs."""
    absent = []
    for module, name in NEEDED:
        try:
            found: Any = importlib.import_module(module)
            for part in name.split("."):
                found = found.__dict__[part] if isinstance(found, type) and part in found.__dict__ else _attribute(found, part)
        except (ImportError, AttributeError, KeyError):
            absent.append(f"{module}.{name}")
    return absent


def _attribute(owner: Any, part: str) -> Any:
    if part == "active":  # asking for its value would look for a GPU
        return type(owner).__dict__[part]
    return getattr(owner, part)


def install() -> None:
    """Puts the hook into Triton, once in a process."""
    global _installed, _plain_run, _plain_compile
    if _installed:
        return
    absent = missing()
    if absent:
        import triton
        raise RuntimeError(f"kernels of Triton {triton.__version__} cannot be interpreted: it has no {', '.join(absent)}; Triton 3.5 to 3.9 have")
    import triton
    import triton.compiler
    import triton.testing
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.driver import driver
    from triton.runtime.jit import JITFunction
    _plain_run, _plain_compile = JITFunction.run, triton.compiler.compile
    _watch_driver(driver)
    JITFunction.run = _run
    triton.compiler.compile = triton.compile = _compile
    for name in ("do_bench", "do_bench_cudagraph", "do_bench_proton", "do_bench_cudagraph_proton"):
        if hasattr(triton.testing, name):
            setattr(triton.testing, name, host.untimed(getattr(triton.testing, name)))
    plain_bench = Autotuner._bench
    Autotuner._bench = lambda self, *args, config, **meta: _bench(plain_bench, self, *args, config=config, **meta)
    _installed = True


def _watch_driver(driver: Any) -> None:
    """Has the driver be the one for the CPU where a chosen kernel is launched, and where there is no other."""
    plain = type(driver)

    class Watched(plain):
        @property
        def active(self) -> Any:
            if host.current() is not None:
                return host.HOST
            if runs and not getattr(host.here, "plain", False) and self._active is None and not has_gpu():
                return host.HOST
            return plain.active.fget(self)

    driver.__class__ = Watched


_gpu: bool | None = None


def has_gpu() -> bool:
    """Whether Triton has one driver for this machine."""
    global _gpu
    if _gpu is None:
        from triton.backends import backends
        _gpu = sum(1 for backend in backends.values() if backend.driver.is_active()) == 1
    return _gpu


def target_here() -> str:
    """The target of this machine's GPU, as the setting is written; "" without one."""
    if not has_gpu():
        return ""
    from triton.runtime.driver import driver
    target = driver.default.get_current_target()
    return f"{target.backend}:{target.arch}"


def below(kernel: Any) -> Any:
    """The JITFunction that autotune and heuristics have made a kernel of."""
    from triton.runtime.jit import JITFunction
    while not isinstance(kernel, JITFunction) and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


def chosen_by(function: Any) -> Any:
    """The run that has a kernel's launches; None for none."""
    for run in reversed(runs):
        if run.wants(function):
            if not getattr(function, "is_gluon", bool)():
                return run
            if not has_gpu():
                raise RuntimeError(f"{function.__name__} is written in Gluon, whose kernels are not interpreted: they need the GPU that they are for")
    return None


def _run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
    run = chosen_by(self) if runs else None
    if run is None:
        return _run_plainly(self, args, grid, warmup, kwargs)
    outer, host.here.run = host.current(), run
    try:
        return _plain_run(self, *map(run.argument, args), grid=grid, warmup=warmup, **{name: run.argument(value) for name, value in kwargs.items()})
    finally:
        host.here.run = outer


def _run_plainly(self: Any, args: Any, grid: Any, warmup: bool, kwargs: Any) -> Any:
    others[self.__name__] = None
    outer, host.here.run = host.current(), None
    before, host.here.plain = getattr(host.here, "plain", False), True
    try:
        return _plain_run(self, *args, grid=grid, warmup=warmup, **kwargs)
    finally:
        host.here.run, host.here.plain = outer, before


def _compile(src: Any, target: Any = None, options: Any = None, **more: Any) -> Any:
    from . import compiling
    if isinstance(target, host.Target):  # from _run
        return compiling.compile_for(host.current(), src, target, options)
    run = chosen_by(src.fn) if runs and hasattr(src, "fn") else None
    if run is None:
        return _plain_compile(src, target=target, options=options, **more)
    known = compiling.options_of(run.target, options)  # Inductor compiles and launches itself
    return compiling.compile_for(run, src, run.target, known)


def _bench(plain: Any, tuner: Any, *args: Any, config: Any, **meta: Any) -> Any:
    """Times no configuration of a chosen kernel: the one that was asked for wins, or the first after it that compiles."""
    run = chosen_by(below(tuner)) if runs else None
    if run is None:
        return plain(tuner, *args, config=config, **meta)
    from triton.compiler.errors import CompileTimeAssertionFailure
    number = tuner.configs.index(config) if config in tuner.configs else 0
    if number < run.autotune % len(tuner.configs) or getattr(tuner, "_interpreted_for", None) is tuner.nargs:
        return [2.0] * 3
    named = {**meta, **config.all_kwargs()}
    if config.pre_hook:  # it may give descriptors the shapes of their blocks
        config.pre_hook({**tuner.nargs, **named})
    try:
        tuner.fn.run(*args, **{**named, "warmup": True})
    except CompileTimeAssertionFailure:
        return [float("inf")] * 3
    tuner._interpreted_for = tuner.nargs
    return [1.0] * 3
