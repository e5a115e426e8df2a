"""What users' scripts rely on, against the real native module. No GPU is needed: scopes and metrics are host work.

The cases are those of upstream's own test suite, by the names it gives them.
"""

import json
import sys
import threading
import types

import pytest
from conftest import answer_in_child, run_python
from trees import at, load, names, root_of


def test_profile_single_session(proton, tmp_path):
    first = proton.start("test0", context="shadow", data="tree")
    proton.activate()
    proton.deactivate()
    proton.finalize()
    assert (tmp_path / "test0.hatchet").exists()

    second = proton.start("test1")
    proton.activate(second)
    proton.deactivate(second)
    proton.finalize(second)
    assert second == first + 1 and (tmp_path / "test1.hatchet").exists()

    assert proton.start("test") == first + 2
    proton.activate()
    proton.finalize()
    assert (tmp_path / "test.hatchet").exists()


def test_default_name(proton, tmp_path):
    proton.start()
    proton.finalize()
    assert (tmp_path / "proton.hatchet").exists()


def test_profile_multiple_sessions(proton, tmp_path):
    first, second = proton.start("test0"), proton.start("test1")
    assert first != second
    with proton.scope("both"):
        pass
    proton.deactivate(first)
    with proton.scope("second only", {"m": 1}):
        pass
    proton.finalize()
    assert names(load(tmp_path / "test0.hatchet")) == ["both"] or not names(load(tmp_path / "test0.hatchet"))
    assert at(load(tmp_path / "test1.hatchet"), "second only")["metrics"] == {"m": 1}


def test_same_file_is_the_same_session(proton):
    first = proton.start("same")
    proton.deactivate(first)
    assert proton.start("same", context="python") == first
    with proton.scope("x", {"m": 1}):
        pass
    assert names(root_of(proton.data.get(first))) == ["x"]


def test_profile_decorator(proton, tmp_path):
    @proton.profile(name="named")
    def f(a):
        with proton.scope("inside", {"calls": 1}):
            return a + 1

    @proton.profile
    def g(a):
        raise KeyError(a)

    assert f(1) == 2 and f(2) == 3
    with pytest.raises(KeyError):
        g(1)
    with proton.scope("outside", {"calls": 1}):
        pass  # the decorated calls are over, one by an exception
    proton.finalize()
    root = load(tmp_path / "named.hatchet")
    assert names(root) == ["inside"] and at(root, "inside")["metrics"] == {"calls": 2}
    assert names(load(tmp_path / "proton.hatchet")) == []


def test_scope(proton, tmp_path):
    with proton.scope("before start"):
        pass
    proton.start("test")

    @proton.scope("decorated", {"m": 1})
    def f(n):
        return f(n - 1) if n else "done"

    with proton.scope("context") as s:
        assert f(1) == "done"
    number = proton.enter_scope("functions")
    assert number > s.id
    inner = proton.enter_scope("inner", metrics={"m": 2})
    assert proton.exit_scope("inner") == inner == number + 1
    assert proton.exit_scope(metrics={"late": 3}) == number
    proton.finalize()
    root = load(tmp_path / "test.hatchet")
    assert at(root, "context", "decorated", "decorated")["metrics"] == {"m": 1}
    assert at(root, "functions", "inner")["metrics"] == {"m": 2}
    assert at(root, "functions")["metrics"] == {"late": 3}


def test_scope_mismatches(proton):
    session = proton.start("test")
    with pytest.raises(IndexError, match="enter_scope"):
        proton.exit_scope()
    proton.enter_scope("a")
    with pytest.raises(ValueError, match="^Scope name mismatch: b != a$"):
        proton.exit_scope("b")
    assert proton.context.depth(session) == 1
    proton.exit_scope("a")
    assert proton.context.depth(session) == 0


def test_a_scope_of_a_deactivated_session_closes_no_other(proton, tmp_path):
    """Its exit closed the scope around it, whose own exit then raised; what ran in between was recorded elsewhere."""
    session = proton.start("test")
    with proton.scope("epoch"):
        proton.deactivate(session)
        proton.enter_scope("warm up", metrics={"m": 1})
        number = proton.enter_scope("across")
        proton.activate(session)
        assert proton.exit_scope("across", metrics={"m": 1}) == number
        proton.exit_scope("warm up")
        assert proton.context.depth(session) == 1
        proton.enter_scope("train", metrics={"m": 2})
        proton.deactivate(session)
        proton.exit_scope("train")  # it was opened, and ends
        proton.activate(session)
        assert proton.context.depth(session) == 1
    proton.finalize()
    root = load(tmp_path / "test.hatchet")
    assert names(root) == ["epoch"] and at(root, "epoch")["metrics"] == {} and names(at(root, "epoch")) == ["train"]
    assert at(root, "epoch", "train")["metrics"] == {"m": 2}


