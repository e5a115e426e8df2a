"""Hardware counters of chosen launches, on the fake driver, whose range profiler makes values up from the names of kernel and metric."""

import os
import subprocess
import sys

import pytest
from conftest import PATIENCE
from test_windows import BUILD, PROGRAM, PROTON, counts, environment, run, walk  # noqa: F401 (run is a fixture)
from trees import load

TIME, READ, WRITE = "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum"

ASKED = {"launch__registers_per_thread": 40, "launch__block_size": 128,  # what emit_kind in replay/fakecuda/buffers.c says
         "launch__shared_mem_per_block_static": 1024, "launch__shared_mem_per_block_dynamic": 512}


def made_up(kernel, metric):
    """What stub_counter in replay/fakecuda/counters.c returns."""
    if metric == TIME:
        return 1000
    if metric in ASKED:
        return ASKED[metric]
    hashed = 14695981039346656037
    for byte in (kernel + metric).encode():
        hashed = (hashed ^ byte) * 1099511628211 % 2**64
    return 32 * ((hashed >> 20) % 100000)


def counted(path):
    """By call path, of what was measured: the number of launches, and the metrics."""
    return {name: (m["counted_launches"], {k: v for k, v in m.items() if "__" in k})
            for name, m in walk(load(path)) if "counted_launches" in m}


def check_values(path):
    """Every sum is that of as many launches as were measured."""
    measured = counted(path)
    for name, (launches, metrics) in measured.items():
        assert metrics == {m: launches * made_up(name.split("/")[-1], m) for m in metrics}, name
        assert {TIME, *ASKED} <= set(metrics)
    return measured


def check(path):
    """The values, and that the time of a kernel is complete."""
    measured = check_values(path)
    for name, m in walk(load(path)):
        if m.get("count"):
            assert m["time (ns)"] == 1000 * m["count"], name
    return {name: launches for name, (launches, _) in measured.items()}


SCOPES = """
for n in range(3):
    with proton.scope("odd" if n % 2 else "even"):
        for _ in range(4):
            launch(n)
            launch(7)
"""


def test_the_first_launch_at_each_call_path(run, tmp_path):  # noqa: F811
    run(SCOPES)
    plain = counts(tmp_path / "out.hatchet")
    said = run(SCOPES, "-m", "counters:set=dram_read+dram_write")
    assert check(tmp_path / "out.hatchet") == {"even/k0": 1, "even/k7": 1, "odd/k1": 1, "odd/k7": 1, "even/k2": 1}
    assert counts(tmp_path / "out.hatchet") == plain == {"even/k0": 4, "even/k7": 8, "odd/k1": 4, "odd/k7": 4, "even/k2": 4}
    assert set(counted(tmp_path / "out.hatchet")["even/k0"][1]) == {TIME, READ, WRITE, *ASKED}
    sentence = "set dram_read+dram_write, 3 metrics in 1 pass: 5 launches of 4 kernels measured"
    assert f"proton: counters: {sentence}\n" in said
    assert load(tmp_path / "out.hatchet")["info"]["counters"].startswith(f"{sentence}, in ")


@pytest.mark.parametrize("options, want", [
    ("first=3", {"even/k0": 3, "even/k7": 3, "odd/k1": 3, "odd/k7": 3, "even/k2": 3}),
    ("kernels=k[12]:first=9", {"odd/k1": 4, "even/k2": 4}),
    ("first=2:most=3", {"even/k0": 2, "even/k7": 1}),
    ("most=3:kernels=k7,k2:first=2", {"even/k7": 2, "odd/k7": 1}),
])
def test_what_is_chosen(run, tmp_path, options, want):  # noqa: F811
    run(SCOPES, "-m", "counters:" + options)
    assert check(tmp_path / "out.hatchet") == want
    assert sum(counts(tmp_path / "out.hatchet").values()) == 24


def test_python_call_paths(run, tmp_path):  # noqa: F811
    run("def f(): launch(1)\ndef g(): f()\nfor _ in range(3):\n    f()\n    g()\n", "-m", "counters", "-c", "python")
    assert sorted(check(tmp_path / "out.hatchet").values()) == [1, 1]


