"""Energy and counters over time, on the fake driver, whose GPU takes 300 W and is active for 40 % of each sample."""

import json
import re
import subprocess
import sys
import time

import pytest
from conftest import PATIENCE, REPOSITORY, TESTS, run_python
from trees import at, load
from test_windows import environment

STUB = REPOSITORY / "build" / "stub"
PROTON = REPOSITORY / "build" / "proton"

PROGRAM = """
import sys, time
sys.path.insert(0, {tests!r})
import fake_gpu, goproton as proton
fake_gpu.init()
a, b = fake_gpu.function("a"), fake_gpu.function("b")
ends = time.time() + {seconds}
while time.time() < ends:
    with proton.scope("twice"):
        for _ in range(20): fake_gpu.launch(a)
    with proton.scope("once"):
        for _ in range(10): fake_gpu.launch(b)
    time.sleep(0.001)
"""


@pytest.fixture
def run(tmp_path):
    if not (STUB / "libcupti.so").exists() or not PROTON.exists():
        pytest.skip("needs build/stub and build/proton: make build")

    def go(*flags, seconds=1.0, code=PROGRAM, of_exit=0, **more):
        (tmp_path / "program.py").write_text(code.format(tests=str(TESTS), seconds=seconds))
        began = time.time()
        done = subprocess.run([PROTON, "run", "-b", "cupti", "-n", "out", "--python", sys.executable, *flags, "program.py"], cwd=tmp_path, text=True,
                              env=environment(tmp_path, PROTON_STUB_KERNEL_NS="20000", **more), capture_output=True, timeout=PATIENCE)
        assert done.returncode == of_exit, done.stderr
        return done.stderr, time.time() - began
    return go


def total(node, metric):
    return node["metrics"].get(metric, 0) + sum(total(child, metric) for child in node["children"])


def test_energy(run, tmp_path):
    """The joules of all frames are what the GPU took; two scopes share in proportion to the time of their kernels, the rest is <idle>'s."""
    said, seconds = run("--energy")
    tree = load(tmp_path / "out.hatchet")
    joules = total(tree, "energy (J)")
    assert 300 * (1.0 - 0.1) <= joules <= 300 * (seconds + 0.1), "up to a step of the counter"
    twice, once = (at(tree, scope, kernel)["metrics"]["energy (J)"] for scope, kernel in (("twice", "a"), ("once", "b")))
    assert twice / once == pytest.approx(2, rel=0.03)
    busy = total(tree, "time (ns)") / 1e9
    assert twice + once == pytest.approx(300 * busy, rel=0.1)
    assert at(tree, "<idle>")["metrics"]["energy (J)"] == pytest.approx(joules - twice - once)
    assert "warning" not in said


