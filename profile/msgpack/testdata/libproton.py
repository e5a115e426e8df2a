"""Prints what libproton of an installed Triton writes of one session, as {"JSON": base64, "MessagePack": base64}.

The native module runs without a GPU: the instrumentation profiler opens no driver until a kernel is launched. Every
leaf has a metric, because upstream's MessagePack (not its JSON) leaves out leaves without any.
"""

import base64
import json
import tempfile

import triton._C.libproton as library

proton = library.proton


def scope(name, metrics, *inner):
    number = proton.record_scope()
    proton.enter_scope(number, name)
    if metrics:
        proton.add_metrics(number, metrics)
    for child in inner:
        scope(*child)
    proton.exit_scope(number, name)


folder = tempfile.TemporaryDirectory()  # of the file that it writes at the end
session = proton.start(f"{folder.name}/session", "shadow", "tree", "instrumentation", "cuda")
scope("outer", {"tokens": 10, "w": 1.5, "count": 3, "vector": [1, 2, 70000], "floats": [1.5, 2.0], "z": 0.0},
      ("größe" * 10, {"count": 5}), ("empty inner", {}, ("leaf", {"x": 1})))
for bits in range(63):
    for value in (2**bits - 1, 2**bits, -(2**bits), -(2**bits) - 1):
        scope(f"{value}", {"x": value})
for value in (0.1, -0.0, 1e300, 5e-324, 3.0):
    scope(f"float {value}", {"f": value})
for length in (1, 15, 16, 31, 32, 255, 256, 65535, 65536):
    scope("n" * length, {"m" * length: 1, "v": list(range(min(length, 300)))})
print(json.dumps({
    "JSON": base64.b64encode(proton.get_data(session, 0).encode()).decode(),
    "MessagePack": base64.b64encode(bytes(proton.get_data_msgpack(session, 0))).decode(),
}))
proton.finalize(session, "hatchet")
