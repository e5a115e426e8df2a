"""Kernels, scopes and launch metadata together, on the fake GPU: what lands where in the profile.

The cases are those of upstream's test_profile, by the names it gives them.
"""

import pytest
from conftest import LIBRARY, REPOSITORY, run_python
from trees import at, load

PRELUDE = """
import sys, json, threading
import fake_gpu as gpu
import goproton as proton
from trees import at, names, load

def tree(session=0):
    proton.deactivate(session, flushing=True)
    root = proton.data.get(session)[0]
    proton.activate(session)
    return root

def count(node, *path):
    return at(node, *path)["metrics"].get("count", 0)
"""


@pytest.fixture
def on_gpu(library, tmp_path):
    stub = LIBRARY.parent / "stub"
    if not (stub / "libcuda.so.1").exists():
        pytest.skip(f"{stub} is not built; make build")

    def run(code, path=()):
        env = {"PROTON_LIB": library, "LD_LIBRARY_PATH": str(stub), "PROTON_CUPTI_PATH": str(stub / "libcupti.so")}
        return run_python(PRELUDE + code, path=path, env=env, cwd=tmp_path)

    return run


def test_torch_and_deactivate(on_gpu):
    on_gpu("""
gpu.init()
a, b = gpu.function("alpha"), gpu.function("beta")
session = proton.start("p")
with proton.scope("test"):
    gpu.launch(a); gpu.launch(a)
    proton.deactivate(session)
    gpu.launch(b)
    proton.activate(session)
gpu.launch(b)
proton.finalize()
root = load("p.hatchet")
assert count(root, "test", "alpha") == 2 and count(root, "beta") == 1 and names(at(root, "test")) == ["alpha"]
assert at(root, "test", "alpha")["metrics"]["time (ns)"] > 0 and "device_id" not in root["metrics"]
""")


def test_started_before_the_gpu_is_used(on_gpu):
    on_gpu("""
session = proton.start("p")
gpu.init()
with proton.scope("test"):
    gpu.launch(gpu.function("alpha"))
assert count(tree(), "test", "alpha") == 1
""")


def test_hook_launch(on_gpu, triton):
    on_gpu("""
gpu.init()
k = gpu.function("kernel")
session = proton.start("p", hook="triton")
with proton.scope("test0"):
    for _ in range(2):
        gpu.launch_triton(k, "kernel", lambda: {"name": "renamed", "flops32": 1.0, "extra_metric": 7.0})
    gpu.launch(gpu.function("library"))
    gpu.launch_triton(k, "kernel")
root = tree()
node = at(root, "test0", "renamed")
assert node["children"] == [] and node["metrics"]["time (ns)"] > 0 and node["metrics"]["count"] == 2
assert node["metrics"]["flops32"] == 2.0 and node["metrics"]["extra_metric"] == 14.0
assert sorted(names(at(root, "test0"))) == ["kernel", "library", "renamed"]
""", path=[triton])


def test_hook_launch_context(on_gpu, triton):
    # What a metadata function launches stands below the frame that the viewer hides, and below the kernel it is for.
    on_gpu("""
gpu.init()
k, reduce = gpu.function("kernel"), gpu.function("reduce")
session = proton.start("p", hook="triton")
def metadata():
    gpu.launch(reduce)
    return {"name": "foo", "bytes": 4}
with proton.scope("test0"):
    gpu.launch_triton(k, "kernel", metadata)
root = tree()
assert count(root, "test0", "__proton_launch_metadata", "kernel", "reduce") == 1
assert at(root, "test0", "foo")["metrics"]["bytes"] == 4 and count(root, "test0", "foo") == 1
""", path=[triton])


@pytest.mark.parametrize("context", ["shadow", "python"])
def test_kernels_of_a_metadata_function(on_gpu, triton, context):
    """They stand next to the kernel, below frames of their own: a library's, and Triton's, whose own metadata are not asked for. Also
    in a graph, at every replay."""
    on_gpu(f"context = {context!r}" + """
gpu.init()
stream = gpu.stream()
k, library, helper = gpu.function("kernel"), gpu.function("library"), gpu.function("helper")
proton.start("p", hook="triton", context=context)
def nested():
    raise SystemExit("the metadata of a kernel that metadata are computed with were evaluated")
def metadata():
    gpu.launch(library, stream)
    gpu.launch_triton(helper, "helper", nested, stream)
    return {"name": "named", "bytes": 4}
def step():
    gpu.launch_triton(k, "kernel", metadata, stream)
with proton.scope("eager"):
    step()
with gpu.Graph(stream) as graph:
    step()
with proton.scope("replay"):
    graph.replay(); graph.replay()
root = tree()
found = {}
def walk(node, path):
    for child in node["children"]:
        name = child["frame"]["name"]
        here = path if "@" in name or name in ("eager", "replay") else (*path, name)
        if "count" in child["metrics"]:
            found[here] = found.get(here, 0) + child["metrics"]["count"]
        walk(child, here)
walk(root, ())
md = ("__proton_launch_metadata", "kernel")
at_capture = ("<captured_at>",)
assert found == {("named",): 1, (*md, "library"): 1, (*md, "helper"): 1, (*at_capture, "named"): 2, (*at_capture, *md, "library"): 2,
                 (*at_capture, *md, "helper"): 2}, found
""", path=[triton])


