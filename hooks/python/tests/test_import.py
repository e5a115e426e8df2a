"""Importing the package costs little and does nothing."""

import ast
import json
import warnings

from conftest import PACKAGE, run_python

LOADED = """
import sys, json
before = set(sys.modules)
import goproton
from goproton import scope, cpu_timed_scope, state, start
after = set(sys.modules) - before
print(json.dumps({"modules": sorted(after), "threads": len(__import__("os").listdir("/proc/self/task")),
                  "finders": len(sys.meta_path)}))
"""


def test_import_is_cheap_and_without_side_effects():
    plain = json.loads(run_python("import sys, json; print(json.dumps(len(sys.meta_path)))").stdout)
    seen = json.loads(run_python(LOADED).stdout)
    foreign = [m for m in seen["modules"] if not m.startswith("goproton")]
    # Each of these would cost more than the package itself; the list is what "cheap" means.
    assert set(foreign) <= {"__future__", "_thread"}, foreign
    assert len(seen["modules"]) <= 8, seen["modules"]
    assert "goproton._native" not in seen["modules"]
    assert seen["threads"] == 1, "the Go runtime was started by an import"
    assert seen["finders"] == plain


def test_everything_imports_without_torch_and_triton():
    code = """
import sys
import goproton, goproton._triton.libproton, goproton._torch.tensors, goproton._run, goproton._triton.dropin, goproton.proton
for name in ("context", "data", "hooks", "metric", "mode", "specs", "viewer"):
    getattr(goproton, name)
from goproton.hooks.launch import id, op_name
for name in ("torch", "triton", "pandas", "numpy", "hatchet"):
    assert name not in sys.modules, name
"""
    run_python(code)


def test_no_syntax_that_a_newer_python_warns_of():
    """Python 3.14 prints a warning where a `finally` is left by return, break or continue, at the first import of the file."""
    for path in sorted([*PACKAGE.glob("goproton/**/*.py"), *PACKAGE.glob("bootstrap/*.py")]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = ast.parse(path.read_text(), str(path))
        for block in ast.walk(tree):
            for last in getattr(block, "finalbody", []):
                leaves = [node for node in ast.walk(last) if isinstance(node, (ast.Return, ast.Break, ast.Continue))]
                assert not leaves, f"{path}:{leaves[0].lineno}"


def test_names_of_the_package():
    import goproton
    names = ("scope cpu_timed_scope enter_scope exit_scope state enter_state exit_state metadata_state start activate "
             "deactivate finalize profile DEFAULT_PROFILE_NAME context specs mode data hooks flags metric").split()
    for name in names:
        assert hasattr(goproton, name), name
        assert name in dir(goproton)
    assert goproton.DEFAULT_PROFILE_NAME == "proton"


def test_scopes_before_start_do_nothing(tmp_path):
    code = """
import goproton as proton
@proton.scope("decorated", {"a": 1})
def f(x): return x + 1
with proton.scope("a") as s:
    with proton.cpu_timed_scope("b"), proton.state("c"):
        assert f(1) == 2
assert s.id is None
assert proton.enter_scope("x") is None and proton.exit_scope() is None
proton.enter_state("s"); proton.exit_state()
proton.activate(); proton.deactivate(); proton.finalize()
assert proton.context.depth() is None and proton.data.get() is None
"""
    run_python(code, env={"PROTON_LIB": "/nonexistent"})


def test_a_callback_may_wait_for_a_thread_that_imports_the_module(library, tmp_path):
    (tmp_path / "late.py").write_text("")
    run_python("""
import faulthandler, threading
faulthandler.dump_traceback_later(30, exit=True)
from goproton import _imports

def imports():
    import late

def callback():
    thread = threading.Thread(target=imports)
    thread.start()
    thread.join()
    print("called")

_imports.when_imported("late", callback)
import late
""", cwd=tmp_path)
