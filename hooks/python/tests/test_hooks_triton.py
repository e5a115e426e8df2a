"""Our hooks in real Triton releases: HookChain, LazyDict and knobs work without a GPU."""

from conftest import run_python

PRELUDE = """
import sys, spy_native
sys.modules["goproton._native"] = native = spy_native.make()
import goproton as proton
from goproton.hooks import Hook, HookManager, LaunchHook
calls = native.calls

def launch(name="kernel", function=1, metadata=None):
    "What Triton's launcher does with its hooks, without the launch."
    from triton.compiler import LazyDict
    from triton import knobs
    lazy = LazyDict({"name": name, "function": function, "stream": 0})
    if metadata:
        lazy.add(metadata, ())
    enter, exit = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
    if enter is not None: enter(lazy)
    if exit is not None: exit(lazy)

def said(*names):
    return [c for c in calls if c[0] in names]
"""


def test_fast_path_is_the_native_function_itself(triton):
    code = PRELUDE + """
import triton
runtime = triton.knobs.runtime
s = proton.start("p", hook="triton")
assert runtime.launch_enter_hook.calls == [native.launch_enter]
assert runtime.launch_exit_hook.calls == [native.launch_exit]
launch("a"); launch("b")
assert said("launch_enter") == [("launch_enter", "a"), ("launch_enter", "b")]
proton.deactivate(s)
assert runtime.launch_enter_hook.calls == runtime.launch_exit_hook.calls == []
proton.activate(s); proton.activate(s)
assert runtime.launch_enter_hook.calls == [native.launch_enter]
proton.finalize()
assert runtime.launch_enter_hook.calls == [] and not HookManager.active_hooks and not HookManager.session_hooks
"""
    run_python(code, path=[triton])


def test_triton_imported_after_start(triton):
    code = PRELUDE + """
s = proton.start("p", hook="triton")
assert "triton" not in sys.modules and HookManager.active_hooks == [LaunchHook()]
import triton
assert triton.knobs.runtime.launch_enter_hook.calls == [native.launch_enter]
assert type(triton.__spec__.loader).__name__ == "SourceFileLoader" and "exec_module" not in vars(triton.__spec__.loader)
assert "triton" not in proton._imports._waiting  # others may be waited for: scopes follow the tasks of asyncio and uvloop
proton.finalize()
assert triton.knobs.runtime.launch_enter_hook.calls == []
"""
    run_python(code, path=[triton])


CUSTOM = """
order = []
class Mine(Hook):
    def __init__(self, name, priority, fail=False): self.name, self.priority, self.fail = name, priority, fail
    def activate(self): order.append("+" + self.name)
    def deactivate(self): order.append("-" + self.name)
    def enter(self, metadata):
        if self.fail: raise KeyError(self.name)
        order.append("(" + self.name)
    def exit(self, metadata): order.append(self.name + ")")
    def init_handle(self, module, function, name, metadata_group, hash): order.append("load " + name)
    def destroy_handle(self, module, function, name, metadata_group, hash): order.append("unload " + name)
"""


def test_custom_hooks_by_priority_with_the_launch_hook(triton):
    code = PRELUDE + CUSTOM + """
import triton
low, high = Mine("low", 1), Mine("high", 200)
s0 = proton.start("a", hook="triton"); s1 = proton.start("b", hook=low); s2 = proton.start("c", hook=high)
assert [h.priority for h in HookManager.active_hooks] == [200, 100, 1]
assert triton.knobs.runtime.launch_enter_hook.calls == [HookManager.enter]
launch("k")
assert order == ["+low", "+high", "(high", "(low", "low)", "high)"], order
triton.knobs.runtime.kernel_load_end_hook("m", 1, "k", {}, "h")
assert order[-2:] == ["load k", "load k"]
if hasattr(triton.knobs.runtime, "kernel_unload_hook"):
    triton.knobs.runtime.kernel_unload_hook("m", 1, "k", {}, "h")
    assert order[-2:] == ["unload k", "unload k"]
proton.finalize(s1); proton.finalize(s2)
assert order[-2:] == ["-low", "-high"]
assert triton.knobs.runtime.launch_enter_hook.calls == [native.launch_enter]
"""
    run_python(code, path=[triton])


def test_an_error_in_a_custom_hook_leaves_the_entered_hooks(triton):
    code = PRELUDE + CUSTOM + """
bad = Mine("bad", 1, fail=True)
proton.start("a", hook="triton"); proton.start("b", hook=bad)
try:
    launch("k")
    raise SystemExit("the hook's own error was swallowed")
except KeyError:
    pass
assert said("launch_enter", "launch_exit") == [("launch_enter", "k"), ("launch_exit", "k")]
"""
    run_python(code, path=[triton])


