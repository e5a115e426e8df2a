"""Recording windows below `proton run` and in sessions, on the fake driver: which launches are in the profile, and where."""

import json
import os
import re
import subprocess
import sys
import threading
import time

import pytest
from conftest import PATIENCE, REPOSITORY, TESTS, run_python
from trees import at, load

BUILD = REPOSITORY / "build"
STUB = BUILD / "stub"
PROTON = BUILD / "proton"

PROGRAM = """
import os, sys, time
sys.path.insert(0, {tests!r})
import fake_gpu, goproton as proton
fake_gpu.init()
kernels = [fake_gpu.function("k%d" % n) for n in range(30)]
def launch(n): fake_gpu.launch(kernels[n])
"""


def environment(folder, **more):
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**inherited, "LD_LIBRARY_PATH": str(STUB), "PROTON_CUPTI_PATH": str(STUB / "libcupti.so"), "XDG_RUNTIME_DIR": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1", **more}


@pytest.fixture
def run(library, tmp_path):
    """run(code, flag…): the closing lines of a program below `proton run`. Skips without the fake driver."""
    if not (STUB / "libcupti.so").exists() or not PROTON.exists():
        pytest.skip("needs build/stub and build/proton: make build")

    def go(code, *flags, code_of_exit=0, **more):
        (tmp_path / "program.py").write_text(PROGRAM.format(tests=str(TESTS)) + code)
        done = subprocess.run([PROTON, "run", "-b", "cupti", "-n", "out", "--python", sys.executable, *flags, "program.py"], cwd=tmp_path,
                              env=environment(tmp_path, **more), capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == code_of_exit, done.stderr
        return done.stderr
    return go


def walk(node, path=()):
    for child in node["children"]:
        name = child["frame"]["name"]
        yield "/".join((*path, name)), child["metrics"]
        yield from walk(child, (*path, name))


def counts(path):
    return {name: m["count"] for name, m in walk(load(path)) if m.get("count")}


def kernels(path):
    return sorted(int(name.split("/k")[-1]) for name in counts(path))


STEPS = """
for n in range(30):
    launch(n)
    proton.step()
"""


def test_every_and_for(run, tmp_path):
    said = run(STEPS, "--every", "10", "--for", "3")
    assert [int(name[1:]) for name in counts(tmp_path / "out.hatchet")] == [7, 8, 9, 17, 18, 19, 27, 28, 29]
    assert "9 kernels" in said and "in 3 windows of" in said
    windows = load(tmp_path / "out.hatchet")["info"]["windows"]
    assert re.match(r"3 windows of .*; 1: .*, from step 7 to step 10; 2: .* from step 17 to step 20; 3: .* from step 27 to step 30$", windows)


def test_windows_that_follow_each_other_are_several(run, tmp_path):
    said = run(STEPS, "--every", "10", "--for", "10", "--split")
    for window in range(3):
        assert [int(name[1:]) for name in counts(tmp_path / f"out.window{window + 1}.hatchet")] == list(range(10 * window, 10 * window + 10))
    assert "30 kernels" in said


@pytest.mark.parametrize("data, suffix", [("tree", "hatchet"), ("trace", "chrome_trace")])
def test_a_file_for_each_window(run, tmp_path, data, suffix):
    run(STEPS, "--every", "10", "--for", "1", "--split", "-d", data)
    assert sorted(file.name for file in tmp_path.glob(f"out*{suffix}")) == [f"out.window{n}.{suffix}" for n in (1, 2, 3)]
    for window in range(3):
        if data == "tree":
            assert list(counts(tmp_path / f"out.window{window + 1}.hatchet")) == [f"k{10 * window + 9}"]
        else:
            events = json.loads((tmp_path / f"out.window{window + 1}.chrome_trace").read_text())["traceEvents"]
            assert [e["name"] for e in events if e.get("cat") == "kernel"] == [f"k{10 * window + 9}"]


def test_many_windows_with_files(run, tmp_path):
    """Each window is written while the program runs on, and no kernel is lost."""
    run("""
for round in range(200):
    launch(round % 30)
    proton.step()
    if round % 50 == 0: time.sleep(1.1)
""", "--every", "1", "--for", "1", "--split")
    for window in range(200):
        assert counts(tmp_path / f"out.window{window + 1}.hatchet") == {f"k{window % 30}": 1}


def test_a_gate(run, tmp_path):
    """The kernels in the gate stand below the scopes that were opened before it."""
    said = run("""
with proton.scope("outer", {"items": 1}):
    launch(0)
    with proton.scope("gate", {"items": 2}):
        launch(1)
        with proton.scope("inner"):
            launch(2)
            with proton.scope("gate"):
                launch(3)
            launch(4)
        launch(5)
    launch(6)
proton.enter_scope("gate"); launch(7); proton.exit_scope()
launch(8)
""", "--gate", "gate")  # the older name of --within
    assert counts(tmp_path / "out.hatchet") == {"outer/gate/k1": 1, "outer/gate/inner/k2": 1, "outer/gate/inner/gate/k3": 1,
                                                "outer/gate/inner/k4": 1, "outer/gate/k5": 1, "gate/k7": 1}
    assert at(load(tmp_path / "out.hatchet"), "outer", "gate")["metrics"]["items"] == 2
    assert "items" not in at(load(tmp_path / "out.hatchet"), "outer")["metrics"], "added before the window"
    assert "in 2 windows of" in said


def test_a_gate_is_the_process_s(run, tmp_path):
    """While one thread is in the gate, launches of others are recorded; a thread that ends in the gate closes it."""
    run("""
import threading
from goproton import _library
inside, launched, left = threading.Event(), threading.Event(), threading.Event()
def gate():
    fake_gpu.use()
    proton.enter_scope("gate")
    inside.set(); launched.wait()   # and ends without leaving it
launch(0)
one = threading.Thread(target=gate); one.start(); inside.wait()
launch(1)
launched.set(); one.join()
while _library.call("status")["windows"]["open"]: time.sleep(0.01)
launch(2)
""", "--within", "gate")
    assert list(counts(tmp_path / "out.hatchet")) == ["k1"]


def test_profiler_start_and_stop(run, tmp_path):
    said = run("""
with proton.scope("s"):
    for n in range(30):
        if n == 10: fake_gpu.cuda.cuProfilerStart(); fake_gpu.cuda.cuProfilerStart()
        if n == 20: fake_gpu.cuda.cuProfilerStop()
        launch(n)
""", "--within", "cudaProfilerApi")
    assert kernels(tmp_path / "out.hatchet") == list(range(10, 20)) and "in 1 window of" in said
    assert all(path.startswith("s/") for path in counts(tmp_path / "out.hatchet"))


def test_delay_and_duration(run, tmp_path):
    run("""
import json
from goproton import _library
launched = []  # when, after each launch
def go_on(until):
    while not until(_library.call("status")["windows"]):
        launch_next()
        time.sleep(0.05)
def launch_next():
    fake_gpu.launch(fake_gpu.function(f"k{len(launched)}"))
    launched.append(time.time())
go_on(lambda windows: windows["opened"] == 1)
go_on(lambda windows: not windows["open"])
launch_next()
json.dump(launched, open("launched.json", "w"))
""", "--delay", "1s", "--duration", "0.8")
    found = [int(name[1:]) for name in counts(tmp_path / "out.hatchet")]
    assert found == list(range(found[0], found[0] + len(found))), found
    launched = json.loads((tmp_path / "launched.json").read_text())
    began = int(load(tmp_path / "out.hatchet")["info"]["start"]) / 1e9
    assert found[-1] < len(launched) and launched[found[0]] - began > 0.99 and launched[-1] - began > 1.79, (began, found, launched)


@pytest.mark.parametrize("flags, why", [
    (["--every", "100", "--for", "1"], "the program made 30 steps, and step 99 is the first to be recorded, counted from 0"),
    (["--within", "gone"], 'the program opened no scope and no NVTX range named "gone"'),
    (["--within", "cudaProfilerApi"], "the program did not call cudaProfilerStart"),
    (["--delay", "1h"], "and recording was to begin after 3600 s"),
    (["--paused"], "it began paused, and `proton ctl PID start` was not given"),
])
def test_no_window(run, flags, why):
    said = run(STEPS, *flags, code_of_exit=3)
    assert "proton: nothing was recorded: no recording window opened: " in said and why in said
    run(STEPS, *flags, "--allow-empty")


def test_windows_without_launches(run):
    said = run("launch(0)\nwith proton.scope('g'): pass", "--within", "g", code_of_exit=3)
    assert "no kernel was launched in 1 recording window of" in said


def test_steps_of_optimizers(run, tmp_path):
    """They count until the program calls step() itself."""
    (tmp_path / "torch" / "optim").mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / "optim" / "__init__.py").write_text("")
    (tmp_path / "torch" / "optim" / "optimizer.py").write_text("hooks = []\ndef register_optimizer_step_post_hook(hook): hooks.append(hook)\n")
    run("""
import torch
from torch.optim.optimizer import hooks
for n in range(30):
    launch(n)
    for hook in hooks: hook(None, (), {})
    if n >= 20: proton.step()
""", "--every", "10", "--for", "1")
    assert [int(name[1:]) for name in counts(tmp_path / "out.hatchet")] == [9, 19, 29]


