"""Compilations and autotuning results that Triton's listeners report."""

from __future__ import annotations

import json
import os
import sys
import time
from fnmatch import fnmatchcase
from weakref import ref

from .. import _library
from . import failures, source
from .arguments import path
from .values import compact, plain, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable

_TEXTS = (".ttir", ".ttgir", ".llir", ".ptx", ".amdgcn", ".json", ".ttadapter", ".bcmlir")
_BINARIES = (".cubin", ".hsaco")

_EXAMPLES = 5  # names of kernels in a message


class Carrier:
    """The launch_metadata function of kernels that have none: Triton passes arguments only to such a function."""

    def __init__(self, inductor: str | None = None) -> None:
        self.inductor = inductor

    def __call__(self, *_: Any) -> dict:
        return {}

    def __reduce__(self) -> Any:
        return type(None), ()  # a copy of the function, or one in another process, has no launch_metadata


class Allowed:
    """The kernels to trace: shell patterns, separated by commas; None for all."""

    def __init__(self, patterns: str | None) -> None:
        self._patterns = [one.strip() for one in (patterns or "").split(",") if one.strip()]
        self._others: dict[str, None] = {}  # the first kernels that did not match, in their order

    def __call__(self, name: str | None) -> bool:
        if not self._patterns or (name is not None and any(fnmatchcase(name, one) for one in self._patterns)):
            return True
        if name is not None and len(self._others) < _EXAMPLES:
            self._others[name] = None
        return False

    def why_nothing(self) -> str | None:
        """The message for an empty trace; None if the patterns are not the reason."""
        if not self._others:
            return None
        return f"nothing was traced: no kernel matches {','.join(self._patterns)}; there were {', '.join(self._others)}"


