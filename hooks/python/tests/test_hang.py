"""`proton run --watch-hang` on a fake GPU whose kernels do not end while a file is there, and programs that only look like it."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from conftest import LIBRARY, PACKAGE, PATIENCE, wait_for
from trees import at, load

HEAD = """
import os, sys, time
sys.path.append(os.environ["GOPROTON_TESTS"])
import fake_gpu as gpu
import goproton as proton
hung = os.environ["PROTON_STUB_HUNG"]
gpu.init()
kernel = gpu.function("ncclDevKernel_AllReduce_Sum_f32_RING_LL")
other = gpu.function("_ZN2at6native4fillILi4EEEvT_")
def hang():
    open(hung, "w").close()
def until(file):
    while not os.path.exists(file): time.sleep(0.01)
"""


@pytest.fixture
def watched(library, tmp_path):
    """Starts a program below `proton run --watch-hang`; standard error goes to a file, because several processes have it."""
    stub, proton = LIBRARY.parent / "stub", LIBRARY.parent / "proton"
    if not (stub / "libcuda.so.1").exists() or not proton.exists():
        pytest.skip(f"{stub} is not built; make build")
    started = []

    def go(code, *flags, after="0.4", **env):
        (tmp_path / "script.py").write_text(HEAD + code)
        env = {**os.environ, "PROTON_LIB": library, "GOPROTON_TESTS": str(PACKAGE / "tests"), "LD_LIBRARY_PATH": str(stub), "PROTON_ROOT": str(tmp_path),
               "PROTON_CUPTI_PATH": str(stub / "libcupti.so"), "PROTON_STUB_HUNG": str(tmp_path / "hung"), **env}
        said = open(tmp_path / "said", "a")
        process = subprocess.Popen([proton, "run", "-b", "cupti", "--python", sys.executable, "-n", "out", "--watch-hang", after, *flags, "script.py"],
                                   env=env, cwd=tmp_path, stderr=said, text=True)
        started.append(process)
        return process

    def said():
        return (tmp_path / "said").read_text()

    go.said, go.folder = said, tmp_path
    yield go
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


HANGS = """
with proton.scope("warm"):
    gpu.launch(kernel); gpu.synchronize()
time.sleep(0.2)
hang()
with proton.scope("step"):
    with proton.scope("reduce"):
        gpu.launch(kernel)
    gpu.launch(other)
until("go on")
os.remove(hung)
gpu.synchronize()
with proton.scope("after"):
    gpu.launch(other)
gpu.synchronize()
time.sleep(0.3)
"""


@pytest.mark.parametrize("flags", [(), ("-d", "trace"), ("-c", "python")], ids=["tree", "trace", "python"])
def test_a_kernel_that_hangs(watched, flags):
    process = watched(HANGS, *flags)
    wait_for("the hang is said", lambda: "no kernel has ended" in watched.said())
    line = watched.said()
    assert re.search(r"process \d+: no kernel has ended, and none was launched, for [\d.]+ m?s, while the GPU has work: ncclDevKernel_AllReduce_Sum_f32_RING_LL on stream 7, "
                     r"launched in ", " ".join(line.split())), line
    said = " ".join(line.split())
    if "python" in flags:
        assert re.search(r"launched in script.py:\d+@<module> > fake_gpu.py:\d+@launch", said)
    else:
        assert "launched in step > reduce" in said
    assert "1 launch waits behind" in said and "the program goes on" in said
    if not flags:
        assert at(load(watched.folder / "out.hatchet"), "warm")["children"], "the profile so far is there"
    (watched.folder / "go on").touch()
    assert process.wait(timeout=PATIENCE) == 0
    said = " ".join(watched.said().split())
    assert "the GPU goes on" in said and "proton: 4 kernels, " in said
    assert said.count("no kernel has ended") == 2, "when it happens, and at the end"


BEFORE = """
gpu.launch(kernel)
gpu.synchronize()
for _ in range(3):
    gpu.launch(other)
gpu.synchronize()
hang()
with proton.scope("step"):
    gpu.launch(kernel)
