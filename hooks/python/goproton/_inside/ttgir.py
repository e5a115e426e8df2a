"""Reads the text of a TTGIR module: its operations with their regions, and the source line of each.

MLIR prints one operation per line; an operation with regions goes on until the line with its last closing brace. Nothing
here depends on what an operation does, except for the ones that bring values into a region.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator


class Unreadable(ValueError):
    """The text has not the form that MLIR prints."""


class Location:
    """Where an operation comes from.

    Attributes:
        file, line: of the innermost function of the program, "" and 0 if unknown. A function of Triton's own library
            does not count while there is a caller.
        name: of the variable that the program assigns the value to, "" if none.
    """

    __slots__ = ("file", "line", "name")

    def __init__(self, file: str = "", line: int = 0, name: str = "") -> None:
        self.file, self.line, self.name = file, line, name


class Op:
    """An operation.

    Attributes:
        name: as in "tt.load".
        results: names of its results, without "%" and ":2".
        first, last: numbers of its first and last line, from 0.
        text: its first line, without the indentation.
        tail: what the location and the types of an operation with regions follow: its last line.
        regions: in order.
    """

    __slots__ = ("name", "results", "first", "last", "text", "tail", "regions")

    def __init__(self, name: str, results: list[str], line: int, text: str) -> None:
        self.name, self.results, self.first, self.last, self.text, self.tail = name, results, line, line, text, text
        self.regions: list[Region] = []

    @property
    def location(self) -> str:
        """The text of the operation's location: ``loc(#loc3)``, "" if none is printed."""
        return _location_at_end(self.tail)[1]

    def operands(self) -> list[str]:
        """The values on the first line, each as ``%name`` or ``%name#1``."""
        return references(self.text.split(" = ", 1)[1] if self.results else self.text)


class Region:
    """A region of an operation.

    Attributes:
        head: the text that begins it: the operation's first line, "default {", "} else {".
        blocks: in order; each a list of operations.
        arguments: of its first block, names without "%".
    """

    __slots__ = ("head", "blocks", "arguments")

    def __init__(self, head: str) -> None:
        self.head = head
        self.blocks: list[list[Op]] = [[]]
        self.arguments: list[str] = []


class Module:
    """A module.

    Attributes:
        lines: of its text.
        functions: the operations tt.func.
    """

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self._aliases: dict[str, str] = {}
        self._known: dict[str, Location] = {}
        start = None
        for number, line in enumerate(self.lines):
            alias = _ALIAS.match(line)
            if alias:
                self._aliases[alias[1]] = alias[2]
            elif start is None and line.startswith("module"):
                start = number
        if start is None:
            raise Unreadable("no module")
        module = _Reader(self.lines).operation(start)
        self.functions = [op for region in module.regions for op in region.blocks[0] if op.name == "tt.func"]

    def kernel(self) -> Op | None:
        """The function that is launched; None if there is none."""
        return next((op for op in self.functions if op.text.startswith("tt.func public ") and op.regions), None)

    def location(self, text: str) -> Location:
        """Resolves ``loc(…)``."""
        if text not in self._known:
            self._known[text] = _resolve(text[4:-1], self._aliases, 0) if text else Location()
        return self._known[text]


def function_name(text: str) -> str:
    """Name of the kernel in the text of a module; "" if there is none."""
    found = _PUBLIC.search(text)
    return found[1].strip('"') if found else ""


def walk(blocks: list[list[Op]]) -> Iterator[Op]:
    """All operations, an outer one before those in its regions."""
    for block in blocks:
        for op in block:
            yield op
            for region in op.regions:
                yield from walk(region.blocks)


def references(text: str) -> list[str]:
    """All values in a text, each as ``%name`` or ``%name#1``."""
    return [found[0] for found in REFERENCE.finditer(STRING.sub('""', text))]


def quote(text: str) -> str:
    """A text as it stands between the quotes of a string in MLIR."""
    return "".join(character if " " <= character <= "~" and character not in '"\\'
                   else "".join(f"\\{byte:02X}" for byte in character.encode()) for character in text)