SCHEDULED = """
import goproton as proton
{start}
for n in range(20):
    for _ in range(n + 1): launch(n)
    proton.step()
proton.finalize()
"""


def in_a_session(code, tmp_path, **more):
    return run_python(PROGRAM.format(tests=str(TESTS)) + code, cwd=tmp_path, env=environment(tmp_path, **more), check=False)


@pytest.mark.parametrize("numbers, recorded", [
    (dict(wait=1, warmup=1, active=3, repeat=2), [2, 3, 4, 7, 8, 9]),
    (dict(wait=0, active=2, repeat=2), [0, 1, 2, 3]),
    (dict(wait=2, warmup=1, active=1, skip_first=3), [6, 10, 14, 18]),
    (dict(wait=4, active=1, skip_first=3, skip_first_wait=1), [3, 8, 13, 18]),
])
def test_a_schedule(library, tmp_path, numbers, recorded):
    """What torch.profiler.schedule's documentation says of these numbers; gpu_tests/test_windows.py compares with torch."""
    done = in_a_session(SCHEDULED.format(start=f"proton.start('s', backend='cupti', schedule=proton.schedule(**{numbers}))"), tmp_path, PROTON_LIB=library)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert counts(tmp_path / "s.hatchet") == {f"k{n}": n + 1 for n in recorded}


