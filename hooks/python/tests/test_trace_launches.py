"""Traces of Triton's own launches, compiled for real and made on the fake GPU, below `proton run --trace`."""

import json
import os
import subprocess
import sys

import pytest
from conftest import PATIENCE, REPOSITORY, TESTS
from test_tritonparse import of, records

KERNELS = """
import atexit, os, sys, threading, types
sys.path.append(os.environ["GOPROTON_TESTS"])
EARLY
import fake_gpu, fake_driver
import triton, triton.language as tl
from triton import knobs

@triton.jit(do_not_specialize=["n"])
def add_kernel(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)

class Tensor:
    dtype = "float32"
    # Runs no bytecode: Triton 3.9 calls it with C++ objects on the stack that own Python references. A daemon thread that
    # Python ends there, where bytecode asks for the GIL, makes nanobind abort the process, with or without a profiler.
    data_ptr = (4096).__int__
    def __repr__(self): return "memory"

fake_driver.use()
x = Tensor()
def launch(n, blocks=1): add_kernel[(blocks,)](x, n, B=64)
launch(-1)
"""


@pytest.fixture
def on_gpu(library, triton, tmp_path):
    """Runs code after the kernels above; returns how it ended, the launches, and the root of the profile."""
    stub, proton = REPOSITORY / "build" / "stub", REPOSITORY / "build" / "proton"
    if not (stub / "libcuda.so.1").exists() or not proton.exists():
        pytest.skip("the fake GPU or proton is not built; make build")

    def go(code, *flags, early=""):
        (tmp_path / "script.py").write_text(KERNELS.replace("EARLY", early) + code)
        env = {**os.environ, "PYTHONPATH": str(triton), "PROTON_LIB": library, "USER": "me", "PYTHON": sys.executable,
               "TRITON_CACHE_DIR": str(tmp_path / "cache"), "GOPROTON_TESTS": str(TESTS), "LD_LIBRARY_PATH": str(stub),
               "PROTON_CUPTI_PATH": str(stub / "libcupti.so")}
        command = [str(proton), "run", "-n", "profile", "--trace", "out", "--trace-compression", "none", *flags, "script.py"]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
        profile = tmp_path / "profile.hatchet"
        root = json.loads(profile.read_text())[0] if profile.exists() else None
        return done, of(records(tmp_path / "out"), "launch"), root

    go.folder = tmp_path
    go.viewed = lambda *flags: json.loads(subprocess.run([str(proton), "viewer", "--trace", "out", "profile.hatchet", *flags], cwd=tmp_path,
                                                         capture_output=True, check=True).stdout)
    return go


def numbers(launches):
    return [r["extracted_args"]["n"]["value"] for r in launches]


def kernels(node):
    return node["metrics"].get("count", 0) + sum(map(kernels, node["children"]))


def test_threads_that_launch(on_gpu):
    done, launches, root = on_gpu("""
def work(k):
    fake_gpu.use()
    for i in range(200): launch(k * 200 + i)
threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
[one.start() for one in threads]
[one.join() for one in threads]
""")
    assert done.returncode == 0, done.stderr
    assert sorted(numbers(launches)) == list(range(-1, 1200)) and kernels(root) == 1201
    assert sorted(r["goproton"]["timestamp"]["sequence"] for r in launches) == list(range(1, 1202))
    (kernel,) = on_gpu.viewed("--source", "add_kernel", "--json")["kernels"]
    assert [g["launches"] for s in kernel["specialisations"] for g in s["launch_groups"]] == [1] * 1201


def test_a_kernel_with_a_new_argument_at_each_launch(on_gpu):
    """4,096 kinds of a kernel have sums of their own and are listed; the rest is known by what it was compiled to."""
    done, launches, root = on_gpu("for i in range(4500): launch(i)")
    assert done.returncode == 0, done.stderr
    assert len(launches) == kernels(root) == 4501
    (kernel,) = on_gpu.viewed("--source", "add_kernel", "--json")["kernels"]
    (compiled,) = kernel["specialisations"]
    assert [g["launches"] for g in compiled["launch_groups"]] == [1] * 4096
    assert (compiled["launches"], compiled["more_launch_groups"], compiled["not_told_apart"]["launches"]) == (4501, 405, 405)