def test_one_hook_in_several_sessions(triton):
    code = PRELUDE + """
import triton
a = proton.start("a", hook="triton"); b = proton.start("b", hook="triton")
hook = LaunchHook()
assert LaunchHook() is hook and HookManager.active_hooks == [hook]
assert HookManager.session_hooks[a][hook] and HookManager.session_hooks[b][hook]
proton.deactivate(a)
assert HookManager.active_hooks == [hook] and HookManager.session_hooks[a][hook] is False
proton.deactivate(b); proton.deactivate(b)
assert HookManager.active_hooks == [] and triton.knobs.runtime.launch_enter_hook.calls == []
proton.activate()
assert HookManager.active_hooks == [hook] and HookManager.session_hooks[a][hook] is True
proton.finalize(a)
assert HookManager.active_hooks == [hook] and a not in HookManager.session_hooks
proton.finalize(b)
assert HookManager.active_hooks == []
"""
    run_python(code, path=[triton])


def test_hooks_registered_before_the_first_session(triton):
    code = PRELUDE + """
import triton
class Mine(Hook):
    priority = 7
    def enter(self, metadata): pass
    exit = enter
    def activate(self): pass
    deactivate = activate

mine, hook = Mine(), LaunchHook()
HookManager.register(mine, 2); HookManager.register(hook, 2); HookManager.register(LaunchHook(), 2)
assert HookManager.active_hooks == [hook, mine] and HookManager.session_hooks[2] == {mine: True, hook: True}
launch("k")
assert said("launch_enter", "launch_exit") == [("launch_enter", "k"), ("launch_exit", "k")]
HookManager.unregister()
assert HookManager.active_hooks == [] and triton.knobs.runtime.launch_enter_hook.calls == []
"""
    run_python(code, path=[triton])
    without_library = code.replace('sys.modules["goproton._native"] = ', "").replace('== [("launch_enter", "k"), ("launch_exit", "k")]', "== []")
    run_python(without_library, path=[triton], env={"PROTON_LIB": "/nonesuch"})


def test_hooks_of_other_tools_keep_running(triton):
    code = PRELUDE + """
import triton
runtime = triton.knobs.runtime
theirs = []
runtime.launch_enter_hook.add(lambda lazy: theirs.append("enter"))
runtime.launch_exit_hook.add(lambda lazy: theirs.append("exit"))
proton.start("p", hook="triton")
launch("k")
assert theirs == ["enter", "exit"] and said("launch_enter")
proton.finalize()
launch("k")
assert theirs == ["enter", "exit"] * 2 and len(said("launch_enter")) == 1
"""
    run_python(code, path=[triton])


def test_a_tool_that_assigned_to_the_slot_before_us(triton):
    code = PRELUDE + """
import triton
runtime = triton.knobs.runtime
theirs = []
tool = lambda lazy: theirs.append(lazy.data["name"])
for before in (tool, None):
    runtime.launch_enter_hook = before
    spy_native.reset(); theirs.clear()
    proton.start("p", hook="triton")
    launch("k")
    assert said("launch_enter") == [("launch_enter", "k")] and theirs == (["k"] if before else [])
    proton.finalize()
    assert runtime.launch_enter_hook is before
"""
    run_python(code, path=[triton])


def test_a_tool_that_assigns_to_the_slot_after_us(triton):
    code = PRELUDE + """
import triton
runtime = triton.knobs.runtime
chain = runtime.launch_enter_hook
s = proton.start("p", hook="triton")
tool = lambda lazy: None
runtime.launch_enter_hook = tool
launch("k")
proton.deactivate(s)
assert runtime.launch_enter_hook is tool and chain.calls == []
proton.activate(s)             # finds itself a place again
launch("k")
assert said("launch_enter") == [("launch_enter", "k")]
runtime.launch_enter_hook = None
proton.finalize()
assert runtime.launch_enter_hook is None
"""
    run_python(code, path=[triton])


def test_knobs_that_are_replaced_as_a_whole(triton):
    code = PRELUDE + """
import triton
before = triton.knobs.runtime
proton.start("p", hook="triton")
triton.knobs.runtime = before.copy()
proton.finalize()
assert before.launch_enter_hook.calls == [] and triton.knobs.runtime.launch_enter_hook.calls == []
"""
    run_python(code, path=[triton])


def test_disabled_by_the_knob(triton):
    code = PRELUDE + """
import triton
triton.knobs.proton.disable = True
assert proton.start("p", hook="triton") is None and not proton.flags.flags.profiling_on
proton.deactivate(); proton.finalize()
triton.knobs.proton.disable = False
assert proton.start("p") == 0
"""
    run_python(code, path=[triton])


