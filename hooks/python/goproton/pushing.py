"""Windows for a server: what a session recorded in each interval goes to Pyroscope, Parca or an OpenTelemetry collector.

    proton.start("train", push="https://pyroscope.example.com:4040")
    proton.start("train", push=proton.Push("parca+http://localhost:7070", every=30, labels={"team": "vision"}))

The profiled process only writes files into a folder, the spool. The ``proton`` command sends them from a process of its own,
which ends soon after this one. Tokens come from the environment: PROTON_PUSH_TOKEN_FILE and others, see docs/always-on.md.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping


class Push:
    """Where the windows of a session go.

    Args:
        url: of the server. What stands before a plus sign in its scheme is the protocol: pyroscope, parca or otlp. Without it the
            port decides, and pyroscope is the default. Or a folder, as in file:///mnt/windows, which ``proton query`` reads.
        every: length of a window in seconds, aligned to the clock; 60, or what ``PROTON_PUSH_EVERY`` says. The three that follow have
            variables too: ``PROTON_PUSH_WAIT`` (5), ``PROTON_PUSH_SERVICE`` and ``PROTON_PUSH_LABELS``.
        wait: how many seconds ``finalize``, and the sender after the end of the program, wait for the server. What is not sent then
            is sent by the next program that pushes to the same server.
        service: label ``service_name``; by default the name of the session.
        labels: more labels. GoProton adds job, host, rank and gpu.
    """

    def __init__(self, url: str, *, every: float | None = None, wait: float | None = None, service: str | None = None,
                 labels: Mapping[str, str] | None = None):
        every = _seconds("PROTON_PUSH_EVERY", every, os.environ.get("PROTON_PUSH_EVERY"), 60)
        wait = _seconds("PROTON_PUSH_WAIT", wait, os.environ.get("PROTON_PUSH_WAIT"), 5)
        service = service or os.environ.get("PROTON_PUSH_SERVICE")
        labels = {**_labels(os.environ.get("PROTON_PUSH_LABELS")), **(labels or {})}
        if not (1 <= every <= 24 * 3600 and 0 <= wait <= 365 * 24 * 3600):  # false for NaN
            raise ValueError(f"Push with every={every} and wait={wait}: a window has 1 second to a day, and wait is 0 seconds to a year")
        self.url, self.every, self.wait, self.service, self.labels = url, every, wait, service, labels

    def __repr__(self) -> str:
        return f"goproton.Push({self.url!r}, every={self.every}, wait={self.wait}, service={self.service!r}, labels={self.labels!r})"


def _seconds(name: str, given: float | None, variable: str | None, default: float) -> float:
    if given is not None or not variable:
        return default if given is None else given
    try:
        return float(variable)
    except ValueError:
        raise ValueError(f"{name}={variable!r} is not a number of seconds") from None


def _labels(text: str | None) -> dict[str, str]:
    labels = {}
    for label in filter(None, (text or "").split(",")):
        name, equals, value = label.partition("=")
        if not equals or not value:
            raise ValueError(f"the label {label!r} of PROTON_PUSH_LABELS is not NAME=VALUE")
        labels[name] = value
    return labels


class _Sender:
    """The process that sends for this one."""

    def __init__(self, push: Push):
        import json
        import subprocess

        from .reading import command
        self.push, self.pid = push, os.getpid()
        # A session of its own: Ctrl-C ends the program, and the sender after it.
        self.process = subprocess.Popen([command(), "push", "--follow", str(self.pid), "--every", str(push.every),
                                         "--wait", str(push.wait), push.url], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        with self.process.stdout as answer:
            line = answer.readline()
        try:
            said = json.loads(line)
        except ValueError:
            raise RuntimeError("the sender of windows ended at once: run proton push with the same URL, which says why") from None
        if "error" in said:
            self.process.wait()
            raise ValueError(said["error"])
        self.spool: str = said["spool"]

    def waiting(self) -> int:
        """How many windows of this process wait in the spool."""
        mine = f"-{self.pid}-"
        try:
            return sum(mine in name and ".window" in name for name in os.listdir(self.spool) if not name.startswith("."))
        except OSError:
            return 0


_senders: dict[str, _Sender] = {}  # by URL


def begin(push: str | Push) -> dict[str, Any]:
    """Starts the sender, and returns what the control call ``start`` has to know of it.

    Raises:
        ValueError: the URL or a variable cannot be used.
        RuntimeError: the proton command cannot be started.
    """
    push = Push(push) if isinstance(push, str) else push
    sender = _senders.get(push.url)
    if sender is None or sender.pid != os.getpid() or sender.process.poll() is not None:
        try:
            sender = _senders[push.url] = _Sender(push)
        except OSError as error:
            raise RuntimeError(f"windows cannot be pushed: {error}") from None
    labels = {name: str(value) for name, value in push.labels.items()}
    if push.service:
        labels["service_name"] = push.service
    return {"spool": sender.spool, "seconds": push.every, "labels": labels}


def finish() -> None:
    """Waits until the windows of this process are sent, as long as they may take, and says which are not."""
    import signal
    import time
    for sender in _senders.values():
        if sender.pid != os.getpid():
            continue  # of a process that this one was forked from
        sender.process.send_signal(signal.SIGHUP)  # it hurries then
        end = time.monotonic() + sender.push.wait
        while sender.waiting() and time.monotonic() < end and sender.process.poll() is None:
            time.sleep(0.02)
        waiting = sender.waiting()
        if waiting:
            print(f"proton: warning: {waiting} windows are not sent to {sender.push.url} yet; they wait in {sender.spool} for the next "
                  "program that pushes there, or for proton push", file=sys.stderr)
