"""``python -m goproton …``: the same as ``proton …``, with this Python for scripts."""

import os
import sys

from ._command import path


def main() -> None:
    words = sys.argv[1:]
    first = words[0] if words else ""
    if first in ("run", "doctor", "reproduce", "interpret"):
        words[1:1] = ["--python", sys.executable]
    elif first.endswith(".py") or first == "pytest" or first.startswith("-") and first not in ("-h", "--help", "-v", "-V", "--version"):
        words[0:0] = ["--python", sys.executable]  # short for proton run
    try:
        command = path()
        os.execv(command, [command, *words])
    except OSError as error:
        sys.exit(f"proton: {error}")


if __name__ == "__main__":
    main()
