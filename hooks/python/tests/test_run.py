"""What `proton run` does inside Python processes: the bootstrap's sitecustomize and what it begins."""

import json
import os
import subprocess
import sys

import pytest
from conftest import LIBRARY, PACKAGE, PATIENCE, REPOSITORY, other_python
from trees import at, load


@pytest.fixture
def run(tmp_path):
    """Runs a script as `proton run` would; returns the finished process and the status files."""
    status = tmp_path / "status"
    status.mkdir()

    def go(code, *, library, path=(), python=sys.executable, arguments=(), **config):
        (tmp_path / "script.py").write_text(code)
        config = {"name": str(tmp_path / "out"), "context": "shadow", "backend": "", "mode": "", "data": "tree", "hook": "",
                  "graph": "node", "status": str(status), "checkpoint": 0, **config}
        search = [PACKAGE / "bootstrap", PACKAGE, *path]
        env = {**os.environ, "PROTON_RUN_CONFIG": json.dumps(config), "PROTON_LIB": library,
               "PYTHONPATH": os.pathsep.join(map(str, search)), "GOPROTON_TESTS": str(PACKAGE / "tests")}
        done = subprocess.run([python, *arguments, str(tmp_path / "script.py")], env=env, cwd=tmp_path,
                              capture_output=True, text=True, timeout=PATIENCE)
        return done, {path.name: json.loads(path.read_text()) for path in status.glob("*.json")}

    return go


UNCHANGED = """
import triton.profiler as proton
from triton.profiler import scope
assert proton.start("mine", hook="triton") is None
with scope("work", {"items": 3}):
    pass
proton.deactivate(0); proton.activate(0)
for call in (proton.activate, proton.deactivate):
    try:
        call()
        raise SystemExit("no error")
    except ValueError:
        pass
proton.finalize()
with scope("later", {"items": 4}):
    pass
import sys
print(sys.path[1:2], len(sys.argv))
"""


def test_an_unchanged_script(run, triton, library, tmp_path):
    done, status = run(UNCHANGED, library=library, path=[triton])
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout == f"{[str(triton)]} 1\n", "the program's sys.path is its own"
    root = load(tmp_path / "out.hatchet")
    assert at(root, "work")["metrics"] == {"items": 3} and at(root, "later")["metrics"] == {"items": 4}
    assert not (tmp_path / "mine.hatchet").exists()


def test_the_hook_waits_for_triton(run, triton, library, tmp_path):
    done, _ = run("""
import sys
assert "triton" not in sys.modules and "goproton.hooks" not in sys.modules
import triton
from triton.compiler import LazyDict
native = sys.modules["goproton._native"]
assert triton.knobs.runtime.launch_enter_hook.calls == [native.launch_enter]
triton.knobs.runtime.launch_enter_hook(LazyDict({"name": "kernel", "function": 1, "stream": 0, "flops": 5}))
native.exit_op()
import triton.profiler as proton
from triton.profiler.hooks import HookManager
assert len(HookManager.active_hooks) == 1
""", library=library, path=[triton], hook="triton")
    assert done.returncode == 0, done.stderr
    assert at(load(tmp_path / "out.hatchet"), "kernel")["metrics"] == {"flops": 5.0}


@pytest.mark.parametrize("ending, code", [("raise SystemExit(3)", 3), ("1 / 0", 1), ("pass", 0)])
def test_the_program_s_ending_is_kept(run, library, tmp_path, ending, code):
    done, _ = run(f"""
import goproton
with goproton.scope("s", {{"m": 1}}):
    pass
{ending}
""", library=library)
    assert done.returncode == code
    assert at(load(tmp_path / "out.hatchet"), "s")["metrics"] == {"m": 1}


