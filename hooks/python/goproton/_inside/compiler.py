"""Has Triton's compiler put scopes into the kernels that a session chose by name.

Triton 3.6 and later pass the stages of every compilation to a hook. The stage that makes TTGIR is wrapped: the module of
a chosen kernel is printed, gets records, and is parsed again. The module of any other kernel is not touched, and Triton's
passes that lower records are not run on it, so that its binary is the same as without a session.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from _thread import _local
from fnmatch import fnmatchcase

from .. import _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# The key of a kernel's metadata under which Triton keeps what was done, also for binaries that it finds in its cache.
METADATA = "goproton_inside"

# Changes whenever the same kernel would get other records: it is part of the key under which Triton keeps binaries.
VERSION = 1

DEFAULT_PAIRS = 200

CALLS = "it calls functions that are not inlined, and Triton's passes accept records in kernels of one function only"

_thread = _local()


def without_records() -> bool:
    """Whether the kernel that this thread compiles has no records, so that the passes which lower them must not run."""
    return getattr(_thread, "without_records", False)


def own_mode() -> str:
    """The mode of the records in the kernel that this thread compiles; "" if it is that of the session."""
    return getattr(_thread, "mode", "")


def is_without_scopes() -> bool:
    """Whether this thread compiles a kernel as if there was no session."""
    return getattr(_thread, "plain", False)


class without_scopes:
    """A context in which this thread compiles kernels as if there was no session."""

    def __enter__(self) -> None:
        _thread.plain = True

    def __exit__(self, *exception: Any) -> None:
        _thread.plain = False


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern chooses a kernel."""
    return fnmatchcase(name, pattern)


class Compiler:
    """The hook in Triton's compiler, from :meth:`attach` to :meth:`detach`.

    Args:
        patterns: shell patterns of kernels' names, as in "matmul_*".
        cheap: kernels without records of their own record in the cheapest way, in place of what the mode says.
        pairs: how many scopes to put into a kernel at most.

    Attributes:
        key: distinguishes binaries with these scopes from others. Letters and digits, because modes are split at punctuation.
    """

    def __init__(self, patterns: list[str], cheap: bool = False, pairs: int = DEFAULT_PAIRS) -> None:
        self.patterns, self.cheap, self.pairs = patterns, cheap, pairs
        self.key = _key(patterns, cheap, pairs)
        self._before: Callable | None = None
        self._attached = False
        self._keep_options: Callable[[], None] = lambda: None

    def attach(self) -> None:
        """Takes the hook's place; another tool's hook there is called first.

        Raises:
            RuntimeError: this Triton does not have the hook, and kernels were chosen.
        """
        runtime = _runtime()
        if hasattr(runtime, "add_stages_inspection_hook"):
            self._before = runtime.add_stages_inspection_hook
            runtime.add_stages_inspection_hook = self._inspect
        elif self.patterns:
            raise RuntimeError("scopes in kernels that were not edited need Triton 3.6 or newer: older releases have no hook in their compiler")
        self._attached = True
        if self.patterns:
            self._keep_options = _keep_register_limit()

    def detach(self) -> None:
        """Gives the hook's place back, unless another tool has taken it since: then the hook only passes calls on."""
        self._attached = False
        self._keep_options()
        runtime = _runtime()
        if getattr(runtime, "add_stages_inspection_hook", None) == self._inspect:
            runtime.add_stages_inspection_hook = self._before

    def _inspect(self, *arguments: Any) -> Any:
        if not arguments:  # from Triton 3.7 on, at every launch: what to add to the keys of the two caches
            key, hash = self._before() if self._before else ("", "")
            ours = self.key if self._attached and self.patterns and not is_without_scopes() else ""
            return key + ours, hash + ours
        if self._before:
            self._before(*arguments)
        if self._attached:
            self._wrap(arguments[1])
        return None

    def _wrap(self, stages: dict[str, Callable]) -> None:
        make, lower = stages.get("ttgir"), stages.get("llir")
        if make is None or lower is None:
            return  # a compiler without TTGIR

        rewritten: list[str] = []  # the text of the module before it got scopes

        def with_scopes(source: Any, metadata: dict[str, Any]) -> Any:
            return self._instrument(make(source, metadata), metadata, rewritten)

        def lowered(source: Any, metadata: dict[str, Any]) -> Any:
            return _lowered(lower, source, metadata, rewritten.pop() if rewritten else None)

        stages["ttgir"], stages["llir"] = with_scopes, lowered

    def _instrument(self, module: Any, metadata: dict[str, Any], rewritten: list[str]) -> Any:
        """The module with scopes if its kernel was chosen; the same module if it was not, or if something goes wrong."""
        text = str(module)
        if is_without_scopes() or not any(matches(_kernel_name(text), pattern) for pattern in self.patterns):
            return module
        try:
            done = scopes(text, self.pairs)
            replaced = _parse(done["text"], module.context) if done["scopes"] else module
        except Unreadable as problem:
            metadata[METADATA] = _done(problem=str(problem))
        except Exception as error:
            metadata[METADATA] = _done(problem=f"its TTGIR could not be rewritten: {error!r}")
        else:
            metadata[METADATA] = _done(done["scopes"], done["left_out"], "" if done["scopes"] else "none of its operations gets one")
            if done["scopes"]:
                rewritten.append(text)
                metadata[METADATA]["num_warps"] = metadata["num_warps"]
                if self.cheap and done["alone"]:
                    metadata[METADATA]["mode"] = _cheap_mode(done["records"], done["warps"])
            return replaced
        return module


