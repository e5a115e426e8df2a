"""Stands in for the runtime in stories about "proton run": reports what it is told to instead of what a GPU did.

It keeps to what docs/lives/seams.md says of PROTON_RUN_CONFIG and of status files. FAKE_KERNELS is the number of
kernels of this process, FAKE_PROBLEM a problem, FAKE_USED_GPU a process that initialised CUDA, FAKE_UNFINISHED one that never gets to its end.
"""

import atexit
import json
import os
import sys

config = json.loads(os.environ.get("PROTON_RUN_CONFIG", "{}"))


def write(finished):
    name = config["name"].replace("%p", str(os.getpid())).replace("%%", "%") + ".hatchet"
    kernels = int(os.environ.get("FAKE_KERNELS") or 0)
    if kernels:
        with open(name, "w") as file:
            json.dump([], file)
    status = {
        "pid": os.getpid(), "command": " ".join(sys.argv), "kernels": kernels, "gpu_time_ns": kernels * 1500, "lost": 0,
        "unattributed": 0, "files": [name] if kernels else [], "finished": finished,
        "gpu": "NVIDIA H200" if kernels else "", "used_gpu": kernels > 0 or "FAKE_USED_GPU" in os.environ,
        "problems": [os.environ["FAKE_PROBLEM"]] if os.environ.get("FAKE_PROBLEM") else [],
    }
    path = os.path.join(config["status"], f"{os.getpid()}.json")
    with open(path + ".new", "w") as file:
        json.dump(status, file)
    os.rename(path + ".new", path)


if config and (os.environ.get("FAKE_KERNELS") or os.environ.get("FAKE_PROBLEM")):
    write(False)
    if "FAKE_UNFINISHED" not in os.environ:
        atexit.register(write, True)
