"""Processes that start(push=…) and start(metrics=…) begin are not children of the program, and leave nothing in it."""

import os
import sys

import pytest
from conftest import LIBRARY, REPOSITORY, run_python

BUILD = REPOSITORY / "build"

pytestmark = pytest.mark.skipif(not (LIBRARY.exists() and (BUILD / "proton").exists()), reason="needs build/: run make build")

BEGIN = """
import os, signal, sys, threading, time
import goproton as proton
from conftest import companions
def begin(what):
    if what == "push":
        proton.start("w", push=proton.Push("http://127.0.0.1:9", wait=0))
    else:
        proton.start("w", metrics="0")
    assert len(companions(os.getpid())) == 1
"""

PROGRAMS = {
    "waits until there are no children": """
begin(sys.argv[1])
for code in 3, 4:
    if os.fork() == 0:
        os._exit(code)
ended = []
while True:
    try:
        ended.append(os.wait()[1] >> 8)
    except ChildProcessError:
        break
assert sorted(ended) == [3, 4], ended
""",
    "handles SIGCHLD": """
seen = []
signal.signal(signal.SIGCHLD, lambda *_: seen.append(1))
begin(sys.argv[1])
time.sleep(0.2)
assert seen == [], seen
assert os.fork() or os._exit(0)
time.sleep(0.2)
os.wait()
assert seen == [1], seen
""",
    "ignores SIGCHLD": """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
begin(sys.argv[1])
""",
    "waits in another thread": """
os.mkfifo("end")
worker = os.fork()
if not worker:
    with open("end"):
        os._exit(7)
ended = []
waiter = threading.Thread(target=lambda: ended.append(os.waitpid(-1, 0)))
waiter.start()
begin(sys.argv[1])
time.sleep(0.2)
assert ended == [], ended
open("end", "w").close()
waiter.join()
assert ended == [(worker, 7 << 8)], ended
""",
    "has closed its standard descriptors": """
def descriptors():
    return {fd: os.stat(fd)[:2] for fd in range(200) if exists(fd)}
def exists(fd):
    try:
        return os.fstat(fd)
    except OSError:
        return False
for fd in 0, 1:
    os.close(fd)
before = descriptors()
begin(sys.argv[1])
assert descriptors() == before
""",
    "blocks and handles all signals, and has descriptors for its children": """
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
    signal.signal(number, lambda *_: print("a signal", file=sys.stderr))
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
file = os.open("inherited", os.O_CREAT | os.O_WRONLY)
os.set_inheritable(file, True)
os.dup2(file, 150)
begin(sys.argv[1])
pid, = companions(os.getpid())
def facts(task):
    with open(f"/proc/{pid}/task/{task}/status") as status:
        return dict(line.rstrip().partition(":\\t")[::2] for line in status)
while all(int(facts(task)["SigBlk"], 16) for task in os.listdir(f"/proc/{pid}/task")):
    time.sleep(0.02)  # Go blocks them for moments
assert os.getsid(pid) != os.getsid(0) and int(facts(pid)["PPid"]) != os.getpid()
inherited = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
assert not any(name.endswith("/inherited") for name in inherited), inherited
""",
}


@pytest.mark.parametrize("what", ["push", "metrics"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_program_does_not_notice_it(program, what, tmp_path):
    run_python(BEGIN + PROGRAMS[program], what, cwd=tmp_path, env={"PROTON_LIB": str(LIBRARY), "PATH": f"{BUILD}:{os.environ['PATH']}", "PROTON_PUSH_SPOOL": str(tmp_path / "spool")})


@pytest.mark.parametrize("script, says", [("exit 0", "ended at once"), ("echo nonsense; sleep 0.1", "ended at once"), (None, "Exec format error")])
def test_a_command_that_fails(script, says, proton, tmp_path, monkeypatch):
    command = tmp_path / "bin" / "goproton"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\n{script}\n" if script else "no program")
    command.chmod(0o755)
    from goproton import _command
    monkeypatch.setattr(_command, "path", lambda: str(command))
    with pytest.raises(RuntimeError, match=says):
        proton.start("w", push="http://127.0.0.1:9")


def test_a_process_with_the_same_number_is_another(proton):
    from goproton import _command
    other = _command.Companion.__new__(_command.Companion)
    other.pid, other._began = os.getpid(), _command._began(os.getpid())
    assert other.lives()
    other._began += "0"
    assert not other.lives()


def executable(path, text="\x7fELF"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("packages, scripts", [
    ("env/lib/python3.12/site-packages", "env/bin"),
    ("env/lib64/python3.9/site-packages", "env/bin"),
    ("usr/local/lib/python3.11/dist-packages", "usr/local/bin"),
    ("usr/lib/python3/dist-packages", "usr/bin"),
    ("home/lib/python", "home/bin"),
    ("target", "target/bin"),
    ("layer/python", "layer/python/bin"),
    ("build/python", "build"),
])
def test_where_the_command_is(packages, scripts, tmp_path, monkeypatch):
    """In every way in which a package is installed, whatever PATH has."""
    from goproton import _command, _library
    module = tmp_path / packages / "goproton" / "_library.py"
    monkeypatch.delenv("PROTON_LIB", raising=False)
    monkeypatch.setattr(_library, "__file__", str(module))
    monkeypatch.setattr(_command, "__file__", str(module))
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    executable(tmp_path / "elsewhere" / "proton", "#!/usr/bin/env python3\n")  # as Triton's wheel has it
    executable(tmp_path / scripts / "proton", "#!/bin/sh\n")
    with pytest.raises(FileNotFoundError, match="install the goproton package"):
        _command.path()
    other = executable(tmp_path / "elsewhere" / "goproton")
    assert _command.path() == other
    own = executable(tmp_path / scripts / ("proton" if packages == "build/python" else "goproton"))
    assert _command.path() == own
    monkeypatch.setenv("PATH", "")
    assert _command.path() == own
