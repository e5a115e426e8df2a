"""Triton's slots and functions are others' too: hooks that come and go, knobs that are set back, functions that are copied."""

from conftest import run_python
from test_tritonparse import BEGIN, of, traced  # noqa: F401, the fixture


def test_knobs_that_are_set_back_after_the_end(traced):  # noqa: F811
    """Fixtures of tests put all knobs back to what they were before: with a listener of a trace that is over."""
    found, done = traced(BEGIN + """
with knobs.compilation.scope(), knobs.runtime.scope():
    trace.finalize()
    compiled(64)
assert knobs.compilation.listener is not None
compiled(32)
assert add_kernel.launch_metadata is None
knobs.compilation.listener = None
trace.init("out", compression="none")
launch(compiled(16), None, None, 1, 16)
trace.finalize()
""")
    assert "goproton:" not in done.stderr
    assert [r["extracted_args"]["n"]["value"] for r in of(found, "launch")] == [1]


def test_knobs_that_are_set_back_before_the_end(traced):  # noqa: F811
    found, done = traced("""
from goproton import trace
with knobs.compilation.scope():
    trace.init("out", compression="none")
    compiled(64)
compiled(32)
trace.finalize()
""")
    assert "goproton: trace: the program set triton.knobs' listener while it was traced" in done.stderr
    assert len(of(found, "compilation")) == 1


def test_a_trace_that_ends_in_the_middle_of_a_chain(traced):  # noqa: F811
    found, _ = traced("seen = []\n" + BEGIN + """
if hasattr(knobs.runtime.launch_enter_hook, "add"):
    for name in "first", "second": knobs.runtime.launch_enter_hook.add(lambda lazy, name=name: seen.append(name))
else:
    ours = knobs.runtime.launch_enter_hook
    knobs.runtime.launch_enter_hook = lambda lazy: (ours(lazy), seen.append("first"), seen.append("second"))
class Ends:
    def __repr__(self): return str(trace.finalize())
launch(compiled(), Ends(), None, 1, 128)
assert seen == ["first", "second"], seen
trace.init("out", compression="none")
launch(compiled(), None, None, 2, 128)
assert seen == ["first", "second"] * 2, seen
trace.finalize()
""")
    assert [r["extracted_args"]["n"]["value"] for r in of(found, "launch")] == [2]


def test_functions_that_are_copied_and_sent_elsewhere(traced):  # noqa: F811
    _, done = traced(BEGIN + """
import copy, pickle, subprocess
compiled()
carrier = add_kernel.launch_metadata
assert carrier is not None and copy.copy(carrier) is copy.deepcopy(carrier) is None
packed = pickle.dumps({"launch_metadata": carrier})
trace.finalize()
elsewhere = subprocess.run([sys.executable, "-S", "-c", "import pickle, sys; print(pickle.load(sys.stdin.buffer))"], input=packed,
                           capture_output=True, env={}, check=True)
print(elsewhere.stdout.decode())
""")
    assert "{'launch_metadata': None}" in done.stdout


def test_an_argument_that_forks(traced):  # noqa: F811
    found, _ = traced(BEGIN + """
import os
class Forks:
    def __repr__(self):
        global child
        child = os.fork()
        return "forks"
k = compiled()
launch(k, Forks(), None, 1, 128)
if not child: os._exit(0)
os.waitpid(child, 0)
launch(k, None, None, 2, 128)
trace.finalize()
""")
    assert [r["extracted_args"]["n"]["value"] for r in of(found, "launch")] == [1, 2]


def test_inductors_options_are_put_back(traced):  # noqa: F811
    traced("""
import os
config = sys.modules["torch._inductor.config"] = types.SimpleNamespace(run_jit_post_compile_hook=False)
name = "TORCHINDUCTOR_RUN_JIT_POST_COMPILE_HOOK"
for before in None, "0":
    if before: os.environ[name] = before
    from goproton import trace
    with trace.init("out", compression="none"):
        assert config.run_jit_post_compile_hook is True and os.environ[name] == "1"
    assert config.run_jit_post_compile_hook is False and os.environ.get(name) == before
""")


def test_an_import_that_we_cannot_follow():
    done = run_python("""
from goproton import _imports
_imports.when_imported("colorsys", lambda: 1 / 0)
import colorsys
print(colorsys.rgb_to_hsv(1, 1, 1))
""")
    assert done.stdout == "(0.0, 0.0, 1)\n"
    assert done.stderr == "goproton: after the import of colorsys: ZeroDivisionError('division by zero'); please report this\n"


def test_what_other_releases_may_pass(traced):  # noqa: F811
    """Listeners are called with names, and a release may have more of them, or fewer: that must not end the program."""
    found, done = traced(BEGIN + """
listener, tuner = knobs.compilation.listener, t._events.autotuned
def passes_more(**given): return listener(**given, brand_new=1)
knobs.compilation.listener = passes_more
compiled()
knobs.compilation.listener = listener
listener(src=None)
tuner(fn=None, brand_new=1)
t._events.post_compile(fn=add_kernel, brand_new=1)
assert add_kernel.launch_metadata() == {}
trace.finalize()
""")
    assert len(of(found, "compilation")) == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("goproton:")]
    assert "a compilation is missing" in line


def test_a_kernel_of_another_process(traced):  # noqa: F811
    """No listener reported it: it is found where it is launched from, without a search of all objects."""
    found, _ = traced(BEGIN + """
import gc
listener, knobs.compilation.listener = knobs.compilation.listener, None
kernels = [compiled(2**n) for n in range(4, 8)]
knobs.compilation.listener = listener
looked, everything = [], gc.get_objects
gc.get_objects = lambda: looked.append(1) or everything()
for kernel in kernels[:2] * 2: launch(kernel, None, None, 1, 16)
assert not looked
def elsewhere(metadata):
    lazy = LazyDict({"name": "add_kernel", "function": 1, "stream": 7})
    lazy.add(add_kernel.launch_metadata, ((1,), metadata, {}))
    knobs.runtime.launch_enter_hook(lazy)
hidden = [[k] for k in kernels]
metadata = kernels[2].metadata
del kernels, kernel
elsewhere(metadata)
assert len(looked) == 1
trace.finalize()
""")
    constants = [r["payload"]["metadata"]["src_constants"] for r in of(found, "compilation")]
    assert sorted(list(c.values())[0] for c in constants) == [16, 32, 64, 128]


def test_functions_without_end(traced):  # noqa: F811
    traced(BEGIN + """
import gc
compiled()
kept = len(t._events._uses), len(t._events._carrying)
for _ in range(5):
    fn = triton.jit(add_kernel.fn)
    t._events.compiled(types.SimpleNamespace(fn=fn), {"hash": "x"}, {}, None, False)
    assert fn.launch_metadata is not None
    del fn
    gc.collect()
now = len(t._events._uses), len(t._events._carrying)
assert all(0 <= n - k <= 1 for n, k in zip(now, kept)), (kept, now)  # Triton 3.9 keeps the last of a name
trace.finalize()
""")


def test_patterns_that_no_kernel_matches(traced):  # noqa: F811
    found, done = traced("from goproton import trace\nt = trace.init('out', compression='none', kernels='nomatch*,other')\n"
                         "launch(compiled(), None, None, 1, 128)\ntrace.finalize()\n")
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("goproton:")]
    assert line.startswith("goproton: trace: nothing was traced: no kernel matches nomatch*,other; there were ") and not found
