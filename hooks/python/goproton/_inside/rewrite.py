"""Puts scopes into the text of a kernel: before and after the operations that :mod:`places` chooses, in lines of their own."""

from __future__ import annotations

import re

from .places import KINDS, Place, find
from .ttgir import Module, Unreadable, quote, unquote, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .ttgir import Op

# Changes whenever the same kernel would get other records: it is part of the key under which Triton keeps binaries.
VERSION = 1

DEFAULT_PAIRS = 200
_IDS = 256  # a record has 8 bits for its scope

CALLS = "calls functions that are not inlined, and Triton's passes accept records in kernels of one function only"

_RECORD = re.compile(r'^\s*proton\.record start "((?:[^"\\]|\\.)*)"', re.M)
_LOCATIONS = re.compile(r"(?m)^#loc.*$| loc\(.*\)$")
_EVENT = re.compile(r"^\s*%\S+ = proton\.allocate_event ", re.M)


class Rewritten:
    """A kernel with scopes.

    Attributes:
        text: of the module.
        places: the scopes that were added, outer ones first.
        left_out: names of scopes for which there was no id left -> the number of their places.
        added: numbers of the lines in text that were added.
        warps: whose records are enough, see :func:`_one_of_each_group`.
        records: the most that a warp can leave; 0 if loops repeat some, or the program has records of its own.
        alone: the program has no records of its own.
    """

    __slots__ = ("text", "places", "left_out", "added", "warps", "records", "alone")

    def __init__(self, text: str, places: list[Place], left_out: dict[str, int], added: list[int], warps: list[int], records: int,
                 alone: bool) -> None:
        self.text, self.places, self.left_out, self.added = text, places, left_out, added
        self.warps, self.records, self.alone = warps, records, alone


def rewrite(text: str, pairs: int = DEFAULT_PAIRS) -> Rewritten:
    """Adds scopes to the kernel of a module.

    Args:
        text: of the module in TTGIR, with locations.
        pairs: how many scopes to add at most.

    Raises:
        Unreadable: the text is not understood; its kernel must stay as it is.
    """
    module = Module(text)
    kernel = module.kernel()
    if kernel is None:
        raise Unreadable("no kernel")
    if len(module.functions) > 1:
        raise Unreadable("it " + CALLS)
    own = set(map(unquote, _RECORD.findall(text)))
    ids = _IDS - len(_RECORD.findall(text)) - len(_EVENT.findall(text))
    places = find(module, kernel)
    for place in places:
        while place.name in own:
            place.name += "'"
    chosen, left_out = _choose(places, min(pairs, ids))
    lines, added = _insert(module.lines, chosen)
    alone = "proton." not in _LOCATIONS.sub("", text)
    repeated = any(op.name in ("scf.for", "scf.while", "cf.br") for op in walk(kernel.regions[0].blocks))
    records = 2 * len(chosen) if alone and not repeated else 0
    return Rewritten("\n".join(lines), chosen, left_out, added, _one_of_each_group(text, kernel), records, alone)


def _one_of_each_group(text: str, kernel: Op) -> list[int]:
    """One warp of each group of four, which execute the same; all warps of smaller partitions.

    The rings of a block are shared by the warps that record: with one warp in four, each ring has four times the room.
    """
    found = _WARPS.search(text)
    first = int(found[1]) if found else 4
    sizes = [int(size) for op in walk(kernel.regions[0].blocks) for region in op.regions for size in _PARTITION.findall(region.head)]
    if all(size % 4 == 0 for size in (first, *sizes)):
        return list(range(0, first + sum(sizes), 4))
    total = -(-(first + sum(sizes)) // 4) * 4 if sizes else first  # Triton pads partitions to a group
    return [*range(0, first, 4), *range(first, total)]


_WARPS = re.compile(r'"ttg\.num-warps" = (\d+)')
_PARTITION = re.compile(r"^partition\d+\(.* num_warps\((\d+)\) \{$")


def _choose(places: list[Place], pairs: int) -> tuple[list[Place], dict[str, int]]:
    """The places for which there are ids. All places of a name are chosen, or none: a part would look like the whole."""
    of_name: dict[str, list[Place]] = {}
    for place in places:
        of_name.setdefault(place.name, []).append(place)
    chosen, left_out = set(), {}
    for name, same in sorted(of_name.items(), key=lambda item: KINDS.index(item[1][0].kind)):
        if len(same) <= pairs:
            pairs -= len(same)
            chosen.add(name)
        else:
            left_out[name] = len(same)
    return [place for place in places if place.name in chosen], left_out


def _insert(lines: list[str], places: list[Place]) -> tuple[list[str], list[int]]:
    before: dict[int, list[str]] = {}
    after: dict[int, list[str]] = {}
    for place in places:  # outer ones first: of two that begin at the same line, the outer one begins first and ends last
        indentation = lines[place.begin.first][:len(lines[place.begin.first]) - len(lines[place.begin.first].lstrip())]
        name = quote(place.name)
        before.setdefault(place.begin.first, []).append(f'{indentation}proton.record start "{name}" {place.begin.location}'.rstrip())
        after.setdefault(place.end.last, []).insert(0, f'{indentation}proton.record end "{name}" {place.end.location}'.rstrip())
    result: list[str] = []
    added: list[int] = []
    for number, line in enumerate(lines):
        for text in before.get(number, ()):
            added.append(len(result))
            result.append(text)
        result.append(line)
        for text in after.get(number, ()):
            added.append(len(result))
            result.append(text)
    return result, added

