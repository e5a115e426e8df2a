"""The command that belongs to this package, and companions of the program that run it."""

from __future__ import annotations

import os
import sys

from . import _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def path() -> str:
    """Path of the command.

    Raises:
        FileNotFoundError: it is not there.
    """
    folders = _folders()
    for folder in [*folders, *os.environ.get("PATH", "").split(os.pathsep)]:
        for name in "goproton", "proton":
            file = os.path.join(folder, name)
            if folder and os.path.isfile(file) and os.access(file, os.X_OK) and not (name == "proton" and _is_script(file)):
                return file
    raise FileNotFoundError(f"the goproton command is not in {', '.join(folders)} nor on PATH: install the goproton package (with pip install --target into a "
                            "folder that already has a bin, add --upgrade), or add the folder of a build to PATH")


def _folders() -> list[str]:
    """Where the command is: next to the library in a build; where pip puts scripts, of a target and of a prefix; next to this Python."""
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    prefix = packages  # that of PREFIX/lib/python3.12/site-packages
    while os.path.basename(prefix) in ("site-packages", "dist-packages", "lib", "lib64") or os.path.basename(prefix).startswith("python"):
        prefix = os.path.dirname(prefix)
    folders = [*map(os.path.dirname, _library.candidates()), os.path.join(packages, "bin"), os.path.join(prefix, "bin"), os.path.dirname(sys.executable or "")]
    return list(dict.fromkeys(filter(None, folders)))


def _is_script(file: str) -> bool:
    """Whether a file is a script, as the command of Triton's profiler is, which is called proton too, and the short form of ours."""
    with open(file, "rb") as opened:
        return opened.read(2) == b"#!"


class Companion:
    """A process of the command that is not a child of the program, and ends on its own.

    Attributes:
        said: the JSON document in the first line that it printed; None if it ended without one.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, *arguments: str) -> None:
        words = [os.fsencode(word) for word in (path(), *arguments)]
        # No descriptor stays open, because the program may close all, and use their numbers.
        nothing, (reading, writing) = _clear(os.open(os.devnull, os.O_RDWR)), map(_clear, os.pipe())
        try:
            self.pid: int = _library.native.companion(nothing, writing, *words)
        finally:
            os.close(nothing)
            os.close(writing)
        try:
            if self.pid < 0:
                raise OSError(-self.pid, os.strerror(-self.pid), os.fsdecode(words[0]))
            self._began = _began(self.pid)
            self.said = self._answer(reading)
        finally:
            os.close(reading)

    def _answer(self, reading: int) -> Any:
        import json
        import select
        poll = select.poll()
        poll.register(reading, select.POLLIN)
        line = b""
        while not line.endswith(b"\n"):
            ready = poll.poll(200)
            if not ready and self.lives():
                continue
            # A process that the program forks meanwhile has the other end too: then the pipe has no end.
            more = os.read(reading, 65536) if ready or poll.poll(0) else b""
            if not more:
                break
            line += more
        try:
            return json.loads(line)
        except ValueError:
            return None

    def lives(self) -> bool:
        """Whether it has not ended. Another process may have its number later."""
        if self._began is not None and os.path.exists("/proc/self/stat"):
            return _began(self.pid) == self._began
        return self.signal(0)

    def signal(self, number: int) -> bool:
        """Sends a signal to it, and returns whether it is there."""
        try:
            os.kill(self.pid, number)
        except OSError as error:
            import errno
            return error.errno == errno.EPERM
        return True


def _clear(descriptor: int) -> int:
    """The same file as a descriptor that is not one of the standard ones, which the program may have closed."""
    if descriptor > 2:
        return descriptor
    import fcntl
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(descriptor)


def _began(pid: int) -> str | None:
    """When a process began, since the start of the machine; None if it is not there or only waits for its parent."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()
