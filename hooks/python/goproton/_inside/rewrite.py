"""Puts scopes into the text of a kernel: before and after the operations that :mod:`places` chooses, in lines of their own."""

from __future__ import annotations

import re

from .places import KINDS, Place, find
from .ttgir import Module, Unreadable, quote, unquote

# Changes whenever the same kernel would get other records: it is part of the key under which Triton keeps binaries.
VERSION = 1

DEFAULT_PAIRS = 200
_IDS = 256  # a record has 8 bits for its scope

_RECORD = re.compile(r'^\s*proton\.record start "((?:[^"\\]|\\.)*)"', re.M)
_EVENT = re.compile(r"^\s*%\S+ = proton\.allocate_event ", re.M)


class Rewritten:
    """A kernel with scopes.

    Attributes:
        text: of the module.
        places: the scopes that were added, outer ones first.
        left_out: names of scopes for which there was no id left -> the number of their places.
        added: numbers of the lines in text that were added.
    """

    __slots__ = ("text", "places", "left_out", "added")

    def __init__(self, text: str, places: list[Place], left_out: dict[str, int], added: list[int]) -> None:
        self.text, self.places, self.left_out, self.added = text, places, left_out, added


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
        raise Unreadable("it calls functions that are not inlined, in which Triton's passes accept no records")
    own = set(map(unquote, _RECORD.findall(text)))
    ids = _IDS - len(_RECORD.findall(text)) - len(_EVENT.findall(text))
    places = find(module, kernel)
    for place in places:
        while place.name in own:
            place.name += "'"
    chosen, left_out = _choose(places, min(pairs, ids))
    lines, added = _insert(module.lines, chosen)
    return Rewritten("\n".join(lines), chosen, left_out, added)


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