def test_a_schedule_of_others(library, tmp_path):
    """Any function from the step to an action, as torch's are."""
    done = in_a_session(SCHEDULED.format(start="""
import enum
class Theirs(enum.Enum): NONE = 0; WARMUP = 1; RECORD = 2; RECORD_AND_SAVE = 3
proton.start('s', backend='cupti', schedule=lambda step: Theirs.RECORD if step in (4, 5, 11) else Theirs.NONE)
"""), tmp_path, PROTON_LIB=library)
    assert done.returncode == 0, done.stderr
    assert counts(tmp_path / "s.hatchet") == {"k4": 5, "k5": 6, "k11": 12}


def test_sessions_side_by_side(library, tmp_path):
    """One with a schedule, one that records all the time, and one that is deactivated between."""
    done = in_a_session("""
proton.start("scheduled", backend="cupti", schedule=proton.schedule(wait=1, active=1))
always = proton.start("always", backend="cupti")
with proton.scope("s"):
    for n in range(6):
        if n == 4: proton.deactivate(always)
        launch(n)
        proton.step()
proton.finalize()
""", tmp_path, PROTON_LIB=library)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert counts(tmp_path / "scheduled.hatchet") == {"s/k1": 1, "s/k3": 1, "s/k5": 1}
    assert counts(tmp_path / "always.hatchet") == {f"s/k{n}": 1 for n in range(4)}


@pytest.mark.parametrize("start, error", [
    ("proton.schedule(wait=-1, active=1)", "ValueError: a schedule with wait=-1: it is 0 or more"),
    ("proton.schedule(wait=1, active=0)", "ValueError: a schedule with active=0: it is 1 or more"),
    ("proton.start('s', backend='cupti', schedule=3)", "ValueError: schedule=3: give goproton.schedule"),
    ("proton.start('s', backend='cupti', schedule=lambda step: 'now')", "ValueError: the schedule returned 'now' for step 0"),
])
def test_schedules_that_cannot_be(library, tmp_path, start, error):
    assert error in in_a_session(start, tmp_path, PROTON_LIB=library).stderr


def test_a_schedule_that_records_nothing(library, tmp_path):
    done = in_a_session("""
proton.start("s", backend="cupti", schedule=proton.schedule(wait=100, active=1))
launch(0); proton.step()
proton.finalize()
""", tmp_path, PROTON_LIB=library)
    assert "no recording window opened: the program made 1 step, and its schedule recorded none of them" in done.stderr


def test_step_without_a_session(library, tmp_path):
    done = in_a_session("proton.step()\nimport sys; print('goproton._native' in sys.modules)", tmp_path, PROTON_LIB=library)
    assert done.stdout == "False\n", "nothing was loaded"


