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


def test_numbers_of_scopes_count_at_every_replay(run, tree):
    run("""
session = proton.start("p", hook="triton")
with proton.scope("eager", {"bytes": 1}):
    fake_gpu.launch(work)
with Graph(stream) as g:
    for _ in range(10):
        with proton.scope("a", {"bytes": 16}):
            fake_gpu.launch(work, stream)
    with proton.cpu_timed_scope("timed", {"tokens": 2}):
        pass
with proton.scope("eager", {"bytes": 1}):
    fake_gpu.launch(work)
replay(g, 2)
proton.finalize()
""")
    root = tree()
    captured = at(root, "replay", "<captured_at>")
    assert at(captured, "a")["metrics"] == {"bytes": 320} and at(captured, "a", "work")["metrics"]["count"] == 20
    assert at(captured, "timed")["metrics"] == {"tokens": 4}
    assert at(root, "eager")["metrics"] == {"bytes": 2}
    assert list(at(root, "timed")["metrics"]) == ["cpu_time (ns)"]


def test_replays_while_no_session_is_active(run, tree):
    done = run("""
session = proton.start("p")
x = Tensor(1, dtype="int64")
with Graph(stream) as g:
    with proton.scope("s", {"x": x}):
        fake_gpu.launch(work, stream)
for value, active in ((1, False), (10, True), (100, False), (1000, True)):
    x.set(value)
    (proton.activate if active else proton.deactivate)(session)
    replay(g, 3)
proton.finalize()
""")
    assert at(tree(), "replay", "<captured_at>", "s")["metrics"] == {"x": 3030} and done.stderr == ""


def test_what_is_captured_while_no_session_is_active(run, tree):
    run("""
session = proton.start("p")
x, z = Tensor(1.0), Tensor(4.0)
with Graph(stream) as g:
    proton.deactivate(session)
    with proton.scope("b", {"x": x, "y": 2}):
        fake_gpu.launch(work, stream)
    proton.activate(session)
    with proton.scope("c", {"z": z}):
        fake_gpu.launch(work, stream)
replay(g, 5)
proton.finalize()
""")
    captured = at(tree(), "replay", "<captured_at>")
    assert names(captured) == ["c"] and at(captured, "c")["metrics"] == {"z": 20.0}


def test_two_sessions(run, tree):
    run("""
first, second = proton.start("first"), proton.start("second")
proton.deactivate(second)
x = Tensor(3, dtype="int32")
with Graph(stream) as g:
    with proton.scope("only first", {"x": x}):
        fake_gpu.launch(work, stream)
proton.activate(second)
with Graph(stream) as h:
    with proton.scope("both", {"x": x}):
        fake_gpu.launch(work, stream)
replay(g, 2), replay(h, 2)
proton.deactivate(first)
x.set(100)
replay(h, 2)
proton.finalize()
""")
    first, second = at(tree("first"), "replay", "<captured_at>"), at(tree("second"), "replay", "<captured_at>")
    assert at(first, "only first")["metrics"] == {"x": 6} and at(first, "both")["metrics"] == {"x": 6}
    assert at(second, "both")["metrics"] == {"x": 206} and "only first" not in names(second)
    assert "x" not in second["metrics"]


def test_phases(run, tree):
    run("""
session = proton.start("p", mode="periodic_flushing:format=hatchet")
x = Tensor(1, dtype="int64")
with Graph(stream) as g:
    with proton.scope("s", {"x": x, "bytes": 16}):
        fake_gpu.launch(work, stream)
for phase in range(4):
    if phase:
        proton.data.advance_phase(session)
    x.set(phase + 1)
    replay(g, 50)
proton.finalize()
""")
    for phase in range(4):
        s = at(tree(f"p.part_{phase}"), "replay", "<captured_at>", "s")
        assert s["metrics"] == {"x": 50 * (phase + 1), "bytes": 800}


def test_two_devices(run, tree):
    done = run("""
import ctypes
other = ctypes.c_void_p()
fake_gpu.cuda.cuCtxCreate_v2(ctypes.byref(other), 0, 1)
there = fake_gpu.stream()
fake_gpu.use()
session = proton.start("p")
x, y = Tensor(2.0), Tensor(5, dtype="int64")
def capture(on, name, tensor):
    fake_torch.current[0] = on
    with Graph(on) as g:
        with proton.scope(name, {"x": tensor}):
            fake_gpu.launch(work, on)
    return g
here = capture(stream, "first", x)
fake_gpu.cuda.cuCtxSetCurrent(other)
far = capture(there, "second", y)
for _ in range(3):
    replay(far)
    fake_gpu.use(), replay(here), fake_gpu.cuda.cuCtxSetCurrent(other)
proton.finalize()
""", PROTON_STUB_DEVICES="2")
    captured = at(tree(), "replay", "<captured_at>")
    assert at(captured, "first")["metrics"] == {"x": 6.0} and at(captured, "second")["metrics"] == {"x": 15} and done.stderr == ""
    devices = [at(captured, name, "work")["metrics"]["device_id"] for name in ("first", "second")]
    assert devices == ["0", "1"]


