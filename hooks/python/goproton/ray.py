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

from . import _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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


def _variables(config: dict[str, Any]) -> dict[str, str]:
    library = next((path for path in _library.candidates() if os.path.exists(path)), None)
    if library is None:
        raise RuntimeError("libproton.so was not found next to the package; set PROTON_LIB to its path")
    inside = os.path.join(_HERE, "bootstrap")  # where a wheel has it
    bootstrap = inside if os.path.isdir(inside) else os.path.join(os.path.dirname(_HERE), "bootstrap")
    before = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder and folder != bootstrap]
    return {"PROTON_RUN_CONFIG": json.dumps(config), "PROTON_LIB": os.path.abspath(library), "CUDA_INJECTION64_PATH": os.path.abspath(library),
            "PYTHONPATH": os.pathsep.join([bootstrap, *before])}
