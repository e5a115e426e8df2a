"""Sessions: activation, phases, two at once, another profiler in addition, and how a program may end with one open."""
import os
import time

import pytest
import torch

import goproton as proton
from running import ended, program
from trees import Tree


def test_activate_deactivate_exact(sessions, work):
    s = sessions.start("act")
    for _ in range(50):
        proton.deactivate(s)
        work.mul()
        proton.activate(s)
        torch.add(work.x, work.y, out=work.z)
    proton.finalize()
    assert sum(sessions.tree("act").counts().values()) == 50


def test_two_sessions(sessions, work):
    def launched(scope):
        with proton.scope(scope):
            work.mul()
    s0 = sessions.start("s0")
    launched("both-before")
    sessions.start("s1")
    launched("both")
    proton.deactivate(s0)
    launched("only1")
    proton.finalize(s0)
    launched("late")
    proton.finalize()
    scopes = [sorted(p.split("/")[0] for p in sessions.tree(name).counts()) for name in ("s0", "s1")]
    assert scopes == [["both", "both-before"], ["both", "late", "only1"]]


def test_data_api(sessions, work):
    s = sessions.start("data")
    with proton.scope("p0"):
        work.mul()
    proton.deactivate(s, flushing=True)
    assert Tree(proton.data.get(s)).total() == 1
    proton.activate(s)
    assert proton.data.advance_phase(s) == 1
    with proton.scope("p1"):
        work.mul()
    proton.deactivate(s, flushing=True)
    assert (proton.data.is_phase_complete(s, 0), proton.data.is_phase_complete(s, 1)) == (True, False)
    assert list(Tree(proton.data.get(s, 1)).counts())[0].split("/")[0] == "p1"
    proton.data.clear(s, 0)
    proton.finalize()


def test_second_subscriber(sessions, work):
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]):
        work.mul()
        sessions.start("second")
        with proton.scope("s"):
            work.mul()
        proton.finalize()
    torch.cuda.synchronize()
    sessions.profiled(work.mul)  # and afterwards all is well


def test_forked_children_are_silent(sessions, work):
    sessions.start("fork")
    work.mul()
    pid = os.fork()
    if pid == 0:
        with proton.scope("child"):
            pass
        proton.finalize()
        os._exit(0)
    for _ in range(100):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    assert done and status == 0, f"child hangs or failed: {status}"
    work.mul()
    proton.finalize()
    assert sessions.tree("fork").total() == 2


@pytest.mark.parametrize("ending, code", [("return", 0), ("exit", 3), ("raise", 1), ("daemon", 0)])
def test_unfinished_session_is_written_at_exit(tmp_path, ending, code):
    ended(program("unfinished", tmp_path / "exit", ending), code)
    assert Tree.read(tmp_path / "exit.hatchet").total() == 2


def spun(folder, kernels, seconds, patience):
    """Ends a program that has launched kernels of so many seconds each; returns how many its profile has, and what was said."""
    name = folder / f"spin{kernels}-{patience}"
    said = ended(program("spin", name, kernels, seconds), PROTON_EXIT_PATIENCE=str(patience)).stderr
    return Tree.read(f"{name}.hatchet").total(), said


@pytest.mark.only("cupti")  # spin_kernel reads the clock of NVIDIA's GPUs
def test_a_gpu_that_makes_progress_is_waited_for_at_exit(tmp_path):
    """24 s of queued kernels of 1.5 s, with 6 s of patience: each that ends must give the patience back."""
    found, said = spun(tmp_path, 16, 1.5, 6)
    assert found == 16, said
    assert "waiting for the GPU to finish what the program launched" in said and "finished nothing" not in said, said


@pytest.mark.only("cupti")
def test_a_long_kernel_at_exit_needs_patience(tmp_path):
    found, said = spun(tmp_path, 1, 12, 3)
    assert found == 0 and "the GPU finished nothing within 3s at exit" in said and "PROTON_EXIT_PATIENCE" in said, (found, said)
    found, said = spun(tmp_path, 1, 12, 60)
    assert found == 1 and "finished nothing" not in said, (found, said)
