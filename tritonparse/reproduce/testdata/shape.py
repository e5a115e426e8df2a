"""Says what a script consists of: for each script, a JSON text in a line, one line of JSON with its kinds of statements, what
it calls, and the names in it. Nothing of the script is run."""

import ast
import collections
import json
import sys

for line in sys.stdin:
    try:
        tree = ast.parse(json.loads(line))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
        continue
    kinds, calls, names = collections.Counter(), collections.Counter(), set()
    for node in ast.walk(tree):
        kinds[type(node).__name__] += 1
        if isinstance(node, ast.Call):
            calls[ast.unparse(node.func)] += 1
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            text = getattr(node, field, None)
            if isinstance(text, str):
                names.update(text.split("."))
    print(json.dumps({"kinds": kinds, "calls": calls, "names": sorted(names)}), flush=True)
