"""Tensors as metrics in graphs: a node of the graph, which the fake driver carries out at each replay, reads them."""

import json

import pytest
from conftest import REPOSITORY, run_python
from trees import at, names

STUB = REPOSITORY / "build" / "stub"

PRELUDE = """
import fake_gpu, fake_torch, json, sys
from fake_torch import Tensor
torch = fake_torch.make()
fake_gpu.init()
work, metadata = fake_gpu.function("work"), fake_gpu.function("metadata kernel")
stream = fake_torch.current[0] = fake_gpu.stream()
import goproton as proton

class Graph(fake_gpu.Graph):
    def __enter__(self):
        fake_torch.capturing[0] = True
        return super().__enter__()

    def __exit__(self, *exc):
        fake_torch.capturing[0] = False
        super().__exit__(*exc)

def replay(graph, n=1, name="replay"):
    with proton.scope(name):
        for _ in range(n):
            graph.replay()
"""


@pytest.fixture
def run(library, tmp_path):
    if not (STUB / "libcuda.so.1").exists():
        pytest.skip("needs build/stub: make build")

    def one(code, **env):
        env = {"PROTON_LIB": library, "LD_LIBRARY_PATH": str(STUB), "PROTON_CUPTI_PATH": str(STUB / "libcupti.so"), **env}
        return run_python(PRELUDE + code, env=env, cwd=tmp_path)
    return one


@pytest.fixture
def tree(tmp_path):
    def read(name="p"):
        return json.loads((tmp_path / f"{name}.hatchet").read_text())[0]
    return read


def test_a_scope_has_the_sum_over_the_replays(run, tree):
    done = run("""
proton.start("p")
x, n, v = Tensor(1.5), Tensor(2, dtype="int64"), Tensor(1, 2, 3, dtype="int32")
with Graph(stream) as g:
    with proton.scope("s", {"x": x, "n": n, "v": v}):
        fake_gpu.launch(work, stream)
replay(g, 2)
x.set(10.0), n.set(40), v.set(100, 200, 300)
replay(g)
proton.finalize()
""")
    assert done.stderr == ""
    root = tree()
    assert names(root) == ["replay"]
    s = at(root, "replay", "<captured_at>", "s")
    assert s["metrics"] == {"x": 13.0, "n": 44, "v": [102, 204, 306]}
    assert at(s, "work")["metrics"]["count"] == 3
    assert at(s, "__proton_launch_metadata", "<metric>")["metrics"]["count"] == 9


def test_a_launch_hook_and_its_kernels(run, tree):
    run("""
from triton.compiler import LazyDict
def describe():
    fake_gpu.launch(metadata, stream)
    return {"name": "owner", "flops": flops, "bytes": size}
class Lazy:
    def __init__(self): self.data, self.extras = {"name": "kernel", "function": work, "stream": stream}, [1]
    def get(self): return {**self.data, **describe()}
flops, size = Tensor(8, dtype="int64"), Tensor(64.0)
session = proton.start("p", hook="triton")
from goproton import _library
with Graph(stream) as g:
    _library.native.launch_enter(Lazy())
    fake_gpu.launch(work, stream)
    _library.native.launch_exit(None)
replay(g, 5)
proton.finalize()
""".replace("from triton.compiler import LazyDict\n", ""))
    captured = at(tree(), "replay", "<captured_at>")
    owner = at(captured, "owner")["metrics"]
    assert (owner["flops"], owner["bytes"], owner["count"]) == (40.0, 320, 5)
    assert isinstance(owner["flops"], float) and isinstance(owner["bytes"], int)
    inside = at(captured, "__proton_launch_metadata", "kernel")
    assert names(inside) == ["metadata kernel", "<metric>"]
    assert at(inside, "<metric>")["metrics"]["count"] == 10
