"""What scopes cost: some launches of a kernel with scopes run the same kernel without any, under a state of their own.

Which launches these are depends on their number among those with the same grid only, and the results are the same. Kernels that Triton's autotuner
measures run without scopes, so that it chooses as it would without a session.
"""

from __future__ import annotations

import functools
import sys
from _thread import _local, allocate_lock

from ..state import state
from . import compiler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# States below which launches without scopes stand.
PLAIN = "<without scopes>"
TUNING = "<autotuning, without scopes>"

_thread = _local()


def _tuned() -> bool:
    """Whether this thread measures a kernel to choose a configuration."""
    return getattr(_thread, "tuning", 0) > 0


_GRIDS = 64  # of a kernel whose launches are counted apart


def _runs_plain(number: int) -> bool:
    """Whether a launch of a kernel runs without scopes; the first one is number 1 and has them.

    Programs repeat themselves every 2, 4 or 8 launches, say: steps that share no factor with these come to all of them.
    """
    return number % 3 == 2 if number <= 14 else number % 17 == 0


class Comparison:
    """The launcher of a kernel with scopes.

    Attributes:
        kernel: Triton's CompiledKernel.
        plain: the same without scopes, once it was needed; None if it cannot be compiled.
        problem: why not.
    """

    def __init__(self, kernel: Any, launch: Callable) -> None:
        self.kernel, self._launch = kernel, launch
        self.plain: Any = None
        self.problem = ""
        self.on = True
        self._launches: dict[tuple[int, int, int] | None, int] = {}  # by grid; those that came when there were many are None
        self._lock = allocate_lock()
        self._compiled = False
        self._blocks: tuple[int, int] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._launch, name)  # a launcher has attributes that Triton's users read

    def __call__(self, x: int, y: int, z: int, stream: int, function: Any, packed: Any, metadata: Any, *rest: Any) -> Any:
        plain = self._plain_now((x, y, z))
        if plain is None:
            return self._launch(x, y, z, stream, function, packed, metadata, *rest)
        if metadata is not None:
            metadata.data["function"] = plain.function
        with state(TUNING if _tuned() else PLAIN):
            return plain.run(x, y, z, stream, plain.function, plain.packed_metadata, metadata, *rest)

    def _plain_now(self, grid: tuple[int, int, int]) -> Any:
        """The kernel without scopes if this launch is to be without; None if not."""
        if not self.on:
            return None
        if not _tuned():
            if not _runs_plain(self._number(grid)) or _captures():
                return None
        return self._without_scopes()

    def _number(self, grid: tuple[int, int, int] | None) -> int:
        """The number of a launch among those of its grid: launches of another one say nothing of what its scopes cost."""
        if grid not in self._launches and len(self._launches) >= _GRIDS:
            grid = None
        number = self._launches[grid] = self._launches.get(grid, 0) + 1
        return number

    def _without_scopes(self) -> Any:
        """The kernel without scopes, loaded."""
        if not self._compiled:
            with self._lock:
                if not self._compiled:
                    try:
                        plain = _compile(self.kernel)
                        with compiler.without_scopes():
                            plain._init_handles()
                        blocks = _blocks(plain), _blocks(self.kernel)
                        self._blocks = blocks if all(blocks) else None
                        self.plain = plain
                    except Exception as error:
                        self.problem = f"without scopes it could not be compiled: {error!r}"
                    self._compiled = True
        return self.plain

    def resources(self) -> dict[str, tuple[int, int]]:
        """What a block needs without scopes and with them, by kind; empty if the kernel did not run without."""
        if self.plain is None:
            return {}
        found = {"registers": (self.plain.n_regs, self.kernel.n_regs), "spills": (self.plain.n_spills, self.kernel.n_spills),
                 "shared": (self.plain.metadata.shared, self.kernel.metadata.shared)}
        if self._blocks:
            found["blocks"] = self._blocks
        return found


