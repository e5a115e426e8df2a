"""The tree of a .hatchet file, read with Python alone."""
import json


class Tree:
    def __init__(self, data):
        """data is what a .hatchet file or data.get() holds: the root, then the devices."""
        self.root, *self.devices = data

    @classmethod
    def read(cls, path):
        with open(path) as file:
            return cls(json.load(file))

    def walk(self, node=None, path=()):
        """Every node's names from the root, and the node."""
        node = node or self.root
        path += (node["frame"]["name"],)
        yield path, node
        for child in node["children"]:
            yield from self.walk(child, path)

    def rows(self):
        """Metrics by path below the root, its names with slashes between."""
        return {"/".join(path[1:]): node["metrics"] for path, node in self.walk()}

    def counts(self):
        return {path: metrics["count"] for path, metrics in self.rows().items() if path and "count" in metrics}

    def total(self, *within, metric="count"):
        """The sum of a metric over the nodes whose paths have a frame with each of these texts in its name."""
        return sum(node["metrics"].get(metric, 0) for path, node in self.walk() if all(any(part in frame for frame in path) for part in within))

    def samples(self, *within):
        return self.total(*within, metric="num_samples")

    def nanos(self, *within):
        return self.total(*within, metric="time (ns)")
