"""`proton attach` on the GPU: a program with torch and Triton that was started by itself."""
import os
import signal
import subprocess
import sys
import time

import pytest

from running import HERE, PROTON
from trees import Tree

# Steps of two kernels: as many as are asked for by a signal, or without end, with the pace of each second.
PROGRAM = """
import os, signal, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])  # before there are threads, which have the same mask
sys.path.append({here!r})
import torch
from kernels import add_kernel
x, out = torch.ones(1 << 16, device="cuda"), torch.empty(1 << 16, device="cuda")
def steps(n):
    for _ in range(n):
        add_kernel[(64,)](x, x, out, x.numel(), BLOCK=1024)
        torch.sin(x)
    torch.cuda.synchronize()
steps(10)
print("ready", flush=True)
if sys.argv[1] == "asked":
    while signal.sigwait([signal.SIGUSR1, signal.SIGTERM]) == signal.SIGUSR1:
        steps(1000)
        print("launched", flush=True)
else:
    while not signal.sigpending():
        began = time.perf_counter()
        steps(2000)
        print(time.perf_counter() - began, flush=True)
sys.exit(7)
"""


@pytest.fixture
def target(tmp_path):
    started = []

    def start(how):
        (tmp_path / "program.py").write_text(PROGRAM.format(here=str(HERE)))
        env = {k: v for k, v in os.environ.items() if not k.startswith("PROTON_")}
        process = subprocess.Popen([sys.executable, tmp_path / "program.py", how], env=env, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def attach(process, tmp_path, *flags):
    began = time.monotonic()
    attached = subprocess.Popen([PROTON, "attach", str(process.pid), "-n", "out", *flags], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    line = attached.stderr.readline()
    if "SYS_PTRACE" in line or "ptrace_scope" in line:
        pytest.skip(line)
    assert "is profiled for" in line, line + attached.stderr.read()
    print(f"began to record {time.monotonic() - began:.2f} s after the command")
    return attached


@pytest.mark.only("cupti")
@pytest.mark.parametrize("context", ["shadow", "python"])
def test_all_that_is_launched_and_nothing_else(target, tmp_path, context):
    process = target("asked")
    attached = attach(process, tmp_path, "-c", context)
    os.kill(process.pid, signal.SIGUSR1)
    assert process.stdout.readline() == "launched\n"
    attached.send_signal(signal.SIGINT)
    said = attached.communicate(timeout=60)[1]
    assert attached.returncode == 0 and "2,000 kernels" in said and "0 dropped" in said, said
    counts = Tree.read(tmp_path / "out.hatchet").counts()
    assert sum(n for path, n in counts.items() if path.endswith("add_kernel")) == 1000, counts
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=30) == 7


@pytest.mark.only("cupti")
def test_what_it_costs_before_during_and_after(target, tmp_path):
    """Seconds of 2,000 steps of two launches. What is left afterwards is measured, and bounded by much: CUPTI stays loaded."""
    process = target("without end")
    pace = lambda n: sorted(float(process.stdout.readline()) for _ in range(n))[n // 2]
    pace(10)
    before = pace(40)
    attached = attach(process, tmp_path, "--for", "5s")
    during = pace(40)
    said = attached.communicate(timeout=60)[1]
    assert attached.returncode == 0, said
    pace(int(6 / before))
    after = pace(40)
    print(f"before {before * 1e3:.2f} ms, during ×{during / before:.3f}, after ×{after / before:.3f}; {said}")
    assert after < 1.2 * before
    os.kill(process.pid, signal.SIGTERM)
    for _ in process.stdout:
        pass
    assert process.wait(timeout=30) == 7
