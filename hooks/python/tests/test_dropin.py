"""install() makes Triton's names ours; uninstall() gives them back."""

import json

from conftest import run_python
from trees import at, load

IMPORTS = """
import triton.profiler as proton
from triton.profiler import scope, cpu_timed_scope, start
import triton.profiler.scope, triton.profiler.state, triton.profiler.profile, triton.profiler.flags
from triton.profiler.state import COMPUTE_METADATA_SCOPE_NAME
from triton.profiler.profile import _select_backend
import triton.profiler.hooks.launch as proton_launch
from triton.profiler.hooks.launch import COMPUTE_METADATA_SCOPE_NAME as _same
from triton.profiler.hooks import HookManager, LaunchHook
from triton.profiler.hooks.instrumentation import InstrumentationHook
from triton.profiler.metric import transform_tensor_metrics, FLOPS_WIDTHS
from triton._C.libproton import proton as libproton
import triton._C.libproton.proton as libproton_too
from triton.profiler import viewer, specs, mode, data, context
import goproton
assert proton is goproton and start is goproton.start and proton.scope is goproton.scope is scope
assert isinstance(proton.scope, type) and proton.profile is goproton.profile and callable(proton.state)
assert proton_launch is goproton.hooks.launch and viewer is goproton.viewer
assert libproton is libproton_too is sys.modules["goproton._triton.libproton"]
assert proton.__name__ == "goproton" and proton.__spec__.name == "goproton"
assert _select_backend() == "cupti"
"""


def test_before_triton_is_imported(triton):
    code = "import sys, goproton\ngoproton.install()\nassert 'triton' not in sys.modules\n" + IMPORTS
    run_python(code, path=[triton])


def test_after_triton_is_imported(triton):
    run_python("import sys, triton, goproton\ngoproton.install()\n" + IMPORTS, path=[triton])


def test_language_of_kernels(triton):
    code = """
import goproton
goproton.install()
import triton.profiler.language as pl
assert pl is goproton.language and callable(pl.enter_scope)
"""
    run_python(code, path=[triton])


def test_in_place_of_triton_s_own_and_back(triton):
    code = """
import sys
import triton.profiler as original
import triton.profiler.hooks.launch as original_launch
import goproton
goproton.install(); goproton.install()
import triton, triton.profiler as proton
assert proton is goproton and triton.profiler is goproton and original is not goproton
from triton.profiler.hooks import launch
assert launch is goproton.hooks.launch
goproton.uninstall(); goproton.uninstall()
import triton.profiler as again, triton.profiler.hooks.launch as launch_again
assert again is original and triton.profiler is original and launch_again is original_launch
from triton._C.libproton import proton as libproton
assert libproton is not sys.modules.get("goproton._triton.libproton")
"""
    run_python(code, path=[triton])


def test_uninstall_when_triton_s_own_was_never_imported(triton):
    code = """
import goproton
goproton.install()
import triton.profiler
assert triton.profiler is goproton
goproton.uninstall()
import triton.profiler as own
assert own is not goproton and own.__name__ == "triton.profiler"
"""
    run_python(code, path=[triton])


def test_a_triton_without_profiler(tmp_path):
    # Wheels for some platforms are built without it.
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("")
    (tmp_path / "triton" / "_C").mkdir()
    run_python("import sys, goproton\ngoproton.install()\n" + IMPORTS, path=[tmp_path])


def test_what_we_do_not_have_is_an_import_error(triton):
    code = """
import goproton
goproton.install()
try:
    import triton.profiler.nonesuch
    raise SystemExit("no error")
except ModuleNotFoundError as error:
    assert error.name == "triton.profiler.nonesuch"
"""
    run_python(code, path=[triton])


