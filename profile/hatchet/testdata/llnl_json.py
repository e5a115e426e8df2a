"""Writes trees with llnl-hatchet: random ones, in which some nodes have several parents and some have no name.

Prints for each {"graph": what to_json gives, "literal": what to_literal gives, as JSON, "own": the sum of time over all nodes,
"frames": how many nodes there are}.
"""

import json
import random
import warnings

warnings.simplefilter("ignore")

import hatchet  # noqa: E402


def plain(value):
    return value.item() if hasattr(value, "item") else str(value)


def literal(r, depth, count):
    count[0] += 1
    frame = {"name": f"f{count[0]}", "type": "function"}
    node = {"frame": frame, "metrics": {"time": r.randrange(100), "time (inc)": 0}}
    if r.random() < 0.2:
        node["name"] = f"a.c:{count[0]}"
        node["frame"] = {"file": "a.c", "line": count[0], "type": "statement"}
    node["children"] = [literal(r, depth + 1, count) for _ in range(r.randrange(4) if depth < 4 else 0)]
    return node


answers = []
for seed in range(25):
    r = random.Random(seed)
    count = [0]
    gf = hatchet.GraphFrame.from_literal([literal(r, 0, count) for _ in range(1 + seed % 2)])
    nodes = list(gf.graph.traverse())
    for _ in range(seed % 4):
        i, j = sorted(r.sample(range(len(nodes)), 2)) if len(nodes) > 2 else (0, 0)
        if i != j and nodes[j] not in nodes[i].children and nodes[j].parents:
            nodes[i].add_child(nodes[j])
            nodes[j].add_parent(nodes[i])
    gf.graph.enumerate_traverse()
    gf.update_inclusive_columns()
    answers.append({
        "graph": json.dumps(gf.to_dict(), default=plain), "literal": json.dumps(gf.to_literal(), default=plain),
        "own": int(gf.dataframe["time"].sum()), "frames": len(gf.dataframe),
    })
print(json.dumps(answers))