def test_the_other_sitecustomize_runs(run, library, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import sys\nsys.greeting = 'hello'\n")
    done, _ = run("import sys, sitecustomize; print(sys.greeting, sitecustomize.__file__)", library=library, path=[other])
    assert done.stdout == f"hello {other}/sitecustomize.py\n" and done.stderr == ""


def test_an_error_in_the_other_sitecustomize_is_its_own(run, library, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("raise KeyError('theirs')\n")
    done, _ = run("import goproton; print(goproton.flags.flags.profiling_on)", library=library, path=[other])
    assert done.stdout == "True\n" and "theirs" in done.stderr and "goproton" not in done.stderr


def test_without_a_library_the_program_runs_and_the_status_says_why(run, tmp_path):
    done, status = run("print('ran')", library="/nonexistent/libproton.so")
    assert done.stdout == "ran\n" and done.stderr == "" and done.returncode == 0
    [one] = status.values()
    assert one["finished"] and "libproton.so was not found" in one["problems"][0]
    assert one["command"].endswith("script.py")


def test_without_a_status_folder_it_is_said_on_standard_error(run, tmp_path):
    done, _ = run("print('ran')", library="/nonexistent/libproton.so", status="")
    assert done.stdout == "ran\n" and done.returncode == 0
    assert len(done.stderr.splitlines()) == 1 and "libproton.so was not found" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script.py", "status"]


def test_without_a_configuration_nothing_happens(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(PACKAGE / "bootstrap")}
    env.pop("PROTON_RUN_CONFIG", None)
    done = subprocess.run([sys.executable, "-c", "import sys; print('goproton' in sys.modules)"], env=env,
                          capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


CHILDREN = """
import multiprocessing, os, sys
def work(x):
    import goproton
    with goproton.scope(f"work {x}", {"m": x}):
        return x * x
if __name__ == "__main__":
    import goproton
    with goproton.scope("parent", {"m": 1}):
        pass
    with multiprocessing.get_context(os.environ.get("METHOD", METHOD)).Pool(2) as pool:
        assert pool.map(work, [1, 2]) == [1, 4]
        pool.close(); pool.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(run, library, tmp_path, method):
    done, status = run(f"METHOD = {method!r}\n" + CHILDREN, library=library, name=str(tmp_path / "out-%p"))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert all(not one["problems"] for one in status.values()), status
    with_scopes = [load(path) for path in tmp_path.glob("out-*.hatchet")]
    parents = [root for root in with_scopes if root["children"][0]["frame"]["name"] == "parent"]
    assert len(parents) == 1 and len(parents[0]["children"]) == 1


def test_workers_of_the_fork_server_have_profiles(run, library, tmp_path):
    done, status = run(f"METHOD = 'forkserver'\n{CHILDREN}", library=library, name=str(tmp_path / "out-%p"))
    assert done.returncode == 0, done.stderr
    children = [child for path in tmp_path.glob("out-*.hatchet") for child in load(path)["children"]]
    assert sorted(child["metrics"]["m"] for child in children if child["frame"]["name"].startswith("work")) == [1, 2]


def test_leaving_through_os_exit(run, library, tmp_path):
    done, status = run("""
import os
import goproton as proton
with proton.scope("work", {"m": 1}):
    pass
if os.fork() == 0:
    os._exit(0)
os.wait()
os._exit(7)
""", library=library)
    assert (done.returncode, done.stderr) == (7, "")
    assert at(load(tmp_path / "out.hatchet"), "work")["metrics"] == {"m": 1}
    assert [one["finished"] for one in status.values()] == [True]


def test_switched_off_by_triton_s_variable(run, library, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_PROTON_DISABLE", "1")
    done, status = run("import goproton\nwith goproton.scope('s', {'m': 1}): pass\n", library=library)
    assert (done.returncode, done.stderr) == (0, "") and not list(tmp_path.glob("*.hatchet"))
    assert [one["problems"] for one in status.values()] == [["profiling Python code is off: TRITON_PROTON_DISABLE is set: unset it"]]


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.8"])
def test_pythons_that_are_too_old_are_left_alone(run, library, version):
    done, status = run("print('ran')", library=library, python=other_python(version))
    assert (done.stdout, done.stderr, status) == ("ran\n", "", {})


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.12", "3.13", "3.14"])
def test_other_pythons(run, library, tmp_path, version):
    done, _ = run("""
import goproton as proton
@proton.scope("decorated")
def f(): return 1
class timed(proton.cpu_timed_scope): pass
with proton.scope("a", metrics={"m": 1}), timed("t", {"v": [1, 2]}), proton.state("s"):
    f()
""", library=library, python=other_python(version))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert at(load(tmp_path / "out.hatchet"), "a")["metrics"] == {"m": 1}
    assert at(load(tmp_path / "out.hatchet"), "a", "t")["metrics"]["v"] == [1, 2]


KERNELS = """
import os, sys
sys.path.append(os.environ["GOPROTON_TESTS"])
import fake_gpu as gpu
import triton.profiler as proton
gpu.init()
with proton.scope("step"):
    gpu.launch_triton(gpu.function("kernel"), "kernel", lambda: {"name": "named", "flops": 3})
    gpu.launch(gpu.function("library"))
"""


def test_kernels_of_an_unchanged_script(run, triton, library, tmp_path, monkeypatch):
    stub = LIBRARY.parent / "stub"
    if not (stub / "libcuda.so.1").exists():
        pytest.skip(f"{stub} is not built; make build")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(stub))
    monkeypatch.setenv("PROTON_CUPTI_PATH", str(stub / "libcupti.so"))
    done, status = run(KERNELS, library=library, path=[triton], hook="triton")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    step = at(load(tmp_path / "out.hatchet"), "step")
    assert at(step, "named")["metrics"]["flops"] == 3.0 and at(step, "named")["metrics"]["count"] == 1
    assert at(step, "library")["metrics"]["count"] == 1
    [one] = status.values()
    assert one["kernels"] == 2 and one["finished"] and not one["problems"], one


SCRIPT = """
import sys, goproton as proton
assert proton.start("ignored") is None
with proton.scope("test", {"args": len(sys.argv)}):
    print(__name__, sys.argv[1:])
proton.finalize()
sys.exit(int(sys.argv[1]))
"""


def module(tmp_path, library, *arguments):
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "PROTON_LIB": library}
    return subprocess.run([sys.executable, "-m", "goproton.proton", *arguments], env=env, cwd=tmp_path,
                          capture_output=True, text=True, timeout=PATIENCE)


def test_module_form(tmp_path, library):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = module(tmp_path, library, "-n", "profile", "script.py", "4", "-m", "x")
    assert done.stdout == "__main__ ['4', '-m', 'x']\n" and done.returncode == 4, done.stderr
    root = load(tmp_path / "profile.hatchet")
    assert at(root, "test")["metrics"] == {"args": 4} and not (tmp_path / "ignored.hatchet").exists()


def test_module_form_runs_pytest(tmp_path, library):
    (tmp_path / "test_it.py").write_text("import goproton\ndef test():\n    with goproton.scope('test', {'m': 1}): pass\n")
    done = module(tmp_path, library, "pytest", "-q", "test_it.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert at(load(tmp_path / "proton.hatchet"), "test")["metrics"] == {"m": 1}


def test_module_form_writes_after_an_error(tmp_path, library):
    (tmp_path / "script.py").write_text("import goproton\nwith goproton.scope('s', {'m': 1}): 1 / 0\n")
    done = module(tmp_path, library, "script.py")
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr
    assert at(load(tmp_path / "proton.hatchet"), "s")["metrics"] == {"m": 1}


def test_module_form_helps(tmp_path):
    done = module(tmp_path, "/nonexistent", "-h")
    assert done.returncode == 0 and "--hook" in done.stdout
    done = module(tmp_path, "/nonexistent")
    assert done.returncode == 2 and "a script is missing" in done.stderr


def test_the_package_can_be_embedded():
    # go:embed leaves files out whose names begin with _ or . unless the pattern says all:.
    sources = sorted(path.name for path in (REPOSITORY / "hooks").glob("*.go"))
    for name in sources:
        text = (REPOSITORY / "hooks" / name).read_text()
        if "//go:embed" in text and "python" in text:
            assert "all:python" in text, f"{name} would embed the package without its private modules"
