"""Lists the functions of libdevice that Triton's language knows: for each a line with its symbol, its result and its arguments, as types of
TTIR."""

import re
import sys
import importlib.util

for name in "cuda", "hip":
    path = importlib.util.find_spec("triton").submodule_search_locations[0] + f"/language/extra/{name}/libdevice.py"
    with open(path) as f:
        text = f.read()
    kinds = {"fp16": "f16", "fp32": "f32", "fp64": "f64", "int32": "i32", "uint32": "i32", "int64": "i64", "uint64": "i64", "int1": "i1"}
    found = set()
    for arguments, symbol, result in re.findall(r'\(((?:core\.dtype\("\w+"\),?\s*)+)\):\s*\(\s*"(\w+)",\s*core\.dtype\("(\w+)"\)', text):
        found.add(" ".join([symbol, kinds[result], *(kinds[a] for a in re.findall(r'"(\w+)"', arguments))]))
    sys.stdout.write("".join(line + "\n" for line in sorted(found)))
