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
assert libproton is libproton_too is sys.modules["goproton._libproton"]
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
assert libproton is not sys.modules.get("goproton._libproton")
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
    assert [e["args"]["metrics"] for e in events if e["name"] == "work"] == [{"m": 1}]
