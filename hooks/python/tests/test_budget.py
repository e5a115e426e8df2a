"""Sessions with a budget, on the fake driver: paths that are left out add up, sampling rests, and the overhead is reported."""

import json
import subprocess

import pytest

from conftest import PATIENCE, TESTS, run_python
from test_windows import PROTON, counts, environment, run  # noqa: F401 (run is a fixture)
from trees import load

# Launches at the end of 200 frames until `proton ctl`'s question, asked in the process itself, says that some paths were left out.
DEEP = """
from goproton import _library
def deep(n):
    if n:
        return deep(n - 1)
    for _ in range(500):
        launch(0)
    return 500
launched = 0
with proton.scope("forward"):
    while not (_library.call("status").get("budget") or {}).get("paths_left_out", 0) > 10_000:
        launched += deep(200)
open("launched", "w").write(str(launched))
"""


def test_thinned_paths_add_up(run, tmp_path):  # noqa: F811
    """With a tiny budget paths of 200 frames are too dear; no launch is lost, and those without a path keep their scope."""
    text = run(DEEP, "-c", "python", "--budget", "0.1%")
    all_launches = int((tmp_path / "launched").read_text())
    counted = counts(tmp_path / "out.hatchet")
    left = {name: n for name, n in counted.items() if name.startswith("(path not taken)/")}
    assert sum(counted.values()) == all_launches
    assert set(left) == {"(path not taken)/forward/k0"} and left["(path not taken)/forward/k0"] > 10_000
    assert any("deep" in name for name in counted)
    assert "proton: overhead: " in text and "of a budget of 0.10%" in text and "Python call paths" in text
    assert f"of {all_launches:,} launches without a Python call path: their kernels stand below (path not taken)" in text
    viewed = subprocess.run([PROTON, "viewer", "-m", "count", "out.hatchet"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert "were not taken, within a budget" in viewed.stderr and "(path not taken)" in viewed.stdout


RESTS = """
import threading
from goproton import _library
counts, over = [0] * 3, False
def some():
    b = _library.call("status").get("budget") or {}
    return b.get("kernels_sampled", 0) > 100 and b.get("kernels_not_sampled", 0) > 100 and b["switching"] > 0
def work(i):
    fake_gpu.use()
    while not over:  # at a pace that the fake GPU and the drainer keep up with on a busy machine
        for _ in range(20):
            launch(i)
        counts[i] += 20
        time.sleep(0.002)
threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
[t.start() for t in threads]
while not some():
    time.sleep(0.05)
over = True
[t.join() for t in threads]
open("launched", "w").write(str(sum(counts)))
"""


def test_sampling_rests(run, tmp_path):  # noqa: F811
    """Sampling is stopped and started in CUPTI while threads launch, and the profile says for how long there were samples. The fake
    driver's launches and the fake CUPTI's switches take the locks that made a program on an H100 stand still."""
    text = run(RESTS, "-m", "pcsampling", "--budget", "1%")
    assert sum(counts(tmp_path / "out.hatchet").values()) == int((tmp_path / "launched").read_text())
    assert "proton: instructions were sampled for " in text and "sampling " in text
    info = load(tmp_path / "out.hatchet")["info"]
    assert info["sampled"].startswith("instructions were sampled for ") and "not scaled" in info["sampled"]
    assert "of a budget of 1.00%" in info["budget"]


def test_without_anything_to_reduce(run):  # noqa: F811
    """A budget without samples and paths is measured."""
    text = run("import time\nfor _ in range(20):\n    launch(0)\n    time.sleep(0.05)\n", "--budget", "2%")
    assert "of a budget of 2.00% (callbacks " in text and "not in it: the work of the GPU's library" in text


def test_in_a_session(library, tmp_path):
    """start(budget=…) measures, and finalize writes what was measured; texts that are not a share are refused."""
    code = f"import sys; sys.path.insert(0, {str(TESTS)!r})\n" + """
import fake_gpu, goproton as proton, time
from goproton import _library
fake_gpu.init()
f = fake_gpu.function("k")
for wrong in ("0", "0%", "100%", "200%", "x", "1", 0.01):
    try:
        proton.start("wrong", budget=wrong)
    except ValueError as error:
        assert "such as 1%" in str(error), error
    else:
        raise AssertionError(wrong)
try:
    proton.start("wrong", budget="1%", mode="pcsampling:collection=serialized")
except ValueError as error:
    assert "collection=continuous" in str(error), error
session = proton.start("p", budget="1 %")
while not (_library.call("status")["budget"] or {}).get("ns", 0) > 0:
    fake_gpu.launch(f)
proton.finalize(session)
"""
    run_python(code, cwd=tmp_path, env=environment(tmp_path, PROTON_LIB=library))
    info = load(tmp_path / "p.hatchet")["info"]
    assert "of a budget of 1.00%: callbacks " in info["budget"] and "sampled" not in info


# Launches without a pause, and others that are rarer, for so long that there are windows.
BOUND = """
import collections
launched = collections.Counter()
def some(n):
    return ((_library.call("status").get("budget") or {}).get("windows") or 0) >= n
from goproton import _library
began = time.time()
while not some(12) and time.time() - began < 60:
    for _ in range(200):
        with proton.scope("often", {"work": 1}):
            for _ in range(9):
                launch(0)
        with proton.scope("rarely"):
            launch(1)
    launched.update({"often": 1800, "rarely": 200})
import json
open("launched", "w").write(json.dumps(launched))
"""


def test_kernels_are_timed_in_windows(run, tmp_path):  # noqa: F811
    """With a budget kernels are timed in windows, CUPTI is left between them, and the profile has estimates for all of the time."""
    text = run(BOUND, "--budget", "5%", PROTON_STUB_NUMBERS="1", PROTON_STUB_FULL="1")
    launched = json.loads((tmp_path / "launched").read_text())
    counted = counts(tmp_path / "out.hatchet")
    print(text, launched, counted)
    for scope, kernel in ("often", "k0"), ("rarely", "k1"):
        assert abs(counted[f"{scope}/{kernel}"] / launched[scope] - 1) < 0.3
    assert abs(counted["often/k0"] / counted["rarely/k1"] - 9) < 0.1
    assert "proton: kernels were timed for " in text and "are estimates" in text
    profile = load(tmp_path / "out.hatchet")
    assert "within a budget: times, counts and metrics are estimates" in profile["info"]["estimated"]


IDLE = """
import ctypes
cupti = ctypes.CDLL(os.environ["PROTON_CUPTI_PATH"])
callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(lambda *_: None)
def rival():
    handle = ctypes.c_void_p()
    code = cupti.cuptiSubscribe(ctypes.byref(handle), callback, None)
    if not code:
        cupti.cuptiUnsubscribe(handle)
    return code
def some(seconds):
    end = time.time() + seconds
    while time.time() < end:
        launch(0)
launch(1)
codes = [rival()]
for _ in range(2):
    proton.deactivate(0)
    codes.append(rival())  # a program may go on at once
    end = time.time() + 30
    while rival() and time.time() < end:
        some(0.1)
    codes.append(rival())
    proton.activate(0)
    codes.append(rival())
    launch(1)
print(codes)
"""


def test_a_deactivated_session_with_a_budget_leaves_cupti(run, tmp_path):  # noqa: F811
    """Some time after it was deactivated, because a program that toggles in a loop must not pay for it; nothing is lost when it is active again."""

    run(IDLE.replace("print(codes)", 'open("codes", "w").write(str(codes))'), "--budget", "5%", PROTON_STUB_FULL="1")
    assert (tmp_path / "codes").read_text() == str([39] + 2 * [39, 0, 39])
    assert counts(tmp_path / "out.hatchet") == {"k1": 3}