def test_scope_metrics(proton, tmp_path):
    session = proton.start("test")
    for _ in range(2):
        with proton.scope("test0", {"a": 1.0}):
            pass

    @proton.scope("test1", {"a": 1.0})
    def f():
        pass

    f()
    proton.deactivate(session)
    with proton.scope("not seen", {"a": 1.0}):
        pass
    proton.activate(session)
    proton.enter_scope("test2", metrics={"a": 1.0})
    proton.exit_scope()
    proton.enter_scope("test3")
    proton.exit_scope(metrics={"a": 1.0})
    proton.finalize()
    root = load(tmp_path / "test.hatchet")
    assert names(root) == ["test0", "test1", "test2", "test3"]
    assert [child["metrics"]["a"] for child in root["children"]] == [2.0, 1.0, 1.0, 1.0]


def test_scope_metrics_invalid(proton):
    session = proton.start("test")
    with proton.scope("test0", {"a": 1.0}):
        pass
    with pytest.raises(ValueError, match=r"Metric value type mismatch for valueId 0 \(a\): current=double, new=int64_t"):
        with proton.scope("test0", {"a": 1}):
            pass
    assert proton.context.depth(session) == 0
    for value in ("text", None, 1j, [[1]], {"a": 1}):
        with pytest.raises(TypeError):
            with proton.scope("test1", {"b": value}):
                pass
    assert proton.context.depth(session) == 0


def test_scope_properties(proton, tmp_path):
    proton.start("test")
    for value in (1.0, 2.0, 1.0):
        with proton.scope("test0", {"a (pty)": value}):
            pass
    proton.finalize()
    assert at(load(tmp_path / "test.hatchet"), "test0")["metrics"] == {"a": 1.0}


def test_texts(proton, tmp_path):
    """A property, and an exclusive metric, may be a text; it replaces what was there."""
    proton.start("test")
    texts = {"a (pty)": "one", "b (exc)": 'q"\\\n\u2602', "(pty)": ""}
    with proton.scope("test0", texts):
        proton.enter_scope("test1", metrics={"a (pty)": "old"})
        proton.exit_scope(metrics={"a (pty)": "new"})
    with pytest.raises(TypeError, match=r"mark the name as a property: a \(pty\)"):
        with proton.scope("test0", {"a": "text"}):
            pass
    with pytest.raises(UnicodeEncodeError):
        with proton.scope("test0", {"a (pty)": "\ud800"}):
            pass
    proton.finalize()
    root = load(tmp_path / "test.hatchet")
    assert root["metrics"] == {}
    assert at(root, "test0")["metrics"] == {"a": "one", "b": 'q"\\\n\u2602', "": ""}
    assert at(root, "test0", "test1")["metrics"] == {"a": "new"}


def test_texts_on_a_timeline(proton, tmp_path):
    proton.start("test", data="trace")
    with proton.scope("test0", {"a (pty)": "one"}):
        pass
    proton.finalize()
    events = json.loads((tmp_path / "test.chrome_trace").read_text())["traceEvents"]
    assert [e["args"]["metrics"] for e in events if e["name"] == "test0"] == [{"a": "one"}]


def test_scope_exclusive(proton, tmp_path):
    proton.start("test")
    with proton.scope("test0", metrics={"a (exc)": 1.0}):
        with proton.scope("test1", metrics={"b (exc)": 1.0}):
            pass
    proton.finalize()
    root = load(tmp_path / "test.hatchet")
    assert root["metrics"] == {}
    assert at(root, "test0")["metrics"] == {"a": 1.0} and at(root, "test0", "test1")["metrics"] == {"b": 1.0}


def test_scope_vector_metrics(proton, tmp_path):
    proton.start("test")
    for _ in range(2):
        with proton.scope("test0", {"ints": [1, 2], "floats": (0.5, 1)}):
            pass
    proton.finalize()
    assert at(load(tmp_path / "test.hatchet"), "test0")["metrics"] == {"ints": [2, 4], "floats": [1.0, 2.0]}