GRAPH = """
on = fake_gpu.stream()
graph = fake_gpu.Graph(on)
with graph:
    fake_gpu.launch(kernels[1], on)
    fake_gpu.launch(kernels[2], on)
    launch(3)
for _ in range(5):
    graph.replay()
launch(1)
"""


def test_captures_and_graphs(run, tmp_path):  # noqa: F811
    """The fake CUPTI aborts if a launch is measured while a stream is captured."""
    said = run(GRAPH, "-m", "counters")
    assert check(tmp_path / "out.hatchet") == {"k1": 1}
    assert "left out: 10 launches, in a graph: k1, k2" in said


THREADS = """
import threading
def work(i):
    fake_gpu.use()
    on = fake_gpu.stream()
    for n in range(400):
        fake_gpu.launch(kernels[n % 5], on)
        if n % 40 == i:
            with fake_gpu.Graph(on):
                fake_gpu.launch(kernels[9], on)
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


def test_threads(run, tmp_path):  # noqa: F811
    run(THREADS, "-m", "counters:first=20")
    assert check(tmp_path / "out.hatchet") == {f"k{n}": 20 for n in range(5)}
    assert counts(tmp_path / "out.hatchet") == {f"k{n}": 320 for n in range(5)}


@pytest.mark.parametrize("results, says", [
    ("RangeProfilerEnable=35", "this user may not profile (ERR_NVGPUCTRPERM)"),
    ("RangeProfilerEnable=43", "the GPU is partitioned (MIG)"),
    ("RangeProfilerSetConfig=26", "another profiler uses the GPU's counters (ncu, DCGM's profiling metrics"),
    ("RangeProfilerStart=7", "another profiler may use the GPU's counters"),
    ("ProfilerHostInitialize=999", "libnvperf_host.so has to lie next to"),
])
def test_refusals(run, tmp_path, results, says):  # noqa: F811
    said = run(SCOPES, "-m", "counters", PROTON_STUB_RESULTS=results)
    assert said.count("proton: warning: counters: ") == 1 and says in said and "kernels are timed without counters" in said
    assert check(tmp_path / "out.hatchet") == {} and sum(counts(tmp_path / "out.hatchet").values()) == 24
    assert "no launch was measured" in load(tmp_path / "out.hatchet")["info"]["counters"]


@pytest.mark.parametrize("function", ["RangeProfilerStop", "RangeProfilerDecodeData", "ProfilerHostEvaluateToGpuValues"])
def test_a_refusal_after_the_kernel_ran(run, tmp_path, function):  # noqa: F811
    """It costs one kernel its time, and no other launch is tried."""
    run(SCOPES, "-m", "counters", PROTON_STUB_RESULTS=f"{function}=1")
    kernels = [m for _, m in walk(load(tmp_path / "out.hatchet")) if m.get("count")]
    assert sum(m["count"] for m in kernels) == 24 and sum(m["time (ns)"] for m in kernels) >= 23 * 1000


@pytest.mark.parametrize("options, version, said", [("set=agent", 130000, True), ("set=agent", 130400, False), ("set=dram_write", 130000, False),
                                                    ("set=instructions+l2_hit+l1_hit+bank_conflicts+stall_memory", 130000, False)])
def test_copies_that_count_as_written(run, tmp_path, options, version, said):  # noqa: F811
    """Only CUPTI 13.4 and newer reset the L2 cache, in which copies between passes leave what a kernel seems to have written."""
    wrong = "dram_write can be too high by what CUPTI's copies between passes left in the L2 cache"
    assert (wrong in run(SCOPES, "-m", f"counters:{options}", PROTON_STUB_VERSION=str(version))) == said
    shown = subprocess.run([BUILD / "proton", "viewer", "-m", "count,measured", tmp_path / "out.hatchet"], capture_output=True, text=True).stderr
    assert (wrong in shown) == said, shown


def test_an_older_library(run, tmp_path):  # noqa: F811
    said = run(SCOPES, "-m", "counters", PROTON_CUPTI_PATH=str(BUILD / "stub/cupti-11/libcupti.so"))
    assert "has no cuptiProfilerInitialize; set PROTON_CUPTI_PATH to a libcupti of CUDA 12.6 or newer" in said
    assert check(tmp_path / "out.hatchet") == {}


def test_memory_that_cannot_be_saved(run, tmp_path):  # noqa: F811
    said = run(SCOPES, "-m", "counters:set=agent", PROTON_STUB_ALLOCATED=str(60 << 30))
    assert "left out: 24 launches, more memory is allocated than is free, and the set takes several passes: k7, k0, k1, 1 more kernel" in said
    assert check(tmp_path / "out.hatchet") == {}
    run(SCOPES, "-m", "counters:set=dram_read", PROTON_STUB_ALLOCATED=str(60 << 30))  # one pass saves nothing
    assert len(check(tmp_path / "out.hatchet")) == 5


def test_kernels_that_wait_for_other_gpus(run, tmp_path):  # noqa: F811
    said = run("f = fake_gpu.function('ncclDevKernel_AllReduce')\nfor _ in range(3): fake_gpu.launch(f)\nlaunch(1)", "-m", "counters")
    assert check(tmp_path / "out.hatchet") == {"k1": 1}
    assert "3 launches, waits for other GPUs: ncclDevKernel_AllReduce" in said


def test_unknown_metrics(run, tmp_path):  # noqa: F811
    said = run(SCOPES, "-m", "counters:set=dram__unknown_read.sum+dram_read")
    assert "knows no dram__unknown_read.sum of a GH100, and measures the others" in said
    assert set(counted(tmp_path / "out.hatchet")["odd/k1"][1]) == {TIME, READ, *ASKED}


TOGGLES = """
import threading
stop = threading.Event()
def toggle():
    while not stop.is_set():
        proton.deactivate(0)
        proton.activate(0)
