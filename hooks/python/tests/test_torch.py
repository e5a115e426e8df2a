"""Frames of PyTorch, on its CPU operators: metrics show the call path that a launch would have."""

import json
import os
import subprocess
import sys

import pytest

from conftest import run_python
from test_windows import STUB, walk
from trees import load

# An interpreter with torch: TORCH_PYTHON, or the one of the tests.
TORCH = os.environ.get("TORCH_PYTHON") or sys.executable


@pytest.fixture(scope="module")
def torch_python():
    said = subprocess.run([TORCH, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True)
    if said.returncode:
        pytest.skip("needs PyTorch, which tools/oracles.sh fetches for make check; or set TORCH_PYTHON to an interpreter that has it")
    return TORCH


PROGRAM = """
import json, sys, threading
import goproton as proton
from goproton import _library

proton.start("profile", context=sys.argv[1])
{install}
import torch

def here(metric):
    _library.native.add_metrics({{metric: 1}})

class Probe(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        here("forward")
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        here("backward")
        return gradient * 2

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = torch.nn.Linear(4, 4)

    def forward(self, x):
        return Probe.apply(self.linear1(x))

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

{body}
proton.finalize()
problem = proton.torch.problem() if "goproton.torch" in sys.modules else None
if problem:
    sys.exit(problem)
"""

TRAIN = """
net = Net()
with proton.scope("forward pass"):
    loss = net(torch.ones(3, 4)).sum()
with proton.scope("backward pass"):
    loss.backward()
"""


def paths(folder, metric):
    """The call paths that have a metric of their own, root first."""
    found = []

    def visit(node, above):
        path = [*above, node["frame"]["name"]]
        if node["metrics"].get(metric):  # the root has all metrics, as 0
            found.append(path[1:])
        for child in node["children"]:
            visit(child, path)

    visit(json.loads((folder / "profile.hatchet").read_text())[0], [])
    return found


def run(torch_python, folder, context, body=TRAIN, install="proton.torch.install()"):
    done = run_python(PROGRAM.format(install=install, body=body), context, python=torch_python, cwd=folder,
                      env={"CUDA_VISIBLE_DEVICES": ""})
    assert "Traceback" not in done.stderr, done.stderr


def test_operators_and_modules_of_both_passes(library, torch_python, tmp_path):
    run(torch_python, tmp_path, "shadow")
    assert paths(tmp_path, "forward") == [["forward pass", "Net", f"Net.layers.{i}", "Probe"] for i in (0, 1)]
    assert paths(tmp_path, "backward") == [["backward pass", "Net", f"Net.layers.{i}", "ProbeBackward"] for i in (1, 0)]


@pytest.mark.parametrize("install, forward, backward", [
    ("proton.torch.install(modules=False)", ["Probe"], ["ProbeBackward"]),
    ("proton.torch.install(operators=False)", ["Net", "Net.layers.0"], ["Net", "Net.layers.0"]),
    ("proton.torch.install(); proton.torch.uninstall()", [], []),
    ("", [], []),
])
def test_each_can_be_switched(library, torch_python, tmp_path, install, forward, backward):
    run(torch_python, tmp_path, "shadow", install=install)
    assert ["forward pass", *forward] in paths(tmp_path, "forward")
    assert ["backward pass", *backward] in paths(tmp_path, "backward")


def names(path):
    return [frame.rsplit("@", 1)[-1] for frame in path]


def test_backward_stands_below_the_forward_operator(library, torch_python, tmp_path):
    """In python context, without any call of goproton.torch."""
    run(torch_python, tmp_path, "python", body="def train():" + TRAIN.replace("\n", "\n    ") + "\ntrain()", install="")
    (path,) = paths(tmp_path, "backward")
    words = names(path)
    at = words.index("<backward>")
    before, after = ([frame for frame in part if not frame.endswith("@apply")] for part in (path[:at], path[at + 1:]))  # C++ since 2.15
    assert words[:2] == ["<module>", "train"] and before[-1].startswith("<string>") and before[-1].endswith("@forward"), path  # Block's
    assert names(after)[0] == "backward", path  # Probe's
    assert "_engine_run_backward" not in words


WITHIN_A_BUDGET = """
def train():
    net, rounds = Net(), 0
    while (_library.call("status").get("budget") or {}).get("paths_left_out", 0) < 3000:
        for _ in range(100):
            net(torch.ones(3, 4)).sum().backward()
            fake_gpu.launch(kernel)
        rounds += 100
    return rounds
rounds = train()
_library.native.add_metrics({"rounds": rounds})
"""


def test_with_a_budget_a_part_of_the_operators_is_observed(library, torch_python, tmp_path):
    """Nodes of backward passes stand where their operators were, or below a frame that says that it was not taken."""
    if not (STUB / "libcupti.so").exists():
        pytest.skip("needs build/stub: make build")
    driver = f"import ctypes; ctypes.CDLL({str(STUB / 'libcuda.so.1')!r}); import fake_gpu; fake_gpu.init(); kernel = fake_gpu.function('k')\n"
    program = driver + PROGRAM.replace("context=sys.argv[1]", 'context=sys.argv[1], backend="cupti", budget="0.01%"')
    done = run_python(program.format(install="", body=WITHIN_A_BUDGET), "python", python=torch_python, cwd=tmp_path,
                      env={"CUDA_VISIBLE_DEVICES": "", "PROTON_CUPTI_PATH": str(STUB / "libcupti.so")})
    assert "Traceback" not in done.stderr, done.stderr
    backward = [names(path) for path in paths(tmp_path, "backward")]
    left_out = [words for words in backward if words[0] == "(path not taken)"]
    assert [words[1] for words in left_out] == ["<backward>"], backward
    for words in backward:
        assert words.count("<backward>") == 1, words
        if words not in left_out:
            before = [frame for frame in words[:words.index("<backward>")] if frame != "apply"]
            assert before[:2] == ["<module>", "train"] and before[-1] == "forward", words
    every = [metrics for _, metrics in walk(load(tmp_path / "profile.hatchet"))]
    counted = {metric: sum(metrics.get(metric, 0) for metrics in every) for metric in ("forward", "backward", "rounds")}
    assert counted["forward"] == counted["backward"] == 2 * counted["rounds"], counted


def test_metrics_in_python_context_have_the_frames_of_both(library, torch_python, tmp_path):
    """Operators and modules are frames behind the Python frames, each once, also the one that a metric is added in."""
    run(torch_python, tmp_path, "python")
    for metric, operator in ("forward", "Probe"), ("backward", "ProbeBackward"):
        ends = sorted(names(path)[-4:] for path in paths(tmp_path, metric))
        assert ends == [["here", "Net", f"Net.layers.{i}", operator] for i in (0, 1)]


THREADS = """
nets = [Net() for _ in range(4)]
losses = [None] * 4

def forward(i):
    with proton.scope(f"thread {i}"):
        losses[i] = nets[i](torch.ones(3, 4)).sum()

threads = [threading.Thread(target=forward, args=[i]) for i in range(4)]
for one in threads: one.start()
for one in threads: one.join()
for i in (3, 1, 0, 2):
    with proton.scope(f"backward {i}"):
        losses[i].backward()
"""


def test_backward_finds_the_thread_of_its_forward_pass(library, torch_python, tmp_path):
    """Numbers of nodes repeat on each thread, so only thread and number together find the module."""
    run(torch_python, tmp_path, "shadow", body=THREADS)
    for i in range(4):
        expected = [[f"backward {i}", "Net", f"Net.layers.{layer}", "ProbeBackward"] for layer in (1, 0)]
        assert [path for path in paths(tmp_path, "backward") if path[0] == f"backward {i}"] == expected


RAISES = """
class Broken(torch.nn.Module):
    def forward(self, x):
        torch.ones(2) @ torch.ones(3)

for _ in range(300):
    try:
        Broken()(torch.ones(1))
    except RuntimeError:
        pass
here("forward")
sys.setrecursionlimit(10000)
deep = torch.nn.Identity()
for _ in range(300):
    deep = torch.nn.Sequential(deep)
deep(torch.ones(1))
here("backward")
"""


def test_exceptions_and_depth_leave_nothing_open(library, torch_python, tmp_path):
    run(torch_python, tmp_path, "shadow", body=RAISES)
    assert paths(tmp_path, "forward") == [[]] and paths(tmp_path, "backward") == [[]]


REDUCED = """
import torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
net = Net()
half = torch.nn.parallel.DistributedDataParallel(net)

def reduce(state, bucket):
    here("reduced")
    done = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done

half.register_comm_hook(None, reduce)
half(torch.ones(3, 4)).sum().backward()
dist.destroy_process_group()
"""


def test_gradients_are_reduced_in_the_module_of_the_last_one(library, torch_python, tmp_path):
    """DDP reduces after a node has run, while the engine is busy with it."""
    run(torch_python, tmp_path, "shadow", body=REDUCED)
    first = "DistributedDataParallel.module.layers.0"
    expected = [["DistributedDataParallel", "DistributedDataParallel.module", first, f"{first}.linear1"]]
    assert paths(tmp_path, "reduced") == expected
    run(torch_python, tmp_path, "python", body=REDUCED)
    (path,) = paths(tmp_path, "reduced")
    assert names(path)[-7:] == ["<backward>", "reduce", "here", *expected[0]], path


COMPILED = """
import pathlib, warnings
warnings.simplefilter("error", UserWarning)  # torch's about global hooks

graphs = []

def backend(module, inputs):
    graphs.append(module.code)
    def compiled(*arguments):
        here("compiled")
        return module.forward(*arguments)
    return compiled

class Inner(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x) * 2

class Plain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x) + 1

class Broken(Plain):
    def forward(self, x):
        x = x + 1
        torch._dynamo.graph_break()
        return self.inner(x)

torch.compile(Plain(), backend=backend, fullgraph=True)(torch.ones(3))  # raises where a frame breaks the graph
torch.compile(torch.nn.Sequential(Inner(), Inner()), backend=backend)(torch.ones(3))
torch.compile(Broken(), backend=backend)(torch.ones(3))
class Whole(Plain): pass
whole = Whole()
whole.compile(backend=backend)
for size in 3, 3, 4, 5:
    whole(torch.ones(size))
pathlib.Path(sys.argv[1] + ".graphs").write_text(json.dumps(graphs))
"""


def test_compiled_programs_are_the_same(library, torch_python, tmp_path):
    """Frames of modules change neither what torch.compile makes nor how often, and their names are those of the program's classes."""
    graphs = []
    for install in "proton.torch.install()", "":
        run(torch_python, tmp_path, "shadow", body=COMPILED, install=install)
        graphs.append((tmp_path / "shadow.graphs").read_text())
        found = {"/".join(frame for frame in path if "Region" not in frame) for path in paths(tmp_path, "compiled")}  # some torches say which
        assert found == ({"Plain", "Sequential", "Broken", "Whole"} if install else {""})
    assert graphs[0] == graphs[1]


def test_a_torch_that_is_not_known_changes_nothing(library, torch_python, tmp_path):
    body = "torch.__version__ = '9.0'\nproton.torch.install()\nassert '9.0' in proton.torch.problem()\n" + TRAIN + \
           "proton.torch.uninstall(); proton.torch._problem = None\n"
    run(torch_python, tmp_path, "shadow", body=body, install="")
    assert paths(tmp_path, "backward") == [["backward pass"]]


def test_without_torch_nothing_is_imported(library, tmp_path):
    run_python("import sys, goproton as proton\nproton.start('profile', context='python')\nproton.torch.install()\n"
               "proton.finalize()\nassert 'torch' not in sys.modules\n", cwd=tmp_path)


INDUCTOR = '''
import pathlib
from torch._inductor.runtime import triton_heuristics

class Kernel(triton_heuristics.CachingAutotuner):
    def __init__(self): pass

def launch(self, *args, stream):
    here("launched")
triton_heuristics.CachingAutotuner.run = launch
{install}
pathlib.Path("wrapper.py").write_text("""
# kernel path: /tmp/torchinductor_root/ab/cab.py
# Topologically Sorted Source Nodes: [linear, relu], Original ATen: [aten.addmm, aten.relu]
# Source node to ATen node mapping:
#   linear => add_tensor
triton_poi_fused_addmm_relu_0 = async_compile.triton('triton_poi_fused_addmm_relu_0', 'source')

# Original path: /home/me/model.py:12
mine_1 = async_compile.triton('mine_1', 'source')

def call(args):
    # Topologically Sorted Source Nodes: [linear], Original ATen: [aten.t, aten.addmm]
    pass  # as an extern kernel
    mine_1.run(stream=0)
    # Topologically Sorted Source Nodes: [linear, relu], Original ATen: [aten.addmm, aten.relu]
    triton_poi_fused_addmm_relu_0.run(stream=0)
""")
class async_compile:
    triton = staticmethod(lambda name, source: Kernel())
wrapper = dict(async_compile=async_compile, __file__="wrapper.py")
exec(compile(pathlib.Path("wrapper.py").read_text(), "wrapper.py", "exec"), wrapper)
wrapper["call"]([])
'''


@pytest.mark.parametrize("install, expected", [
    ("proton.torch.install()", [[], ["aten::addmm+aten::relu"]]),
    ("proton.torch.install(operators=False)", [[]]),
    ("proton.torch.uninstall(); proton.torch.install()", [[], ["aten::addmm+aten::relu"]]),
])
def test_kernels_of_inductor_are_named_by_their_origin(library, torch_python, tmp_path, install, expected):
    run(torch_python, tmp_path, "shadow", body=INDUCTOR.replace("{install}", install))
    assert paths(tmp_path, "launched") == expected


def test_an_inductor_that_is_not_known_is_said(library, torch_python, tmp_path):
    body = "from torch._inductor.runtime import triton_heuristics\ndel triton_heuristics.CachingAutotuner.run\nproton.torch.install()\n" + \
           "assert 'torch.compile' in proton.torch.problem()\n" + TRAIN + "proton.torch.uninstall()\n"
    run(torch_python, tmp_path, "shadow", body=body, install="")
    assert ["backward pass", "Net", "Net.layers.0", "ProbeBackward"] in paths(tmp_path, "backward")