def test_scope_multiple_threads(proton, tmp_path):
    proton.start("test")

    def work(first):
        for i in range(50):
            with proton.scope(f"scope_{first + i}", {"m": 1}):
                pass

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 50)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    proton.finalize()
    assert len(load(tmp_path / "test.hatchet")["children"]) == 100


def test_cpu_timed_scope(proton, tmp_path):
    proton.start("test")
    with proton.cpu_timed_scope("outer", {"m": 1}):
        with proton.cpu_timed_scope("inner"):
            threading.Event().wait(0.002)

    @proton.cpu_timed_scope("decorated")
    def f():
        return 1

    assert f() == 1
    with pytest.raises(ValueError, match="^The metric name 'cpu_time' is reserved.$"):
        proton.cpu_timed_scope("x", {"cpu_time": 1.0})
    proton.finalize()
    root = load(tmp_path / "test.hatchet")
    inner = at(root, "outer", "inner")["metrics"]["cpu_time (ns)"]
    assert inner >= 2_000_000 and at(root, "outer")["metrics"]["cpu_time (ns)"] > inner
    assert at(root, "outer")["metrics"]["m"] == 1
    assert at(root, "decorated")["metrics"]["cpu_time (ns)"] > 0 and "cpu_time (ns)" not in root["metrics"]


def test_state(proton, tmp_path):
    proton.start("test")
    with proton.scope("test0"):
        with proton.state("state"):
            with proton.scope("test1", {"a": 1.0}):
                pass
    proton.finalize()
    assert at(load(tmp_path / "test.hatchet"), "test0", "test1", "state")["metrics"] == {"a": 1.0}


def test_states_nest(proton, tmp_path):
    # Upstream has one slot, which the inner state's exit clears.
    proton.start("test")

    @proton.state("inner")
    def f():
        proton.enter_scope("s", metrics={"a": 1})
        proton.exit_scope()

    with proton.state("outer"):
        f()
        proton.enter_scope("s", metrics={"a": 2})
        proton.exit_scope()
    proton.exit_state()
    proton.finalize()
    scope = at(load(tmp_path / "test.hatchet"), "s")
    assert at(scope, "inner")["metrics"] == {"a": 1} and at(scope, "outer")["metrics"] == {"a": 2}


def test_context_depth(proton):
    session = proton.start("test")
    assert proton.context.depth(session) == 0
    with proton.scope("a"):
        assert proton.context.depth(session) == 1
        with proton.scope("b"):
            assert proton.context.depth(session) == 2
        assert proton.context.depth(session) == 1
    assert proton.context.depth(session) == 0
    proton.finalize()
    assert proton.context.depth(session) is None


def test_context_depth_of_python(proton):
    session = proton.start("test", context="python")

    def deeper():
        return proton.context.depth(session)

    here = proton.context.depth(session)
    assert here > 3 and deeper() == here + 1


def test_throw(proton, capfd):
    for call in (proton.activate, proton.deactivate):
        session = proton.start("test")
        with pytest.raises(IndexError, match="Session has not been initialized: 999999"):
            call(999999)
    proton.finalize(999999)
    assert capfd.readouterr().err == f"goproton: there is no session 999999 to finalize: the last one that was started is {session}\n"
    proton.finalize(session)
    proton.finalize(session)
    assert "to finalize" not in capfd.readouterr().err, "a session that has ended may be finalized again"


@pytest.mark.parametrize("arguments, error, text", [
    ({"context": "nonesuch"}, ValueError, r"\[PROTON\] Unknown context source: nonesuch; use shadow or python$"),
    ({"data": "nonesuch"}, ValueError, r"\[PROTON\] Unknown data: nonesuch; use tree or timeline$"),
    ({"backend": "nonesuch"}, ValueError, r"\[PROTON\] Unknown profiler: nonesuch; use instrumentation, cupti, rocprofiler"),
    ({"mode": "nonesuch"}, ValueError, "unsupported mode: nonesuch; use .*pcsampling"),
    ({"hook": "nonesuch"}, ValueError, "^Unsupported hook: 'nonesuch'; use 'triton', a goproton.hooks.Hook or None$"),
    ({"activities": ["memmove"]}, ValueError, r"\[PROTON\] Unknown activity: memmove; use kernel, memcpy, memset or sync$"),
    ({"mode": "periodic_flushing:every=3"}, ValueError, "unsupported option key: every"),
    ({"mode": "periodic_flushing:format=csv"}, ValueError, "unsupported format: csv"),
    ({"mode": "pcsampling:interval=3"}, ValueError, "interval=3: want a number of cycles from 32 to 2147483648"),
    ({"mode": "pcsampling", "data": "trace"}, ValueError, 'use data="tree"'),
])
def test_start_refuses(proton, arguments, error, text):
    with pytest.raises(error, match=text):
        proton.start("test", **arguments)
    assert not proton.flags.flags.profiling_on


