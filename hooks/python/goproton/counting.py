"""Counters of a session for Prometheus: GPU time, launches, bytes and so on, by GPU and outermost scope.

    proton.start("train", prometheus="127.0.0.1:9464")                  # http://127.0.0.1:9464/metrics
    proton.start("train", prometheus=proton.Prometheus("9464", wait=30))

The profiled process listens nowhere: it leaves its sums in a file, and the ``proton`` command serves them from a process of its own,
which ends with this one. See docs/always-on.md.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._command import Companion


SCOPES = 200  # that have counters of their own


class Prometheus:
    """Where the counters of a session are served.

    Args:
        address: HOST:PORT, or a port of this machine alone. Ranks of one machine add their number on it to the port; with port 0
            the machine chooses one.
        wait: how many seconds after the end of the program the last counters are served, until someone has read them.
        scopes: how many outermost scopes have counters of their own. Later ones are added up.
    """

    def __init__(self, address: str, *, wait: float = 0, scopes: int = SCOPES):
        if not (0 <= wait <= 365 * 24 * 3600 and scopes >= 0):  # false for NaN
            raise ValueError(f"Prometheus with wait={wait} and scopes={scopes}: wait is 0 seconds to a year, and scopes is 0 or more")
        self.address, self.wait, self.scopes = str(address), wait, scopes
        host, _, port = self.address.rpartition(":")
        if not (port.isascii() and port.isdigit() and int(port) < 65536 and (":" not in host or host[:1] + host[-1:] == "[]")):
            raise ValueError(f'prometheus: "{address}" is not an address: give HOST:PORT, or a port of this machine alone, as in 127.0.0.1:9464')

    def __repr__(self) -> str:
        return f"goproton.Prometheus({self.address!r}, wait={self.wait}, scopes={self.scopes})"


Metrics = Prometheus  # an older name


_servers: dict[str, tuple[Companion | None, int, str]] = {}  # by address: the process that serves, for which process, the folder of its counters


def begin(metrics: Prometheus, sends: tuple[str, str] | None, pushed: bool) -> str | None:
    """Starts the server, and returns the folder for its counters. None if it cannot serve: a line says why, and the program goes on.

    Args:
        sends: the spool of windows that are pushed, and the name of their sender, whose status is served.
        pushed: the counters are pushed, too.

    Raises:
        ValueError: the address cannot be read.
    """
    process, pid, folder = _servers.get(metrics.address, (None, 0, ""))
    if process is None or pid != os.getpid() or not process.lives():
        process, said = _serve(metrics, sends)
        if "invalid" in said:
            raise ValueError(f"prometheus: {said['invalid']}")
        if "error" in said:
            without = "the counters of this program are pushed, and not served" if pushed else "this program has no counters"
            print(f"proton: warning: prometheus: {said['error']}; {without}", file=sys.stderr)
            return None
        others = ", which everyone reads who reaches this machine" if said.get("elsewhere") else ""
        print(f"proton: counters at {said['url']}{others}", file=sys.stderr)
        folder = said["folder"]
        _servers[metrics.address] = process, os.getpid(), folder
    return folder


def _serve(metrics: Prometheus, sends: tuple[str, str] | None) -> tuple[Companion | None, dict[str, Any]]:
    from ._command import Companion
    arguments = ["--spool", sends[0], "--sender", sends[1]] if sends else []
    try:
        process = Companion("metrics", "--follow", str(os.getpid()), "--wait", str(metrics.wait), *arguments, "--", metrics.address)
    except OSError as error:
        return None, {"error": str(error)}
    return process, process.said or {"error": "the process that serves them ended at once"}
