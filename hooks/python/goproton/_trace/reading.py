"""What can be done with a written trace: ``goproton.trace.parse``, ``info`` and ``reproduce``, by the ``proton`` command.

They need neither a GPU nor torch nor Triton. Keywords are the command's flags: ``kernel_import="copy"`` is ``--kernel-import copy``,
``force=True`` is ``--force``, a list gives a flag several times, and None is as if the keyword was not given.
"""

from __future__ import annotations

import json
import os
import sys

from .. import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Path = str | os.PathLike[str]


def parse(source: Path, output: Path, **flags: Any) -> dict[str, Any]:
    """Writes a raw trace, or a folder of traces, in the form that TritonParse's website and tools open: ``proton trace parse``.

    Args:
        output: the folder to write, which must not exist without ``force=True``.
        flags: such as ``kernel_allowlist="matmul*,softmax"``, ``args_list={"M": 1024, "a_ptr.shape": [1024, 512]}``, ``rank=0``,
            ``analysis="none"``, ``compat="tritonparse"``.

    Returns:
        ``{"folder": str, "files": [{"name": str, "bytes": int}], "compilations": int, "launches": int, "dropped": int,
        "damaged": int}``. Names are below the folder; ``dropped`` counts launches that do not name their compilation.

    Raises:
        FileNotFoundError: there is no such trace.
        ValueError: what the command says is wrong.
    """
    return _command("trace", "parse", source, output=output, **flags)


def info(source: Path, kernel: str | None = None, **flags: Any) -> Any:
    """What is in a trace, raw or parsed: ``proton trace info``.

    Args:
        kernel: list the launches of the kernel with this name.
        flags: such as ``kinds=True``, ``compilations=True``, ``args_list={"num_warps": 4}``.

    Returns:
        ``{"records": {type: int}, "kernels": [{"name", "launches", "compilations"}], "damaged": int}``, with a kernel also
        ``"launches": [{"id", "line", "grid", "hash", "args"}]``, whose ``args`` has the arguments by name as TritonParse describes them.
        With ``kinds`` a list of ``{"kind", "kernel", "hash", "launches", "line", "grid", "args"}``, with ``compilations`` a list of
        ``{"kernel", "hash", "line", "launches", "num_warps", "registers", "shared", "occupancy", …}``.

    Raises:
        FileNotFoundError: there is no such trace.
        ValueError: what the command says is wrong; of an unknown kernel, the names that there are.
    """
    if kernel and not (flags.get("kinds") or flags.get("compilations")):
        flags.setdefault("args", True)
    return _command("trace", "info", source, kernel=kernel, **flags)


def reproduce(source: Path, **flags: Any) -> dict[str, Any]:
    """Writes a script that repeats one launch of a trace: ``proton reproduce``.

    Args:
        flags: which launch, by default the first that can be reproduced: ``kernel="matmul_kernel"``, ``launch_id=2``, ``line=1572``,
            ``hash="72d6"``; and how: ``out_dir="repro"``, ``kernel_import="copy"``, ``files_from=["src"]``, ``embed_context=True``,
            ``template="tritonbench"``, ``benchmark=True, run=True``, ``slowest=3, profile="train.hatchet"``.

    Returns:
        ``{"kernel", "repro_script", "repro_context", "captured_irs", "launch": {"file", "line", "id"}, "hash", "grid",
        "kernel_import", "why", "arguments": [{"name", "value", "from"}], …}``: paths, and where each argument is from. With
        ``slowest`` of 2 or more these are the elements of ``"launches"``.

    Raises:
        FileNotFoundError: there is no such trace.
        ValueError: the launch cannot be found or reproduced, with the reason; or a script that was run failed.
    """
    return _command("reproduce", source, **flags)


def _command(*words: Path, **flags: Any) -> Any:
    *command, source = map(os.fspath, words)
    if not os.path.exists(source):
        raise FileNotFoundError(f"there is no trace {source}: goproton.trace.init() and `proton run --trace` write them")
    given = []
    for name, value in flags.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                given.append(f"--{name.replace('_', '-')}={_text(one)}")
    answer, said = reading.run(*command, "--json", *given, "--", source)
    sys.stderr.write(said)
    return json.loads(answer)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):  # a filter of launches
        return ",".join(f"{name}={one if isinstance(one, str) else json.dumps(one)}" for name, one in value.items())
    return str(os.fspath(value) if isinstance(value, os.PathLike) else value)
