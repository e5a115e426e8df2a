"""Triton 3.0 to 3.4 keep one callable per slot. Those releases are not fetched; these are their documented shapes."""

from conftest import run_python

PRELUDE = """
import sys, types, spy_native
sys.modules["goproton._native"] = native = spy_native.make()
import goproton as proton
from goproton.hooks import HookManager, LaunchHook, Hook

class Lazy:
    def __init__(self, data): self.data = data
    def get(self): return self.data

class CompiledKernel:
    def launch(self):
        "The launcher: both hooks are looked up on the class. The handle is not loaded yet at the first launch."
        lazy = Lazy({"name": "k", "function": None, "stream": 0})
        if holder().launch_enter_hook is not None: holder().launch_enter_hook(lazy)
        if holder().launch_exit_hook is not None: holder().launch_exit_hook(lazy)

triton = types.ModuleType("triton")
triton.compiler = types.ModuleType("triton.compiler")
triton.compiler.CompiledKernel = CompiledKernel
sys.modules["triton"], sys.modules["triton.compiler"] = triton, triton.compiler
"""

CLASS_ATTRIBUTES = PRELUDE + """
CompiledKernel.launch_enter_hook = CompiledKernel.launch_exit_hook = None
holder = lambda: CompiledKernel
"""

SINGLE_KNOBS = PRELUDE + """
triton.knobs = types.ModuleType("triton.knobs")
triton.knobs.runtime = types.SimpleNamespace(launch_enter_hook=None, launch_exit_hook=None)
triton.knobs.proton = types.SimpleNamespace(disable=False)
sys.modules["triton.knobs"] = triton.knobs
holder = lambda: triton.knobs.runtime
"""

ALONE = """
proton.start("p", hook="triton")
CompiledKernel().launch()
assert native.calls[-2:] == [("launch_enter", "k"), ("launch_exit", "k")], native.calls
proton.finalize()
assert holder().launch_enter_hook is None and holder().launch_exit_hook is None
"""

WITH_ANOTHER_TOOL = """
order = []
def before(lazy): order.append("tool enter")
def after(lazy): order.append("tool exit")
holder().launch_enter_hook, holder().launch_exit_hook = before, after
native.launch_enter = lambda lazy: order.append("enter")
native.launch_exit = lambda lazy: order.append("exit")
s = proton.start("p", hook="triton")
CompiledKernel().launch()
assert order == ["tool enter", "enter", "exit", "tool exit"], order
proton.deactivate(s)
assert holder().launch_enter_hook is before and holder().launch_exit_hook is after
proton.activate(s)
# Another tool wraps what it finds, ours included; when we leave, the chain below it stays whole.
ours = holder().launch_enter_hook
wrapper = lambda lazy: ours(lazy)
holder().launch_enter_hook = wrapper
proton.finalize()
order.clear()
CompiledKernel().launch()
assert holder().launch_enter_hook is wrapper and order == ["tool enter", "tool exit"], order
"""


def test_class_attributes():
    run_python(CLASS_ATTRIBUTES + ALONE)


def test_class_attributes_with_another_tool():
    run_python(CLASS_ATTRIBUTES + WITH_ANOTHER_TOOL)


def test_knobs_with_single_callables():
    run_python(SINGLE_KNOBS + ALONE)


def test_knobs_with_single_callables_and_another_tool():
    run_python(SINGLE_KNOBS + WITH_ANOTHER_TOOL)


def test_custom_hook_on_class_attributes():
    code = CLASS_ATTRIBUTES + """
seen = []
class Mine(Hook):
    def activate(self): pass
    def deactivate(self): pass
    def enter(self, metadata): seen.append(metadata.get()["name"])
    def exit(self, metadata): seen.append("exit")
proton.start("p", hook=Mine())
CompiledKernel().launch()
assert seen == ["k", "exit"]
proton.finalize()
assert CompiledKernel.launch_enter_hook is None
"""
    run_python(code)


def test_a_triton_without_hooks_is_left_alone():
    code = PRELUDE + """
s = proton.start("p", hook="triton")
assert HookManager.active_hooks == [LaunchHook()]
proton.finalize()
"""
    run_python(code)