def work():
    fake_gpu.use()
    on = fake_gpu.stream()
    for n in range(1000):
        fake_gpu.launch(kernels[n % 8], on)
        if n % 100 == 0: time.sleep(0.001)
threads = [threading.Thread(target=work) for _ in range(3)]
toggler = threading.Thread(target=toggle)
[t.start() for t in (toggler, *threads)]
[t.join() for t in threads]
stop.set()
toggler.join()
for n in range(5):
    launch(9)
"""


@pytest.mark.parametrize("code", [SCOPES, TOGGLES])
@pytest.mark.parametrize("version", [130000, 130200, 130500])
def test_metrics_of_instructions(run, tmp_path, version, code):  # noqa: F811
    """From 13.2 on they are 0 while concurrent kernels are recorded, also where the session is deactivated while a launch is measured; what is
    launched afterwards is measured."""
    run(code, "-m", "counters:set=load_efficiency:first=300:most=10000", PROTON_STUB_VERSION=str(version))
    measured = check_values(tmp_path / "out.hatchet")
    assert all(metrics["smsp__sass_data_bytes_mem_global_op_ld.sum"] for _, metrics in measured.values())
    assert sum(launches for launches, _ in measured.values()) >= 5
    ran = counts(tmp_path / "out.hatchet")
    assert {name: n for name, n in ran.items() if name in measured and n < measured[name][0]} == {}
    if code == SCOPES:
        assert ran == {"even/k0": 4, "even/k7": 8, "odd/k1": 4, "odd/k7": 4, "even/k2": 4}
    else:
        assert ran["k9"] == measured["k9"][0] == 5


@pytest.mark.parametrize("flags, says", [
    (["-m", "counters:set=memry"], "did you mean"),
    (["-m", "counters:first=0"], "first=0: want a number of launches from 1 to 10000"),
    (["-m", "counters:limit=3"], "unsupported option key: limit; set, first, most and kernels are known"),
    (["-m", "counters", "-d", "timeline"], "--mode counters needs --data tree"),
    (["-m", "counter"], "did you mean --mode counters?"),
])
def test_what_is_wrong_with_a_command(run, flags, says):  # noqa: F811
    assert says in run(SCOPES, *flags, code_of_exit=2)


@pytest.mark.parametrize("version", [130000, 130500])
def test_record_and_replay(run, tmp_path, version):  # noqa: F811
    """A replay has the values that were recorded; nothing is made up for a recording without them. From 13.5 on CUPTI itself runs kernels for
    each, which do not count, and calls that launch nothing have no symbol that could be read."""
    run(SCOPES + "fake_gpu.cuda.cuMemsetD8Async(0, 0, 8, None)\n", "-m", "counters:set=memory", "--activities", "memset",
        PROTON_RECORD=str(tmp_path / "capture"), PROTON_STUB_VERSION=str(version))
    recorded = counted(tmp_path / "out.hatchet")
    assert len(recorded) == 5
    assert not [name for name in counts(tmp_path / "out.hatchet") if "WaitNs" in name]

    def replay(*flags):
        done = subprocess.run([PROTON, "run", "-b", "replay", "-n", "again", *flags, "capture"], cwd=tmp_path, env=environment(tmp_path),
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stderr
    replay("-m", "counters:set=memory")
    assert counted(tmp_path / "again.hatchet") == recorded
    replay("-m", "counters:set=dram_read")
    assert {name: set(m) for name, (_, m) in counted(tmp_path / "again.hatchet").items()} == dict.fromkeys(recorded, {TIME, READ, *ASKED})
    said = replay("-m", "counters:set=dram_read+sm__inst_executed.sum+sm__warps_active.sum")
    assert said.count("warning") == 1 and "the recording lacks sm__inst_executed.sum and 1 other metric of this set: replay it with the -m of" in said
    run(SCOPES, PROTON_RECORD=str(tmp_path / "capture"))
    assert "the capture has no hardware counters" in replay("-m", "counters")


STARTED = """
import goproton as proton
proton.start("own", mode="counters:set=dram_read:first=2")
for _ in range(5):
    launch(3)
