"""Passes a launch to Go, and what comes of it back: prints, findings, errors."""

from __future__ import annotations

import json
import sys
import types
from operator import index
from typing import Any, Iterator

from triton import knobs

from .. import _library
from .host import current
from .progress import Progress
from .storages import Array, Launched


class Finding(RuntimeError):
    """What an interpreted kernel did that it must not.

    Attributes: kind, text, op, file, line, column, program (x, y, z), lane, buffer, kernel, and all (a dictionary for each finding of the
    launch).
    """

    def __init__(self, message: str, found: list[dict[str, Any]]):
        super().__init__(message)
        first = found[0]
        self.all = found
        self.kind, self.text, self.op, self.lane = first.get("kind"), first.get("text"), first.get("op"), first.get("lane")
        self.program, self.buffer, self.kernel = tuple(first.get("program", ())), first.get("buffer"), first.get("kernel")
        frame = (first.get("frames") or [{}])[0]
        self.file, self.line, self.column = frame.get("file"), frame.get("line"), frame.get("column")


class Kernel:
    """Stands for a CompiledKernel of Triton."""

    n_regs, n_spills = 32, 0  # programs divide by the first
    n_max_threads = 1024
    module = None
    packed_metadata = ()

    def __init__(self, owner: Any, src: Any, text: str, target: Any, options: Any, sources: dict[str, str] | None = None):
        try:
            answer = _library.call("interpret.kernel", ttir=text, sources=sources or {}, ctas=getattr(options, "num_ctas", 1))
        except RuntimeError as error:
            raise RuntimeError(f"{src.name}: {error}") from None
        if not answer:
            raise RuntimeError(IN_CHILD)
        self.number, self.takes_addresses = answer["kernel"], answer["addresses"]
        self.owner, self.src, self.name, self.options = owner, src, src.name, options
        self.asm = {"ttir": text, "ptx": ""}
        self.hash = f"interpreted-{self.number}"
        self.function = self
        self.metadata = types.SimpleNamespace(**{"name": src.name, "shared": 1024, "hash": self.hash, "tmem_size": 0, "cluster_dims": (1, 1, 1), **options.__dict__, "target": target})
        self.passed = _passed(src)

    def _init_handles(self) -> None:
        pass

    def launch_metadata(self, grid: Any, stream: Any, *args: Any) -> Any:
        runtime = knobs.runtime
        if not _has_calls(runtime.launch_enter_hook) and not _has_calls(runtime.launch_exit_hook):
            return None
        made = {"name": self.name, "function": self.function, "stream": stream}
        if getattr(self.src.fn, "launch_metadata", None) is not None:
            made.update(self.src.fn.launch_metadata(grid, self.metadata, dict(zip(self.src.fn.arg_names, args))) or {})
        from triton.compiler.compiler import LazyDict
        return LazyDict(made)

    def run(self, x: int, y: int, z: int, stream: Any, function: Any, packed_metadata: Any, launch_metadata: Any, enter: Any, leave: Any, *args: Any) -> None:
        if enter is not None:
            enter(launch_metadata)
        grid = index(x), index(y), index(z)
        if self.metadata.target.backend == "cuda" and max(grid[1:]) > 65535:
            raise RuntimeError(f"a grid of {x} × {y} × {z} cannot be launched: GPUs of NVIDIA take at most 65535 in its second and third dimension")
        if 0 not in grid:  # Triton's launchers launch an empty grid as nothing
            self._launch(grid, args)
        if leave is not None:
            leave(launch_metadata)

    def _launch(self, grid: Any, args: Any) -> None:
        run = current() or self.owner
        words, storages = [f"{run.number} {self.number} {grid[0]} {grid[1]} {grid[2]}"], Launched()
        for i, *inside in self.passed:
            value = args[i]
            for i in inside:
                value = value[i]
            if isinstance(value, (int, float)):
                plain = float if isinstance(value, float) else int  # numpy.float64 is a float with a repr of its own, and so is IntEnum
                words.append(f"n {plain(value)!r}")
            elif type(value) is not Array and hasattr(value, "block_shape"):
                words += _descriptor(value, storages)
            else:
                words.append("p " + storages.pointer(value))
                if getattr(value.array if type(value) is Array else value, "ndim", 0) > 1:  # elements of vectors have numbers
                    words.append(_layout(value))
        if self.takes_addresses:
            words += storages.others()
        if run.scoped:
            words.append(f"s {_library.native.enter_scope(self.name)}")
            _library.native.exit_scope()
        try:
            launch(run, self.name, words)
        finally:
            for copy_back in storages.after:
                copy_back()

    def __getitem__(self, grid: Any) -> Any:
        grid = (*grid, 1, 1)[:3]
        return lambda *args: self.run(*grid, 0, self, (), None, None, None, *args)


def _has_calls(hook: Any) -> bool:
    return hook is not None and getattr(hook, "calls", True) not in ([], ())


def _passed(src: Any) -> list[tuple[int, ...]]:
    """Where the arguments of the kernel's TTIR are among those of its Python function: constants are none, and tuples are their elements."""
    def walk(kind: Any, path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if path in src.constants or kind == "constexpr":
            return
        if isinstance(kind, (tuple, list)):
            for i, part in enumerate(kind):
                yield from walk(part, (*path, i))
        else:
            yield path

    return [place for i, kind in enumerate(src.signature.values()) for place in walk(kind, (i,))]


def _layout(value: Any) -> str:
    """The shape and the strides of a tensor, by which findings name its elements."""
    if not hasattr(value, "stride"):
        return ""
    return " ".join(map(str, ("v", len(value.shape), *value.shape, *value.stride())))


def _descriptor(value: Any, storages: Launched) -> list[str]:
    """A descriptor, and its shape and strides, which are arguments of their own."""
    shape, strides = list(value.shape), list(value.strides)
    dims = " ".join(map(str, [len(shape), *shape, *strides]))
    nan = int(getattr(value, "padding", "zero") == "nan")
    return [f"d {dims} {nan} {storages.pointer(value.base)}", *(f"n {n}" for n in [*shape, *strides])]


def launch(run: Any, name: str, words: list[str]) -> None:
    """Runs a launch to its end. Python looks after signals meanwhile, so that Ctrl-C ends the launch."""
    answer = _library.native.call("interpret.launch", " ".join(words))
    if answer == "{}":
        if _library.forked():
            raise RuntimeError(IN_CHILD)
        return
    said = json.loads(answer)
    progress = Progress(name)
    try:
        while "launch" in said:
            _show(said)
            if "ask" in said:
                from .debugging import ask
                said = _library.call("interpret.command", **ask(said))
            else:
                progress.show(said)
                said = _library.call("interpret.wait", launch=said["launch"])
    except BaseException:
        if "launch" in said:
            _library.call("interpret.stop", launch=said["launch"])
        raise
    finally:
        progress.end()
    _show(said)
    if said.get("left"):
        run.leave()
    if "error_text" in said:
        raise RuntimeError(said["error_text"])
    found = said.get("findings")
    if found and not run.keep_going:
        raise Finding(said["messages"][0], found)


IN_CHILD = "kernels cannot be interpreted in this process, which was forked after libproton.so was loaded: start it by multiprocessing's spawn or forkserver"


def _show(said: dict[str, Any]) -> None:
    if said.get("printed"):
        sys.stdout.write(said["printed"])