def test_hook_launch_filter(on_gpu, triton):
    on_gpu("""
from goproton.hooks import LaunchHook
gpu.init()
LaunchHook().configure(include=".*foo")
session = proton.start("p", hook="triton")
def metadata(name):
    assert name == "foo"
    return {"name": "named_" + name}
for name in ("foo", "bar"):
    gpu.launch_triton(gpu.function(name), name, lambda: metadata(name))
assert sorted(names(tree())) == ["bar", "named_foo"], names(tree())
""", path=[triton])


def test_hook_multiple_threads(on_gpu, triton):
    on_gpu("""
import goproton.hooks.launch as proton_launch
gpu.init()
session = proton.start("p", hook="triton")
ids = []
def work(name):
    gpu.use()
    handle = gpu.function(name)
    for _ in range(100):
        gpu.launch_triton(handle, name, lambda: {"name": name + "_named", "flops": 1})
        ids.append(proton_launch.id.get())
threads = [threading.Thread(target=work, args=(name,)) for name in ("foo", "bar")]
[t.start() for t in threads]; [t.join() for t in threads]
root = tree()
assert count(root, "foo_named") == count(root, "bar_named") == 100 and len(set(ids)) == 200
assert at(root, "foo_named")["metrics"]["flops"] == 100.0
""", path=[triton])


def test_a_metadata_error_does_not_reach_later_launches(on_gpu, triton):
    done = on_gpu("""
gpu.init()
k = gpu.function("kernel")
session = proton.start("p", hook="triton")
gpu.launch_triton(k, "kernel", lambda: 1 / 0)
gpu.launch_triton(k, "kernel", lambda: {"name": "good"})
gpu.launch(gpu.function("library"))
root = tree()
assert (count(root, "kernel"), count(root, "good"), count(root, "library")) == (1, 1, 1), names(root)
""", path=[triton])
    assert done.stderr.count("ZeroDivisionError") == 1


def test_cudagraph(on_gpu):
    on_gpu("""
gpu.init()
a, b, s = gpu.function("alpha"), gpu.function("beta"), gpu.stream()
session = proton.start("p")
with proton.scope("capture"):
    with gpu.Graph(s) as graph:
        with proton.scope("iter"):
            gpu.launch(a, s); gpu.launch(b, s)
with proton.scope("replay"):
    for _ in range(3):
        graph.replay()
root = tree()
captured = at(root, "replay", "<captured_at>")
assert count(captured, "capture", "iter", "alpha") == count(captured, "capture", "iter", "beta") == 3
""")


def test_multiple_sessions(on_gpu):
    on_gpu("""
gpu.init()
a = gpu.function("alpha")
one, two = proton.start("one"), proton.start("two")
gpu.launch(a); gpu.launch(a)
proton.finalize(one)
gpu.launch(a)
proton.finalize()
assert count(load("one.hatchet"), "alpha") == 2 and count(load("two.hatchet"), "alpha") == 3
""")


def test_scope_backward(on_gpu):
    # A thread that opened no scope stands where the main thread stood when it came.
    on_gpu("""
gpu.init()
a = gpu.function("alpha")
session = proton.start("p")
def backward():
    gpu.use()
    with proton.scope("backward"):
        gpu.launch(a)
t = threading.Thread(target=backward)
t.start(); t.join()
assert count(tree(), "backward", "alpha") == 1
""")


def test_python_context(on_gpu):
    on_gpu("""
gpu.init()
a = gpu.function("alpha")
session = proton.start("p", context="python")
def inner():
    gpu.launch(a)
def outer():
    inner()
outer()
path, node = [], tree()
while node["children"]:
    [node] = node["children"]
    path.append(node["frame"]["name"])
assert path[-1] == "alpha" and any(f.endswith("@outer") for f in path) and any(f.endswith("@inner") for f in path), path
assert all(":" in f and "@" in f for f in path[:-1])
""")


def test_state_around_kernels(on_gpu, triton):
    on_gpu("""
gpu.init()
k = gpu.function("kernel")
session = proton.start("p", hook="triton")
with proton.scope("s"), proton.state("phase"):
    gpu.launch_triton(k, "kernel", lambda: {"name": "named"})
    gpu.launch(k)
root = tree()
assert count(root, "s", "phase", "named") == 1 and count(root, "s", "phase", "kernel") == 1
""", path=[triton])


def test_an_empty_grid_leaves_no_op_behind(on_gpu, triton):
    # Triton calls its hooks and launches nothing; the next kernel belongs to another frame.
    on_gpu("""
gpu.init()
k = gpu.function("kernel")
session = proton.start("p", hook="triton")
gpu.launch_triton(k, "kernel", lambda: {"name": "empty"}, grid=0)
gpu.launch(gpu.function("library"))
root = tree()
assert count(root, "library") == 1, names(root)
""", path=[triton])


