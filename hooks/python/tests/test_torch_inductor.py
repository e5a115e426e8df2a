"""What Inductor says about the kernels of torch.compile: the reader of its files, and Inductor itself, whose Triton kernels are made
for a GPU that is not there and are not run.
"""

import gc
import random
import re
import sys
import types
import weakref

import pytest

from conftest import ORACLES, run_python
from goproton._torch import inductor
from test_torch import paths, torch_python  # noqa: F401
from test_torch_work import nodes

# As torch 2.15 writes it; torch 2.4 to 2.6 leave out "Topologically Sorted" and the graph.
WRITTEN = """\
# kernel path: /tmp/torchinductor_me/oh/cohmcvtknq3gtr6adtetnebqbd3q5udnjiez2fet35lo6iu5ytk2.py
# Topologically Sorted Source Nodes: [y_1, sigmoid, mul, x, le_1], Original ATen: [aten.relu, aten.sigmoid, aten.mul, aten.add, aten.threshold_backward]
# Source node to ATen node mapping:
#   y_1 => relu
# Graph fragment:
#   %relu : Tensor "f32[4, 8][8, 1]cuda:0"[num_users=2] = call_function[target=torch.ops.aten.relu.default](args = (%addmm,), kwargs = {})
#   return %add,%le_1
triton_poi_fused_relu_0 = async_compile.triton('triton_poi_fused_relu_0', '''
# a comment of the kernel
def triton_poi_fused_relu_0(in_ptr0, xnumel, XBLOCK : tl.constexpr):
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
''', device_str='cuda')

# Source Nodes: [y_3], Original ATen: [aten.tanh]
# y_3 => tanh
triton_poi_fused_tanh_1 = async_compile.triton('triton_poi_fused_tanh_1', '''source''')

# Original path: /home/me/model.py:12
mine_2 = async_compile.triton('mine_2', '''source''')

def call(args):
    # Topologically Sorted Source Nodes: [y], Original ATen: [aten.t, aten.addmm]
    extern_kernels.addmm(primals_2, primals_3, out=buf0)
    # Topologically Sorted Source Nodes: [y_1], Original ATen: [aten.relu]
    triton_poi_fused_relu_0.run(buf0, 32, stream=stream0)
    only_launched_3.run(buf0, 32, stream=stream0)
"""


def read(text, folder):
    path = folder / f"wrapper{random.random()}.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return inductor.origins(str(path))


def test_operators_of_kernels(tmp_path):
    assert read(WRITTEN, tmp_path) == {
        "triton_poi_fused_relu_0": "aten::relu+aten::sigmoid+aten::mul+aten::add+aten::threshold_backward", "triton_poi_fused_tanh_1": "aten::tanh",
        "mine_2": "", "only_launched_3": ""}
    assert inductor.origins(str(tmp_path / "gone.py")) == {}


def test_more_operators_than_a_name_has(tmp_path):
    operators = [f"aten.o{i}" for i in range(9)]
    assert read(f"# Original ATen: [{', '.join(operators)}]\nk = async_compile.triton(", tmp_path)["k"] == \
        "aten::o0+aten::o1+aten::o2+aten::o3+aten::o4+aten::o5 and 3 more"


def test_files_of_any_content_are_read(tmp_path):
    """Every kernel that is found is one of the file, and every operator is in a comment of it."""
    r = random.Random(7)
    lines = WRITTEN.encode().splitlines(keepends=True)
    for _ in range(400):
        text = bytearray(b"".join(r.choice(lines) for _ in range(r.randrange(12))))
        for _ in range(r.randrange(6)):
            at = r.randrange(len(text) + 1)
            text[at:at + r.randrange(4)] = r.choice([b"", b"[", b"]", b"\xff", b"\0", b"\n", b",,", b"Original ATen: [", bytes([r.randrange(256)])])
        for kernel, operators in read(bytes(text), tmp_path).items():
            shown = text.decode(errors="replace")
            assert re.search(rf"\b{re.escape(kernel)}( = async_compile\.|\.run\()", shown)
            assert all(name.replace("::", ".", 1) in shown.replace(" ", "") for name in re.sub(r" and \d+ more$", "", operators).split("+"))


class Kernel:
    """One of Inductor's."""


def test_kernels_that_are_dropped_are_freed():
    """torch can drop a compiled graph: what is known of its kernels must not keep them."""
    module = types.ModuleType("wrapper")
    exec(compile("def call(see): return see()", "wrapper.py", "exec"), module.__dict__)
    module.kernel = Kernel()
    wrappers = weakref.WeakKeyDictionary()
    wrapper = wrappers[module.kernel] = module.call(lambda: inductor._Wrapper(module.kernel, sys._getframe(1)))
    assert wrapper.path == "wrapper.py"
    assert module.call(lambda: wrapper.frames(sys._getframe(1))) == () and len(wrapper.known) == 1
    assert wrapper.frames(sys._getframe()) == () and len(wrapper.known) == 1  # not a launch of that file
    kernel = weakref.ref(module.kernel)
    del module, wrapper
    gc.collect()
    assert kernel() is None and not wrappers


