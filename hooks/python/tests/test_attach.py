"""`proton attach` to programs on the fake GPU, which count what they launch themselves."""

import os
import platform
import re
import signal
import subprocess
import sys
import time

import pytest
from conftest import LIBRARY, PACKAGE, PATIENCE, wait_for
from trees import at, load

PROTON, STUB = LIBRARY.parent / "proton", LIBRARY.parent / "stub"
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="proton attach needs x86-64")

IN_C = r"""
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
typedef unsigned u;
u cuInit(u); u cuCtxCreate_v2(void **, u, int); u cuModuleLoadData(void **, const void *); u cuModuleGetFunction(void **, void *, const char *);
u cuLaunchKernel(void *, u, u, u, u, u, u, u, void *, void **, void **);
int main(void) {
  void *context, *module, *alpha;
  sigset_t asked;
  int n = 0, which;
  sigemptyset(&asked), sigaddset(&asked, SIGUSR1), sigaddset(&asked, SIGTERM);
  sigprocmask(SIG_BLOCK, &asked, NULL);
  if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuModuleLoadData(&module, "image") || cuModuleGetFunction(&alpha, module, "alpha")) return 9;
  puts("ready"), fflush(stdout);
  while (!sigwait(&asked, &which) && which == SIGUSR1) {
    for (int i = 0; i < 500; i++, n++)
      if (cuLaunchKernel(alpha, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)) return 8;
    puts("launched"), fflush(stdout);
  }
  return n == 500 * 3 ? 7 : 6;
}
"""

IN_PYTHON = """
import os, signal, sys, threading
sys.path.append(os.environ["GOPROTON_TESTS"])
import fake_gpu as gpu
gpu.init()
alpha, n = gpu.function("alpha"), 0
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])
def work():
    global n
    import contextlib
    scope = sys.modules["goproton"].scope if "goproton" in sys.modules else lambda name: contextlib.nullcontext()
    with scope("asked"):
        for i in range(500):
            gpu.launch(alpha); n += 1
print("ready", flush=True)
while signal.sigwait([signal.SIGUSR1, signal.SIGTERM]) == signal.SIGUSR1:
    work()
    print("launched", flush=True)
sys.exit(7 if n == 500 * 3 else 6)
"""


@pytest.fixture
def target(library, tmp_path):
    if not (STUB / "libcuda.so.1").exists() or not PROTON.exists():
        stub = STUB
        pytest.skip(f"{stub} is not built; make build")
    started = []

    def start(language, **env):
        if language == "C":
            command = [str(tmp_path / "program")]
            made = subprocess.run(["gcc", "-x", "c", "-", "-o", *command, f"-L{STUB}", "-l:libcuda.so.1"], input=IN_C, text=True)
            if made.returncode:
                pytest.skip("there is no gcc")
        else:
            (tmp_path / "program.py").write_text(IN_PYTHON if language == "Python" else language)
            command = [sys.executable, str(tmp_path / "program.py")]
        env = {**os.environ, "LD_LIBRARY_PATH": str(STUB), "PROTON_CUPTI_PATH": str(STUB / "libcupti.so"), "GOPROTON_TESTS": str(PACKAGE / "tests"), **env}
        for name in ("PROTON_RUN_CONFIG", "PYTHONPATH", "PROTON_LIB"):
            env.pop(name, None)
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=open(tmp_path / "stderr", "w"), text=True)
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


def attach(process, tmp_path, *flags, name="out", seconds="60"):
    """Starts proton attach, and returns it when the session has begun."""
    attached = subprocess.Popen([PROTON, "attach", str(process.pid), "--for", seconds, "-n", name, *flags], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "PROTON_LIB": str(LIBRARY)})
    line = attached.stderr.readline()
    if "CAP_SYS_PTRACE" in line or "SYS_PTRACE" in line or "ptrace_scope" in line:
        pytest.skip(line)
    assert "is profiled for" in line, line + attached.stderr.read()
    return attached


def launches(process):
    os.kill(process.pid, signal.SIGUSR1)
    assert process.stdout.readline() == "launched\n"


def ends(process, attached):
    attached.send_signal(signal.SIGINT)
    _, said = attached.communicate(timeout=PATIENCE)
    assert attached.returncode == 0, said
    return said


