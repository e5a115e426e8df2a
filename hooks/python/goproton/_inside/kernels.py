"""The table of scopes of a compiled kernel, from the files that Triton keeps of its compilation."""

from __future__ import annotations

import re

from .compiler import METADATA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..mode import InstrumentationMode


def described(name: str, files: dict[str, str], mode: InstrumentationMode) -> dict[str, Any] | None:
    """A kernel as the control call ``inside.kernel`` takes it; None if it has no scopes.

    Args:
        name: as compiled.
        files: Triton's metadata_group, file names to paths.
        mode: what it was compiled with, unless its metadata say otherwise.
    """
    metadata = _metadata(files)
    slot = metadata.get("profile_scratch_size") or 0
    if not slot:
        return None
    import triton

    from ..mode import SAMPLING_STRATEGY, Optimize, instrumentation_mode
    warps = metadata["num_warps"]
    target = metadata.get("target") or {}
    own = metadata.get(METADATA, {}).get("mode")
    mode = instrumentation_mode(own) if own else _compiled_with(metadata, mode)
    units = None
    if mode.sampling_strategy is SAMPLING_STRATEGY.SELECTIVE and mode.sampling_options.strip(" ,"):
        units = sorted({int(warp) for warp in mode.sampling_options.split(",") if warp.strip()})
    return {
        "name": name, "mode": str(mode), "triton": triton.__version__, "slot_size": slot, "warps": warps, "units": units,
        "buffer_size": mode.buffer_size, "clock32": Optimize.CLOCK32 in mode.optimizations, "arch": str(target.get("arch", "")),
        "backend": str(target.get("backend", "")), "scopes": _scopes(files),
    }


def doubts(files: dict[str, str], chosen: bool) -> list[str]:
    """What is wrong with a kernel, or with its own scopes, as Triton has compiled it; each completes "kernel NAME …".

    Args:
        chosen: the kernel was to get scopes by machine, so the end of the session says what became of it.
    """
    found = []
    problem = _metadata(files).get(METADATA, {}).get("problem")
    written, kept = (_text(files, ending) for ending in (".ttir", ".ttgir"))
    own = {_unescaped(name) for name in _OWN.findall(written)}
    if problem and own and not chosen:
        found.append(f"has no scopes: {problem}")
    if own and not problem and "ttg.warp_specialize(" in kept and "tt.warp_specialize" in written:
        gone = sorted(own - {_unescaped(name) for name in _OWN.findall(kept)})
        dropped = f"drops those in the loop ({', '.join(gone)}) and " if gone else ""
        found.append(f"has scopes of its own, which Triton does not keep in place when it divides a loop between warps (warp_specialize=True): it {dropped}"
                     "moves those around it. Take them out and choose the kernel by name (--inside), which puts scopes in behind that step")
    if "ttg.warp_specialize(" in kept and any(_size(block) != _size(tile) for block, tile in _COPY.findall(kept)):
        found.append("will never end, with scopes or without: this release of Triton divides its blocks between groups of warps, but not the copies of descriptors "
                     "that were made on the host, for which these warps wait (warp_specialize=True). Use blocks of 64 rows, or leave the loop in one piece")
    return found


def _size(shape: str) -> int:
    size = 1
    for length in shape.split("x")[:-1]:
        size *= int(length)
    return size


def _compiled_with(metadata: dict[str, Any], otherwise: InstrumentationMode) -> InstrumentationMode:
    """A kernel may have been compiled in an earlier session, with another mode."""
    from ..mode import instrumentation_mode
    try:
        return instrumentation_mode(metadata["instrumentation_mode"])
    except (KeyError, ValueError):
        return otherwise


def _metadata(files: dict[str, str]) -> dict[str, Any]:
    import json
    path = next((path for file, path in files.items() if file.endswith(".json") and not file.startswith("__grp__")), None)
    if path is None:
        return {}
    with open(path) as file:
        return json.load(file)


def _scopes(files: dict[str, str]) -> list[dict[str, Any]]:
    """Empty where Triton keeps binaries only: the scopes have their numbers instead of names then."""
    path = next((path for file, path in files.items() if file.endswith(".ttgir")), None)
    if path is None:
        return []
    names, parents = _identified(str(path))
    lines = _Lines(_text(files, ".ttgir"))
    table = []
    for id, name in sorted(names):
        source, line = lines.next(name)
        table.append({"id": id, "name": name, "parent": parents.get(id, -1), "file": source, "line": line})
    return table


def _text(files: dict[str, str], ending: str) -> str:
    """The file of that ending, "" if there is none."""
    path = next((path for file, path in files.items() if file.endswith(ending)), None)
    if path is None:
        return ""
    with open(path, encoding="latin-1") as file:  # see _unescaped
        return file.read()


def _identified(path: str) -> tuple[list[tuple[int, str]], dict[int, int]]:
    """Names and parents as the compiler numbers them."""
    from triton._C import libtriton
    context = libtriton.ir.context()
    libtriton.ir.load_dialects(context)
    for vendor in ("nvidia", "amd"):
        if hasattr(libtriton, vendor):
            getattr(libtriton, vendor).load_dialects(context)
    libtriton.proton.load_dialects(context)
    module = libtriton.ir.parse_mlir_module(path, context)
    module.context = context
    parents = {id: parent for id, parent in libtriton.proton.get_scope_id_parents(module) if 0 <= parent != id}
    return list(libtriton.proton.get_scope_id_names(module)), parents


# A scope begins with one of these. MLIR writes bytes other than printable ASCII, and quotes, as \XX.
_BEGINS = re.compile(r'proton\.(?:record start|allocate_event) "((?:[^"\\]|\\.)*)"(?:[^\n]*?)loc\((.*)\)\s*$', re.MULTILINE)
_OWN = re.compile(r'proton\.(?:record start|allocate_event) "((?:[^"\\]|\\.)*)"')
_COPY = re.compile(r"ttng\.async_tma_copy_global_to_local .*!tt\.tensordesc<(?:tensor<)?((?:\d+x)+).*-> !ttg\.memdesc<((?:\d+x)+)")
_DEFINED = re.compile(r"^(#loc\d*) = loc\((.*)\)\s*$", re.MULTILINE)
_PLACE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+')
_REFERENCE = re.compile(r"#loc\d*")
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)")


class _Lines:
    """Where in the source the scopes of a TTGIR begin."""

    def __init__(self, text: str) -> None:
        self.defined = dict(_DEFINED.findall(text))
        self.begins: dict[str, list[str]] = {}
        for name, place in _BEGINS.findall(text):
            self.begins.setdefault(_unescaped(name), []).append(place)

    def next(self, name: str) -> tuple[str, int]:
        """The line of the next scope of that name, in the order of the code, which is that of the numbers; ("", 0) if it has none."""
        places = self.begins.get(name)
        return self._line(places.pop(0)) if places else ("", 0)

    def _line(self, place: str) -> tuple[str, int]:
        # The first place of an inlined function's line is in that function, and the rest is where it was called.
        for _ in range(20):
            found, reference = _PLACE.search(place), _REFERENCE.search(place)
            if found and (reference is None or found.start() < reference.start()):
                return _unescaped(found.group(1)), int(found.group(2))
            if reference is None or reference.group() not in self.defined:
                break
            place = self.defined[reference.group()] + place[reference.end():]
        return "", 0


def _unescaped(text: str) -> str:
    decode = lambda match: chr(int(match.group(1), 16)) if len(match.group(1)) == 2 else match.group(1)
    return _ESCAPE.sub(decode, text).encode("latin-1").decode("utf-8", "replace")
