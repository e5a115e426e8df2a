"""What is recorded of torch where torch does what it does on a GPU, with libraries that say so in its place."""

import json
import shutil

import pytest
from conftest import run_python
from trees import at, load

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="needs cc")

MEMORY = """
import sys, types
import fake_libtorch
import goproton as proton
change = fake_libtorch.allocator()
sys.modules["torch"] = types.ModuleType("torch")
proton.torch.record_memory()
change(0x1000, 1000)  # before the session: the weights
{body}
assert proton.torch.problem() is None, proton.torch.problem()
"""


def peak(library, tmp_path, body, name="p"):
    run_python(MEMORY.format(body=body), env={"PROTON_LIB": library}, cwd=tmp_path)
    root = json.loads((tmp_path / f"{name}.hatchet").read_text())[0]
    return {child["frame"]["name"]: child["metrics"]["peak_bytes"] for child in root["children"] if "peak_bytes" in child["metrics"]}


@pytest.mark.parametrize("end", ["", "proton.deactivate()", "proton.deactivate(flushing=True)"])
@pytest.mark.parametrize("work, rows", [
    ("change(0x2000, 500)", {"<allocated before>": 1000, "step": 500}),
    ("change(0x1000, -1000)", {"<allocated before>": 1000}),
    ("pass", {"<allocated before>": 1000}),
], ids=["allocates", "frees", "nothing"])
def test_what_was_allocated_before_is_in_the_peak_of_a_deactivated_session(library, tmp_path, work, rows, end):
    body = "proton.start('other'); change(0x3000, 8); change(0x3000, -8); proton.finalize()\n" \
           f"proton.start('p')\nwith proton.scope('step'): {work}\n{end}\nproton.finalize()"
    assert peak(library, tmp_path, body) == rows


def test_the_first_report_of_a_session_is_of_freed_memory(library, tmp_path):
    """No session before it has seen the GPU."""
    assert peak(library, tmp_path, "proton.start('p'); change(0x1000, -1000); proton.deactivate(); proton.finalize()") == {"<allocated before>": 1000}


def test_peak_of_a_profiled_function(library, tmp_path):
    """@proton.profile deactivates its session, also between calls."""
    body = """
@proton.profile(name="p")
def step(address):
    with proton.scope("step"): change(address, 500)
step(0x2000); step(0x3000)
proton.finalize()
"""
    assert peak(library, tmp_path, body) == {"<allocated before>": 1000, "step": 1000}


MODULES = """
import sys, types
import fake_libtorch
import goproton as proton
from goproton import _library

class Module:
    def __call__(self, *arguments): return self.forward(*arguments)
    def named_modules(self): return [("", self)]

torch = sys.modules["torch"] = types.ModuleType("torch")
torch.nn = types.SimpleNamespace(Module=Module)
torch.compiler = types.SimpleNamespace(is_compiling=lambda: False)
operators = fake_libtorch.Operators()
session = proton.start("p")
from goproton import torch as words
from goproton._torch import modules
problem = _library.native.torch_begin(words.MODULES, operators.sample, None)
assert problem is None, problem
modules.watch(_library.native)

def here(metric): _library.native.add_metrics({{metric: 1}})

class Net(Module):
    def forward(self, n):
        here(f"before {{n}}")
        if n: {inner}
        here(f"after {{n}}")

net = Net()
with proton.scope("step"): net(2)
proton.finalize()
"""


@pytest.mark.parametrize("inner", ["net(n - 1)", "Net()(n - 1)"])
def test_a_module_that_calls_itself(library, tmp_path, inner):
    """What runs after the inner call is still the outer one's. Of two modules of one name the inner one has no frame."""
    run_python(MODULES.format(inner=inner), env={"PROTON_LIB": library}, cwd=tmp_path)
    root = load(tmp_path / "p.hatchet")
    assert at(root, "step", "Net")["metrics"] == {f"{when} {n}": 1 for when in ("before", "after") for n in range(3)}
    assert at(root, "step")["metrics"] == {} and at(root, "step", "Net")["children"] == []


def test_a_module_that_calls_itself_while_nothing_is_recorded(library, tmp_path):
    """The calls of a deactivated session open no frame, and close none."""
    run_python(MODULES.format(inner="proton.deactivate(); net(n - 1); proton.activate()"), env={"PROTON_LIB": library}, cwd=tmp_path)
    root = load(tmp_path / "p.hatchet")
    assert at(root, "step", "Net")["metrics"] == {"before 2": 1, "after 2": 1, "after 1": 1} and at(root, "step")["metrics"] == {}


HOOKS = """
import sys, types
import fake_libtorch
import goproton as proton
from goproton import _library

sys.modules["torch"] = types.ModuleType("torch")
operators = fake_libtorch.Operators()
session = proton.start("p")
from goproton import torch as words
problem = _library.native.torch_begin(words.OPERATORS, operators.sample, None)
assert problem is None, problem

def here(metric): _library.native.add_metrics({{metric: 1}})

{made}
with proton.scope("step"):
    with operators.running(b"A"):
        with operators.running(b"inner"):
            {enter}
            here("entered")
        here("later in A")
    here("between")
    with operators.running(b"B"):
        here("in B")
        {leave}
        here("left")
    here("after")
here("outside")
proton.finalize()
"""


@pytest.mark.parametrize("made, enter, leave", [
    ("", "proton.enter_scope('x')", "proton.exit_scope('x')"),
    ("s = proton.scope('x')", "s.__enter__()", "s.__exit__(None, None, None)"),
    ("s = proton.cpu_timed_scope('x')", "s.__enter__()", "s.__exit__(None, None, None)"),
], ids=["functions", "scope", "timed"])
def test_a_scope_from_one_operator_to_another(library, tmp_path, made, enter, leave):
    """As hooks of a backward pass may open it: it goes on when the operator around it ends, and what runs when it ends goes on, too."""
    run_python(HOOKS.format(made=made, enter=enter, leave=leave), env={"PROTON_LIB": library}, cwd=tmp_path)
    found = {}

    def visit(node, path):
        for metric in node["metrics"]:
            if node["metrics"][metric]:
                found.setdefault(metric, []).append("/".join(path))
        for child in node["children"]:
            visit(child, [*path, child["frame"]["name"]])

    visit(load(tmp_path / "p.hatchet"), [])
    timed = found.pop("cpu_time (ns)", None)
    assert found == {"entered": ["step/A/inner/x"], "later in A": ["step/A/x"], "between": ["step/x"], "in B": ["step/x/B"],
                     "left": ["step/B"], "after": ["step"], "outside": [""]}
    assert timed == (["step/x"] if "timed" in made else None)
