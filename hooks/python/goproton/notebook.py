"""GoProton in notebooks: ``%load_ext goproton``, the cell magic ``%%proton``, and ``goproton.show``.

    %load_ext goproton

    %%proton --metrics util,time
    loss = model(x).sum()
    loss.backward()

``%%proton interpret`` runs the Triton kernels of a cell on the CPU: what they print, where they stop (``breakpoint()``), and their findings
stand below the cell.

The magic profiles what the cell does and shows the page of ``proton report`` below it. The page is part of the output, needs no
network, and stays in the saved notebook.
"""

from __future__ import annotations

import os
import sys

from . import reading
from .profile import finalize, start
from .reading import HEIGHT, inline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def show(profile: reading.Profile | str | os.PathLike[str], height: int = HEIGHT) -> None:
    """Shows a profile below the notebook's cell, as the page of ``proton report``. Outside a notebook it prints the tree.

    Args:
        profile: a path, or what :func:`goproton.read` returned.
        height: of the page, in pixels.

    Raises:
        FileNotFoundError: there is no such profile, or no ``proton`` command.
        ValueError: the file is not a profile.
    """
    if not isinstance(profile, reading.Profile):
        profile = reading.read(profile)
    if not _in_notebook():
        print(profile.tree(), end="")
        return
    from IPython.display import display
    display({"text/html": inline(profile, height), "text/plain": repr(profile)}, raw=True)  # HTML() warns of every iframe


def _in_notebook() -> bool:
    """Whether outputs of this process can be HTML: in Jupyter, not in a terminal's IPython."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def load(shell: Any) -> None:
    """Defines the magic in an IPython shell; ``%load_ext goproton`` calls it."""
    from IPython.core.error import UsageError
    from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

    @magic_arguments()
    @argument("name", nargs="?", help="keep the profile as NAME.hatchet; by default it is a temporary file")
    @argument("-c", "--context", default="shadow", help="call paths of scopes (shadow) or of Python functions (python)")
    @argument("-d", "--data", default="tree", help="tree or timeline")
    @argument("-b", "--backend", help="cupti, rocprofiler, roctracer; by default that of this machine")
    @argument("--mode", help="pcsampling and its options")
    @argument("-k", "--hook", default="triton", help="triton (default), or none")
    @argument("-m", "--metrics", help="print the tree with these metrics instead of the page")
    @argument("-o", "--output", help="assign the profile to this variable")
    @argument("--height", type=int, default=HEIGHT, help="height of the page in pixels")
    @argument("--quiet", action="store_true", help="show nothing")
    def proton(line: str, cell: str) -> None:
        """Profiles a cell and shows its profile. %%proton interpret runs its Triton kernels on the CPU: see %%proton interpret --help."""
        if line.split()[:1] == ["interpret"]:
            return _interpret_cell(shell, line.split(None, 1)[1:], cell)
        options = parse_argstring(proton, line)
        if options.output and not options.output.isidentifier():
            raise UsageError(f"-o {options.output}: give the name of a variable")
        made = _profile_cell(shell, options, cell)
        if made is None:
            return
        if options.output:
            shell.user_ns[options.output] = made
        if not options.quiet:
            _show_cell(made, options)

    shell.register_magic_function(proton, "cell", "proton")


def _profile_cell(shell: Any, options: Any, cell: str) -> reading.Profile | None:
    """Runs the cell in a session of its own; None if nothing was recorded. An error of the cell is shown as usual, and what ran is kept."""
    name = options.name or os.path.join(_temporary_folder(), f"cell{shell.execution_count}")
    session = start(name, context=options.context, data=options.data, backend=options.backend, mode=options.mode,
                    hook=None if options.hook == "none" else options.hook)
    try:
        shell.run_cell(cell)
    finally:
        if session is not None:
            finalize(session)
    path = name + (".chrome_trace" if options.data in ("timeline", "trace") else ".hatchet")
    return reading.read(path) if session is not None and os.path.exists(path) else None


def _interpret_cell(shell: Any, line: list[str], cell: str) -> None:
    """Runs the cell's Triton kernels on the CPU: what they print, and where they stop, as they run; then findings and counts."""
    import argparse
    import shlex
    parser = argparse.ArgumentParser(prog="%%proton interpret", description="runs the Triton kernels of a cell on the CPU")
    parser.add_argument("-k", "--kernel", action="append", default=[], help="only the kernels whose names match this pattern")
    parser.add_argument("--print", action="append", metavar="'LINE EXPRESSION'", help="print an expression whenever a line of this cell is reached")
    parser.add_argument("--break", action="append", metavar="PLACE", help="stop at a line of this cell, or at a function, and ask for commands")
    parser.add_argument("--debug", action="store_true", help="stop at the first line")
    parser.add_argument("--programs", action="append", metavar="X,Y,Z", help="only this program instance")
    parser.add_argument("--order", help="of program instances: serial, reverse, shuffle")
    try:
        options = vars(parser.parse_args(shlex.split(line[0]) if line else []))
    except SystemExit:
        return
    kernels = options.pop("kernel")
    file = shell.compile.get_code_name(cell, cell, shell.execution_count) if hasattr(shell.compile, "get_code_name") else ""
    for name in ("print", "break"):
        options[name] = [f"{file}:{place}" if place[:1].isdigit() else place for place in options[name] or []]
    options["programs"] = [[int(n) for n in (*at.split(","), 0, 0)[:3]] for at in options["programs"] or []] or None
    from ._interpret.runs import interpreting
    with interpreting(*kernels, keep_going=True, **{name: value for name, value in options.items() if value}) as run:
        shell.run_cell(cell)
    report = run.report()
    for finding in report["findings"]:
        frame = (finding.get("frames") or [{}])[0]
        print(f"{finding['kind']}: {finding['text']}, line {frame.get('line', '?')}, program {tuple(finding['program'])}")
    for kernel in report["kernels"]:
        found = sum(finding.get("kernel") == kernel["name"] for finding in report["findings"])
        print(f"{kernel['name']}: {kernel['launches']} × {kernel['programs'] // max(kernel['launches'], 1)} program instances, {found} findings")


def _show_cell(profile: reading.Profile, options: Any) -> None:
    try:
        if options.metrics:
            print(profile.tree(options.metrics), end="")
        else:
            show(profile, options.height)
    except ValueError as error:
        print(f"goproton: the profile of this cell is in {profile.path}; it cannot be shown: {error}", file=sys.stderr)


_folder: Any = None


def _temporary_folder() -> str:
    """The folder of profiles without a name; it is removed when the process ends."""
    global _folder
    if _folder is None:
        import tempfile
        _folder = tempfile.TemporaryDirectory(prefix="goproton-")
    return _folder.name
