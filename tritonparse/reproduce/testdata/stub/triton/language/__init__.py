class constexpr:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"constexpr[{getattr(self.value, 'name', self.value)}]"


class dtype:
    def __init__(self, name):
        self.name = name


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return dtype(name)
