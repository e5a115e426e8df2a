"""Runs Triton's own proton-viewer for the comparison in cmd/proton/viewer_oracle_test.go.

Reads a JSON list of runs from standard input, each {"args": [...], "tty": bool}, and prints a JSON list of
{"stdout": str, "error": str or null}, one per run. All runs share one interpreter: importing pandas takes
longer than a run. triton must be importable; libcuda and a GPU are not needed.
"""

import contextlib
import io
import json
import sys
import traceback
import warnings

from triton.profiler import viewer

warnings.simplefilter("ignore")


class Terminal(io.StringIO):
    """Pretends to be a terminal, which is how hatchet decides on colour."""

    def __init__(self, tty):
        super().__init__()
        self.tty = tty

    def isatty(self):
        return self.tty


def run(args, tty):
    out, error = Terminal(tty), None
    sys.argv = ["proton-viewer", *args]
    with contextlib.redirect_stdout(out):
        try:
            viewer.main()
        except SystemExit as e:
            error = f"exit {e.code}" if e.code else None
        except Exception as e:
            error = "".join(traceback.format_exception_only(type(e), e)).strip()
    return {"stdout": out.getvalue(), "error": error}


if __name__ == "__main__":
    json.dump([run(r["args"], r["tty"]) for r in json.load(sys.stdin)], sys.stdout)