until("go on")
os.remove(hung)
gpu.synchronize()
"""


def test_what_ended_just_before(watched):
    """Records of finished kernels stay in a buffer of the library while a kernel runs that has its record there: they do not hang."""
    process = watched(BEFORE)
    wait_for("the hang is said", lambda: "no kernel has ended" in watched.said())
    said = " ".join(watched.said().split())
    assert "the GPU has work: ncclDevKernel_AllReduce_Sum_f32_RING_LL on stream 7, launched in step" in said and "waits behind" not in said and "wait behind" not in said, said
    (watched.folder / "go on").touch()
    assert process.wait(timeout=PATIENCE) == 0
    assert "proton: 5 kernels, " in watched.said()


IDLE = """
with proton.scope("step"):
    gpu.launch(kernel); gpu.synchronize()
{then}
"""
NO_HANG = {
    "idle": "time.sleep(2.5)",
    "never launched": "time.sleep(2.5)",
    "paused": "hang(); proton.deactivate(0); gpu.launch(other); time.sleep(2.5); os.remove(hung); proton.activate(0)",
    "slow but steady": "for i in range(12):\n    gpu.launch(kernel); time.sleep(0.2)",
    "one capture for long": "s = gpu.stream()\nwith gpu.Graph(s) as graph:\n    gpu.launch(kernel, s); time.sleep(2)\ngraph.replay(); gpu.synchronize(); time.sleep(1)",
    "a graph for the first time": "s = gpu.stream()\nwith gpu.Graph(s) as graph:\n    gpu.launch(kernel, s)\nhang(); graph.replay(); time.sleep(2); os.remove(hung)",
}


@pytest.mark.parametrize("what", NO_HANG)
def test_what_does_not_hang(watched, what):
    process = watched(IDLE.format(then=NO_HANG[what]) if what != "never launched" else NO_HANG[what], "--allow-empty")
    assert process.wait(timeout=PATIENCE) == 0, watched.said()
    assert "no kernel has ended" not in " ".join(watched.said().split())


STOPPED = """
with proton.scope("step"):
    gpu.launch(kernel); gpu.synchronize()
time.sleep(0.2)
hang()
gpu.launch(other)
open("launched", "w").close()
os.remove(hung) if not until("stopped") else None
gpu.synchronize(); time.sleep(0.3)
"""


def test_a_process_that_is_stopped(watched):
    process = watched(STOPPED, after="1.5")
    wait_for("the launch", (watched.folder / "launched").exists)
    os.kill(process.pid, signal.SIGSTOP)
    child = int(subprocess.check_output(["pgrep", "-P", str(process.pid)]))
    os.kill(child, signal.SIGSTOP)
    time.sleep(3)
    (watched.folder / "stopped").touch()
    os.kill(child, signal.SIGCONT)
    os.kill(process.pid, signal.SIGCONT)
    assert process.wait(timeout=PATIENCE) == 0, watched.said()
    assert "no kernel has ended" not in " ".join(watched.said().split())


def test_the_second_time_it_takes_as_long(watched):
    """What took long once does not hang when it takes that long again."""
    once = "hang(); gpu.launch(other); time.sleep({}); os.remove(hung); gpu.synchronize(); time.sleep(0.2)\n"
    process = watched(IDLE.format(then=once.format(1.5) + once.format(1.5)))
    assert process.wait(timeout=PATIENCE) == 0, watched.said()
    assert " ".join(watched.said().split()).count("no kernel has ended") == 2, "the first time, and at the end"


RANK = """
rank = int(os.environ["RANK"])
with proton.scope("warm"):
    gpu.launch(kernel); gpu.launch(kernel); gpu.synchronize()
time.sleep(0.2)
if rank != 2:
    hang()
    with proton.scope("step"):
        gpu.launch(kernel)
else:
    with proton.scope("load"):
        gpu.launch(other); gpu.synchronize()
until("go on")
if rank != 2: os.remove(hung)
gpu.synchronize()
"""


def test_the_rank_that_has_not_arrived(watched):
    ranks = [watched(RANK, RANK=str(r), WORLD_SIZE="4", PROTON_STUB_HUNG=str(watched.folder / f"hung{r}")) for r in range(3)]
    missing = "AllReduce number 3: of 4 ranks 2 wait in it (ranks 0, 1); rank 2 (process "
    wait_for("the missing rank is named", lambda: missing in " ".join(watched.said().split()))
    said = " ".join(watched.said().split())
    assert re.search(r"rank 2 \(process \d+ on \S+\) has not arrived: it has launched 2, and last, [\d.]+ m?s ago, at::native::fill on stream 7, launched in load;", said), said
    assert "no word from rank 3" in said and said.count(missing) == 1, "one rank speaks for all"
    (watched.folder / "go on").touch()
    assert [process.wait(timeout=PATIENCE) for process in ranks] == [0, 0, 0]
    assert not list(watched.folder.glob("*.hang.json"))