@pytest.mark.parametrize("language", ["C", "Python"])
def test_a_program_that_runs(target, tmp_path, language):
    """What it launches while it is attached to is recorded, all of it and nothing else; it can be attached to again."""
    process = target(language)
    launches(process)
    for name in ("first", "second"):
        attached = attach(process, tmp_path, name=name, *(["-c", "python"] if (language, name) == ("Python", "second") else []))
        launches(process)
        said = ends(process, attached)
        assert said.startswith(f"proton: 500 kernels, 500.0 us of GPU time, 0 dropped; wrote {name}.hatchet"), said
    assert at(load(tmp_path / "first.hatchet"), *(["asked"] if language == "Python" else []), "alpha")["metrics"]["count"] == 500
    if language == "Python":
        text = (tmp_path / "second.hatchet").read_text()
        assert f"{tmp_path}/program.py:" in text and "@work" in text
    process.terminate()
    assert process.wait(timeout=PATIENCE) == 7
    assert (tmp_path / "stderr").read_text() == ""


FINALIZED = """
import ctypes, time
cupti = ctypes.CDLL(os.environ["PROTON_CUPTI_PATH"])
def attribute():
    value, size = ctypes.c_uint8(9), ctypes.c_size_t(1)
    return cupti.cuptiActivityGetAttribute(9, ctypes.byref(size), ctypes.byref(value)) or value.value  # PER_THREAD_ACTIVITY_BUFFER
launched = open(os.environ["LAUNCHED"], "w")
print("ready", flush=True)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
seen = [attribute()]
while not signal.sigpending():
    gpu.launch(alpha)
    print(end=".", file=launched, flush=True)
    if attribute() != seen[-1]: seen.append(attribute())
    time.sleep(0.0005)
print(seen, flush=True)
"""


def test_cupti_is_left_at_the_end(target, tmp_path):
    """By a thread of the program, which goes on meanwhile: after that a launch costs what it did before."""
    launched = tmp_path / "launched"
    process = target(IN_PYTHON.split('print("ready"')[0] + FINALIZED, PROTON_STUB_FULL="1", LAUNCHED=str(launched))
    for name in ("first", "second"):
        attached = attach(process, tmp_path, name=name)
        before = launched.stat().st_size
        wait_for("twenty launches", lambda: launched.stat().st_size > before + 20)
        ends(process, attached)
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == "[0, 1, 0, 1, 0]\n"
    assert process.wait(timeout=PATIENCE) == 0
    assert [at(load(tmp_path / f"{name}.hatchet"), "alpha")["metrics"]["count"] > 10 for name in ("first", "second")] == [True, True]


def test_the_time_ends_it(target, tmp_path):
    process = target("C")
    began = time.monotonic()
    attached = attach(process, tmp_path, seconds="1.5")
    launches(process)
    _, said = attached.communicate(timeout=PATIENCE)
    assert attached.returncode == 0 and "500 kernels" in said and time.monotonic() - began > 1.4, said


@pytest.mark.parametrize("language", ["C", "Python"])
def test_the_process_that_attached_is_killed(target, tmp_path, language):
    """The session ends by itself at its time, and the next one begins."""
    process = target(language)
    attached = attach(process, tmp_path, seconds="1.5")
    attached.kill()
    attached.wait()
    launches(process)
    busy = subprocess.run([PROTON, "attach", str(process.pid), "-n", "other"], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PROTON_LIB": str(LIBRARY)})
    assert busy.returncode == 1 and "by another proton attach, already" in " ".join(busy.stderr.split()), busy.stderr
    time.sleep(2)
    launches(process)
    attached = attach(process, tmp_path)
    launches(process)
    assert "500 kernels" in ends(process, attached)
    process.terminate()
    process.wait(timeout=PATIENCE)
    assert (tmp_path / "stderr").read_text() == ""


def test_the_program_ends_first(target, tmp_path):
    process = target("Python")
    attached = attach(process, tmp_path)
    launches(process)
    process.terminate()
    _, said = attached.communicate(timeout=PATIENCE)
    assert "500 kernels" in said, said


def test_another_profiler(target, tmp_path):
    process = target("C", PROTON_STUB_HOLDER="Nsight Systems")
    attached = attach(process, tmp_path)
    launches(process)
    attached.send_signal(signal.SIGINT)
    _, said = attached.communicate(timeout=PATIENCE)
    assert attached.returncode == 3 and re.search(r'"Nsight Systems" holds\s+CUPTI in this process', said), said
    launches(process)
    launches(process)
    process.terminate()
    assert process.wait(timeout=PATIENCE) == 7, "it goes on unharmed"
