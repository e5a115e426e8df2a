"""Windows for a server: what a session recorded in each interval goes to Pyroscope, Parca or an OpenTelemetry collector.

    proton.start("train", push="https://pyroscope.example.com:4040")
    proton.start("train", push=proton.Push("parca+http://localhost:7070", every=30, labels={"team": "vision"}))

The profiled process only writes files into a folder, the spool. The ``proton`` command sends them from a process of its own,
which ends soon after this one. Tokens come from the environment: PROTON_PUSH_TOKEN_FILE and others, see docs/always-on.md.
"""

from __future__ import annotations

import os
import sys

from .flags import is_on

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
        counters: send the counters of :class:`goproton.Prometheus` too, at each window and at the end, with or without ``prometheus=`` of the
            session. Only an OpenTelemetry collector takes them. A process has counters of one session at a time. Where neither ``service`` nor a
            label says it, their service is the first session that was counted. ``PROTON_PUSH_METRICS=1`` asks for them where this is None.
    """

    def __init__(self, url: str, *, every: float | None = None, wait: float | None = None, service: str | None = None,
                 labels: Mapping[str, str] | None = None, counters: bool | None = None, metrics: bool | None = None):
        every = _seconds("PROTON_PUSH_EVERY", every, os.environ.get("PROTON_PUSH_EVERY"), 60)
        wait = _seconds("PROTON_PUSH_WAIT", wait, os.environ.get("PROTON_PUSH_WAIT"), 5)
        service = service or os.environ.get("PROTON_PUSH_SERVICE")
        labels = {**_labels(os.environ.get("PROTON_PUSH_LABELS")), **(labels or {})}
        if not (1 <= every <= 24 * 3600 and 0 <= wait <= 365 * 24 * 3600):  # false for NaN
            raise ValueError(f"Push with every={every} and wait={wait}: a window has 1 second to a day, and wait is 0 seconds to a year")
        self.url, self.every, self.wait, self.service, self.labels = url, every, wait, service, labels
        asked = metrics if counters is None else counters  # metrics is an older name
        self.counters = is_on("PROTON_PUSH_METRICS") if asked is None else asked
        self.counters_asked = asked is not None  # by the program, and not by the environment of all of its sessions

    def __repr__(self) -> str:
        return (f"goproton.Push({self.url!r}, every={self.every}, wait={self.wait}, service={self.service!r}, labels={self.labels!r}, "
                f"counters={self.counters})")


def _seconds(name: str, given: float | None, variable: str | None, default: float) -> float:
    if given is None and not variable:
        return default
    try:
        return float(variable or "") if given is None else given + 0
    except (TypeError, ValueError):
        said = f"{name}={variable!r}" if given is None else f"Push: {given!r}"
        raise ValueError(f"{said} is not a number of seconds") from None


def _labels(text: str | None) -> dict[str, str]:
    labels = {}
    for label in filter(None, (text or "").split(",")):
        name, equals, value = label.partition("=")
        if not equals or not value:
            raise ValueError(f"the label {label!r} of PROTON_PUSH_LABELS is not NAME=VALUE")
        labels[name] = value
    return labels


class _Sender:
    """The process that sends for this one: windows, and counters if there are any."""

    def __init__(self, push: Push):
        from ._command import Companion
        self.push, self.pid = push, os.getpid()
        self.process = Companion("push", "--follow", str(self.pid), "--every", str(push.every), "--wait", str(push.wait), "--", push.url)
        said = self.process.said
        if said is None:
            raise RuntimeError("the sender of windows ended at once: run proton push with the same URL, which says why")
        if "error" in said:
            raise ValueError(said["error"])
        self.spool: str = said["spool"]
        if said.get("away"):
            print(f"proton: warning: {push.url}: {said['away']}; until then windows wait in {self.spool}", file=sys.stderr)
        self.name: str = said["sender"]  # in the status that it leaves in the spool
        self.counters: str | None = said.get("counters")  # has a folder for the counters of each service
        self.no_counters: str | None = said.get("no_counters")
        self.services: dict[str, str] = {}  # their folders, by the labels that were given
        # While the first file is there, the sender sends counters. It removes the file when they are sent, writes into it why they are not,
        # and gives it the second name if they never will be.
        self.asked, self.refused = said.get("waiting"), said.get("refused")

    def folder(self, labels: dict[str, str], session: str) -> str:
        """The folder for the counters of a session with these labels.

        Raises:
            ValueError: the target takes no counters.
            RuntimeError: the folder cannot be made.
        """
        import json
        if self.counters is None:
            raise ValueError(self.no_counters)
        key = json.dumps(labels, sort_keys=True)
        if key not in self.services:
            folder = os.path.join(self.counters, str(len(self.services)))
            try:
                os.makedirs(folder, exist_ok=True)
                with open(os.path.join(folder, "labels.new"), "w", encoding="utf-8") as file:
                    json.dump({"service_name": session, **labels}, file)
                os.replace(os.path.join(folder, "labels.new"), os.path.join(folder, "labels"))
            except OSError as error:
                raise RuntimeError(f"counters cannot be pushed: {error}") from None
            self.services[key] = folder
        return self.services[key]

    def hurry(self) -> None:
        """Has it send what there is now."""
        import contextlib
        import signal
        if self.services:
            with contextlib.suppress(OSError):  # without the file no caller waits
                os.close(os.open(self.asked, os.O_CREAT | os.O_WRONLY, 0o600))
        if self.process.lives():
            self.process.signal(signal.SIGHUP)

    def busy(self) -> bool:
        """Whether it may still send what there is."""
        return self.process.lives() and (self.waiting() > 0 or self.why_counters_wait() is not None and not os.path.exists(self.refused))

    def why_counters_wait(self) -> str | None:
        """None once the counters are sent."""
        for name in (self.asked, self.refused) if self.services else ():
            try:
                with open(name, encoding="utf-8") as why:
                    return why.read() or "it has not answered yet"
            except OSError:
                pass
        return None

    def forget_counters(self) -> None:
        """Nothing waits for the counters any more."""
        import contextlib
        for name in (self.asked, self.refused) if self.services else ():
            with contextlib.suppress(OSError):
                os.remove(name)

    def waiting(self) -> int:
        """How many windows of this process wait in the spool."""
        mine = f"-{self.pid}-"
        try:
            return sum(mine in name and ".window" in name for name in os.listdir(self.spool) if not name.startswith("."))
        except OSError:
            return 0


_senders: dict[str, _Sender] = {}  # by URL


def asks(push: Push) -> dict[str, Any]:
    """What the control calls ``check`` and ``start`` have to know."""
    labels = {name: str(value) for name, value in push.labels.items()}
    if push.service:
        labels["service_name"] = push.service
    return {"seconds": push.every, "labels": labels}


def begin(push: Push, name: str, counted: bool) -> tuple[dict[str, Any], str | None, str]:
    """Starts the sender of the session `name`, and returns what the control call ``start`` has to know of it, the folder for its counters,
    and the name of the sender in the status that it leaves in the spool.

    Raises:
        ValueError: the URL or a variable cannot be used.
        RuntimeError: the proton command cannot be started.
    """
    sender = _senders.get(push.url)
    if sender is None or sender.pid != os.getpid() or not sender.process.lives():
        try:
            sender = _senders[push.url] = _Sender(push)
        except OSError as error:
            raise RuntimeError(f"windows cannot be pushed: {error}") from None
    asked = asks(push)
    folder = sender.folder(asked["labels"], os.path.basename(name) or "unknown_service") if counted else None
    return {"spool": sender.spool, **asked}, folder, sender.name


def finish() -> None:
    """Waits until the windows and counters of this process are sent, as long as they may take, and says which are not."""
    import time
    senders = [sender for sender in _senders.values() if sender.pid == os.getpid()]  # and not of a process that this one was forked from
    for sender in senders:
        sender.hurry()
    began = time.monotonic()
    for sender in senders:
        while sender.busy() and time.monotonic() < began + sender.push.wait:
            time.sleep(0.02)
        waiting, why = sender.waiting(), sender.why_counters_wait()
        sender.forget_counters()
        if waiting:
            print(f"proton: warning: {waiting} windows are not sent to {sender.push.url} yet; they wait in {sender.spool} for the next "
                  "program that pushes there, or for proton push", file=sys.stderr)
        if why:
            print(f"proton: warning: the last counters are not sent to {sender.push.url} yet: {why}", file=sys.stderr)