class Events:
    """Passes compilations and autotune results to the writer.

    Args:
        allowed: which kernels.
        whole_file: store the whole file of a kernel's source.
        launches: whether launches are traced as well.
    """

    def __init__(self, allowed: Allowed, whole_file: bool, launches: bool) -> None:
        self._allowed, self._whole_file, self._launches = allowed, whole_file, launches
        self.over = False  # the listeners may be called after the end, by tests that restore earlier knobs
        self._carrier = Carrier()
        self._carrying: dict[int, ref] = {}
        self._uses: dict[int, tuple[ref, dict[str, Any]]] = {}
        self.seen: set[str] = set()  # hashes of compilations that have a record
        self._failed: set[tuple] = set()  # compilations that have a record of their failure

    # ---- Triton calls these. Neither an error here nor the arguments of another release may break a compilation ----

    def compiled(self, src: Any = None, metadata: Any = None, metadata_group: Any = None, times: Any = None, cache_hit: bool = False,
                 **_: Any) -> None:
        """knobs.compilation.listener."""
        try:
            fn = getattr(src, "fn", None)
            if self.over or _library.forked() or not self._allowed(_name(fn)):
                return
            if self._launches:
                self.carry(fn)
            self._compilation(src, fn, metadata, metadata_group, times, cache_hit)
        except Exception as error:
            complain(f"a compilation is missing: {error!r}")

    def compile_failed(self, local: dict[str, Any], error: BaseException) -> None:
        """triton.compile raises an error."""
        try:
            src = local.get("src")
            fn = getattr(src, "fn", None)
            if fn is not None and not self.over and not _library.forked() and self._allowed(_name(fn)):
                self._failure(src, fn, local, error)
        except Exception as problem:
            complain(f"a compilation that failed is missing: {problem!r}")

    def post_compile(self, *, fn: Any = None, inductor_args: Any = None, **_: Any) -> None:
        """knobs.runtime.jit_post_compile_hook, which Inductor calls for kernels that it compiled."""
        try:
            function = getattr(fn, "jit_function", fn)
            if self._launches and not self.over and self._allowed(_name(function)):
                self.carry(function, inductor_args)
        except Exception as error:
            complain(f"launches of a kernel are missing: {error!r}")

    def autotuned(self, *, fn: Any = None, key: Any = None, best_config: Any = None, configs_timings: Any = None, duration: Any = None,
                  cache_hit: Any = None, **_: Any) -> None:
        """knobs.autotuning.listener."""
        try:
            name = fn.fn.__name__
            if self.over or _library.forked() or not self._allowed(name):
                return
            members = {
                "kernel_name": name, "cache_key": fn.cache_key, "best_config": str(best_config),
                "configs_timings": {str(config): plain(timing) for config, timing in configs_timings.items()},
                "duration": plain(duration), "cache_hit": plain(cache_hit), "autotune_key": str(key),
            }
            _send({"event_type": "autotune", "ns": time.time_ns(), "stack": source.stack(2), "members": members})
        except Exception as error:
            complain(f"an autotune result is missing: {error!r}")

    # ---- launches ----

    def carry(self, fn: Any, inductor_args: Any = None) -> None:
        """Makes Triton pass the arguments of a function's launches. With the user's own launch_metadata it already does."""
        if not hasattr(fn, "launch_metadata"):
            return
        present = fn.launch_metadata
        if inductor_args:
            from .arguments import Describer
            describe = Describer().description
            carrier = Carrier(json.dumps({name: describe(value) for name, value in inductor_args.items()}, ensure_ascii=False))
        elif present is None:
            carrier = self._carrier
        else:
            return
        if present is None or isinstance(present, Carrier):
            fn.launch_metadata = carrier
        if present is None:
            self._carrying[id(fn)] = _until_gone(fn, self._carrying)

    def put_back(self) -> None:
        """Restores the functions."""
        failures.leave()
        for one in list(self._carrying.values()):
            fn = one()
            if fn is not None and isinstance(fn.launch_metadata, Carrier):
                fn.launch_metadata = None
        self._carrying.clear()

    def look_back(self) -> None:
        """Traces functions and compiled kernels from before the trace."""
        import gc
        functions, kernels = _classes()
        objects = gc.get_objects()
        failures.attach(self.compile_failed, functions, objects)
        for one in objects:
            if functions and type(one) in functions:
                if self._launches and self._allowed(_name(one)):
                    self.carry(one)
            elif kernels and type(one) is kernels:
                self._earlier(one)

    def find(self, metadata: Any) -> None:
        """Records, at its first launch, a compilation that no listener reported because another process made it.

        The launching code holds a reference to the kernel: Triton in a local variable, Inductor's launchers in their
        globals. If neither is found, all compiled kernels in memory are recorded. Finding those means a search of all
        objects, which are millions, for kernels, which are hundreds.
        """
        import gc
        _, kernels = _classes()
        if kernels is not None:
            launched = _launched(metadata, kernels)
            for one in [launched] if launched is not None else gc.get_objects():
                if type(one) is kernels:
                    self._earlier(one)
        self.seen.add(str(getattr(metadata, "hash", "")))  # also if the search failed, so that it is not repeated at each launch

    def _earlier(self, kernel: Any) -> None:
        try:
            fn = getattr(kernel.src, "fn", None)
            if kernel.hash not in self.seen and self._allowed(_name(fn) or kernel.name):
                self._compilation(kernel.src, fn, kernel.metadata._asdict(), kernel.metadata_group, None, True)
        except Exception as error:
            complain(f"an earlier compilation is missing: {error!r}")

    # ---- the record ----

    def _compilation(self, src: Any, fn: Any, metadata: Any, group: Any, times: Any, cache_hit: bool) -> None:
        if not metadata:
            metadata = _read_metadata(group)
        self.seen.add(str(metadata.get("hash", "")))
        described = {"cache_hit": cache_hit, **plain(metadata), "env": _environment(), "src_attrs": plain(getattr(src, "attrs", {})),
                     "src_cache_key": fn.cache_key if hasattr(fn, "cache_key") else "", "src_constants": plain(getattr(src, "constants", {}))}
        if times:
            described["times"] = plain(times)
        files = [{"name": name, "path": str(path), "text": name.endswith(_TEXTS)} for name, path in group.items()]
        _send({
            "event_type": "compilation", "ns": time.time_ns(), "stack": source.stack(3), "metadata": described,
            "pt_info": _pt_info(), "files": files, "binary": next((name for name in group if name.endswith(_BINARIES)), ""),
            "python_source": self._source(src), "goproton": self._extension(src, fn),
        })

    def _failure(self, src: Any, fn: Any, local: dict[str, Any], error: BaseException) -> None:
        stage = str(local.get("ext", "")) or ("ir" if "codegen_fns" in local else "")
        target, options, group = local.get("target"), local.get("options"), local.get("metadata_group") or {}
        metadata = {"name": fn.__name__, "hash": str(local.get("hash", "")), "target": target, **getattr(options, "__dict__", {}), **(local.get("metadata") or {})}
        key = path(fn), metadata["hash"] or str(src.constants), type(error).__name__
        if key in self._failed:
            return  # a program may try again and again
        self._failed.add(key)
        extension = {**self._extension(src, fn), "failure": failures.described(error, stage)}
        if hasattr(options, "__dict__"):
            extension["inputs"] = failures.inputs(src, options, local["backend"])
        described = {**plain(metadata), "env": _environment(), "src_attrs": plain(src.attrs), "src_constants": plain(src.constants)}
        _send({
            "event_type": "compilation_failure", "ns": time.time_ns(), "stack": source.stack(4), "metadata": described, "pt_info": _pt_info(),
            "files": [{"name": name, "path": str(path), "text": name.endswith(_TEXTS)} for name, path in group.items()], "binary": "",
            "python_source": self._source(src), "goproton": extension,
        })

    def _source(self, src: Any) -> Any:
        try:
            return source.python_source(src, self._whole_file)
        except (OSError, TypeError):
            return None  # made by exec: it has no source

    def _extension(self, src: Any, fn: Any) -> dict[str, Any]:
        if fn is None:
            return {}
        constants = getattr(src, "constants", {})
        given = [one for one in constants.values() if any(True for _ in source.needed_by(one))]
        known = self._uses.get(id(fn))
        about: dict[str, Any] = {}
        if known is None or known[0]() is not fn:
            known = self._uses[id(fn)] = (_until_gone(fn, self._uses), _described(fn))
            about = _described_tuning(fn, known[1])  # once, because there may be many configurations, and a record of each
        about = {**(_described(fn, given) if given else known[1]), **about}
        return about if _device() is None else {**about, "device": _device()}