proton.finalize()
try:
    proton.start("timeline", mode="counters", data="timeline")
except ValueError as e:
    print(e)
"""


def start(tmp_path, code):
    (tmp_path / "program.py").write_text(PROGRAM.format(tests=os.path.dirname(__file__)) + code)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env=environment(tmp_path, PYTHONPATH=str(BUILD / "python")),
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_start(tmp_path, library):
    assert 'mode="counters" adds up what it measures' in start(tmp_path, STARTED)
    assert check(tmp_path / "own.hatchet") == {"k3": 2}


SESSIONS = """
from goproton import data
first = proton.start("first", mode="counters")
other = proton.start("other", mode="counters", context="python")
launch(1)
data.advance_phase(first)
launch(1)
launch(2)
proton.deactivate(other)
launch(3)
proton.finalize(other)
launch(4)
proton.deactivate(first)
launch(5)
proton.finalize()
proton.start("again", mode="counters")  # of which the first launches are first again
launch(1)
proton.finalize()
"""


def test_sessions_and_phases(tmp_path, library):
    """What was measured stands in the sessions and the phase of its launch. Of all sessions together first= launches are measured."""
    start(tmp_path, SESSIONS)
    assert sorted(name.split("/")[-1] for name in check(tmp_path / "other.hatchet")) == ["k1", "k1", "k2"]
    parts = sorted(p.name for p in tmp_path.glob("first*.hatchet"))
    assert [check(tmp_path / p) for p in parts] == [{"k1": 1}, {"k1": 1, "k2": 1, "k3": 1, "k4": 1}]
    assert check(tmp_path / "again.hatchet") == {"k1": 1}


FORK = """
import threading
on, over = fake_gpu.stream(), False
def work():
    fake_gpu.use()
    while not over:
        launch(1)
other = threading.Thread(target=work)
other.start()
for n in range(40):
    pid = os.fork()
    if not pid:  # the other thread may have been measuring, which it never ends here
        for n in range(3):
            launch(2)
            with fake_gpu.Graph(on):
                fake_gpu.launch(kernels[3], on)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
over = True
other.join()
launch(4)
"""


def test_forks(run, tmp_path):  # noqa: F811
    run(FORK, "-m", "counters:first=10000:most=1000000")
    measured = check(tmp_path / "out.hatchet")
    assert measured["k1"] > 100 and measured["k4"] == 1 and set(measured) == {"k1", "k4"}
