"""What Triton's own Proton makes of profile scratch buffers. Standard input is JSON:

    {"data": "tree" or "trace", "mode": "…", "kernels": [{"name", "scopes": [[id, name]], "parents": [[id, parent]],
     "scratch": bytes, "warps"}], "launches": [{"kernel": position, "scopes": [names], "buffer": base64}]}

Standard output is its file. It runs with a libcuda that copies memory of the process (driver.c)."""

import base64
import ctypes
import json
import os
import sys
import tempfile

ctypes.CDLL("libcuda.so.1", ctypes.RTLD_GLOBAL)  # newer releases use one that is loaded already

import triton._C.libproton as lib  # noqa: E402

proton = lib.proton
request = json.load(sys.stdin)
folder = tempfile.mkdtemp()
session = proton.start(os.path.join(folder, "out"), "shadow", request["data"], "instrumentation", request["mode"])
for number, kernel in enumerate(request["kernels"]):
    metadata = os.path.join(folder, f"{number}.json")
    with open(metadata, "w") as file:
        json.dump({"profile_scratch_size": kernel["scratch"], "profile_scratch_align": 128, "num_warps": kernel["warps"]}, file)
    names = [(id, name) for id, name in kernel["scopes"]]
    parents = [(id, parent) for id, parent in kernel["parents"]]
    proton.init_function_metadata(number + 1, kernel["name"], names, parents, metadata)
for launch in request["launches"]:
    raw = base64.b64decode(launch["buffer"])
    buffer = ctypes.create_string_buffer(raw, len(raw))
    scopes = [(proton.record_scope(), name) for name in launch["scopes"]]
    for scope, name in scopes:
        proton.enter_scope(scope, name)
    op = proton.record_scope()
    proton.enter_op(op, request["kernels"][launch["kernel"]]["name"])
    arguments = 0, launch["kernel"] + 1, ctypes.addressof(buffer), len(raw)
    proton.enter_instrumented_op(*arguments)
    proton.exit_instrumented_op(*arguments)
    proton.exit_op(op, request["kernels"][launch["kernel"]]["name"])
    for scope, name in reversed(scopes):
        proton.exit_scope(scope, name)
suffix = "hatchet" if request["data"] == "tree" else "chrome_trace"
proton.finalize(session, suffix)
with open(os.path.join(folder, "out." + suffix), "rb") as file:
    sys.stdout.buffer.write(file.read())
sys.stdout.flush()
os._exit(0)
