"""What users call: :func:`interpret` and :func:`interpreting`."""

from __future__ import annotations

import fnmatch
import operator
import sys
from typing import Any

from .. import _library
from ..flags import flags
from . import hook, host, unwritten
from .launching import IN_CHILD, Finding as Finding
from .storages import Array


class Run:
    """Kernels that run on the CPU while this context manager is entered.

    Attributes:
        findings: what kernels did that they must not, a dictionary each.
        counts: what each kernel did, by line.
    """

    def __init__(self, patterns: tuple[str, ...], functions: tuple[Any, ...], settings: dict[str, Any]):
        self.patterns, self.functions = patterns, functions
        if isinstance(settings.get("check"), str):
            settings["check"] = settings["check"].split(",")
        self.fills = unwritten.wanted(settings)
        self.form = settings.get("form") or "ttir"
        self.autotune = settings.get("autotune") or 0
        self.keep_going = bool(settings.get("keep_going"))
        self.debugging = any(settings.get(name) for name in ("debug", "break", "print", "dap"))
        if self.debugging:
            self.form = settings.get("form") or "front"
        self.matched: set[str] = set()
        self._wanted: dict[int, tuple[Any, bool]] = {}  # by id: a hash of a JITFunction looks into all that it calls
        hook.install()
        self.target = host.target_of(settings.get("target") or hook.target_here())
        self.key = ("interpreted", self.target.backend, self.target.arch, self.form, self.debugging)
        if _library.load() is None:
            raise RuntimeError(f"kernels cannot be interpreted: {_library.problem}")
        answer = _library.call("interpret.begin", settings=settings)
        if not answer:
            raise RuntimeError(IN_CHILD)
        self.number = answer["run"]
        self.scoped = bool(settings.get("scopes"))
        if self.scoped:
            flags.profiling_on = True  # scopes of Python open those of the library
        if answer.get("editors"):
            from .debugging import serve
            serve(self.number, answer["host"], answer["port"])

    def wants(self, function: Any) -> bool:
        """Whether the run has the launches of a JITFunction."""
        known = self._wanted.get(id(function))
        if known is None:
            name = function.__name__
            fitting = [p for p in self.patterns if fnmatch.fnmatchcase(name, p)]
            self.matched.update(fitting)
            wanted = any(f is function for f in self.functions) or bool(fitting) or not self.patterns and not self.functions
            known = self._wanted[id(function)] = (function, wanted)
        return known[1]

    def argument(self, value: Any) -> Any:
        """An argument as Triton takes it."""
        made = _made.get(type(value)) or _how(type(value))
        return value if made is _as_it_is else made(value, self.argument)

    def leave(self) -> None:
        """Ends what the debugger was left in, as pdb does."""
        import bdb
        raise bdb.BdbQuit

    def __enter__(self) -> Run:
        hook.runs.append(self)
        if self.fills:
            unwritten.begin()
        return self

    def __exit__(self, *exception: Any) -> None:
        hook.runs.remove(self)
        if self.fills:
            unwritten.end()

    def report(self) -> dict[str, Any]:
        """What has happened until now: launches, kernels, findings."""
        return _library.call("interpret.report", run=self.number)

    @property
    def findings(self) -> list[dict[str, Any]]:
        return self.report()["findings"]

    @property
    def counts(self) -> list[dict[str, Any]]:
        return self.report()["kernels"]


def _as_it_is(value: Any, argument: Any) -> Any:
    return value


def _tuple(value: Any, argument: Any) -> Any:
    parts = list(map(argument, value))
    if all(map(operator.is_, parts, value)):
        return value
    return tuple(parts) if type(value) is tuple else type(value)(*parts)


_made: dict[type, Any] = {}  # what makes an argument of a value, by its type


def _how(kind: type) -> Any:
    if issubclass(kind, tuple):
        made = _tuple
    elif "numpy" in sys.modules and issubclass(kind, sys.modules["numpy"].ndarray):
        made = lambda value, argument: Array(value)
    else:
        made = _as_it_is
    _made[kind] = made
    return made


def interpreting(*kernels: Any, **settings: Any) -> Run:
    """Runs the kernels whose names match on the CPU within a ``with`` statement; without names, all kernels.

        with goproton.interpreting("softmax_*", order="reverse", keep_going=True) as run:
            softmax(x)
        print(run.findings)

    Args:
        kernels: patterns of names, or kernels.
        settings: those of ``proton interpret``, with underscores: order, seed, workers, programs, sample, form, target, autotune, max_steps,
            max_seconds, save, keep_going, check (as in ["race", "uninit"], or "all"); scopes has counts apart for each call path of open scopes.
    """
    patterns = tuple(k for k in kernels if isinstance(k, str))
    return Run(patterns, tuple(_function(k) for k in kernels if not isinstance(k, str)), settings)


def interpret(kernel: Any, **settings: Any) -> Any:
    """A kernel whose launches run on the CPU: ``goproton.interpret(kernel)[grid](x, y, n, BLOCK=1024)``."""
    return _Interpreted(kernel, Run((), (_function(kernel),), settings))


class _Interpreted:
    def __init__(self, kernel: Any, run: Run):
        self.kernel, self.run = kernel, run

    def __getitem__(self, grid: Any) -> Any:
        def launch(*args: Any, **named: Any) -> Any:
            with self.run:
                return self.kernel[grid](*args, **named)
        return launch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)


def _function(kernel: Any) -> Any:
    from triton.runtime.jit import JITFunction
    function = hook.below(kernel)
    if not isinstance(function, JITFunction):
        raise TypeError(f"{kernel!r} is not a kernel of Triton: pass a function with @triton.jit")
    return function