def test_triton_s_command_lines(triton, library, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("""
import sys
import triton.profiler as proton
assert proton.__name__ == "goproton"
with proton.scope("work", {"m": 1}):
    pass
""")
    env = {"PROTON_LIB": library}
    run = """
import runpy, sys, goproton
goproton.install()
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
    run_python(run, "triton.profiler.proton", "-n", "out", str(script), path=[triton], env=env, cwd=tmp_path)
    assert at(load(tmp_path / "out.hatchet"), "work")["metrics"] == {"m": 1}
    done = run_python(run, "triton.profiler.viewer", "--help", path=[triton], env=env, cwd=tmp_path)
    assert "--diff-profile" in done.stdout
    done = run_python(run, "triton.profiler.proton", "-d", "trace", "-n", "out", str(script), path=[triton], env=env, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    events = json.loads((tmp_path / "out.chrome_trace").read_text())["traceEvents"]
    assert [(e["name"], e["args"]["metrics"]) for e in events] == [("work: <m, 1>", {"m": "1"})]
    run_python("import runpy; runpy.run_module('goproton.proton', run_name='__main__', alter_sys=True)", "-d", "trace", "-n", "own", str(script),
               path=[triton], env=env, cwd=tmp_path)
    events = json.loads((tmp_path / "own.chrome_trace").read_text())["traceEvents"]
    assert [e["args"]["metrics"] for e in events if e["name"] == "work"] == [{"m": 1}]


SESSION = """
import sys, spy_native
sys.modules["goproton._native"] = native = spy_native.make()
import goproton
from goproton.mode import PCSampling
from goproton._triton import libproton

def asked(mode=None, backend="cupti", through=None):
    (through or goproton.start)("p", backend=backend, mode=mode)
    started = [arguments for name, arguments in native.calls if name == "start"][-1]
    return started["mode"], started["trace_form"]
"""


def test_what_sessions_do_by_default():
    """Under Triton's names, what Triton's profiler does; unless a program asks for ours."""
    code = SESSION + """
assert asked("pcsampling") == ("pcsampling", "") and asked() == ("", "")
goproton.install()
serialized = "pcsampling:collection=serialized:interval=512"
assert asked("pcsampling") == asked(PCSampling()) == (serialized, "triton")
assert asked("pcsampling:interval=64")[0] == "pcsampling:collection=serialized:interval=64"
assert asked(PCSampling(kernels="a:interval=2"))[0] == serialized + ":kernels=a:interval=2"
assert asked(PCSampling(collection="continuous"))[0] == "pcsampling:collection=continuous"
assert asked("pcsampling", backend="roctracer")[0] == "pcsampling"
assert asked("periodic_flushing") == ("periodic_flushing", "triton")
libproton.start("p", "shadow", "trace", "cupti", "pcsampling")
assert native.calls[-1][1]["mode"] == serialized and native.calls[-1][1]["trace_form"] == "triton"
goproton.install(upstream=False)
assert asked("pcsampling") == ("pcsampling", "")
goproton.install(); goproton.uninstall()
assert asked("pcsampling") == ("pcsampling", "")
"""
    run_python(code)


def test_timelines_under_triton_s_names(triton, library, tmp_path):
    code = """
import json, goproton
goproton.install()
import triton.profiler as proton
proton.start("p", data="trace", backend="cupti")
with proton.scope("outer", {"loss (exc)": 0.5, "kind (pty)": "x"}):
    with proton.scope("inner"):
        pass
proton.finalize()
file = json.load(open("p.chrome_trace"))
assert list(file) == ["baseTimeNanoseconds", "displayTimeUnit", "traceEvents"]
outer, inner = file["traceEvents"]
assert outer["name"] == "outer: <loss (exc), 0.500000>, <kind (pty), x>" and outer["cat"] == "metric" and outer["ts"] == 0
assert inner["name"] == "inner" and inner["cat"] == "scope" and inner["args"]["call_stack"] == ["ROOT", "outer", "inner"]
goproton.install(upstream=False)
proton.start("p", data="trace", backend="cupti")
with proton.scope("outer", {"loss (exc)": 0.5}):
    pass
proton.finalize()
events = json.load(open("p.chrome_trace"))["traceEvents"]
assert [e["args"]["metrics"] for e in events if e["name"] == "outer"] == [{"loss": 0.5}]
"""
    run_python(code, path=[triton], env={"PROTON_LIB": library}, cwd=tmp_path)
