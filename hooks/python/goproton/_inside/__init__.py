"""Scopes inside kernels. ``passes`` and ``kernels`` serve those that users write in their kernels too; the rest is for sessions with ``inside``, whose
scopes are put into kernels without editing them, see :func:`goproton.start`.
"""

from __future__ import annotations

from . import compiler
from .comparison import Comparisons

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

without_records = compiler.without_records


def patterns(given: str | Sequence[str] | None) -> list[str]:
    """Shell patterns of kernels' names from what ``start`` takes: one, several separated by commas, or a sequence."""
    words = given.split(",") if isinstance(given, str) else given or ()
    return sorted({word.strip() for word in words if word.strip()})


class Inside:
    """What puts scopes into the chosen kernels while a session records.

    Args:
        chosen: patterns of the kernels' names.
        cheap: the user chose no mode.
    """

    def __init__(self, chosen: list[str], cheap: bool = False) -> None:
        self.chosen = chosen
        self.compiler = compiler.Compiler(chosen, cheap)
        self.comparisons = Comparisons()

    def key(self) -> str:
        """What the code of kernels depends on in addition to the mode, for the keys of Triton's caches."""
        return ":" + self.compiler.key if self.chosen else ""

    def chooses(self, name: str) -> bool:
        """Whether a kernel of that name is to get scopes."""
        return any(compiler.matches(name, pattern) for pattern in self.chosen)

    def attach(self) -> None:
        """
        Raises:
            RuntimeError: this Triton cannot do it.
        """
        self.compiler.attach()
        if self.chosen:
            self.comparisons.attach()

    def detach(self) -> None:
        self.comparisons.detach()
        self.compiler.detach()
