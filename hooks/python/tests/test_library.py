"""Finding and loading libproton.so, and what happens when that fails."""

from conftest import run_python

START = """
import goproton as proton
from goproton import scope
assert proton.start("p", hook="triton") is None
assert proton.start("p") is None
with scope("a", {"x": 1}):
    pass
proton.deactivate(0); proton.finalize()
print("done")
"""


def test_missing_library_is_said_once_and_the_program_runs_on():
    done = run_python(START, env={"PROTON_LIB": "/nonexistent/libproton.so"})
    assert done.stdout == "done\n"
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("goproton: profiling is off: libproton.so was not found (looked for /nonexistent/")
    assert "set PROTON_LIB" in lines[0]


def test_a_file_that_is_not_an_extension_module(tmp_path):
    path = tmp_path / "libproton.so"
    path.write_text("not a library")
    done = run_python(START, env={"PROTON_LIB": str(path)})
    assert done.stdout == "done\n"
    assert len(done.stderr.splitlines()) == 1 and str(path) in done.stderr


def test_a_library_of_another_version():
    code = """
import sys, types
sys.modules["goproton._native"] = types.ModuleType("goproton._native")
import goproton
assert goproton.start() is None
"""
    assert "another version" in run_python(code).stderr


def test_search_order(tmp_path, monkeypatch):
    from goproton import _library
    monkeypatch.delenv("PROTON_LIB", raising=False)
    monkeypatch.setattr(_library, "__file__", str(tmp_path / "build" / "python" / "goproton" / "_library.py"))
    found = _library.candidates()
    build = tmp_path / "build"
    assert found == [str(build / folder / "libproton.so") for folder in ("python/goproton", "python", ".")]
    monkeypatch.setenv("PROTON_LIB", "/here.so")
    assert _library.candidates() == ["/here.so"]


def test_names_imported_before_start_use_the_native_module():
    code = """
import sys, spy_native
sys.modules["goproton._native"] = native = spy_native.make()
from goproton import scope, cpu_timed_scope, start, finalize
early = scope("early")
class mine(scope):
    def __enter__(self):
        native.calls.append(("mine",))
        return super().__enter__()
@scope("decorated")
def f(): return 5
start("p")
assert type(scope("x")) is spy_native.scope, "the metaclass did not switch"
assert type(cpu_timed_scope("x", {"a": 1})) is spy_native.cpu_timed_scope
assert isinstance(scope("x"), scope) and isinstance(cpu_timed_scope("x"), scope) and isinstance(early, scope)
assert not isinstance(scope("x"), cpu_timed_scope) and not isinstance(3, scope)
assert issubclass(cpu_timed_scope, scope) and isinstance(mine("m"), scope) and type(mine("m")) is mine
spy_native.reset()
with early, early:
    assert f() == 5
with mine("m", metrics={"k": 2}) as m:
    assert m.id and m.name == "m"
with scope(name="n", metrics=None):
    pass
names = [c[1] if len(c) > 1 else c[0] for c in native.calls if c[0] in ("scope.enter", "mine")]
assert names == ["early", "early", "decorated", "mine", "m", "n"], names
exits = [c[1] for c in native.calls if c[0] == "scope.exit"]
assert exits == ["decorated", "early", "early", "m", "n"], exits
finalize()
"""
    run_python(code)