def unquote(text: str) -> str:
    """The text of a string in MLIR."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: _LETTERS.get(found[2], found[2]) if found[2] else bytes([int(found[1], 16)]), text.encode()).decode(errors="replace")


_LETTERS = {b"n": b"\n", b"t": b"\t"}
_ESCAPE = re.compile(rb'\\(?:([0-9a-fA-F]{2})|(["\\nt]))')
_PUBLIC = re.compile(r'^\s*tt\.func public @("[^"]+"|[\w$.\-]+)', re.M)
_ALIAS = re.compile(r"(#loc\w*) = (loc\(.*\))\s*$")
_RESULTS = re.compile(r"((?:%[\w$.\-]+(?::\d+)?(?:, )?)+) = ")
_NAME = re.compile(r'"?([a-zA-Z_]\w*(?:\.\w+)+)"?')
REFERENCE = re.compile(r"%([\w$.\-]+)(?:#(\d+))?")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_COMMENT = re.compile(r"\s+// \d* ?preds?: .*$")
_BRANCH = re.compile(r"^(?:default|partition\d+\(.*\)(?: num_warps\(\d+\))?) \{$")
_LABEL_ARGUMENT = re.compile(r"[(,] ?%([\w$.\-]+):")


class _Reader:

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def text(self, number: int) -> str:
        """A line without indentation, comment and trailing space."""
        if number >= len(self.lines):
            raise Unreadable("the text ends inside a region")
        return _COMMENT.sub("", self.lines[number].strip())

    def operation(self, number: int) -> Op:
        """Reads the operation that begins on a line."""
        text = self.text(number)
        found = _RESULTS.match(text)
        name = _NAME.match(text, found.end() if found else 0)
        if name is None and not text.startswith("module"):
            raise Unreadable(f"line {number + 1} is not an operation")
        results = [part.split(":")[0][1:] for part in found[1].split(", ")] if found else []
        op = Op(name[1] if name else "module", results, number, text)
        if text.endswith("{"):
            self.regions(op, number, text)
        elif op.name == "ttg.warp_specialize":
            self.branches(op, number + 1)
        return op

    def regions(self, op: Op, number: int, head: str) -> None:
        """Reads regions from the line after the opening brace: ``{ … } else { … }``."""
        while True:
            number = self.region(op, number + 1, head)
            head = self.text(number)
            if not head.endswith("{"):
                op.last, op.tail = number, head
                return

    def branches(self, op: Op, number: int) -> None:
        """Reads the regions of a warp specialisation: each begins on a line of its own."""
        while _BRANCH.match(self.text(number)):
            number = self.region(op, number + 1, self.text(number))
            op.last, op.tail = number, self.text(number)
            number += 1

    def region(self, op: Op, number: int, head: str) -> int:
        """Reads one region from its first line on. Returns the number of the line with its closing brace."""
        region = Region(head)
        op.regions.append(region)
        while True:
            text = self.text(number)
            if text.startswith("}"):
                return number
            if text.startswith("^"):
                if region.blocks[-1]:
                    region.blocks.append([])
                elif len(region.blocks) == 1:
                    region.arguments = _LABEL_ARGUMENT.findall(STRING.sub('""', text))
                number += 1
            elif not text:
                number += 1
            else:
                inner = self.operation(number)
                region.blocks[-1].append(inner)
                number = inner.last + 1


def _location_at_end(text: str) -> tuple[str, str]:
    """Splits a line into what stands before its location, and the location: ``loc(…)``, "" if there is none."""
    if not text.endswith(")"):
        return text, ""
    depth, in_string, position = 0, False, len(text) - 1
    while position >= 0:
        character = text[position]
        if character == '"' and (position == 0 or text[position - 1] != "\\"):
            in_string = not in_string
        elif not in_string:
            depth += (character == ")") - (character == "(")
            if depth == 0:
                break
        position -= 1
    begin = position - 3
    if begin < 0 or text[begin:position] != "loc" or begin > 0 and text[begin - 1] != " ":
        return text, ""
    return text[:begin].rstrip(), text[begin:]


_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+)(?::\d+)?')
_NAMED = re.compile(r'"((?:[^"\\]|\\.)*)"\((.*)\)$')
_NESTING = 64  # a chain of locations that is longer than any program's, but not than Python's stack


def _resolve(text: str, aliases: dict[str, str], depth: int) -> Location:
    """Resolves what stands between the parentheses of a location."""
    text = text.strip()
    if depth > _NESTING:
        return Location()
    if text.startswith("loc("):
        return _resolve(text[4:-1], aliases, depth + 1)
    if text.startswith("#"):
        return _resolve(aliases.get(text, "loc(unknown)"), aliases, depth + 1)
    if text.startswith("callsite("):
        callee, _, caller = _split_top(text[len("callsite("):-1], " at ")
        inner = _resolve(callee, aliases, depth + 1)
        if inner.line and not _of_triton(inner.file):
            return inner
        outer = _resolve(caller, aliases, depth + 1)
        return Location(outer.file, outer.line, inner.name) if outer.line else inner
    if text.startswith("fused"):
        for part in _parts(text[text.find("[") + 1:text.rfind("]")]):
            found = _resolve(part, aliases, depth + 1)
            if found.line:
                return found
        return Location()
    at = _FILE.match(text)
    if at:
        return Location(unquote(at[1]), int(at[2]))
    named = _NAMED.match(text)
    if named:
        inner = _resolve(named[2], aliases, depth + 1)
        return Location(inner.file, inner.line, unquote(named[1]))
    return Location()


def _split_top(text: str, separator: str) -> tuple[str, str, str]:
    """Like str.partition, at a separator outside of parentheses and strings."""
    depth, in_string = 0, False
    for position, character in enumerate(text):
        if character == '"' and text[position - 1:position] != "\\":
            in_string = not in_string
        elif not in_string:
            depth += (character in "([") - (character in ")]")
            if depth == 0 and text.startswith(separator, position):
                return text[:position], separator, text[position + len(separator):]
    return text, "", ""


def _parts(text: str) -> Iterator[str]:
    while text:
        part, _, text = _split_top(text, ", ")
        yield part


def _of_triton(file: str) -> bool:
    """Whether a file is of Triton's own library: triton/language/standard.py."""
    return "/triton/language/" in file or "/triton/experimental/gluon/" in file
