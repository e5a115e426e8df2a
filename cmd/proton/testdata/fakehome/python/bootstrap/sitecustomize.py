"""Stands in for the runtime in stories about "proton run": reports what it is told to instead of what a GPU did.

It keeps to what docs/plan-spine.md says of PROTON_RUN_CONFIG and of status files. FAKE_KERNELS is the number of
kernels of this process, FAKE_PROBLEM a problem, FAKE_UNFINISHED a process that never gets to its end.
"""

import atexit
import json
import os
import sys

config = json.loads(os.environ.get("PROTON_RUN_CONFIG", "{}"))


def write(finished):
    name = config["name"].replace("%p", str(os.getpid())).replace("%%", "%") + ".hatchet"
    kernels = int(os.environ.get("FAKE_KERNELS", "0"))
    if kernels:
        with open(name, "w") as file:
            json.dump([], file)
    status = {
        "pid": os.getpid(), "command": " ".join(sys.argv), "kernels": kernels, "gpu_time_ns": kernels * 1500, "lost": 0,
        "unattributed": 0, "files": [name] if kernels else [], "finished": finished,
        "problems": [os.environ["FAKE_PROBLEM"]] if "FAKE_PROBLEM" in os.environ else [],
    }
    path = os.path.join(config["status"], f"{os.getpid()}.json")
    with open(path + ".new", "w") as file:
        json.dump(status, file)
    os.rename(path + ".new", path)


if config and ("FAKE_KERNELS" in os.environ or "FAKE_PROBLEM" in os.environ):
    write(False)
    if "FAKE_UNFINISHED" not in os.environ:
        atexit.register(write, True)