LINES = """
import sys
import torch
from torch._inductor.codecache import PyCodeCache
from goproton._torch import inductor
PyCodeCache.linemaps["wrapper.py"] = [(3, 9, 12), ('  File "/home/me/train.py", line 5, in step\\n    y = model(x)\\n'
    f'  File "{torch.__file__}", line 7, in call\\n    f()\\n  File "/home/me/a model.py", line 12, in forward\\n    return x + 1\\n', None, "nonsense")]
PyCodeCache.linemaps["empty.py"] = []
lines = inductor.lines
both = "/home/me/train.py:5@step", "/home/me/a model.py:12@forward"
assert [lines("wrapper.py", line) for line in (2, 3, 8, 9, 12)] == [(), both, both, (), ()]
assert lines("empty.py", 3) == lines("other.py", 3) == ()
assert inductor.problem is None
PyCodeCache.linemaps["wrapper.py"] = 7
PyCodeCache.stack_frames_for_code.cache_clear() if hasattr(PyCodeCache.stack_frames_for_code, "cache_clear") else None
assert lines("wrapper.py", 4) == () and "lines of the program" in inductor.problem
"""


def test_lines_of_the_program(library, torch_python):  # noqa: F811
    run_python(LINES, python=torch_python, env={"CUDA_VISIBLE_DEVICES": ""})


MODEL = """\
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.linear(x)) * 3

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x):
        x = self.first(x)
        return self.second(x)
"""

COMPILED = """
import goproton as proton
import torch, triton
from goproton import _library
from torch._inductor import async_compile, config
from torch._inductor.runtime import triton_heuristics
from triton.backends.compiler import GPUTarget

class Driver:
    def get_current_target(self): return GPUTarget("cuda", 90, 32)
    def get_current_device(self): return 0

class Kernel(triton_heuristics.CachingAutotuner):
    def __init__(self, name): self.name = name

def launched(self, *args, stream):
    _library.native.add_metrics({"launched": 1})

triton.runtime.driver.set_active(Driver())
triton_heuristics.CachingAutotuner.run = launched
async_compile.AsyncCompile.triton = lambda self, name, source, **options: Kernel(name)
config.cpu_backend, config.compile_threads, config.force_disable_caches = "triton", 1, True

import model
proton.start("profile")
proton.torch.install()
with torch.no_grad():
    compiled = torch.compile(model.Net())
    for _ in range(3):
        compiled(torch.ones(4, 8))
proton.finalize()
assert proton.torch.problem() is None, proton.torch.problem()
"""


def test_kernels_stand_below_the_lines_of_the_program(library, torch_python, tmp_path):  # noqa: F811
    """One kernel, which both blocks launch, has a call path for each."""
    triton = ORACLES / "triton-3.9.0"
    if not triton.exists():
        pytest.skip(f"{triton} is not there; make oracles")
    said = run_python("import torch._inductor.config as c; print(hasattr(c, 'cpu_backend'))", python=torch_python, path=[triton])
    if "True" not in said.stdout:
        pytest.skip("this torch makes Triton kernels for GPUs only")
    (tmp_path / "model.py").write_text(MODEL)
    run_python(COMPILED, python=torch_python, path=[triton, tmp_path], cwd=tmp_path, env={"CUDA_VISIBLE_DEVICES": ""})
    found = [path[-3:] for path in paths(tmp_path, "launched")]
    file = tmp_path / "model.py"
    assert sorted(found) == [[f"{file}:{line}@forward", f"{file}:9@forward", "aten::relu+aten::mul"] for line in (17, 18)]
    assert sum(metrics.get("launched", 0) for path, metrics in nodes(tmp_path) if path) == 6


AUTOTUNED = """
import goproton as proton
s = proton.start("p", hook="triton", backend="cupti")
from torch._inductor.runtime.triton_heuristics import CachingAutotuner as C
assert C.bench.__name__ == "bench" and hasattr(C.bench, "__wrapped__")
proton.finalize()
assert not hasattr(C.bench, "__wrapped__")
"""


def test_inductors_autotuner_has_a_frame(library, torch_python, tmp_path):  # noqa: F811
    triton = ORACLES / "triton-3.9.0"
    if not triton.exists():
        pytest.skip(f"{triton} is not there; make oracles")
    run_python(AUTOTUNED, python=torch_python, path=[triton], cwd=tmp_path, env={"CUDA_VISIBLE_DEVICES": "", "PROTON_LIB": library})
