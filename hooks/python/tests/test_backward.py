"""Scopes of backward passes: those of the thread that calls backward, at that moment. The work that a thread of torch's does is metrics here."""

import shutil
import sys

import pytest
from conftest import run_python
from test_torch import torch_python  # noqa: F401
from test_windows import walk
from trees import load

FAKE = """
import threading
import fake_libtorch
torch = fake_libtorch.autograd()
import goproton as proton
from goproton import _library
proton.start("p")
engine = torch.autograd.Variable._execution_engine
here = lambda: _library.native.add_metrics({"kernels": 1})
"""


def counts(library, tmp_path, program, python=sys.executable):
    """How many times here() was called in each call path, the root's is ''."""
    run_python(program + "\nproton.finalize()", env={"PROTON_LIB": str(library)}, python=python, cwd=tmp_path)
    root = load(tmp_path / "p.hatchet")
    return {path: metrics["kernels"] for path, metrics in [("", root["metrics"]), *walk(root)] if metrics.get("kernels")}


@pytest.mark.skipif(not shutil.which("cc"), reason="needs cc")
@pytest.mark.parametrize("body, want", [
    ("""
engine.run_backward(here)
for step in "12":
    with proton.scope(step):
        with proton.scope("backward"): assert engine.run_backward(here, times=2) == 2
        here()
engine.run_backward(here)
""", {"": 2, "1/backward": 2, "1": 1, "2/backward": 2, "2": 1}),
    # Two threads call backward while the other one does, and the main thread has a scope of its own.
    ("""
begun, go = threading.Barrier(2), threading.Barrier(2)
def train(name):
    with proton.scope(name):
        begun.wait()
        for turn in range(10):
            engine.run_backward(here)
            with proton.scope("inner"): engine.run_backward(here)
threads = [threading.Thread(target=train, args=[name]) for name in "ab"]
with proton.scope("main"):
    for t in threads: t.start()
    for t in threads: t.join()
    engine.run_backward(here)
""", {"main/a": 10, "main/a/inner": 10, "main/b": 10, "main/b/inner": 10, "main": 1}),
    # What runs in a backward pass has scopes of its own, and calls backward.
    ("""
def hook():
    with proton.scope("hook"): here()
    here()
with proton.scope("step"): engine.run_backward(hook)
""", {"step/hook": 1, "step": 1}),
    ("""
def fails(): raise KeyError("x")
with proton.scope("step"):
    try: engine.run_backward(fails)
    except KeyError: pass
    else: raise SystemExit("nothing was raised")
    engine.run_backward(here)
""", {"step": 1}),
], ids=["steps", "threads", "hook", "error"])
def test_of_the_caller(library, tmp_path, body, want):
    assert counts(library, tmp_path, FAKE + body) == want


# Below 60 backward passes inside of each other, autograd takes another thread: the only ones of its own that it has on the CPU.
NESTED = """
import threading
import goproton as proton
from goproton import _library
proton.start("p")
import torch
threads = set()
class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        threads.add(threading.get_ident())
        _library.native.add_metrics({"kernels": 1})
        x, = ctx.saved_tensors
        if ctx.n:
            with torch.enable_grad():
                Nested.apply(x.detach().requires_grad_(), ctx.n - 1).sum().backward()
        return gradient * 2, None


def train(scope):
    for step in range(3):
        with proton.scope(scope): Nested.apply(torch.ones(8, requires_grad=True), 100).sum().backward()
"""


@pytest.mark.parametrize("body, want", [
    ("train('step')", {"step": 303}),
    ("""
both = [threading.Thread(target=train, args=[scope]) for scope in "ab"]
with proton.scope("main"):
    for t in both: t.start()
    for t in both: t.join()
""", {"main/a": 303, "main/b": 303}),
], ids=["main", "threads"])
def test_with_torch(library, tmp_path, torch_python, body, want):  # noqa: F811
    assert counts(library, tmp_path, NESTED + body + "\nassert len(threads) > 1, threads", python=torch_python) == want
