"""What the native module costs, in nanoseconds: python3 bench_native.py path/to/testlib.so

The best of several rounds, with the loop's own cost included (a few ns). The library is hooks/internal/testlib.
"""

import importlib.util, json, sys, time, timeit
from importlib.machinery import ExtensionFileLoader

loader = ExtensionFileLoader("goproton._native", sys.argv[1])
n = importlib.util.module_from_spec(importlib.util.spec_from_file_location("goproton._native", sys.argv[1], loader=loader))
ROUNDS, NUMBER = 7, 100_000


def start(python=False):
    n.call("start", json.dumps({"Shadow": True, "Python": python, "Fresh": True}))


class LazyDict:
    """As Triton has it."""

    def __init__(self, data):
        self.data, self.extras = data, []

    def get(self):
        for func, args in self.extras:
            self.data = self.data | func(*args)
        self.extras.clear()
        return self.data


class Queued(LazyDict):
    """Always looks as if a metadata function were waiting, so that get() is called every time."""

    def __init__(self, data):
        super().__init__(data)
        self.extras = [None]

    def get(self):
        return self.data


METADATA = {"name": "kernel", "function": 1, "stream": 0, "flops32": 1e9, "bytes": 4096}
CASES = [
    ("with scope('x'): pass", "with scope('x'): pass"),
    ("with s: pass", "with s: pass"),
    ("with scope('x', {3 ints}): pass", "with scope('m', {'a': 1, 'b': 2, 'c': 3}): pass"),
    ("with cpu_timed_scope('x'): pass", "with timed('t'): pass"),
    ("launch_enter, no metrics", "launch_enter(plain)"),
    ("launch_enter, two metrics", "launch_enter(evaluated)"),
    ("launch_enter, two metrics, get()", "launch_enter(queued)"),
    ("get() alone", "queued.get()"),
    ("record_scope() (the price of a call)", "record_scope()"),
]


def measure(title):
    space = dict(scope=n.scope, s=n.scope("s"), timed=n.cpu_timed_scope, launch_enter=n.launch_enter, record_scope=n.record_scope,
                 plain=LazyDict({"name": "plain", "function": 1, "stream": 0}), evaluated=LazyDict(METADATA), queued=Queued(METADATA))
    print(title)
    for name, statement in CASES:
        best = min(timeit.repeat(statement, globals=space, number=NUMBER, repeat=ROUNDS)) / NUMBER * 1e9
        print(f"  {name:40s} {best:8.1f}")
    n.exit_op()


def below(depth, function):
    return function() if depth == 0 else below(depth - 1, function)


def leaf():
    look = n.leaf
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        for _ in range(NUMBER):
            look()
        best = min(best, (time.perf_counter_ns() - begin) / NUMBER)
    return best


print(sys.version.split()[0])
measure("off")
start()
measure("shadow")
shadow = leaf()
start(python=True)
measure("shadow and python")
print("unchanged Python stack, walker " + n.python_walker())
shallow = below(0, leaf)
print(f"  the call itself, without a walk          {shadow:8.1f}")
print(f"  the shallowest stack                     {shallow:8.1f}")
for depth in (22, 100):
    deep = below(depth, leaf)
    print(f"  {depth:3d} frames more                          {deep:8.1f}  ({(deep - shallow) / depth:.1f} a frame)")
