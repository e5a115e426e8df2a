"""Profiles of Ray's tasks and actors.

Workers of a cluster that ``proton run driver.py`` starts, by ``ray.init()``, inherit what they need. Those of a cluster that is
running already get it from the runtime environment of the job::

    ray.init("auto", runtime_env=goproton.ray.runtime_env("train"))

Each worker process writes ``train.pid<P>.<host>.hatchet``, and ``proton merge train`` adds them up. The path is that of a
folder which all nodes can write, and GoProton has to be installed at the same place on all of them.
"""

from __future__ import annotations

import json
import os
import sys

from . import _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable

_HERE = os.path.dirname(os.path.abspath(__file__))


def runtime_env(name: str = "ray", base: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """The runtime environment with which Ray's workers are profiled.

    Args:
        name: what the files are named after; relative to the current folder.
        base: a runtime environment to which the variables are added.
        options: ``context``, ``data``, ``mode``, ``backend``, ``hook``, ``graph``, ``activities``, ``format``, ``torch`` and
            ``checkpoint``, as the flags of ``proton run``. Below ``proton run`` they are taken from its flags.
    """
    config = {"context": "shadow", "backend": "", "mode": "", "data": "tree", "hook": "triton", "graph": "node", "activities": "",
              "format": "", "checkpoint": 2}
    config.update(json.loads(os.environ.get("PROTON_RUN_CONFIG") or "{}"))
    unknown = set(options) - {*config, "torch"}
    if unknown:
        raise TypeError(f"runtime_env() has no option {', '.join(sorted(unknown))}")
    config.update(options)
    # Workers of other nodes have no folder in common in which they could agree on names.
    config.update(name=os.path.abspath(name).replace("%", "%%") + ".pid%p.%h", status="")
    base = dict(base or {})
    base["env_vars"] = {**(base.get("env_vars") or {}), **_variables(config)}
    return base


def merge(files: Iterable[str | os.PathLike[str]], output: str | os.PathLike[str], *, by: str | None = None, sorted: bool = False,
          group: int = 64) -> None:
    """Adds profiles up in tasks of Ray, as ``proton merge`` does on one machine, to the same bytes.

    Ray has to be initialised. Each task merges ``group`` neighbours, and further tasks merge what those returned, until one profile
    is left, which is written here. What ``proton merge`` says of the files is printed on standard error.

    Args:
        files: at paths that all nodes can read.
        output: a ``.hatchet`` file.
        by: ``rank`` or ``host``, to keep the time of each in addition to the sum.
        sorted: siblings are in order of name, so that the result does not depend on the order of the files.
        group: how many profiles a task merges, at least 2.

    Raises:
        RuntimeError: a file cannot be read, or contradicts the others.
    """
    files = [os.path.abspath(file) for file in files]
    if not files or group < 2 or by not in (None, "rank", "host") or not os.fspath(output).endswith(".hatchet"):
        raise ValueError("merge() needs files, a group of at least 2, by=None, 'rank' or 'host', and an output that ends in .hatchet")
    import ray
    flags = (["--by", by] if by else []) + (["--sorted"] if sorted else [])
    task = ray.remote(_merge)
    # Places count in all files: a file without a rank or host is named after its own.
    parts = [task.remote(files[at:at + group], flags, at if len(files) > group else None) for at in range(0, len(files), group)]
    while len(parts) > 1:
        parts = [task.remote([], flags, 0 if len(parts) > group else None, *parts[at:at + group]) for at in range(0, len(parts), group)]
    merged, notes = ray.get(parts[0])
    for note in dict.fromkeys(notes):
        print(note, file=sys.stderr)
    temporary = f"{os.fspath(output)}.{os.getpid()}.tmp"
    with open(temporary, "wb") as file:
        file.write(merged)
    os.replace(temporary, output)


def _merge(files: list[str], flags: list[str], place: int | None, *parts: tuple[bytes, list[str]]) -> tuple[bytes, list[str]]:
    """The merged profile of files, or of the merged profiles of parts, and the lines that ``proton merge`` has said. With a place the result
    is itself a part, and the first file has that place among all."""
    import subprocess
    import tempfile

    from ._command import path as command
    with tempfile.TemporaryDirectory(prefix="goproton-") as folder:
        notes: list[str] = []
        for number, (content, said) in enumerate(parts):
            notes += said
            files = [*files, os.path.join(folder, f"part {number + 1}.hatchet")]
            with open(files[-1], "wb") as file:
                file.write(content)
        output = os.path.join(folder, "merged")
        done = subprocess.run([command(), "merge", *flags, *(["--of-parts"] if parts else []), *([] if place is None else ["--part", str(place)]), "--to", "hatchet", "-o", output, "--", *files], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or f"proton merge ended with {done.returncode}")
        lines = done.stderr.replace(folder + os.sep, "").splitlines()
        notes += [line for line in lines if not line.startswith("proton: part ")]  # of a file in it, which its own part has said
        with open(output, "rb") as file:
            return file.read(), notes


def _variables(config: dict[str, Any]) -> dict[str, str]:
    library = next((path for path in _library.candidates() if os.path.exists(path)), None)
    if library is None:
        raise RuntimeError("libproton.so was not found next to the package; set PROTON_LIB to its path")
    inside = os.path.join(_HERE, "bootstrap")  # where a wheel has it
    bootstrap = inside if os.path.isdir(inside) else os.path.join(os.path.dirname(_HERE), "bootstrap")
    before = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder and folder != bootstrap]
    return {"PROTON_RUN_CONFIG": json.dumps(config), "PROTON_LIB": os.path.abspath(library), "CUDA_INJECTION64_PATH": os.path.abspath(library),
            "PYTHONPATH": os.pathsep.join([bootstrap, *before])}
