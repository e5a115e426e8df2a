"""Chooses the operations of a kernel that get a scope, and names the scopes by what the source calls them.

A scope is a range of operations of one block, so that it ends wherever it began. Regions are entered only if all warps
execute them together: loops, conditions on scalars, and the partitions of a specialised kernel; not the combine function
of a reduction, which the compiler copies between shuffles, nor code per element.
"""

from __future__ import annotations

import re

from .sources import Sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .ttgir import Module, Op, Region

# Kinds of scopes, the most important first: where there are more places than records, the last kinds go without.
KINDS = ("kernel", "partition", "loop", "dot", "wait", "load", "store", "atomic", "reduce", "barrier", "shared")

_KIND_OF = {name: kind for kind, names in {
    "loop": "scf.for scf.while",
    "dot": "tt.dot tt.dot_scaled ttng.warp_group_dot ttng.tc_gen5_mma ttng.tc_gen5_mma_scaled",
    "wait": "ttg.async_wait ttng.wait_barrier ttng.warp_group_dot_wait ttng.async_tma_store_wait ttng.tmem_wait "
            "amdg.async_wait amdg.wait_barrier amdg.async_tdm_wait amdg.memory_counter_wait amdg.cluster_barrier_wait",
    "load": "tt.load tt.descriptor_load tt.descriptor_gather tt.atomic_load ttg.async_copy_global_to_local "
            "ttng.async_tma_copy_global_to_local ttng.async_tma_gather amdg.buffer_load amdg.buffer_load_to_local "
            "amdg.bypass_lds_load amdg.masked_load amdg.async_tdm_copy_global_to_local amdg.async_tdm_gather",
    "store": "tt.store tt.descriptor_store tt.descriptor_scatter tt.descriptor_reduce tt.atomic_store "
             "ttng.async_tma_copy_local_to_global ttng.async_tma_reduce ttng.async_tma_scatter amdg.buffer_store "
             "amdg.masked_store amdg.async_copy_local_to_global amdg.async_tdm_copy_local_to_global amdg.async_tdm_scatter",
    "atomic": "tt.atomic_rmw tt.atomic_cas tt.atomic_poll amdg.buffer_atomic_rmw amdg.buffer_atomic_cas",
    "reduce": "tt.reduce tt.scan tt.histogram tt.gather",
    "barrier": "gpu.barrier ttg.barrier ttg.local_barrier ttng.cluster_wait ttng.cluster_barrier amdg.cond_barrier",
    "shared": "ttg.local_alloc ttg.local_store ttg.local_load ttng.tmem_load ttng.tmem_store amdg.local_load_packed_transposed",
}.items() for name in names.split()}

# Regions that all warps of the block, or of the partition, execute together.
_UNIFORM = frozenset(("scf.for", "scf.while", "scf.if", "ttg.warp_specialize"))
# The last operation of a block.
_TERMINATORS = frozenset(("scf.yield", "scf.condition", "tt.return", "ttg.warp_yield", "ttg.warp_return", "cf.br", "cf.cond_br"))
# Copies that complete a barrier, which is one of their operands.
_COMPLETED_BY = frozenset(("ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather"))


class Place:
    """A scope to be.

    Attributes:
        name: as the user sees it: "load a_ptr:27".
        kind: one of KINDS.
        line: of the source, 0 if unknown.
        begin: the operation before which the scope begins.
        end: the operation after which it ends.
        outside: names of the scopes around it.
    """

    __slots__ = ("name", "kind", "line", "begin", "end", "outside")

    def __init__(self, name: str, kind: str, line: int, begin: Op, end: Op, outside: tuple[str, ...]) -> None:
        self.name, self.kind, self.line, self.begin, self.end, self.outside = name, kind, line, begin, end, outside


def find(module: Module, kernel: Op) -> list[Place]:
    """The places of all scopes that the kernel could have, an outer one before those in it."""
    finder = _Finder(module, kernel)
    finder.kernel()
    return finder.places


_INDEXED = re.compile(r"(%[\w$.\-]+(?:#\d+)?)\[")


def _pointer(op: Op) -> str:
    """The operand that says where a load or store goes: the one with indices, else the first."""
    text = op.text.split(" = ", 1)[1] if op.results else op.text
    indexed = _INDEXED.search(text)
    operands = op.operands()
    return indexed[1] if indexed else operands[0] if operands else ""


