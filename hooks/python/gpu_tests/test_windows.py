"""Recording windows on the GPU: what is launched inside is recorded, kernel by kernel, and nothing else."""
import subprocess
import sys
import time

import pytest
import torch

import goproton as proton
from running import PROTON, environment, ended
from trees import Tree

# Thirty launches of which a window records ten; the names of the kernels say which third they belong to.
PROGRAM = """
import sys, time, torch
import goproton as proton
x = torch.ones(1 << 12, device="cuda")
OPS = [torch.sin, torch.cos, torch.exp]
torch.cuda.synchronize()
{before}
with proton.scope("program"):
    for i in range(30):
        {at}
        OPS[i // 10](x)
        {after}
torch.cuda.synchronize()
{end}
"""


@pytest.fixture
def windowed(tmp_path, backend):
    """windowed(flags, at, after, …): the closing line and the tree of a program below `proton run`."""
    def one(*flags, before="", at="pass", after="pass", end="", codes=(0,)):
        script = tmp_path / "script.py"
        script.write_text(PROGRAM.format(before=before, at=at, after=after, end=end))
        chosen = ["--backend", backend] if backend else []
        done = ended([PROTON, "run", "--python", sys.executable, "-n", tmp_path / "windowed", *chosen, *flags, script], *codes, cwd=tmp_path)
        return done.stderr, Tree.read(tmp_path / "windowed.hatchet") if not codes[0] else None
    return one


def of_program(tree):
    return {path: n for path, n in tree.counts().items() if path.startswith("program/") and n}


def test_profiler_start_and_stop(windowed):
    """cudaProfilerStart and Stop around 10 of 30 launches, with kernels in flight at both."""
    said, tree = windowed("--within", "cudaProfilerApi", at="if i in (10, 20): (torch.cuda.profiler.start if i == 10 else torch.cuda.profiler.stop)()")
    assert tree.total() == 10 and tree.total("program", "cos") == 10, (said, tree.counts())
    assert "in 1 window of" in said


def test_gate_by_nvtx_range(windowed):
    said, tree = windowed("--within", "wanted", at="(i == 10) and torch.cuda.nvtx.range_push('wanted')",
                          after="(i == 19) and torch.cuda.nvtx.range_pop()")
    assert tree.total() == 10 and tree.total("program", "wanted", "cos") == 10, (said, tree.counts())


def test_gate_by_scope(windowed):
    said, tree = windowed("--within", "wanted", at="s = proton.scope('wanted' if i % 3 == 0 else 'other'); s.__enter__()", after="s.__exit__(None, None, None)")
    assert tree.total() == 10 and tree.total("program", "wanted") == 10, (said, tree.counts())
    assert "in 10 windows of" in said


def test_a_range_outside_of_windows_is_kept(windowed):
    """A range that was opened before the window has the kernels of the window below it."""
    _, tree = windowed("--within", "cudaProfilerApi", before="torch.cuda.nvtx.range_push('before')", at="(i == 10) and torch.cuda.profiler.start()",
                       after="(i == 19) and torch.cuda.profiler.stop()")
    assert tree.total("before", "program", "cos") == 10 and tree.total() == 10, tree.counts()


def test_steps_of_an_optimizer(windowed):
    """Steps 1, 3 and 5 of a training; each has as many kernels as torch.profiler counts."""
    before = """
model = torch.nn.Linear(64, 64, device="cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train():
    optimizer.zero_grad()
    model(torch.ones(8, 64, device="cuda")).sum().backward()
    optimizer.step()
"""
    said, tree = windowed("--every", "2", "--for", "1", before=before, at="(i < 6) and train()")
    assert "in 4 windows of" in said or "in 3 windows of" in said, said
    one = tree.total("SGD") or tree.total("gemm") or tree.total("foreach")
    assert one and one % 3 == 0, tree.counts()


def test_steps_by_hand(windowed):
    said, tree = windowed("--every", "3", "--for", "1", after="proton.step()")
    assert tree.total("program") == 10 and "in 10 windows of" in said, (said, tree.counts())


def test_no_window(windowed):
    said, _ = windowed("--every", "300", "--for", "1", after="proton.step()", codes=(3,))
    assert "no recording window opened: the program made 30 steps, and step 299 is the first" in said


def test_split(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM.format(before="", at="pass", after="proton.step()", end=""))
    ended([PROTON, "run", "--python", sys.executable, "-n", tmp_path / "split", "--every", "10", "--for", "5", "--split", script], cwd=tmp_path)
    for n, name in enumerate(("sin", "cos", "exp"), 1):
        tree = Tree.read(tmp_path / f"split.window{n}.hatchet")
        assert tree.total() == 5 and tree.total("program", name) == 5, tree.counts()


@pytest.mark.parametrize("options", [dict(wait=1, warmup=1, active=3, repeat=2), dict(wait=0, warmup=0, active=2, repeat=2),
                                     dict(wait=2, warmup=0, active=1, skip_first=3), dict(wait=3, warmup=1, active=2, repeat=1, skip_first=1)],
                         ids=str)