def test_a_trace(run, tmp_path):
    run("""
proton.start("p", data="trace")
x, v = Tensor(1, dtype="int64"), Tensor(1.0, 2.0)
with Graph(stream) as g:
    with proton.scope("s", {"x": x, "v": v}):
        fake_gpu.launch(work, stream)
for value in (1, 2, 3):
    x.set(value)
    replay(g)
proton.finalize()
""")
    events = json.loads((tmp_path / "p.chrome_trace").read_text())["traceEvents"]
    nodes = [e for e in events if e.get("cat") == "kernel" and e["name"] == "<metric>"]
    assert [e["args"]["metrics"] for e in nodes] == [m for n in (1, 2, 3) for m in ({"x": n}, {"v": [1.0, 2.0]})]
    assert nodes[0]["args"]["call_stack"] == ["ROOT", "replay", "<captured_at>", "s", "__proton_launch_metadata", "<metric>"]


def test_types_of_elements(run, tree):
    run("""
import ctypes
proton.start("p")
kinds = {"int8": (ctypes.c_int8, -5), "uint8": (ctypes.c_uint8, 250), "bool": (ctypes.c_uint8, 1), "int16": (ctypes.c_int16, -300), "uint16": (ctypes.c_uint16, 60000),
         "int32": (ctypes.c_int32, -70000), "uint32": (ctypes.c_uint32, 4_000_000_000), "int64": (ctypes.c_int64, -1 << 40),
         "float16": (ctypes.c_uint16, 0xc500), "bfloat16": (ctypes.c_uint16, 0x4049), "float32": (ctypes.c_float, 0.25), "float64": (ctypes.c_double, 1e300)}
def tensor(kind):
    made, (c, value) = Tensor(0, dtype=kind), kinds[kind]
    made.memory = c(value)
    kept.append(made)
    return made
kept = []
with Graph(stream) as g:
    with proton.scope("s", {kind: tensor(kind) for kind in kinds} | {"flops16": tensor("int32"), "bytes": tensor("float16"), "last (pty)": tensor("int8")}):
        fake_gpu.launch(work, stream)
replay(g)
proton.finalize()
""")
    got = at(tree(), "replay", "<captured_at>", "s")["metrics"]
    assert got == {"int8": -5, "uint8": 250, "bool": 1, "int16": -300, "uint16": 60000, "int32": -70000, "uint32": 4_000_000_000, "int64": -1 << 40,
                   "float16": -5.0, "bfloat16": 3.140625, "float32": 0.25, "float64": 1e300, "flops16": -70000.0, "bytes": -5, "last": -5}
    assert isinstance(got["flops16"], float) and isinstance(got["bytes"], int)


def test_what_is_left_out(run, tree):
    done = run("""
proton.start("p")
with Graph(stream) as g:
    with proton.scope("s", {"long": Tensor(*[0.0] * 70000), "none": Tensor()}):
        fake_gpu.launch(work, stream)
replay(g)
proton.finalize()
""")
    assert done.stderr.splitlines() == ["goproton: metric 'long' was left out of a CUDA graph: it has 70000 elements, and 65536 can be stored at a replay; reduce it first"]
    refused = """
proton.start("p")
for _ in range(2):
    with Graph(stream) as g:
        with proton.scope("s", {"x": Tensor(1.0)}):
            fake_gpu.launch(work, stream)
    replay(g)
proton.finalize()
"""
    (line,) = run(refused, PROTON_STUB_RESULTS="cuMemHostRegister=2").stderr.splitlines()
    assert "the driver refused, with error 2," in line
    assert at(tree(), "replay", "<captured_at>", "s", "work")["metrics"]["count"] == 2


def test_a_buffer_that_is_too_small(run, tree):
    done = run("""
session = proton.start("p")
one = Tensor(1, dtype="int64")
with Graph(stream) as g:
    for i in range(100):
        with proton.scope("s", {"one": one}):
            pass
for _ in range(200):
    g.replay()
proton.finalize()
""", TRITON_PROFILE_METRIC_BUFFER_SIZE="4096")
    captured = at(tree(), "<captured_at>", "s")
    assert at(captured, "__proton_launch_metadata", "<metric>")["metrics"]["count"] == 20_000
    (said,) = done.stderr.splitlines()
    lost = int(said.split()[1])
    assert said.startswith(f"goproton: {lost} values of tensor metrics in graphs are lost") and lost > 0
    assert captured["metrics"]["one"] == 20_000 - lost
