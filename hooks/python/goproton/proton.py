"""``python -m goproton.proton [flags] script.py``: the command-line form of ``triton.profiler.proton``.

Runs a script or pytest in this process, inside one session; ``import triton.profiler`` returns this package meanwhile.
``proton run`` does more: any executable, child processes, and a profile of programs that are killed.
"""

from __future__ import annotations

import os
import sys

from ._triton import dropin
from .flags import flags
from .profile import DEFAULT_PROFILE_NAME, finalize, start

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Sequence


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command line and exits with the script's exit code."""
    options = _parse(argv)
    if not dropin.installed():
        dropin.install(upstream=False)
    try:
        # Under `proton run` the session already exists, and start returns None.
        start(options.name, context=options.context, data=options.data, backend=options.backend, mode=options.mode,
              hook=options.hook)
    except (ValueError, RuntimeError) as error:  # NotImplementedError is one of the latter
        sys.exit(f"proton: {error}")
    owner = not flags.command_line
    flags.command_line = True  # the script's own start and finalize are ignored
    try:
        code = execute(options.target)
    finally:
        if owner:
            flags.command_line = False
            finalize()
    sys.exit(code)


def execute(target: Sequence[str]) -> int | str | None:
    """Runs ``script.py args`` or ``pytest args`` as the main program; returns its exit code."""
    script, *arguments = target
    if os.path.basename(script) == "pytest":
        import pytest
        return int(pytest.main(arguments))
    return _run_script(script, arguments)


def _run_script(script: str, arguments: list[str]) -> int | str | None:
    import runpy
    before = sys.argv
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        return stop.code
    except KeyboardInterrupt:
        return 130
    except Exception:
        import traceback
        traceback.print_exc()
        return 1
    finally:
        sys.argv = before
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    import argparse
    parser = argparse.ArgumentParser(
        prog="proton", usage="%(prog)s [options] script.py [script_args] | pytest [pytest_args]",
        description="Profile the GPU work of a Python script or of a pytest run.")
    parser.add_argument("-n", "--name", default=DEFAULT_PROFILE_NAME, help="output path without suffix (default: proton)")
    parser.add_argument("-b", "--backend", help="profiling backend (default: what the installed torch was built for)")
    parser.add_argument("-c", "--context", default="shadow", choices=["shadow", "python"],
                        help="name work by scopes or by Python call stacks (default: shadow)")
    parser.add_argument("-m", "--mode", help="profiling mode")
    parser.add_argument("-d", "--data", default="tree", choices=["tree", "timeline", "trace"], help="what is recorded (default: tree)")
    parser.add_argument("-k", "--hook", choices=["triton"], help="take names and metrics from Triton's launch metadata")
    parser.add_argument("target", nargs=argparse.REMAINDER, help="the script or pytest, and its arguments")
    options = parser.parse_args(argv)
    if not options.target:
        parser.error("a script is missing: proton [options] script.py")
    script = options.target[0]
    if os.path.basename(script) != "pytest" and not os.path.exists(script):
        parser.error(f"there is no script {script}; the other commands of proton are those of python -m {__package__}")
    return options


if __name__ == "__main__":
    main()