def replayed(tmp_path, capture, *flags):
    done = subprocess.run([PROTON, "run", "-b", "replay", "-n", "out", *flags, REPOSITORY / "testdata" / "captures" / f"{capture}.capture.gz"],
                          cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and re.search(r" 0 dropped[,;]", done.stderr) and "without a call path" not in done.stderr, done.stderr
    return counts(tmp_path / "out.hatchet")


@pytest.mark.parametrize("capture, gate", [("dynamic_net", "forward"), ("dynamic_net", "backward"), ("mi300x_synthetic", "forward"), ("mi300x_synthetic", "backward")])
def test_a_gate_in_a_replay(run, tmp_path, capture, gate):
    """The kernels of a real run, with a gate, are those that the whole run has below scopes of that name."""
    whole, gated = replayed(tmp_path, capture), replayed(tmp_path, capture, "--within", gate)
    assert gated == {path: count for path, count in whole.items() if gate in path.split("/")} != {}


def test_a_graph_that_was_captured_outside_of_windows(run, tmp_path):
    """Its kernels stand below the launch of the graph, all of them."""
    whole, gated = replayed(tmp_path, "mi300x_synthetic"), replayed(tmp_path, "mi300x_synthetic", "--within", "update")
    assert sum(gated.values()) == sum(count for path, count in whole.items() if "/update/" in path) == 15
    assert gated == {"step/update/add": 10, "step/update/softmax_kernel": 5}


# ---- proton ctl ----

LOOP = """
print("ready", flush=True)
import threading
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
while not stop.is_set():
    launch(0); time.sleep(0.001)
"""


@pytest.fixture
def running(library, tmp_path):
    """A program below `proton run` that launches until its standard input ends."""
    if not (STUB / "libcupti.so").exists() or not PROTON.exists():
        pytest.skip("needs build/stub and build/proton: make build")
    started = []

    def go(*flags, code=LOOP):
        (tmp_path / "program.py").write_text(PROGRAM.format(tests=str(TESTS)) + code)
        process = subprocess.Popen([PROTON, "run", "-b", "cupti", "-n", "out", "--python", sys.executable, *flags, "program.py"], cwd=tmp_path,
                                   env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield go
    for process in started:
        process.stdin.close()
        process.wait(PATIENCE)


def ctl(tmp_path, *words, code=0):
    done = subprocess.run([PROTON, "ctl", *map(str, words)], env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == code, done.stderr
    return done.stdout if not code else done.stderr


def ended(process):
    process.stdin.close()
    said = process.stderr.read()
    assert process.wait(PATIENCE) == 0, said
    return said


def test_top(running, tmp_path):
    """`proton top` of a running program: as text where there is no terminal, and as JSON; and of what cannot be watched."""
    process = running("--ctl")
    done = subprocess.run([PROTON, "top", str(process.pid), "--json", "--interval", "300ms"], env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
    view = json.loads(done.stdout)
    assert view["launches"] > 0 and 0.2 < view["seconds"] < 30 and sum(k["count"] for k in view["kernels"]) == view["launches"], done
    text = subprocess.run([PROTON, "top"], env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
    assert "GPU busy" in text.stdout and "kernel" in text.stdout and not text.returncode
    ended(process)
    for args, code in ([], 1), (["x"], 2), (["--interval", "1ms"], 2), (["99999999"], 1):
        done = subprocess.run([PROTON, "top", *args], env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == code and done.stderr.startswith("proton: "), done


def test_ctl(running, tmp_path):
    process = running("--paused")
    assert " paused, 0 windows of 0 ns, 0 kernels: " in ctl(tmp_path, process.pid, "status")
    for window in (1, 2):
        assert f" recording, {window} window" in ctl(tmp_path, process.pid, "start")
        time.sleep(0.2)
        assert f" paused, {window} window" in ctl(tmp_path, process.pid, "stop")
    listed = json.loads(ctl(tmp_path, "--json"))
    assert listed["state"] == "paused" and listed["windows"] == 2 and listed["kernels"] > 0 and "program.py" in listed["command"]
    assert listed["profile"] == str(tmp_path / "out")
    said = ended(process)
    assert "in 2 windows of" in said
    assert "from proton ctl to proton ctl; 2: " in load(tmp_path / "out.hatchet")["info"]["windows"]
    assert list((tmp_path / "goproton").iterdir()) == [], "the socket is removed"
    assert "no process can be controlled" in ctl(tmp_path, code=1)


def test_ctl_of_a_run_that_records_from_its_start(running, tmp_path):
    process = running("--ctl")
    assert " recording, 1 window of " in ctl(tmp_path)
    ctl(tmp_path, process.pid, "stop")
    assert "in 1 window of" in ended(process)


def test_ctl_without_a_number(running, tmp_path):
    """It means the only process that can be controlled."""
    running("--paused")
    assert " paused, " in ctl(tmp_path, "status") and " recording, " in ctl(tmp_path, "start") and " paused, " in ctl(tmp_path, "stop")
    running("--paused", "-n", "other")
    assert ctl(tmp_path, "status").count(" paused, ") == 2
    assert "2 processes can be controlled: write proton ctl PID start" in ctl(tmp_path, "start", code=2)


def test_no_socket_without_being_asked(running, tmp_path):
    process = running()
    assert not (tmp_path / "goproton").exists()
    assert "no process can be controlled" in ctl(tmp_path, code=1)
    assert f"process {process.pid} cannot be controlled: start the program with proton run --ctl" in ctl(tmp_path, process.pid, "start", code=1)
    ended(process)


def test_a_forked_child_has_no_socket(running, tmp_path):
    process = running("--ctl", code="""
def sockets():
    links = []
    for number in os.listdir("/proc/self/fd"):
        try: links.append(os.readlink("/proc/self/fd/" + number))
        except OSError: pass
    return sum(link.startswith("socket:") for link in links)
before = sockets()
child = os.fork()
if child == 0:
    os._exit(0 if sockets() == before - 1 else 9)
assert os.waitpid(child, 0)[1] == 0
""" + LOOP)
    assert " recording" in ctl(tmp_path), "the parent still listens"
    ended(process)


def test_a_folder_of_others(run, tmp_path):
    """Nothing listens in a folder that others can enter, and the run says so."""
    (tmp_path / "goproton").mkdir(mode=0o755)
    (tmp_path / "goproton").chmod(0o755)
    said = run("launch(0)", "--ctl")
    # The folder in /tmp is used instead: it is this user's alone.
    assert "1 kernel" in said


def test_commands_from_many_threads(running, tmp_path):
    """Commands, launches and steps at the same time neither hang nor lose a kernel of an open window."""
    process = running("--ctl", "--every", "2", "--for", "1", code=LOOP.replace("launch(0); time.sleep(0.001)", "launch(0); proton.step()"))

    def both():
        for _ in range(5):
            ctl(tmp_path, process.pid, "stop")
            ctl(tmp_path, process.pid, "start")
    threads = [threading.Thread(target=both) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = ended(process)
    assert " 0 dropped" in said and "without a call path" not in said, said


PAUSED = """
import threading
over = False
def work(i):
    fake_gpu.use()
    while not over:
        for _ in range(20):
            launch(i)
        time.sleep(0.0002)
threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(3)]
[t.start() for t in threads]
for _ in range(20):
    proton.deactivate(0)
    time.sleep(0.005)
    proton.activate(0)
    time.sleep(0.005)
over = True
[t.join() for t in threads]
"""


def test_sampling_in_windows_while_threads_launch(run):  # noqa: F811
    """A launch in which recording pauses has no end that the profiler sees. Sampling is begun and ended all the same."""
    text = run(PAUSED, "-m", "pcsampling")
    assert "seconds late" not in text


HELD = """
import threading
full = os.environ["PROTON_STUB_FULL"]
launch(0)
proton.deactivate(0)
open(full, "w").close()
def work():
    fake_gpu.use()
    launch(1)
thread = threading.Thread(target=work, daemon=True)
thread.start()
while fake_gpu.cuda.stub_cuda_calls() == 0: time.sleep(0.001)
proton.activate(0)  # waits a little for the launch
os.remove(full)
thread.join()
launch(2)
"""


def test_sampling_begins_while_a_launch_waits_for_the_gpu(run, tmp_path):  # noqa: F811
    """The launch began while recording was paused. Sampling is not switched before it has ended: the fake driver aborts otherwise."""
    run(HELD, "-m", "pcsampling", PROTON_STUB_FULL=str(tmp_path / "full"))
    assert counts(tmp_path / "out.hatchet") == {"k0": 1, "k2": 1}


def test_sampling_begins_after_kernel_records(library, tmp_path):
    """Also in a session that goes on. The fake CUPTI aborts where sampling begins first: a real one may refuse to record kernels then."""
    code = f"import sys; sys.path.insert(0, {str(TESTS)!r})\n" + """
import fake_gpu, goproton as proton
fake_gpu.init()
f = fake_gpu.function("k")
session = proton.start("p", mode="pcsampling")
fake_gpu.launch(f)
proton.deactivate(session)
fake_gpu.launch(f)
proton.activate(session)
fake_gpu.launch(f)
proton.finalize(session)
"""
    run_python(code, cwd=tmp_path, env=environment(tmp_path, PROTON_LIB=library))
    assert counts(tmp_path / "p.hatchet") == {"k": 2}
