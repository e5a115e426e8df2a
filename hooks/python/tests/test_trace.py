"""data="trace" on the fake GPU: a timeline of scopes, launches and kernels; and the options that trees share with it."""

from test_profile import on_gpu  # noqa: F401, the fixture

READ = """
def events(path):
    return json.load(open(path))["traceEvents"]

def slices(path, *categories):
    return [e for e in events(path) if e["ph"] == "X" and e.get("cat") in categories]
"""


def test_trace(on_gpu):  # noqa: F811
    on_gpu(READ + """
gpu.init()
alpha = gpu.function("alpha")
proton.start("t", data="trace")
with proton.scope("outer"):
    with proton.scope("inner", {"tokens": 3, "vector": [1, 2]}), proton.state("state"):
        gpu.launch(alpha)
    with proton.cpu_timed_scope("timed"):
        gpu.launch(alpha, gpu.stream())
proton.finalize()
scopes = {e["name"]: e for e in slices("t.chrome_trace", "scope", "metric")}
assert set(scopes) == {"outer", "inner", "state", "timed"}, scopes
assert scopes["inner"]["args"]["call_stack"] == ["ROOT", "outer", "inner"]
assert scopes["inner"]["args"]["metrics"] == {"tokens": 3, "vector": [1, 2]}, scopes["inner"]
assert scopes["timed"]["args"]["metrics"]["cpu_time (ns)"] > 0
outer = scopes["outer"]
for inside in ("inner", "timed"):
    e = scopes[inside]
    assert outer["ts"] <= e["ts"] and e["ts"] + e["dur"] <= outer["ts"] + outer["dur"]
kernels = slices("t.chrome_trace", "kernel")
assert [e["args"]["call_stack"] for e in kernels] == [["ROOT", "outer", "inner", "state", "alpha"], ["ROOT", "outer", "timed", "alpha"]]
assert len({e["tid"] for e in kernels}) == 2
launches = slices("t.chrome_trace", "launch")
assert [e["name"] for e in launches] == ["cuLaunchKernel"] * 2
arrows = {(e["id"], e["ph"]): e for e in events("t.chrome_trace") if e.get("cat") == "flow"}
for n in (1, 2):
    assert arrows[n, "s"]["ts"] == launches[n - 1]["ts"] and arrows[n, "f"]["ts"] == kernels[n - 1]["ts"]
""")


def test_trace_in_python_context(on_gpu):  # noqa: F811
    on_gpu(READ + """
gpu.init()
alpha = gpu.function("alpha")
def work():
    gpu.launch(alpha)
proton.start("t", data="trace", context="python")
work()
proton.finalize()
(kernel,) = slices("t.chrome_trace", "kernel")
assert any(frame.endswith("@work") for frame in kernel["args"]["call_stack"]) and kernel["name"] == "alpha", kernel
(launch,) = slices("t.chrome_trace", "launch")
assert launch["args"]["call_stack"] == kernel["args"]["call_stack"][:-1]
""")


def test_trace_of_threads(on_gpu):  # noqa: F811
    on_gpu(READ + """
gpu.init()
alpha = gpu.function("alpha")
proton.start("t", data="trace")
def work(i):
    gpu.use()
    with proton.scope(f"thread {i}"):
        gpu.launch(alpha)
threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
proton.finalize()
lanes = {e["tid"]: e["args"]["thread"] for e in events("t.chrome_trace") if e["name"] == "thread_name" and "thread" in e["args"]}
assert len(lanes) == len(set(lanes.values())) == 3, lanes
assert {e["name"] for e in slices("t.chrome_trace", "scope")} == {"thread 0", "thread 1", "thread 2"}
for e in slices("t.chrome_trace", "launch"):
    (around,) = [s for s in slices("t.chrome_trace", "scope") if s["tid"] == e["tid"]]
    assert e["args"]["call_stack"] == ["ROOT", around["name"]]
""")


def test_phases_and_the_data_of_a_trace(on_gpu):  # noqa: F811
    on_gpu(READ + """
gpu.init()
alpha = gpu.function("alpha")
session = proton.start("t", data="trace")
gpu.launch(alpha)
assert proton.data.advance_phase(session) == 1
gpu.launch(alpha); gpu.launch(alpha)
proton.deactivate(session, flushing=True)
for read in proton.data.get, proton.data.get_msgpack:
    try:
        read(session, 1)
        raise SystemExit("a trace gave a tree")
    except RuntimeError as error:
        assert "Only TreeData is supported" in str(error), error
for wrong in ("hatchet", "hatchet_msgpack"):
    try:
        proton.finalize(session, wrong)
        raise SystemExit("a trace was written as a tree")
    except ValueError as error:
        assert "Output format not supported" in str(error), error
proton.finalize(session, "Chrome_Trace")
assert [len(slices(f"t.part_{i}.chrome_trace", "kernel")) for i in range(2)] == [1, 2]
""")


def test_msgpack_and_stats(on_gpu):  # noqa: F811
    on_gpu("""
gpu.init()
alpha = gpu.function("alpha")
for name, options in (("with", {}), ("without", {"stats": False})):
    proton.start(name, **options)
    gpu.launch(alpha); gpu.launch(alpha)
    proton.finalize()
with_times = at(load("with.hatchet"), "alpha")
assert with_times["times"], with_times
assert "times" not in at(load("without.hatchet"), "alpha")
session = proton.start("m")
gpu.launch(alpha)
proton.deactivate(session, flushing=True)
raw = proton.data.get_msgpack(session)
proton.finalize(output_format="hatchet_msgpack")
assert open("m.hatchet_msgpack", "rb").read() == raw and b"alpha" in raw
""")


def test_periodic_flushing(on_gpu):  # noqa: F811
    on_gpu("""
import os, time
gpu.init()
alpha = gpu.function("alpha")
session = proton.start("p", mode="periodic_flushing:format=hatchet_msgpack")
gpu.launch(alpha)
proton.data.advance_phase(session)
while not os.path.exists("p.part_0.hatchet_msgpack"):  # run_python has the patience
    time.sleep(0.01)
gpu.launch(alpha)
proton.finalize()
assert sorted(f for f in os.listdir(".") if f.startswith("p.")) == ["p.part_0.hatchet_msgpack", "p.part_1.hatchet_msgpack"]
""")