class Unreadable(ValueError):
    """The text of a kernel is not understood, so that the kernel must stay as it is."""


def scopes(text: str, pairs: int) -> dict[str, Any]:
    """The text of a module with at most so many scopes, and what is known of them: see Go's triton/scopes.Rewritten.

    Raises:
        Unreadable: the reason stands in the message.
    """
    try:
        return _library.call("inside.scopes", text=text, pairs=pairs)
    except ValueError as refusal:
        raise Unreadable(str(refusal)) from None


def _kernel_name(text: str) -> str:
    """Name of the kernel in the text of a module; "" if there is none."""
    found = _PUBLIC.search(text)
    return found[1].strip('"') if found else ""


_PUBLIC = re.compile(r'^\s*tt\.func public @("[^"]+"|[\w$.\-]+)', re.M)


def _key(*choices: Any) -> str:
    import hashlib
    text = repr((VERSION, *choices))
    return f"inside{VERSION}x{hashlib.sha256(text.encode()).hexdigest()[:12]}"


_RING = 4096  # bytes of a warp in a kernel with loops, if there is room: 512 records


def _cheap_mode(records: int, warps: list[int]) -> str:
    """On an H200 a 4096³ matmul takes 1.17 times as long this way, 1.22 to 1.26 times in the default mode.

    Both records of a scope are stored at its end; so where a ring is full, those of outer scopes are not the first to be lost.
    """
    ring = 1 << (8 * records - 1).bit_length() if records else _RING  # 8 bytes a record, and a power of two
    return (f"default:sampling_strategy=selective:sampling_options={','.join(map(str, warps))}:buffer_size={ring * len(warps)}:"
            "optimizations=clock32,sched_stores")


def _done(scopes: int = 0, left_out: dict[str, int] | None = None, problem: str = "") -> dict[str, Any]:
    """What was done to a kernel, as its metadata keep it."""
    return {"scopes": scopes, "left_out": left_out or {}, "problem": problem}


def _lowered(lower: Callable, module: Any, metadata: dict[str, Any], before: str | None) -> Any:
    """Runs the stage behind TTGIR. A kernel that cannot be compiled with its records is compiled with fewer, and then with none.

    Args:
        before: the text of a module that got scopes by machine, as it was without these.
    """
    context, text = module.context, str(module)
    if not _PROTON.search(text):
        return _lower(lower, module, metadata, False)
    several = len(_FUNCTION.findall(text)) > 1
    try:
        if several:
            raise Unreadable(CALLS)  # Triton's passes print the whole module and fail
        return _lower(lower, module, metadata, True)
    except Exception as error:
        metadata[METADATA] = _done(problem=str(error) if several else f"Triton could not compile it with them: {error!r}")
    if before is not None and _PROTON.search(before):
        try:
            return _lower(lower, _parse(before, context), metadata, True)
        except Exception:
            pass  # its own are the reason
    return _lower(lower, _parse(_stripped(text if before is None else before), context), metadata, False)


def _lower(lower: Callable, module: Any, metadata: dict[str, Any], records: bool) -> Any:
    _thread.without_records = not records
    _thread.mode = metadata.get(METADATA, {}).get("mode", "")
    try:
        return lower(module, metadata)
    finally:
        _thread.without_records = False
        _thread.mode = ""


def _keep_register_limit() -> Callable[[], None]:
    """Has kernels keep their maxnreg, which Triton 3.9 drops of all kernels when there is a mode. Returns what undoes it."""
    from triton.backends import backends
    backend = backends["nvidia"].compiler if "nvidia" in backends else None
    theirs = getattr(backend, "parse_options", None)
    if theirs is None:
        return lambda: None

    def parse_options(self: Any, given: Any) -> Any:
        options = theirs(self, given)
        if given.get("maxnreg") is not None and options.maxnreg is None:
            object.__setattr__(options, "maxnreg", given["maxnreg"])  # it is frozen
        return options

    def undo() -> None:
        if backend.parse_options is parse_options:
            backend.parse_options = theirs

    backend.parse_options = parse_options
    return undo


def _runtime() -> Any:
    return getattr(sys.modules.get("triton.knobs"), "runtime", None)


_PROTON = re.compile(r"^\s*(?:%\S+ = )?proton\.", re.M)
_FUNCTION = re.compile(r"^\s*tt\.func ", re.M)
_EVENT = re.compile(r"^(\s*%\S+ = )proton\.allocate_event .*$", re.M)
_RECORD = re.compile(r"^\s*proton\..*\n", re.M)


def _stripped(text: str) -> str:
    """The text of a module without records. Events are numbers that loops may carry."""
    return _RECORD.sub("", _EVENT.sub(r"\1arith.constant 0 : i32", text))


def _parse(text: str, context: Any) -> Any:
    """Parses and verifies the text of a module."""
    from triton._C.libtriton import ir, proton
    proton.load_dialects(context)
    descriptor, path = tempfile.mkstemp(suffix=".ttgir")
    try:
        with open(descriptor, "w") as file:
            file.write(text)
        module = ir.parse_mlir_module(path, context)
    finally:
        os.unlink(path)
    module.context = context
    return module
