"""A session that is deactivated leaves CUPTI after 0.3 s, where that is safe: another tool can subscribe then. Nothing is lost when it is
active again. On the fake driver, which aborts if CUPTI is left at a wrong moment."""

import pytest

from test_windows import counts, environment, in_a_session, run  # noqa: F401 (run is a fixture)

# rival(): whether another tool could subscribe. leaves(): whether CUPTI is left while kernels are launched.
RIVAL = """
import ctypes, threading
cupti = ctypes.CDLL(os.environ["PROTON_CUPTI_PATH"])
callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(lambda *_: None)
def rival():
    handle = ctypes.c_void_p()
    if cupti.cuptiSubscribe(ctypes.byref(handle), callback, None):
        return False
    cupti.cuptiUnsubscribe(handle)
    return True
def leaves(seconds=30, work=lambda: launch(0)):
    end = time.time() + seconds
    while time.time() < end and not rival():
        work()
        time.sleep(0.001)
    return rival()
"""


@pytest.mark.parametrize("flags", [(), ("--budget", "5%"), ("-d", "trace"), ("--idle",), ("-c", "python")], ids=" ".join)
def test_a_deactivated_session_leaves_cupti(run, tmp_path, flags):  # noqa: F811
    """Some time after it was deactivated, because a program that toggles in a loop must not pay for it."""
    run(RIVAL + """
launch(1)
assert not rival()
for _ in range(2):
    proton.deactivate(0)
    assert not rival(), "it may go on at once"
    assert leaves()
    proton.activate(0)
    assert not rival()
    launch(1)
for _ in range(100):
    proton.deactivate(0); launch(0); proton.activate(0)
    assert not rival()
proton.deactivate(0)
assert leaves()
""", *flags, PROTON_STUB_FULL="1")
    if "trace" in flags:
        assert (tmp_path / "out.chrome_trace").read_text().count('"cat":"kernel"') == 3
    else:
        assert [(name.split("/")[-1], n) for name, n in counts(tmp_path / "out.hatchet").items()] in ([("k1", 3)], [("k1", 1), ("k1", 2)], [("k1", 2), ("k1", 1)])


STAYS = {
    "another session": ("other = proton.start('other')", "proton.finalize(other)", {}),
    "energy": ("proton.finalize(); s = proton.start('p', energy=True)", "", {}),
    "pm": ("proton.finalize(); s = proton.start('p', pm='1ms')", "", {}),
    "counters": ("proton.finalize(); s = proton.start('p', mode='counters')", "", {}),
    "pcsampling": ("proton.finalize(); s = proton.start('p', mode='pcsampling')", "", {}),
    "whole graphs": ("", "", {"PROTON_GRAPH": "graph", "PROTON_GRAPH_LATE": "1"}),
}


@pytest.mark.parametrize("what", STAYS)
def test_what_keeps_cupti(library, tmp_path, what):
    """Sessions that are active, and those that have more from CUPTI than records."""
    before, after, more = STAYS[what]
    done = in_a_session(RIVAL + f"""
s = proton.start("p")
launch(0)
{before}
launch(1)
proton.deactivate(s)
assert not leaves(1.2)
proton.activate(s)
launch(2)
{after}
proton.finalize()
""", tmp_path, PROTON_LIB=str(library), **more)
    assert done.returncode == 0, done.stderr
    assert {name.split("/")[-1] for name in counts(tmp_path / "p.hatchet")} >= {"k1", "k2"}, done.stderr


