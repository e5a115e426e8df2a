"""A line on the terminal for launches that take seconds."""

from __future__ import annotations

import sys
import time
from typing import Any


class Progress:
    """One launch."""

    def __init__(self, name: str):
        self.name, self.begin, self.next, self.shown = name, time.monotonic(), 2.0, False

    def show(self, said: dict[str, Any]) -> None:
        seconds = time.monotonic() - self.begin
        if seconds < self.next or not sys.stderr.isatty():
            return
        self.next, self.shown = seconds + 1, True
        sys.stderr.write(f"\r\x1b[Kproton: {self.name}: {said['begun']} of {said['programs']} program instances, {seconds:.0f} s")
        sys.stderr.flush()

    def end(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