def test_replays_of_a_graph_by_kind(on_gpu):
    done, launches, _ = on_gpu("""
fake_driver.stream = fake_gpu.stream()
with fake_gpu.Graph(fake_driver.stream) as graph:
    launch(64, 1)
    launch(4096, 64)
for _ in range(50): graph.replay()
""")
    assert done.returncode == 0, done.stderr
    assert ["n" in r["extracted_args"] for r in launches] == [True, False, False]
    rows = on_gpu.viewed("--launches", "--view", "json", "-m", "count")["rows"]
    assert sorted((r["name"], r["own"][0]) for r in rows if " [" in r["name"]) == [
        ("add_kernel [captured in a graph, grid=1]", 50), ("add_kernel [captured in a graph, grid=64]", 50), ("add_kernel [x=memory n=-1]", 1)]


def test_daemon_threads_go_on_at_the_end(on_gpu):
    done, launches, _ = on_gpu("""
import time
launched = []
def work():
    fake_gpu.use()
    while True:
        launch(len(launched))
        launched.append(None)
for _ in range(4): threading.Thread(target=work, daemon=True).start()
while len(launched) < 40: time.sleep(0.001)
print("done")
""")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "proton: warning" not in done.stderr and len(launches) >= 40 and f"{len(launches)} launches" in done.stderr, done.stderr


def test_what_is_launched_at_exit(on_gpu):
    """Handlers that were there before Triton run after all that Triton's import has brought."""
    done, launches, root = on_gpu("atexit.register(launch, 2)\nlaunch(1)\n", early="atexit.register(lambda: launch(3))")
    assert done.returncode == 0, done.stderr
    assert numbers(launches) == [-1, 1, 2, 3] and kernels(root) == 4


def test_a_script_that_traces_itself(on_gpu):
    done, launches, _ = on_gpu("""
with trace.init("mine") as mine: launch(1)
assert mine.folder == "mine" and mine.finalize() == trace.finalize() == {}
launch(2)
""", early="from goproton import trace\nearly = trace.init('early')")
    assert done.returncode == 0, done.stderr
    assert numbers(launches) == [-1, 1, 2] and not (on_gpu.folder / "mine").exists() and not (on_gpu.folder / "early").exists()


@pytest.mark.parametrize("leave", ["sys.exit(7)", "os._exit(7)"])
@pytest.mark.parametrize("error", ["KeyboardInterrupt", "ValueError"])
def test_a_trace_that_cannot_be_ended(on_gpu, leave, error):
    done, launches, root = on_gpu(f"""
from goproton import trace
def fails(*arguments): raise {error}
trace.Trace.finalize = fails
launch(1)
{leave}
""")
    assert done.returncode == 7, done.stderr
    assert numbers(launches) == [-1, 1] and kernels(root) == 2
    assert "proton: warning: trace: the trace was not ended" in done.stderr


def test_hooks_that_others_have_spoilt(on_gpu):
    done, launches, root = on_gpu("launch(1)\nknobs.runtime.launch_enter_hook.calls = None\nknobs.compilation = None\n")
    assert done.returncode == 0, done.stderr
    assert numbers(launches) == [-1, 1] and kernels(root) == 2
    assert "Triton was not left as it was found" in done.stderr


@pytest.mark.parametrize("isolated", [True, False])
def test_another_interpreter_of_the_process(on_gpu, isolated):
    pytest.importorskip("_xxsubinterpreters")
    done, launches, root = on_gpu(f"""
import _xxsubinterpreters as interpreters
launch(1)
other = interpreters.create(isolated={isolated})
interpreters.run_string(other, "pass")
interpreters.destroy(other)
launch(2)
""")
    assert done.returncode == 0, done.stderr
    assert numbers(launches) == [-1, 1, 2] and kernels(root) == 3 and "proton: warning" not in done.stderr


def test_a_profile_that_cannot_be_written(on_gpu):
    done, launches, _ = on_gpu("import shutil\nshutil.rmtree('gone')\nopen('gone', 'w').close()\n", "-n", "gone/profile", "--checkpoint", "0")
    assert done.returncode == 3, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("proton: ") and not line.startswith("proton:  ")]
    assert [line.split(": ")[1] for line in said] == ["warning", "1 kernel, 1.000 us of GPU time, 0 dropped; the profile was not written",
                                                      "traced 1 compilation, 1 launch; wrote out; view"], said
    assert numbers(launches) == [-1]
