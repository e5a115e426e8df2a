"""The launch hook of real Triton releases with the real native module: what ends up in the profile."""

from conftest import run_python

PRELUDE = """
import json, sys
import goproton as proton
from goproton.hooks import LaunchHook
import goproton.hooks.launch as proton_launch

def launch(name="kernel", function=1, metadata=None):
    "What Triton's launcher does with its hooks; where the driver call would be, nothing happens."
    from triton.compiler import LazyDict
    from triton import knobs
    lazy = LazyDict({"name": name, "function": function, "stream": 0})
    if metadata:
        lazy.add(metadata, ())
    knobs.runtime.launch_enter_hook(lazy)
    knobs.runtime.launch_exit_hook(lazy)
    proton_native().exit_op()       # stands for the launch of the function, which ends the op

def proton_native():
    return sys.modules["goproton._native"]

def tree():
    root = proton.data.get(session)[0]
    return {child["frame"]["name"]: child["metrics"] for child in root["children"]}
"""


def run(code, triton, library, tmp_path):
    return run_python(PRELUDE + code, path=[triton], env={"PROTON_LIB": library}, cwd=tmp_path)


def test_names_and_metrics_from_launch_metadata(triton, library, tmp_path):
    run("""
session = proton.start("p", hook="triton")
launch("add", metadata=lambda: {"name": "add_1024", "flops32": 7, "bytes": 3.0, "extra": 1.5, "note": "text", "none": None})
launch("add", metadata=lambda: {"name": "add_1024", "flops32": 7, "bytes": 3.0, "extra": 1.5})
launch("plain")
assert tree()["add_1024"] == {"flops32": 14.0, "bytes": 6, "extra": 3.0}, tree()
""", triton, library, tmp_path)


def test_metadata_that_raise_do_not_break_the_launch(triton, library, tmp_path):
    done = run("""
session = proton.start("p", hook="triton")
for _ in range(3):
    launch("bad", metadata=lambda: 1 / 0)
launch("good", metadata=lambda: {"flops": 1})
assert tree()["good"] == {"flops": 1.0}
""", triton, library, tmp_path)
    assert done.stderr.count("ZeroDivisionError") == 1 and "bad" in done.stderr


def test_hook_launch_filter(triton, library, tmp_path):
    run("""
called = []
def metadata(tag, **more):
    return lambda: called.append(tag) or {"flops": 1, **more}
LaunchHook().configure(include=".*foo")     # before the library is there
session = proton.start("p", hook="triton")
launch("foo", metadata=metadata("foo")); launch("bar", metadata=metadata("bar"))
assert called == ["foo"] and list(tree()) == ["foo"], (called, tree())
LaunchHook().configure(exclude="renamed")
launch("bar", metadata=metadata("bar")); launch("baz", metadata=metadata("baz", name="renamed_baz"))
assert called == ["foo", "bar", "baz"] and list(tree()) == ["foo", "bar"], tree()
LaunchHook().configure()
launch("renamed", metadata=metadata("x"))
assert list(tree()) == ["foo", "bar", "renamed"]
""", triton, library, tmp_path)


def test_filter_with_a_custom_hook(triton, library, tmp_path):
    run("""
from goproton.hooks import Hook
seen = []
class Mine(Hook):
    def activate(self): pass
    def deactivate(self): pass
    def enter(self, metadata): seen.append(metadata.get()["name"])
    def exit(self, metadata): pass
session = proton.start("p", hook="triton")
proton.start("q", hook=Mine())
LaunchHook().configure(include="foo")
for name in ("foo", "bar"):
    launch(name, metadata=lambda: {"flops": 1})
assert seen == ["foo", "bar"] and list(tree()) == ["foo"]
""", triton, library, tmp_path)


def test_user_state_survives_the_hook(triton, library, tmp_path):
    # Upstream's hook clears the one state slot there.
    run("""
session = proton.start("p", hook="triton")
with proton.scope("s"), proton.state("phase"):
    launch("k", metadata=lambda: {"flops": 1})
root = proton.data.get(session)[0]
assert root["children"][0]["children"][0]["frame"]["name"] == "phase", root
""", triton, library, tmp_path)


def test_ids_and_names_of_launches(triton, library, tmp_path):
    run("""
import threading
assert proton_launch.id.get() is None and proton_launch.op_name.get("none") == "none"
session = proton.start("p", hook="triton")
ids = []
def work(name):
    assert proton_launch.id.get() is None
    for _ in range(100):
        launch(name)
        ids.append(proton_launch.id.get())
        assert proton_launch.op_name.get() == name
threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
[t.start() for t in threads]; [t.join() for t in threads]
assert len(set(ids)) == 200
""", triton, library, tmp_path)


def test_tensors_among_metadata_reach_the_handler(triton, library, tmp_path):
    run("""
class HostTensor:
    "A CPU tensor, as far as anyone looks."
    def __init__(self, value): self.value = value
    def data_ptr(self): return 4096
    def tolist(self): return self.value
session = proton.start("p", hook="triton")
launch("k", metadata=lambda: {"flops": HostTensor(2), "bytes": HostTensor(3.0), "v": HostTensor([1, 2])})
with proton.scope("s", {"t": HostTensor([4])}):
    pass
assert tree() == {"k": {"flops": 2.0, "bytes": 3, "v": [1, 2]}, "s": {"t": 4}}, tree()
""", triton, library, tmp_path)