class _Finder:

    def __init__(self, module: Module, kernel: Op) -> None:
        self.module, self.function = module, kernel
        self.places: list[Place] = []
        self.sources = Sources(module, kernel, _UNIFORM)
        self.own = module.location(kernel.location)
        self.filled: dict[object, tuple[list[str], int]] = {}  # barrier -> descriptors and line of the copies that complete it
        for region in self.sources.scopes:
            for block in region.blocks:
                for op in block:
                    if op.name in _COMPLETED_BY:
                        self.completed(op, region)

    def kernel(self) -> None:
        region = self.function.regions[0]
        outside: tuple[str, ...] = ()
        if len(region.blocks) == 1:  # with an early return, the scope would have two ends
            outside = self.around(region.blocks[0], "kernel", "kernel", ())
        self.region(region, outside)

    def around(self, block: list[Op], name: str, kind: str, outside: tuple[str, ...]) -> tuple[str, ...]:
        """Adds a scope around everything in a block."""
        inside = [op for op in block if op.name not in _TERMINATORS]
        if not inside:
            return outside
        self.places.append(Place(name, kind, self.own.line, inside[0], inside[-1], outside))
        return (*outside, name)

    def completed(self, op: Op, region: Region) -> None:
        """Notes which barrier a copy completes, so that waits for it can be named."""
        line = self.module.location(op.location).line
        line = 0 if line == self.own.line else line
        pointer = self.sources.base(region, _pointer(op))
        for operand in op.operands()[1:]:
            base = self.sources.base(region, operand)
            if base is None or pointer is None:
                continue
            names, known = self.filled.setdefault(base.key, ([], line))
            if pointer.name not in names:
                names.append(pointer.name)
            if known != line:  # completed at several lines
                self.filled[base.key] = names, 0

    def region(self, region: Region, outside: tuple[str, ...]) -> None:
        for block in region.blocks:
            merging: Place | None = None
            for op in block:
                if op.name.startswith("proton."):
                    merging = None  # a scope of the program's own may begin or end here
                    continue
                kind = self.kind(op)
                inside = outside
                if kind:
                    merging = self.place(op, kind, region, outside, merging)
                    inside = (*outside, merging.name)
                if op.regions:
                    merging = None
                if op.name in _UNIFORM:
                    self.inner(op, inside)

    def inner(self, op: Op, outside: tuple[str, ...]) -> None:
        for region in op.regions:
            inside = outside
            if op.name == "ttg.warp_specialize" and len(region.blocks) == 1:
                inside = self.around(region.blocks[0], region.head.split("(")[0].rstrip(" {"), "partition", outside)
            self.region(region, inside)

    def kind(self, op: Op) -> str:
        if op.name == "ttg.local_alloc" and not op.operands():
            return ""  # shared memory without contents: no instruction
        return _KIND_OF.get(op.name, "")

    def place(self, op: Op, kind: str, region: Region, outside: tuple[str, ...], before: Place | None) -> Place:
        name, line = self.name(op, kind, region)
        while name in outside:
            name += "'"  # Triton pairs records by name: a scope inside one of the same name would end it
        if before is not None and before.name == name and kind != "loop":
            before.end = op
            return before
        place = Place(name, kind, line, op, op, outside)
        self.places.append(place)
        return place

    def name(self, op: Op, kind: str, region: Region) -> tuple[str, int]:
        at = self.module.location(op.location)
        line = at.line
        base = self.sources.base(region, _pointer(op)) if kind in ("load", "store", "atomic", "wait") else None
        word = base.name if base else ""
        if kind == "wait" and base:
            names, copied = self.filled.get(base.key, ((), 0))
            word = word or ",".join(names) or at.name * (op.name == "ttng.wait_barrier")
            if line in (0, self.own.line):
                line = copied
        if line == self.own.line:
            line = 0  # the compiler made it, and gave it the line of the function
        if kind == "shared":
            word = "write" if op.name in ("ttg.local_alloc", "ttg.local_store", "ttng.tmem_store") else "read"
        name = f"{kind} {word}" if word else kind
        if not line:
            return name, 0
        if at.file and at.file != self.own.file:
            return f"{name}:{at.file.rsplit('/', 1)[-1]}:{line}", line
        return f"{name}:{line}", line