def _blocks(kernel: Any) -> int:
    """Blocks of the kernel that fit on a multiprocessor together; 0 if the driver does not say."""
    import ctypes
    metadata = kernel.metadata
    library, function = {"cuda": ("libcuda.so.1", "cuOccupancyMaxActiveBlocksPerMultiprocessor"),
                         "hip": ("libamdhip64.so", "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor")}[metadata.target.backend]
    try:
        ask = getattr(ctypes.CDLL(library), function)
    except (OSError, AttributeError):
        return 0
    blocks = ctypes.c_int()
    ask(ctypes.byref(blocks), ctypes.c_void_p(kernel.function), ctypes.c_int(metadata.num_warps * metadata.target.warp_size),
        ctypes.c_size_t(metadata.shared))
    return blocks.value


def _compile(kernel: Any) -> Any:
    """Compiles a kernel as if there was no session."""
    import triton
    from triton.compiler.compiler import make_backend
    target = kernel.metadata.target
    fields = make_backend(target).parse_options({}).__dict__
    options = {name: _tuples(getattr(kernel.metadata, name)) for name in fields if hasattr(kernel.metadata, name)}
    options["instrumentation_mode"] = ""
    options["num_warps"] = getattr(kernel.metadata, compiler.METADATA)["num_warps"]  # metadata have those of all partitions
    with compiler.without_scopes():
        return triton.compile(kernel.src, target=target, options=options)


def _tuples(value: Any) -> Any:
    """A value as it was before JSON."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _captures() -> bool:
    """Whether a CUDA graph is captured: a launch in it is repeated, and would run without scopes each time."""
    torch = sys.modules.get("torch")
    try:
        return torch is not None and torch.cuda.is_current_stream_capturing()
    except Exception:
        return True


class Comparisons:
    """The comparisons of a session, made as kernels are loaded.

    Attributes:
        made: in the order in which kernels were loaded.
        seen: names of all kernels that were loaded -> what the compiler did, empty for those that were not chosen.
    """

    def __init__(self) -> None:
        self.made: list[Comparison] = []
        self.seen: dict[str, dict[str, Any]] = {}
        self._undo: list[Callable[[], None]] = []

    def attach(self) -> None:
        from triton.compiler.compiler import CompiledKernel
        for comparison in self.made:
            comparison.on = True
        self._replace(CompiledKernel, "_init_handles", self._loading)
        try:
            from triton.runtime.autotuner import Autotuner
            self._replace(Autotuner, "_bench", _tuning)
        except (ImportError, AttributeError):
            pass

    def detach(self) -> None:
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        for comparison in self.made:
            comparison.on = False

    def _replace(self, owner: type, name: str, wrap: Callable) -> None:
        theirs = getattr(owner, name)
        ours = functools.wraps(theirs)(wrap(theirs))
        setattr(owner, name, ours)

        def undo() -> None:
            if getattr(owner, name) is ours:
                setattr(owner, name, theirs)

        self._undo.append(undo)

    def _loading(self, load: Callable) -> Callable:

        def loaded(kernel: Any) -> Any:
            if kernel.module is not None or compiler.is_without_scopes():
                return load(kernel)
            done = getattr(kernel.metadata, compiler.METADATA, {})
            self.seen[kernel.name] = done
            try:
                load(kernel)
            except Exception as error:
                if not done.get("scopes"):
                    raise
                self.seen[kernel.name] = {**done, "scopes": 0, "problem": f"the GPU has no room for it with them: {error}"}
                plain = _compile(kernel)
                with compiler.without_scopes():
                    load(plain)
                kernel.__dict__.update(plain.__dict__)
                return
            if done.get("scopes"):
                kernel._run = Comparison(kernel, kernel._run)
                self.made.append(kernel._run)

        return loaded


def _tuning(bench: Callable) -> Callable:

    def benched(*arguments: Any, **options: Any) -> Any:
        _thread.tuning = getattr(_thread, "tuning", 0) + 1
        try:
            return bench(*arguments, **options)
        finally:
            _thread.tuning -= 1

    return benched