def test_counters_over_time(run, tmp_path):
    """What a sample counted belongs to what ran in it, and to <idle> where nothing did."""
    run("--pm", "1ms")
    tree = load(tmp_path / "out.hatchet")
    active = total(tree, "gpu_active_time (ns)") / 1e9
    assert 0.4 * 0.8 <= active <= 0.4 * 1.6, "the fake is active for 40 % of the time"
    assert at(tree, "twice", "a")["metrics"]["gpu_active_time (ns)"] > at(tree, "once", "b")["metrics"]["gpu_active_time (ns)"] > 0
    assert total(tree, "tensor_active_time (ns)") == pytest.approx(total(tree, "gpu_active_time (ns)"))
    assert "pcie_read_bytes" not in json.dumps(tree), "the fake GPU has no such counter: the others are sampled"
    shown = subprocess.run([PROTON, "viewer", "-m", "time,gpu_active", "out.hatchet"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert re.search(r"ms\n", shown) and "gpu_active" in shown


def test_a_timeline(run, tmp_path):
    run("--energy", "--pm", "2ms", "--data", "timeline")
    events = [e for e in json.loads((tmp_path / "out.chrome_trace").read_text())["traceEvents"] if e.get("ph") == "C"]
    lanes = {e["name"] for e in events}
    assert {"GPU 0 power (W)", "GPU 0 SM clock (MHz)", "GPU 0 SM active (%)", "GPU 0 DRAM read (%)"} <= lanes
    power = sorted(e["args"]["counted"] for e in events if e["name"] == "GPU 0 power (W)")
    assert power[len(power) // 2] == pytest.approx(300, rel=0.2)
    active = [e for e in events if e["name"] == "GPU 0 SM active (%)"]
    assert {e["args"]["counted"] for e in active} == {40}
    gaps = [b["ts"] - a["ts"] for a, b in zip(active, active[1:])]
    assert gaps and max(gaps) == pytest.approx(2000) == min(gaps)


def test_windows(run, tmp_path):
    """Between windows nothing is read."""
    code = PROGRAM.replace("    time.sleep(0.001)", "    time.sleep(0.001); proton.step()")
    said, seconds = run("--energy", "--pm", "1ms", "--every", "100", "--for", "20", code=code, PROTON_STUB_NUMBERS="1")  # kernels begin when they are launched
    tree = load(tmp_path / "out.hatchet")
    length, unit = re.search(r"in [0-9]+ windows? of ([0-9.]+) (ms|s)", said).groups()
    recorded = float(length) / (1000 if unit == "ms" else 1)
    within = recorded + (seconds - recorded) / 4  # reading ends some ms after a window, on a busy machine later
    assert total(tree, "energy (J)") <= 300 * within, "nothing of the pauses"
    assert 0 < total(tree, "gpu_active_time (ns)") <= 0.4e9 * within
    # What is shared out goes where kernels ran: each has joules as it has time, as in a run without windows.
    joules, times = ([at(tree, scope, kernel)["metrics"][metric] for scope, kernel in (("twice", "a"), ("once", "b"))] for metric in ("energy (J)", "time (ns)"))
    assert joules[0] / joules[1] == pytest.approx(times[0] / times[1], rel=0.2), (joules, times)
    assert sum(joules) == pytest.approx(300 * sum(times) / 1e9, rel=0.2), "kernels ran one after the other, so each has all joules of its time"
    assert set(child["frame"]["name"] for child in tree["children"]) <= {"twice", "once", "<idle>"}


@pytest.mark.parametrize("more, text", [
    (dict(PROTON_STUB_NO_ENERGY="1"), "the energy of GPU 0 is not read: NVML answers 3"),
    (dict(PROTON_STUB_RESULTS="PmSamplingEnable=35"), "this user may not profile (ERR_NVGPUCTRPERM)"),
    (dict(PROTON_STUB_RESULTS="PmSamplingSetConfig=1"), "counters: configure it: CUPTI error 1"),
    (dict(PROTON_CUPTI_PATH=str(STUB / "cupti-11" / "libcupti.so")), "set PROTON_CUPTI_PATH to a libcupti of CUDA 12.8 or newer"),
])
def test_what_cannot_be_read(run, tmp_path, more, text):
    """One sentence; kernels are timed all the same."""
    said, _ = run("--energy", "--pm", "1ms", seconds=0.3, **more)
    assert said.count(text) == 1, said
    assert total(load(tmp_path / "out.hatchet"), "count") > 30


def test_with_counters_of_launches(run):
    """Refused before the program starts, and where the program asks for both itself."""
    said, _ = run("--pm", "1ms", "--mode", "counters", code="never run", of_exit=2)
    assert "need the same hardware: leave one of them out" in said
    said, _ = run("--mode", "counters", code="import goproton\nfrom goproton import _library\n_library.call('start', name='p', backend='cupti', mode='counters', pm='1ms')", of_exit=1)
    assert "ValueError: [PROTON] counters of whole GPUs over time (pm) and of single launches (mode counters) need the same hardware" in said


def test_what_is_not_read_is_not_why_nothing_was_recorded(run):
    """A GPU without a counter of energy does not explain a profile without kernels."""
    code = PROGRAM.replace("ends = time.time() + {seconds}", "ends = 0; time.sleep({seconds})")
    said, _ = run("--energy", seconds=0.3, code=code, of_exit=3, PROTON_STUB_NO_ENERGY="1")
    assert "proton: warning: the energy of GPU 0 is not read: NVML answers 3" in said, said
    assert "nothing was recorded: the energy" not in said and "nothing was recorded: " in said, said


@pytest.mark.parametrize("every", ["", "1", "5h", "10us", "-1ms"])
def test_times_that_cannot_be(run, every):
    said, _ = run(f"--pm={every}", of_exit=2)
    assert "give one from 200µs to 1s, such as 1ms" in said


def test_the_api(library, tmp_path):
    code = PROGRAM.format(tests=str(TESTS), seconds=0.5).replace("fake_gpu.init()", """fake_gpu.init()
proton.start("first", backend="cupti", energy=True)
proton.start("second", backend="cupti")
try: proton.start("third", backend="cupti", pm="1ms")
except ValueError as e: print(e)
""") + "proton.finalize()\n"
    done = run_python(code, cwd=tmp_path, env=environment(tmp_path, PROTON_LIB=library))
    assert "energy and pm: the first session of those that run at the same time decides" in done.stdout
    assert total(load(tmp_path / "first.hatchet"), "energy (J)") > 0 == total(load(tmp_path / "second.hatchet"), "energy (J)")


def test_a_replay_has_neither(tmp_path):
    """The fake NVML of these tests is not that of the recorded run."""
    done = subprocess.run([PROTON, "run", "-b", "replay", "--energy", "--pm", "1ms", "-n", "out", REPOSITORY / "testdata" / "captures" / "dynamic_net.capture.gz"], cwd=tmp_path,
                          env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and done.stderr.count("a recording is replayed, which has neither") == 1, done.stderr
    assert total(load(tmp_path / "out.hatchet"), "energy (J)") == 0
