"""What the operations of a kernel read and write, by the names that its source gives them: a pointer's or descriptor's
argument, the variable of a barrier. A value that could come from one of several has no name."""

from __future__ import annotations

import re

from .ttgir import REFERENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .ttgir import Module, Op, Region

# Operations whose result points to what their first operand points to.
_PASS = frozenset((
    "tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.bitcast", "tt.trans", "tt.unsplat",
    "tt.make_tensor_descriptor", "tt.make_tensor_ptr", "tt.advance", "ttg.convert_layout", "ttg.memdesc_index",
    "ttg.memdesc_subslice", "ttg.memdesc_trans", "ttg.memdesc_reinterpret", "ttg.memdesc_reshape",
    "ttng.reinterpret_tensor_descriptor", "ttng.tmem_subslice", "amdg.update_tensor_descriptor"))
_ALLOCATIONS = frozenset(("ttg.local_alloc", "ttng.tmem_alloc"))

_INITIAL = re.compile(r"(?:iter_args|scf\.while) ?\(([^)]*)\)")
_ARGUMENT = re.compile(r"[(,] ?%([\w$.\-]+):")

_DEPTH = 100  # values between an operand and an argument; more are not followed


class Base:
    """What a value points to.

    Attributes:
        name: of the argument or variable, "" if it has none.
        key: distinguishes variables of the same name.
    """

    __slots__ = ("name", "key")

    def __init__(self, name: str, key: object) -> None:
        self.name, self.key = name, key


class Scope:
    """The values that the operations of a region can name: its own, and those of the regions around it."""

    def __init__(self, outer: Scope | None = None) -> None:
        self._outer = outer
        self.made: dict[str, _Origin] = {}

    def find(self, name: str) -> _Origin | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.made:
                return scope.made[name]
            scope = scope._outer
        return None


class _Origin:
    """Where a value comes from: an argument of the kernel, an operation, or a value outside of the region.

    Attributes:
        scope: in which the references of the origin are to be read.
        op: the operation whose result it is, or whose region has it as an argument.
        given: for the argument of a region, what it has at first.
        again: for what a loop carries, the region and the position of the value in its scf.yield.
    """

    __slots__ = ("argument", "scope", "op", "given", "again")

    def __init__(self, scope: Scope, op: Op, given: str = "", argument: str = "", again: tuple[Region, int] | None = None) -> None:
        self.scope, self.op, self.given, self.argument, self.again = scope, op, given, argument, again


class Sources:
    """The origin of every value of a kernel.

    Args:
        module: with the locations.
        kernel: its function.
        uniform: names of the operations whose regions are read.
    """

    def __init__(self, module: Module, kernel: Op, uniform: frozenset[str]) -> None:
        self._module, self._uniform = module, uniform
        self.scopes: dict[Region, Scope] = {}
        self._enter(Scope(), kernel)

    def base(self, region: Region, reference: str) -> Base | None:
        """What ``%name`` or ``%name#1`` points to, in a region."""
        found = self._base(self.scopes[region], reference, {}, 0)
        return found if isinstance(found, Base) else None

    def _enter(self, outer: Scope, op: Op) -> None:
        for region in op.regions:
            scope = self.scopes[region] = Scope(outer)
            self._arguments(op, region, outer, scope)
            for block in region.blocks:
                for inner in block:
                    for result in inner.results:
                        scope.made[result] = _Origin(scope, inner)
            for block in region.blocks:
                for inner in block:
                    if inner.name in self._uniform:
                        self._enter(scope, inner)

    def _arguments(self, op: Op, region: Region, outer: Scope, scope: Scope) -> None:
        made = scope.made
        if op.name == "tt.func":
            for argument in _ARGUMENT.findall(region.head):
                made[argument] = _Origin(scope, op, argument=argument)
        elif op.name == "scf.for" or op.name == "scf.while" and region is op.regions[0]:
            found = _INITIAL.search(op.text)
            end = region if op.name == "scf.for" else op.regions[-1]
            for position, part in enumerate(found[1].split(", ") if found else ()):
                argument, _, initial = part.partition(" = ")
                made[argument[1:]] = _Origin(outer, op, initial, again=(end, position))
        elif op.name == "scf.while":
            before = op.regions[0]
            passed = before.blocks[-1][-1].operands()[1:] if before.blocks[-1] else []
            for argument, value in zip(region.arguments, passed):
                made[argument] = _Origin(self.scopes[before], op, value)
        elif op.name == "ttg.warp_specialize":
            for argument, captured in zip(_ARGUMENT.findall(region.head), op.operands()):
                made[argument] = _Origin(outer, op, captured)

    def _base(self, scope: Scope, reference: str, open: dict[_Origin, Base | None], depth: int) -> Base | str | None:
        """Like base; "same" for a value that a loop carries and whose base is being found."""
        while depth < _DEPTH:
            depth += 1
            found = REFERENCE.fullmatch(reference)
            origin = scope.find(found[1]) if found else None
            if origin is None:
                return None
            if origin.argument:
                return Base(origin.argument, origin.argument)
            if origin.again:
                return self._carried(origin, open, depth)
            if origin.given:
                scope, reference = origin.scope, origin.given
                continue
            op, scope = origin.op, origin.scope
            operands = op.operands()
            if op.name in _ALLOCATIONS:
                return Base(self._module.location(op.location).name, op)
            if op.name in _PASS and operands:
                reference = operands[0]
            elif op.name in ("scf.for", "scf.if", "scf.while") and op.regions:
                return self._result(op, int(found[2] or 0), open, depth)
            else:
                return None
        return None

    def _carried(self, origin: _Origin, open: dict[_Origin, Base | None], depth: int) -> Base | str | None:
        """The base of what a loop carries, if each iteration passes the same one on."""
        if origin in open:
            return "same"
        first = self._base(origin.scope, origin.given, open, depth)
        region, position = origin.again
        open[origin] = None
        again = self._end(region, position, open, depth)
        del open[origin]
        if again == "same" or isinstance(first, Base) and isinstance(again, Base) and first.key == again.key:
            return first
        return None

    def _result(self, op: Op, position: int, open: dict[_Origin, Base | None], depth: int) -> Base | str | None:
        """The base of a result of a loop or a condition, if all its regions end with the same one."""
        if op.name == "scf.while":
            return self._end(op.regions[0], position + 1, open, depth)  # after the condition
        if op.name == "scf.for":
            carried = list(self.scopes[op.regions[0]].made.values())
            return self._carried(carried[position], open, depth) if position < len(carried) and carried[position].again else None
        bases = [self._end(region, position, open, depth) for region in op.regions]
        if all(isinstance(base, Base) and base.key == bases[0].key for base in bases):
            return bases[0]
        return None

    def _end(self, region: Region, position: int, open: dict[_Origin, Base | None], depth: int) -> Base | str | None:
        """The base of an operand of a region's last operation."""
        passed = region.blocks[-1][-1].operands() if region.blocks[-1] else []
        return self._base(self.scopes[region], passed[position], open, depth) if position < len(passed) else None