def test_schedule_equals_torch_s(sessions, options):
    """Kernels by step are those that torch.profiler has in its active steps."""
    from torch.profiler import ProfilerActivity, ProfilerAction, profile, schedule
    x = torch.ones(1 << 12, device="cuda")

    def steps(step):
        for i in range(20):
            for _ in range(i + 1):
                torch.sin(x)
            step()

    counts = []
    for n, given in enumerate((schedule(**options), proton.schedule(**options))):
        sessions.start(f"scheduled{n}", schedule=given)
        steps(proton.step)
        proton.finalize()
        counts.append(sessions.tree(f"scheduled{n}").total("sin"))
    theirs = []  # last, because torch.profiler keeps CUPTI to itself once it was used
    with profile(activities=[ProfilerActivity.CUDA], schedule=schedule(**options),
                 on_trace_ready=lambda p: theirs.append(sum(e.device_type == torch.autograd.DeviceType.CUDA and "sin" in e.name for e in p.events()))) as p:
        steps(p.step)
    rule, ours = schedule(**options), proton.schedule(**options)
    assert [rule(i).name for i in range(100)] == [ours(i).name for i in range(100)]
    expected = sum(i + 1 for i in range(20) if rule(i) in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE))
    print("torch.profiler", theirs, "goproton", counts, "by the rule", expected)
    assert counts == [expected, expected]
    assert sum(theirs) == expected


def test_torch_s_rule_on_every_step():
    """proton.schedule is torch.profiler.schedule, for all small numbers."""
    import itertools
    import warnings
    from inspect import signature

    from torch.profiler import schedule
    warnings.simplefilter("ignore")
    numbers = itertools.product(range(3), range(3), range(1, 4), range(3), range(3))
    for wait, warmup, active, repeat, skip_first in numbers:
        for more in ({}, {"skip_first_wait": 1}) if "skip_first_wait" in signature(schedule).parameters else ({},):
            options = dict(wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip_first, **more)
            theirs, ours = schedule(**options), proton.schedule(**options)
            assert [theirs(i).value for i in range(40)] == [ours(i).value for i in range(40)], options


def test_launches_in_flight(sessions):
    """Long kernels are launched before, inside and behind a window, and none has ended at its edges."""
    x = torch.ones(1 << 26, device="cuda")
    torch.cuda.synchronize()
    sessions.start("flight", schedule=proton.schedule(wait=1, active=1, repeat=1))
    for op in (torch.sin, torch.cos, torch.exp):
        for _ in range(20):
            op(x)
        proton.step()
    proton.finalize()
    tree = sessions.tree("flight")
    assert tree.total("cos") == 20 and tree.total() == 20, tree.counts()


@pytest.mark.alone
def test_cost_outside_of_windows(sessions, work):
    """Launches outside of a window cost what they cost in a deactivated session."""
    def nanos():
        torch.cuda.synchronize()
        best = []
        for _ in range(7):
            began = time.perf_counter_ns()
            for _ in range(2000):
                work.mul()
            best.append((time.perf_counter_ns() - began) / 2000)
            torch.cuda.synchronize()
        return min(best)
    plain = nanos()
    s = sessions.start("deactivated")
    active = nanos()
    proton.deactivate(s)
    deactivated = nanos()
    proton.finalize()
    sessions.start("outside", schedule=proton.schedule(wait=1 << 30, active=1))
    outside = nanos()
    proton.finalize()
    print(f"ns per launch: plain {plain:.0f}, active {active:.0f}, deactivated {deactivated:.0f}, outside of windows {outside:.0f}")
    assert outside < 1.1 * deactivated


@pytest.mark.alone
def test_cost_of_an_edge(sessions, work):
    sessions.start("edges", schedule=proton.schedule(wait=1, active=1))
    work.mul()
    took = []
    for _ in range(400):
        began = time.perf_counter_ns()
        proton.step()
        took.append(time.perf_counter_ns() - began)
        work.mul()
    proton.finalize()
    print(f"us per step that opens {sorted(took[0::2])[100] / 1e3:.0f}, that closes {sorted(took[1::2])[100] / 1e3:.0f}")
    assert sessions.tree("edges").total() == 200


LOOP = """
import sys, time, torch
x = torch.ones(1 << 12, device="cuda")
end = time.time() + 60
print("ready", flush=True)
import threading
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
n = 0
while not stop.is_set() and time.time() < end:
    torch.sin(x); n += 1; torch.cuda.synchronize(); time.sleep(0.001)
"""


def ctl(*words, code=0):
    done = subprocess.run([PROTON, "ctl", *map(str, words)], capture_output=True, text=True, env=environment())
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout


def test_ctl(tmp_path):
    """A running process begins and ends to record when it is asked to."""
    (tmp_path / "loop.py").write_text(LOOP)
    program = subprocess.Popen([PROTON, "run", "--paused", "--python", sys.executable, "-n", tmp_path / "ctl", tmp_path / "loop.py"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    assert program.stdout.readline() == "ready\n"
    time.sleep(0.5)
    assert "paused" in ctl(program.pid, "status")
    for _ in range(2):
        assert "recording" in ctl(program.pid, "start")
        time.sleep(0.5)
        assert "paused" in ctl(program.pid, "stop")
        time.sleep(0.3)
    print(ctl())
    program.stdin.close()
    said = program.stderr.read()
    assert program.wait() == 0, said
    assert "in 2 windows of" in said, said
    assert 50 < Tree.read(tmp_path / "ctl.hatchet").total("sin") < 2000