def test_graphs(library, tmp_path):
    """One that was instantiated while CUPTI was left is recorded as one from before the session; one that CUPTI has seen keeps it."""
    done = in_a_session(RIVAL + """
on = fake_gpu.stream()
def graph():
    with proton.scope("capture"), fake_gpu.Graph(on) as made:
        fake_gpu.launch(kernels[3], on)
    return made
s = proton.start("p")
launch(1)
proton.deactivate(s)
assert leaves()
late = graph()
for _ in range(3):
    late.replay()
assert rival()
proton.activate(s)
with proton.scope("late"):
    late.replay()
launch(1)
proton.deactivate(s)
assert not leaves(1.2), "CUPTI has seen a graph"
proton.activate(s)
early = graph()
with proton.scope("early"):
    early.replay()
proton.finalize()
s = proton.start("q")
proton.deactivate(s)
resting = graph()
resting.replay()
assert not leaves(1.2), "one that began while the session rested"
proton.finalize()
""", tmp_path, PROTON_LIB=str(library), PROTON_STUB_FULL="1")
    assert done.returncode == 0, done.stderr
    assert counts(tmp_path / "p.hatchet") == {"k1": 2, "late/k3": 1, "early/<captured_at>/capture/k3": 1}


def test_two_sessions_and_a_new_one(library, tmp_path):
    """Of several the last one decides; one that begins while CUPTI is left has it again, and one that ends then ends it."""
    done = in_a_session(RIVAL + """
a, b = proton.start("a"), proton.start("b")
launch(1)
proton.deactivate(a)
assert not leaves(1)
proton.deactivate(b)
assert leaves()
launch(2)
proton.finalize(a)
c = proton.start("c")
assert not rival()
launch(3)
proton.activate(b)
launch(4)
proton.deactivate()
assert leaves()
proton.activate()
launch(5)
proton.finalize()
d = proton.start("d")
launch(6)
proton.deactivate(d, flushing=True)
assert leaves()
proton.deactivate(d, flushing=True)
proton.finalize()
assert rival()
""", tmp_path, PROTON_LIB=str(library), PROTON_STUB_FULL="1")
    assert done.returncode == 0, done.stderr
    assert [{name: n for name, n in counts(tmp_path / f"{s}.hatchet").items() if name != "k0"} for s in "abcd"] == [
        {"k1": 1}, {"k1": 1, "k4": 1, "k5": 1}, {"k3": 1, "k4": 1, "k5": 1}, {"k6": 1}]


def test_threads_and_a_fork(library, tmp_path):
    """Four threads launch while CUPTI is left and comes back; a child that is forked meanwhile ends by itself."""
    done = in_a_session(RIVAL + """
s, over, launched = proton.start("p"), False, [0] * 4
def work(i):
    fake_gpu.use()
    while not over:
        launch(i); launched[i] += 1
        time.sleep(0.0005)
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads]
for _ in range(3):
    proton.deactivate(s)
    assert leaves(work=lambda: None)
    child = os.fork()
    if not child:
        proton.activate(s)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    proton.activate(s)
    time.sleep(0.2)
over = True
[t.join() for t in threads]
proton.finalize()
open("launched", "w").write(str(sum(launched)))
""", tmp_path, PROTON_LIB=str(library))
    assert done.returncode == 0, done.stderr
    counted = counts(tmp_path / "p.hatchet")
    assert set(counted) == {"k0", "k1", "k2", "k3"} and 0 < sum(counted.values()) < int((tmp_path / "launched").read_text())


@pytest.mark.parametrize("rest", [0, 1])
def test_another_tool_meanwhile(library, tmp_path, rest):
    """It has CUPTI then: the session says so, and records once it is free and the session is activated anew."""
    done = in_a_session(RIVAL + f"""
s = proton.start("p")
launch(1)
proton.deactivate(s)
assert leaves()
handle = ctypes.c_void_p()
assert not cupti.cuptiSubscribe(ctypes.byref(handle), callback, None)
proton.activate(s)
launch(2)
proton.deactivate(s)
time.sleep({rest})
cupti.cuptiUnsubscribe(handle)
proton.activate(s)
launch(3)
proton.finalize()
""", tmp_path, PROTON_LIB=str(library), PROTON_STUB_FULL="1")
    assert done.returncode == 0, done.stderr
    assert counts(tmp_path / "p.hatchet") == {"k1": 1, "k3": 1}
    assert "kernels are not timed" in done.stderr