def test_cudagraph_with_launch_metadata(on_gpu, triton):
    # Name and metrics of a captured launch count once per replay, on the kernel's own node.
    on_gpu("""
gpu.init()
k, s = gpu.function("kernel"), gpu.stream()
session = proton.start("p", hook="triton")
metadata = lambda: {"name": "named", "flops": 2, "bytes": 5}
with proton.scope("capture"):
    with gpu.Graph(s) as graph:
        gpu.launch_triton(k, "kernel", metadata, on=s)
        gpu.launch_triton(k, "kernel", metadata, on=s)
with proton.scope("replay"):
    for _ in range(4):
        graph.replay()
node = at(tree(), "replay", "<captured_at>", "capture", "named")
assert node["metrics"]["count"] == 8 and node["metrics"]["flops"] == 16.0 and node["metrics"]["bytes"] == 40, node
""", path=[triton])


def test_cudagraph_deactivate(on_gpu):
    on_gpu("""
gpu.init()
a, b, s = gpu.function("alpha"), gpu.function("beta"), gpu.stream()
session = proton.start("p")
with gpu.Graph(s) as graph:
    with proton.scope("scope_a"):
        gpu.launch(a, s)
    proton.deactivate(session)
    with proton.scope("scope_b"):
        gpu.launch(b, s)
    proton.activate(session)
graph.replay()
captured = at(tree(), "<captured_at>")
assert count(captured, "scope_a", "alpha") == 1 and "scope_b" not in names(captured), names(captured)
""")


def test_user_metrics_next_to_kernels(on_gpu):
    on_gpu("""
gpu.init()
a = gpu.function("alpha")
session = proton.start("p")
with proton.scope("s", {"tokens": 3, "list": [1.0, 2.0]}):
    gpu.launch(a)
with proton.cpu_timed_scope("t"):
    gpu.launch(a)
root = tree()
assert at(root, "s")["metrics"] == {"tokens": 3, "list": [1.0, 2.0]} and count(root, "s", "alpha") == 1
assert at(root, "t")["metrics"]["cpu_time (ns)"] > 0
assert root["metrics"]["count"] == 0 and root["metrics"]["tokens"] == 0, root["metrics"]
""")


def test_phases(on_gpu):
    on_gpu("""
gpu.init()
a = gpu.function("alpha")
session = proton.start("p")
gpu.launch(a)
proton.data.advance_phase(session)
gpu.launch(a); gpu.launch(a)
proton.deactivate(session, flushing=True)
assert proton.data.is_phase_complete(session, 0) and not proton.data.is_phase_complete(session, 1)
assert count(proton.data.get(session, 0)[0], "alpha") == 1 and count(proton.data.get(session, 1)[0], "alpha") == 2
proton.data.clear(session, 0)
try:
    proton.data.get(session, 0)
    raise SystemExit("no error")
except IndexError:
    pass
""")


def test_do_bench_proton_s_own_helpers(on_gpu, triton):
    # triton.testing measures through triton.profiler; under install() that is us.
    if triton.name != "triton-3.9.0":
        pytest.skip(f"needs the helpers of triton.testing in Triton 3.9.0: this is {triton.name}")
    on_gpu("""
proton.install()
from triton import testing
gpu.init()
a = gpu.function("alpha")
with testing._proton_bench_session() as (theirs, session):
    assert theirs is proton
    for i in range(5):
        with theirs.scope(f"proton.x.{i:08d}"):
            for _ in range(i + 1):
                gpu.launch(a)
    theirs.deactivate(session, flushing=True)
    times = testing._collect_proton_scope_times(theirs.data.get(session), "proton.x.")
assert len(times) == 5 and all(t > 0 for t in times) and not proton.flags.flags.command_line
""", path=[triton])


def test_idle_times(library, tmp_path):
    """The kernels of the fake driver take 1000 ns each, back to back; package viewer/idle has gaps, from a recording."""
    stub = REPOSITORY / "build" / "stub"
    if not stub.exists():
        pytest.skip(f"{stub} is not built; make build")
    run_python("""
import fake_gpu, goproton as proton
fake_gpu.init()
kernel = fake_gpu.function("k")
proton.start("p", idle=True)
with proton.scope("first"):
    fake_gpu.launch(kernel)
with proton.scope("second"):
    fake_gpu.launch(kernel)
proton.finalize()
""", env={"PROTON_LIB": library, "LD_LIBRARY_PATH": str(stub), "PROTON_CUPTI_PATH": str(stub / "libcupti.so")}, cwd=tmp_path)
    root = load(tmp_path / "p.hatchet")
    for name in "first", "second":
        metrics = at(root, name, "k")["metrics"]
        assert (metrics["busy (ns)"], metrics["idle (ns)"], metrics["idle_gaps"]) == (1000, 0, 0)
