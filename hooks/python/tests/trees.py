"""Reading a profile's tree in tests."""

import json


def load(path):
    """The root node of a .hatchet file."""
    with open(path) as file:
        return json.load(file)[0]


def root_of(data):
    """The root node of what data.get() returns."""
    return data[0]


def names(node):
    return [child["frame"]["name"] for child in node["children"]]


def at(node, *path):
    """The node at a path of frame names; fails, naming what is there, when it is missing."""
    for name in path:
        found = [child for child in node["children"] if child["frame"]["name"] == name]
        assert len(found) == 1, f"{name!r} among {names(node)}"
        node = found[0]
    return node