def _until_gone(fn: Any, among: dict[int, Any]) -> ref:
    """A reference for a dict by id that drops its entry with the function: programs may create functions without limit."""
    return ref(fn, lambda _, at=id(fn): among.pop(at, None))


def _described(fn: Any, constants: Iterable[Any] = ()) -> dict[str, Any]:
    function = getattr(fn, "fn", fn)
    about: dict[str, Any] = {"function": function.__name__, "module": str(function.__module__), "qualname": function.__qualname__,
                             "params": source.params(fn), "kind": source.kind(fn), "options": source.options(fn)}
    uses = _uses_of(fn, constants)
    if uses is not None:
        about["dependencies"], about["globals"] = uses.dependencies, uses.globals
    return about


def _described_tuning(fn: Any, about: dict[str, Any]) -> dict[str, Any]:
    """What the decorators of autotuner and heuristics use in addition."""
    uses = _uses_of(fn, (), tuning=True)
    if uses is None or "globals" not in about:
        return {}
    more = {name: [one for one in getattr(uses, name) if one not in about[name]] for name in ("dependencies", "globals")}
    return {"tuning": more} if any(more.values()) else {}


def _uses_of(fn: Any, constants: Iterable[Any], tuning: bool = False) -> Any:
    try:
        return source.Uses(fn, constants, tuning)
    except (OSError, TypeError, ValueError, SyntaxError, RecursionError):
        return None  # no source (see _source), or too much of it


def _name(fn: Any) -> str | None:
    return getattr(getattr(fn, "fn", None), "__name__", None)


def _classes() -> tuple[tuple, Any]:
    jit = sys.modules.get("triton.runtime.jit")
    functions = {getattr(jit, "JITFunction", None)} | {getattr(sys.modules.get("triton.experimental.gluon._runtime"), "GluonJITFunction", None)}
    compiled = getattr(sys.modules.get("triton.compiler.compiler"), "CompiledKernel", None)
    return tuple(functions - {None}), compiled


_NEAR = 8  # frames between the hook and the one that has the kernel: this package's, and Triton's driver's


def _launched(metadata: Any, kernels: type) -> Any:
    """The kernel that is being launched, None if no nearby frame has it."""
    frame = sys._getframe(1)
    for _ in range(_NEAR):
        if frame is None:
            break
        for one in [*frame.f_locals.values(), *frame.f_globals.values()]:
            if type(one) is kernels and getattr(one, "metadata", None) is metadata:
                return one
        frame = frame.f_back
    return None


def _read_metadata(group: Any) -> dict[str, Any]:
    path = next((path for name, path in group.items() if name.endswith(".json")), None)
    if path is None:
        return {}
    with open(path) as file:
        return json.load(file)


def _environment() -> dict[str, Any]:
    from triton._C.libtriton import get_cache_invalidating_env_vars
    return plain(get_cache_invalidating_env_vars())


def _pt_info() -> dict[str, Any]:
    """The frame that torch.compile compiles."""
    context = getattr(sys.modules.get("torch._guards"), "CompileContext", None)
    trace_id = context.current_trace_id() if context is not None else None
    if trace_id is None:
        return {}
    info = {name: getattr(trace_id.compile_id, name, None) for name in ("compiled_autograd_id", "frame_id", "frame_compile_id")}
    return {**{name: value for name, value in info.items() if value is not None}, "attempt": trace_id.attempt}


def _device() -> int | None:
    torch = sys.modules.get("torch")
    try:
        return torch.cuda.current_device() if torch is not None and torch.cuda.is_initialized() else None
    except Exception:
        return None


def _send(event: dict[str, Any]) -> None:
    _library.native.call("trace.event", compact(event))


_complained = False


def complain(what: str) -> None:
    global _complained
    if not _complained:
        _complained = True
        say(f"{what}; please report this")
