"""Programs that end while the GPU still works on what they launched, on a fake GPU that is busy while a file is there."""

import json
import os
import signal
import subprocess
import sys

import pytest
from conftest import LIBRARY, PACKAGE, PATIENCE
from trees import at, load

HEAD = """
import os, sys, threading, time
sys.path.append(os.environ["GOPROTON_TESTS"])
import fake_gpu as gpu
import goproton as proton
if sys.argv[1] == "start":
    proton.start("out")
gpu.init()
with proton.scope("work", {"m": 1}):
    gpu.launch(gpu.function("kernel"))
"""
END = """
if "os._exit" in sys.argv:
    os._exit(7)
sys.exit(7)
"""
PROGRAM = HEAD + END


@pytest.fixture
def program(library, tmp_path):
    """Starts a program on a GPU that is busy until `answer()`: "run" as below `proton run`, "start" by itself."""
    stub = LIBRARY.parent / "stub"
    if not (stub / "libcuda.so.1").exists():
        pytest.skip(f"{stub} is not built; make build")
    busy, file, status = tmp_path / "busy", tmp_path / "script.py", tmp_path / "status"
    status.mkdir()
    started = []

    def go(how, *arguments, patience, script=PROGRAM):
        if script is PROGRAM:
            busy.touch()
        file.write_text(script)
        config = {"name": str(tmp_path / "out"), "context": "shadow", "graph": "node", "status": str(status)}
        env = {**os.environ, "PROTON_LIB": library, "GOPROTON_TESTS": str(PACKAGE / "tests"), "LD_LIBRARY_PATH": str(stub),
               "PROTON_CUPTI_PATH": str(stub / "libcupti.so"), "PROTON_STUB_BUSY": str(busy), "PROTON_STUB_FULL": str(tmp_path / "full"),
               "PROTON_EXIT_PATIENCE": patience}
        search = [PACKAGE]
        if how == "run":
            env["PROTON_RUN_CONFIG"] = json.dumps(config)
            search.insert(0, PACKAGE / "bootstrap")
        env["PYTHONPATH"] = os.pathsep.join(map(str, search))
        process = subprocess.Popen([sys.executable, str(file), how, *arguments], env=env, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    def end(process):
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 7, said
        work = at(load(tmp_path / "out.hatchet"), "work")
        assert work["metrics"]["m"] == 1
        problems = [problem for path in status.glob("*.json") for problem in json.loads(path.read_text())["problems"]]
        return work["children"], said, problems

    go.end, go.answer, go.folder = end, busy.unlink, tmp_path
    yield go
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


WAITING = "proton: waiting for the GPU to finish what the program launched; Ctrl-C ends that\n"


@pytest.mark.parametrize("leave", ["sys.exit", "os._exit"])
def test_a_gpu_that_hangs_does_not_hang_the_exit(program, leave):
    _, said, problems = program.end(program("run", leave, patience="5"))
    assert said in ("", WAITING)  # where this takes long enough for a word
    [problem] = problems
    assert problem == ("the GPU finished nothing within 5s at exit: if a kernel takes longer than that, set PROTON_EXIT_PATIENCE "
                       "to more seconds; the profile holds what had arrived by then")


def test_a_gpu_that_hangs_without_proton_run(program):
    _, said, _ = program.end(program("start", patience="5"))
    said = said.removeprefix(WAITING)
    assert said.startswith("proton: the GPU finished nothing within 5s at exit: ") and said.count("\n") == 1


@pytest.mark.parametrize("how", ["run", "start"])
def test_a_gpu_that_is_waited_for(program, how):
    process = program(how, patience="inf")
    waiting = process.stderr.readline()
    assert waiting == WAITING
    program.answer()
    [kernel], *output = program.end(process)
    assert kernel["metrics"]["count"] == 1 and output == ["", []]


@pytest.mark.parametrize("how", ["run", "start"])
def test_ctrl_c_ends_a_program(program, how):
    """Python ends by an exception, and then by the signal itself."""
    process = program(how, patience="5", script=HEAD + "import signal; signal.raise_signal(signal.SIGINT)")
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGINT and said.endswith("KeyboardInterrupt\n"), said
    assert at(load(program.folder / "out.hatchet"), "work", "kernel")["metrics"]["count"] == 1


@pytest.mark.parametrize("how", ["run", "start"])
def test_ctrl_c_ends_the_wait(program, how):
    process = program(how, patience="inf")
    assert "Ctrl-C" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, said, problems = program.end(process)
    [what] = problems if how == "run" else said.splitlines()
    assert "the wait for the GPU at exit was interrupted; the profile holds what had arrived by then" in what


LAUNCHING = HEAD + """
open(os.environ["PROTON_STUB_FULL"], "w").close()
def work():
    gpu.use()
    gpu.launch(gpu.function("late"))
thread = threading.Thread(target=work, daemon=True)
thread.start()
while gpu.cuda.stub_cuda_calls() == 0: time.sleep(0.001)
""" + END


@pytest.mark.parametrize("how, leave", [("run", "sys.exit"), ("run", "os._exit"), ("start", "sys.exit")])
def test_a_daemon_thread_is_inside_a_launch_at_the_end(program, how, leave):
    """CUPTI must not be torn down below the thread: it waits in the driver because the GPU's queue is full."""
    [kernel], said, problems = program.end(program(how, leave, patience="60", script=LAUNCHING))
    assert (kernel["frame"]["name"], kernel["metrics"]["count"], said, problems) == ("kernel", 1, "", [])


FINALIZING = LAUNCHING.removesuffix(END) + """
proton.finalize()
os.remove(os.environ["PROTON_STUB_FULL"])
thread.join()
""" + END


def test_a_thread_is_inside_a_launch_when_the_last_session_ends(program):
    """The program goes on, and so does the thread, whose callbacks CUPTI must keep."""
    [kernel], said, _ = program.end(program("start", patience="60", script=FINALIZING))
    assert (kernel["frame"]["name"], kernel["metrics"]["count"], said) == ("kernel", 1, "")
