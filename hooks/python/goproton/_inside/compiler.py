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

from . import rewrite
from .ttgir import Unreadable, function_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# The key of a kernel's metadata under which Triton keeps what was done, also for binaries that it finds in its cache.
METADATA = "goproton_inside"

_thread = _local()


def without_records() -> bool:
    """Whether the kernel that this thread compiles has no records, so that the passes which lower them must not run."""
    return getattr(_thread, "without_records", False)


class Compiler:
    """The hook in Triton's compiler, from :meth:`attach` to :meth:`detach`.

    Args:
        patterns: shell patterns of kernels' names, as in "matmul_*".
        pairs: how many scopes to put into a kernel at most.
    """

    def __init__(self, patterns: list[str], pairs: int = rewrite.DEFAULT_PAIRS) -> None:
        self.patterns, self.pairs = patterns, pairs
        self.problems: dict[str, str] = {}  # kernel -> why it has no scopes
        self._before: Callable | None = None
        self._plain = False

    def matches(self, name: str) -> bool:
        """Whether a kernel was chosen."""
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def key(self) -> str:
        """Distinguishes binaries with these scopes from others. Letters and digits, because modes are split at punctuation."""
        import hashlib
        text = repr((rewrite.VERSION, self.patterns, self.pairs))
        return f"inside{rewrite.VERSION}x{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def attach(self) -> None:
        """Takes the hook's place; another tool's hook there is called first.

        Raises:
            RuntimeError: this Triton does not have the hook.
        """
        runtime = _runtime()
        if runtime is None or not hasattr(runtime, "add_stages_inspection_hook"):
            raise RuntimeError("scopes by machine need Triton 3.6 or newer, which has the hook add_stages_inspection_hook")
        self._before = runtime.add_stages_inspection_hook
        runtime.add_stages_inspection_hook = self._inspect

    def detach(self) -> None:
        """Gives the hook's place back, unless another tool has taken it since: then the hook only passes calls on."""
        runtime = _runtime()
        self.patterns = []
        if runtime is not None and runtime.add_stages_inspection_hook == self._inspect:
            runtime.add_stages_inspection_hook = self._before

    def _inspect(self, *arguments: Any) -> Any:
        if not arguments:  # from Triton 3.8 on: what to add to the keys of the two caches
            key, hash = self._before() if self._before else ("", "")
            return (key + self.key(), hash + self.key()) if self.patterns else (key, hash)
        if self._before:
            self._before(*arguments)
        self._wrap(arguments[1])
        return None

    def _wrap(self, stages: dict[str, Callable]) -> None:
        make, lower = stages.get("ttgir"), stages.get("llir")
        if make is None or lower is None:
            return  # a compiler without TTGIR

        def with_scopes(source: Any, metadata: dict[str, Any]) -> Any:
            return self._instrument(make(source, metadata), metadata)

        def lowered(source: Any, metadata: dict[str, Any]) -> Any:
            _thread.without_records = not _has_records(source)
            try:
                return lower(source, metadata)
            finally:
                _thread.without_records = False

        stages["ttgir"], stages["llir"] = with_scopes, lowered

    def _instrument(self, module: Any, metadata: dict[str, Any]) -> Any:
        """The module with scopes if its kernel was chosen; the same module if it was not, or if something goes wrong."""
        name = ""
        try:
            text = str(module)
            name = function_name(text)
            if not self.matches(name):
                return module
            done = rewrite.rewrite(text, self.pairs)
            replaced = _parse(done.text, module.context)
        except Unreadable as problem:
            self.problems[name] = f"kernel {name} has no scopes: {problem}"
        except Exception as error:
            self.problems[name] = f"kernel {name} has no scopes: its TTGIR could not be rewritten: {error!r}"
        else:
            metadata[METADATA] = {"version": rewrite.VERSION, "scopes": len(done.places), "left_out": done.left_out}
            return replaced
        return module


def _runtime() -> Any:
    return getattr(sys.modules.get("triton.knobs"), "runtime", None)


_PROTON = re.compile(r"^\s*(?:%\S+ = )?proton\.", re.M)


def _has_records(module: Any) -> bool:
    return _PROTON.search(str(module)) is not None


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
