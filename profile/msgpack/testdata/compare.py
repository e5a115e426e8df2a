"""Reads [{"json": base64, "msgpack": base64}, …] from standard input and says whether each pair holds the same."""

import base64
import json
import sys

import msgpack


def same(a, b):
    """Equality with types: 1 is not 1.0 here; NaN, which JSON has as null, equals it."""
    if isinstance(a, float) and a != a:
        a = None
    if isinstance(b, float) and b != b:
        b = None
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


pairs = json.load(sys.stdin)
for number, pair in enumerate(pairs):
    text = json.loads(base64.b64decode(pair["json"]))
    packed = msgpack.unpackb(base64.b64decode(pair["msgpack"]), raw=False, strict_map_key=False)
    if not same(text, packed):
        sys.exit(f"pair {number}:\n{text}\n{packed}")
print(len(pairs), "equal")
