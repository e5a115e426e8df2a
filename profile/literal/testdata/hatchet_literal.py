"""Reads [literal, …] (base64 each) from standard input with ast.literal_eval and llnl-hatchet.

Prints for each {"rows": [[depth, name, {metric: repr}], …], "again": what hatchet's to_literal gives, as source}.
Numbers go out as repr: JSON has no NaN, and 1 is not 1.0.
"""

import ast
import base64
import json
import sys
import warnings

warnings.simplefilter("ignore")

import hatchet  # noqa: E402


def rows(gf):
    columns = [c for c in gf.dataframe.columns if c not in ("name", "type")]
    values = gf.dataframe.to_dict("index")
    return [[node._depth, values[node]["name"], {c: repr(values[node][c]) for c in columns}]
            for node in gf.graph.traverse()]


def inclusive(gf):
    gf.update_inclusive_columns()
    return repr(gf.to_literal())


answers = []
for text in json.load(sys.stdin):
    tree = ast.literal_eval(base64.b64decode(text).decode())
    gf = hatchet.GraphFrame.from_literal(tree)
    answers.append({"rows": rows(gf), "again": inclusive(gf)})
json.dump(answers, sys.stdout)
