"""The tree of a .hatchet file, for checks that read it with Python alone."""


def walk(node, path=()):
    """Every node's names from the root, and its metrics."""
    path = path + (node["frame"]["name"],)
    yield path, node["metrics"]
    for child in node["children"]:
        yield from walk(child, path)


def total(root, *within, metric="count"):
    """The sum of a metric over the nodes whose paths have a frame with each of these texts in its name."""
    return sum(m.get(metric, 0) for p, m in walk(root) if all(any(part in frame for frame in p) for part in within))