def test_scopes_inside_kernels_need_triton(proton, monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)  # cannot be imported, whatever is installed
    with pytest.raises(RuntimeError, match="need Triton"):
        proton.start("test", backend="instrumentation")
    assert not proton.flags.flags.profiling_on


@pytest.fixture
def selected(proton, monkeypatch):
    "The backends that start() asks for."
    asked = []

    def call(method, **params):
        if method == "start":
            asked.append(params["backend"])
        return {"session": 0}

    monkeypatch.setattr("goproton._library.call", call)
    for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    return asked


def test_the_backend_is_that_of_the_imported_torch(proton, selected, monkeypatch):
    for hip in ("6.4", None):
        monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(version=types.SimpleNamespace(hip=hip)))
        proton.start("test")
    assert selected == ["hip", "cupti"]  # "hip" stands for the backend of AMD's whose library is installed


def test_the_backend_is_that_of_triton_s_active_driver(proton, selected, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    active = types.SimpleNamespace(get_current_target=lambda: types.SimpleNamespace(backend="hip"))
    for driver in (types.SimpleNamespace(_active=active), types.SimpleNamespace(_active=None), types.SimpleNamespace()):
        monkeypatch.setitem(sys.modules, "triton.runtime.driver", types.SimpleNamespace(driver=driver))
        proton.start("test")
    assert selected == ["hip", "cupti", "cupti"]


@pytest.mark.parametrize("name", ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"])
def test_start_refuses_devices_that_are_numbered_anew(proton, selected, monkeypatch, name):
    "As Triton's profiler does, with its text."
    monkeypatch.setenv(name, "0")
    for backend in ("rocprofiler", "roctracer", "ROCprofiler"):
        with pytest.raises(ValueError, match=f"environment variable {name} is set on AMD GPUs. Please unset it and use `ROCR_VISIBLE_DEVICES` instead"):
            proton.start("test", backend=backend)
    proton.start("test", backend="cupti")
    assert selected == ["cupti"]


def test_start_takes_names_in_any_case(proton):
    assert proton.start("test", context="Shadow", data="TREE", backend="CUPTI") is not None


def test_mode_object(proton):
    with pytest.raises(ValueError, match="interval=10: want a number of cycles"):
        proton.start("test", mode=proton.mode.PCSampling(interval=10))


def test_profile_disable(proton, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_PROTON_DISABLE", "1")
    assert proton.start("test") is None
    with proton.scope("x"):
        pass
    proton.deactivate()
    proton.finalize()
    assert not list(tmp_path.iterdir())


def test_finalize_within_scope(proton, tmp_path):
    first = proton.start("test0")
    proton.enter_scope("open")
    with proton.scope("a"), proton.state("s"):
        proton.finalize()
    assert (tmp_path / "test0.hatchet").exists()
    second = proton.start("test1")
    assert second == first + 1 and proton.context.depth(second) == 0
    with pytest.raises(IndexError):
        proton.exit_scope()


def test_finalize_refuses_a_format_and_keeps_the_session(proton, tmp_path):
    session = proton.start("test")
    for wrong, text in (("nonesuch", "Unknown output format: nonesuch"), ("chrome_trace", "Output format not supported")):
        with pytest.raises(ValueError, match=text):
            proton.finalize(session, wrong)
    assert proton.data.get(session)
    proton.finalize(session, "Hatchet")
    assert [p.name for p in tmp_path.iterdir()] == ["test.hatchet"]


def test_data_api(proton):
    session = proton.start("test")
    assert proton.data.get(None) is None and proton.data.is_phase_complete(None) is False
    with proton.scope("first", {"m": 1}):
        pass
    assert proton.data.is_phase_complete(session, 0) is False
    assert proton.data.advance_phase(session) == 1
    with proton.scope("second", {"m": 2}):
        pass
    proton.deactivate(session, flushing=True)
    assert proton.data.is_phase_complete(session, 0) is True and proton.data.is_phase_complete(session, 1) is False
    assert at(root_of(proton.data.get(session, 0)), "first")["metrics"] == {"m": 1}
    assert names(root_of(proton.data.get(session, 1))) == ["second"]
    proton.data.clear(session, 0)
    with pytest.raises(IndexError, match="Phase 0 has no data"):
        proton.data.get(session, 0)
    proton.data.clear(session, 77)
    raw = proton.data.get_msgpack(session, 1)
    assert raw[0] == 0x92 and b"second" in raw  # an array of two, as in a .hatchet_msgpack file


def test_calls_from_the_command_line_mode(proton):
    session = proton.start("test")
    proton.flags.flags.command_line = True
    assert proton.start("other") is None
    for call, what in ((proton.activate, "activated"), (proton.deactivate, "deactivated")):
        for bad in (None, session + 1):
            if bad != 0:
                with pytest.raises(ValueError, match=f"^Only one session can be {what} when running from the command line.$"):
                    call(bad)
    with pytest.raises(ValueError, match="Only one session can be finalized"):
        proton.finalize(session + 1)
    proton.finalize()
    assert proton.flags.flags.profiling_on, "the program's own finalize is ignored"
    with pytest.raises(ValueError, match="Only one session can be retrieved"):
        proton.data.get(session + 1)


def test_python_context(proton, tmp_path):
    proton.start("test", context="python")
    with proton.scope("named", {"m": 1}):
        pass
    proton.finalize()
    path, node = [], load(tmp_path / "test.hatchet")
    while node["children"]:
        node = node["children"][0]
        path.append(node["frame"]["name"])
    assert path[-1] == "named" and path[-2].endswith("@test_python_context"), path
    assert "test_api.py:" in path[-2] and node["metrics"] == {"m": 1}


def test_numbers_of_other_types(proton, tmp_path):
    from fractions import Fraction
    proton.start("test")
    with proton.scope("s", {"half": Fraction(1, 2), "yes": True, "big": 1 << 63, "flops": 3, "bytes": 4.0}):
        pass
    proton.finalize()
    metrics = at(load(tmp_path / "test.hatchet"), "s")["metrics"]
    assert metrics == {"half": 0.5, "yes": 1, "big": float(1 << 63), "flops": 3.0, "bytes": 4}
    assert isinstance(metrics["flops"], float) and isinstance(metrics["bytes"], int)


def test_forked_child_is_silent(proton, tmp_path):
    import os
    proton.start("test", hook="triton")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with proton.scope("child", {"m": 1}):
                proton.deactivate()
                proton.finalize()
            code = 0 if not proton.flags.flags.profiling_on else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert not (tmp_path / "test.hatchet").exists()
    with proton.scope("parent", {"m": 1}):
        pass
    proton.finalize()
    assert names(load(tmp_path / "test.hatchet")) == ["parent"]


def test_a_forked_child_has_no_data(proton):
    session = proton.start("test")
    data = proton.data
    assert answer_in_child(lambda: [
        data.get(session), data.get_msgpack(session), data.advance_phase(session), data.is_phase_complete(session), data.clear(session),
        proton.context.depth(session)]) == "[None, None, None, False, None, None]"
    assert data.get(session)[0]["frame"]["name"] == "ROOT"


FRESH_SCOPES = """
import os
import goproton

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

goproton.start("profile")
before = resident()
for step in range(1_000_000):
    with goproton.scope(f"step {step:0100d}"):
        pass
print((resident() - before) >> 20)
"""


def test_memory_of_scopes_with_new_names(library, tmp_path):
    """A million call paths with their names take 200 MB. The program makes them as fast as it can while others are reclaimed."""
    done = run_python(FRESH_SCOPES, env={"PROTON_LIB": library}, cwd=tmp_path)
    assert int(done.stdout) < 100, f"{done.stdout.strip()} MB are in use"


RENAMED = """
import ctypes
import goproton as proton
from goproton import _library

proton.start("out")
before = _library.call("status")["command"]
argument = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "program_invocation_name")  # the memory that /proc/self/cmdline shows
ctypes.memmove(argument.value, b"ray::t ", 7)
print(before.startswith("ray"), _library.call("status")["command"][:7])
"""


def test_status_has_the_command_line_of_now(library, tmp_path):
    done = run_python(RENAMED, env={"PROTON_LIB": library}, cwd=tmp_path)
    assert done.stdout == "False ray::t \n", "workers of Ray and vLLM name themselves there when they have begun"