def test_unknown_hook_starts_nothing(triton):
    code = PRELUDE + """
for hook in ("tritn", 3):
    try:
        proton.start("p", hook=hook)
        raise SystemExit("no error")
    except ValueError as error:
        assert str(error).startswith(f"Unsupported hook: {hook!r}; use 'triton'")
assert not said("start") and not proton.flags.flags.profiling_on
"""
    run_python(code, path=[triton])


def test_a_forked_child_has_no_hooks(triton):
    code = PRELUDE + """
import os, triton
proton.start("p", hook="triton")
pid = os.fork()
if pid == 0:
    ok = (not HookManager.active_hooks and not triton.knobs.runtime.launch_enter_hook.calls
          and not proton.flags.flags.profiling_on)
    os._exit(0 if ok else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert triton.knobs.runtime.launch_enter_hook.calls == [native.launch_enter]
"""
    run_python(code, path=[triton])


KERNEL = '''
import triton, triton.language as tl
import triton.profiler as proton
import triton.profiler.language as pl
from triton.profiler.language import enter_scope

@triton.jit
def kernel(x, n: tl.constexpr):
    pl.enter_scope("load")
    offsets = tl.arange(0, n)
    with pl.scope("inner"):
        v = tl.load(x + offsets)
    pl.exit_scope("load")
    enter_scope("store")
    tl.store(x + offsets, v)
    pl.exit_scope("store")
'''


def test_marks_inside_kernels_compile_to_nothing(triton, tmp_path):
    # To TTIR only: it needs no assembler. The kernel's file is a module because Triton reads the source.
    (tmp_path / "marked.py").write_text(KERNEL)
    code = """
import goproton
goproton.install()
import marked, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
assert marked.pl is goproton.language
stages = triton.compile(ASTSource(marked.kernel, {"x": "*fp32", "n": "constexpr"}, {(1,): 64}),
                        target=GPUTarget("cuda", 90, 32))
text = stages.asm["ttir"]
assert "tt.load" in text and "proton" not in text, text
assert marked.kernel.cache_key
"""
    done = run_python(code, path=[triton, tmp_path], env={"TRITON_CACHE_DIR": str(tmp_path / "cache")})
    assert "Traceback" not in done.stderr


AUTOTUNER = """
def tuned(bench=None):
    "An autotuner of Triton, whose function is ours and whose benchmark launches it twice."
    import types
    from triton.runtime.autotuner import Autotuner
    a = object.__new__(Autotuner)
    a.nargs, a.pre_hook, a.post_hook = {}, lambda *_, **__: None, lambda *_, **__: None
    a.base_fn = a.fn = types.SimpleNamespace(__name__="f", run=lambda *_, **__: calls.append(("run",)))
    a._do_bench = bench
    a.do_bench = bench or (lambda call, quantiles: [call(), call()])
    return a._bench(1, config=triton.Config({"BLOCK": 16}))
NAMED = [("scope.enter", "<autotune>", None), ("run",), ("run",), ("scope.exit", "<autotune>")]
"""


def test_autotuners_have_a_frame(triton):
    code = PRELUDE + AUTOTUNER + """
import triton
from triton.runtime.autotuner import Autotuner
before = Autotuner._bench
s = proton.start("p", hook="triton")
assert Autotuner._bench.__name__ == "_bench" and Autotuner._bench is not before
tuned()
assert said("scope.enter", "run", "scope.exit") == NAMED
calls.clear()
tuned(lambda call, quantiles: call())  # of the program
assert said("scope.enter", "run", "scope.exit") == [("run",)]
proton.deactivate(s)
assert Autotuner._bench is before
proton.activate(s); calls.clear(); tuned()
assert said("scope.enter", "run", "scope.exit") == NAMED
others, Autotuner._bench = Autotuner._bench, lambda self, *a, **k: others(self, *a, **k)
on_top = Autotuner._bench
proton.finalize()
assert Autotuner._bench is on_top
calls.clear(); tuned()
assert ("run",) in calls
"""
    run_python(code, path=[triton])


def test_autotuners_have_no_frame_under_tritons_names(triton):
    code = PRELUDE + AUTOTUNER + """
proton.install()
import triton
proton.start("p", hook="triton")
tuned()
assert said("scope.enter", "run", "scope.exit") == [("run",), ("run",)]
proton.finalize()
proton.uninstall()
proton.start("p", hook="triton")
calls.clear(); tuned()
assert said("scope.enter", "run", "scope.exit") == NAMED
"""
    run_python(code, path=[triton])
