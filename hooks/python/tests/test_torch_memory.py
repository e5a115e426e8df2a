"""Memory of PyTorch's allocator by call path, on the CPU's, against the sizes of tensors and torch.profiler."""

import json

import pytest

from test_torch import run_python, torch_python  # noqa: F401
from test_torch_work import nodes

PROGRAM = """
import json, sys, threading
import goproton as proton
import torch
from goproton._torch import memory

memory._everywhere = 1  # the CPU's allocator too
{body}
if proton.torch.problem():
    sys.exit(proton.torch.problem())
"""

RECORD = """
def record(work, context="shadow", name="profile"):
    proton.start(name, context=context)
    proton.torch.record_memory()
    keep = work()
    proton.finalize()
    proton.torch.record_memory(False)
"""


def run(python, folder, body):
    done = run_python(PROGRAM.format(body=RECORD + body), python=python, cwd=folder, env={"CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return done.stdout


def by_scope(folder, metric):
    return {path[-1]: metrics[metric] for path, metrics in nodes(folder) if path and metrics.get(metric)}


def test_who_allocated_what_lives_at_the_peak(library, torch_python, tmp_path):  # noqa: F811
    run(torch_python, tmp_path, """
def work():
    with proton.scope("kept"): kept = torch.empty(1000)
    with proton.scope("at the peak"): large = torch.empty(5000)
    with proton.scope("freed before"):
        for _ in range(3): torch.empty(300)
    with proton.scope("last"): last = torch.empty(700)
    del large
    with proton.scope("after"): after = [torch.empty(400) for _ in range(3)]
    return kept, last, after
record(work)
""")
    assert by_scope(tmp_path, "alloc_bytes") == {"kept": 4000, "at the peak": 20000, "freed before": 3600, "last": 2800, "after": 4800}
    assert by_scope(tmp_path, "allocs") == {"kept": 1, "at the peak": 1, "freed before": 3, "last": 1, "after": 3}
    assert by_scope(tmp_path, "peak_bytes") == {"kept": 4000, "at the peak": 20000, "last": 2800}


def test_sessions_begin_anew(library, torch_python, tmp_path):  # noqa: F811
    run(torch_python, tmp_path, """
def first():
    with proton.scope("one"): return torch.empty(1000)
def second():
    with proton.scope("two"): return torch.empty(10)
record(first, name="other")
record(second)
""")
    assert by_scope(tmp_path, "peak_bytes")["two"] == 40 and "one" not in by_scope(tmp_path, "peak_bytes")


def test_two_sessions_have_the_same_peak(library, torch_python, tmp_path):  # noqa: F811
    """The first that ends must not take the metric away from the other one, or count it there twice."""
    run(torch_python, tmp_path, """
other = proton.start("other")
def work():
    with proton.scope("one"): one = torch.empty(1000)
    proton.finalize(other)
    with proton.scope("one"): two = torch.empty(500)
    return one, two
record(work)
""")
    assert by_scope(tmp_path, "peak_bytes") == {"one": 6000}
    assert by_scope(tmp_path, "alloc_bytes") == {"one": 6000}


RANDOM = """
import random
random.seed({seed})
torch.manual_seed({seed})

def thread(name, steps, live):
    for _ in range(steps):
        with proton.scope(f"{{name}} {{random.randrange(5)}}"):
            if live and random.random() < 0.45:
                live.pop(random.randrange(len(live)))
            else:
                live.append(torch.empty(random.randrange(1, 3000), dtype=random.choice([torch.float32, torch.int8, torch.float64])))

def work():
    lives = [[] for _ in range(3)]
    for round in range(3):  # one thread after another, so that Python below follows the same order
        for i, live in enumerate(lives):
            one = threading.Thread(target=thread, args=(f"thread {{i}}", 60, live))
            one.start()
            one.join()
    return lives

# Second derivation: every block and its scope, from torch.empty and the lists' own removals.
class Live(list):
    pass
total = peak = 0
blocks, at_peak, sums = {{}}, {{}}, {{}}
empty, scope = torch.empty, proton.scope
current = None

class counted:
    def __init__(self, name):
        self.name, self.inner = name, scope(name)
    def __enter__(self):
        global current
        current = self.name
        return self.inner.__enter__()
    def __exit__(self, *e):
        return self.inner.__exit__(*e)

def counting(*args, **options):
    global total, peak, at_peak
    tensor = empty(*args, **options)
    size, name = tensor.nbytes, current
    total += size
    sums[name] = sums.get(name, 0) + size
    blocks[id(tensor)] = (name, size)
    import weakref
    def gone(key=id(tensor), size=size):
        global total
        total -= size
        blocks.pop(key)
    weakref.finalize(tensor, gone)
    if total > peak:
        peak, at_peak = total, {{}}
        for name, size in blocks.values():
            at_peak[name] = at_peak.get(name, 0) + size
    return tensor

torch.empty, proton.scope = counting, counted
record(work)
print(json.dumps([sums, at_peak]))
"""


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_against_a_count_in_python(library, torch_python, tmp_path, seed):  # noqa: F811
    said = run(torch_python, tmp_path, RANDOM.format(seed=seed))
    sums, at_peak = json.loads(said.splitlines()[-1])
    assert by_scope(tmp_path, "alloc_bytes") == sums
    assert by_scope(tmp_path, "peak_bytes") == at_peak


def test_torch_profiler_sees_the_same_memory(library, torch_python, tmp_path):  # noqa: F811
    """torch.profiler gets its reports as before, and both count the same bytes."""
    said = run(torch_python, tmp_path, """
from torch.profiler import ProfilerActivity, profile
model = torch.nn.Sequential(torch.nn.Linear(40, 80), torch.nn.ReLU(), torch.nn.Linear(80, 10))
x = torch.randn(30, 40)
def step():
    with proton.scope("step"):
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as p:
            model(x).sum().backward()
    global theirs
    theirs = sum(e.nbytes() for e in p.profiler.kineto_results.events() if e.name() == "[memory]" and e.nbytes() > 0)
record(step)
print(theirs)
""")
    ours = sum(metrics.get("alloc_bytes", 0) for path, metrics in nodes(tmp_path) if path)
    assert ours == int(said.split()[-1]) > 10000


def test_a_torch_without_a_gpu_says_so(library, torch_python, tmp_path):  # noqa: F811
    """A build for the CPU has no allocator for GPUs; the program runs on."""
    body = "import ctypes\nmemory._everywhere = 0\nproton.start('profile')\nproton.torch.record_memory()\nx = torch.empty(1000)\nproton.finalize()\n" \
           "if not torch.version.cuda: assert 'allocator' in proton.torch.problem()\nmemory.problem = None\n"
    run(torch_python, tmp_path, body)


def test_the_counter_of_a_timeline_has_the_numbers_of_the_tree(library, torch_python, tmp_path):  # noqa: F811
    """Its steps up are what was allocated, and its highest value is what the tree says of the peak."""
    run(torch_python, tmp_path, """
timeline = proton.start("timeline", data="timeline")
def work():
    with proton.scope("kept"): kept = torch.empty(1000)
    with proton.scope("at the peak"): large = torch.empty(5000)
    del large
    with proton.scope("after"): after = [torch.empty(400) for _ in range(3)]
    return kept, after
record(work)
""")
    events = json.loads((tmp_path / "timeline.chrome_trace").read_text())["traceEvents"]
    values = [event["args"]["counted"] for event in events if event["ph"] == "C" and event["name"] == "CPU allocated"]
    steps = [after - before for before, after in zip(values, values[1:])]
    assert steps == [20000, -20000, 1600, 1600, 1600]
    assert max(values) == sum(by_scope(tmp_path, "peak_bytes").values())
    assert 4000 + sum(step for step in steps if step > 0) == sum(by_scope(tmp_path, "alloc_bytes").values())
