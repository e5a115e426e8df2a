"""Counters of programs on the fake driver, as Prometheus reads them: all ranks of a run at one address, and nothing listens in the program."""

import re
import socket
import subprocess
import sys
import threading
import urllib.request

import pytest
from conftest import LIBRARY, PATIENCE, TESTS
from goproton import Metrics
from test_push import BUILD, STUB, count, folder, server, started, wait_for  # noqa: F401 (fixtures)
from trees import load

pytestmark = pytest.mark.skipif(not (LIBRARY.exists() and (BUILD / "proton").exists() and STUB.exists()), reason="needs build/: run make build")

# Launches so many kernels, in as many processes as there are words: each word is a rank, or "-" for none.
RANKS = f"""
import os, subprocess, sys
sys.path.append({str(TESTS)!r})
if len(sys.argv) > 2:
    ranks = []
    for n, rank in enumerate(sys.argv[2:]):
        environment = dict(os.environ, SCOPE="scope \\"" + rank + "\\"\\n")
        if rank != "-":
            environment.update(RANK=rank, WORLD_SIZE="9", LOCAL_RANK=rank)
        ranks.append(subprocess.Popen([sys.executable, __file__, str(int(sys.argv[1]) + n)], env=environment))
    sys.exit(max(rank.wait() for rank in ranks))
import fake_gpu as gpu
import goproton as proton
gpu.init()
kernel = gpu.function("kernel")
for _ in range(int(sys.argv[1])):
    with proton.scope(os.environ["SCOPE"]):
        gpu.launch(kernel)
gpu.synchronize()
"""

# Two sessions, one after the other, that are counted as one process.
SESSIONS = f"""
import os, sys
sys.path.append({str(TESTS)!r})
import fake_gpu as gpu
import goproton as proton
gpu.init()
kernel = gpu.function("kernel")
for n in range(2):
    proton.start(f"session{{n}}", prometheus=proton.Prometheus(sys.argv[1], wait=60))
    if n == 0:
        try:
            proton.start("another", metrics=sys.argv[1])
        except ValueError as error:
            print("refused:", error, file=sys.stderr, flush=True)
    for _ in range(5):
        with proton.scope("step"):
            gpu.launch(kernel)
    proton.finalize()
    gpu.launch(kernel) # of no session
gpu.synchronize()
"""


def last_page(command):
    """Runs a command that serves counters at any port, and returns what it served last, and what it said."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    said, page = "", ""
    for line in process.stderr:
        said += line
        at = re.search(r"counters at (\S+/metrics)", line)
        if at:
            break
    rest = []
    reader = threading.Thread(target=lambda: rest.append(process.stderr.read()))
    reader.start()
    while at:
        try:
            with urllib.request.urlopen(at[1], timeout=PATIENCE) as answer:
                page = answer.read().decode()
        except OSError:
            break
    assert process.wait(PATIENCE) == 0, said
    reader.join()
    return page, said + rest[0]


def launches(page):
    """The launches by labels other than the host."""
    found = {}
    for labels, value in re.findall(r"^goproton_launches_total\{(.*)\} (\d+)$", page, re.MULTILINE):
        found[re.sub(r'host="[^"]*",', "", labels)] = int(value)
    return found


def test_ranks_of_a_run(folder):
    (folder / "ranks.py").write_text(RANKS)
    command = [BUILD / "proton", "run", "--name", "w", "--prometheus", "0:wait=60", "--", sys.executable, "ranks.py", "10", "0", "1", "-", "-"]
    page, said = last_page(list(map(str, command)))
    work = 'gpu="0",scope="scope \\"%s\\" ",work="kernel"'
    got = launches(page)
    numbered = {got.pop(f'process="{n}",' + work % "-") for n in range(2)}
    assert got == {'rank="0",' + work % 0: 10, 'rank="1",' + work % 1: 11} and numbered == {12, 13}, said
    files = {name.name: count(load(name), "count") for name in folder.glob("w*.hatchet")}
    assert sorted(files.values()) == [10, 11, 12, 13], files
    assert "pid" not in page


def test_sessions_of_a_program(folder):
    (folder / "sessions.py").write_text(SESSIONS)
    page, said = last_page([sys.executable, "sessions.py", "0"])
    assert launches(page) == {'process="0",gpu="0",scope="step",work="kernel"': 10}, said
    assert "prometheus: the session session0 is counted already: leave prometheus out" in said


# Pushes windows of an hour while the sender of another program has the lock, and serves counters until a line comes.
PUSHED = f"""
import sys
sys.path.append({str(TESTS)!r})
import goproton as proton
proton.start("pushed", push=proton.Push(sys.argv[1], every=3600, wait=0), metrics="0")
sys.stdin.readline()
"""


def test_windows_that_the_sender_of_another_program_has_sent(server, folder):  # noqa: F811 (fixtures)
    """They are not counted as those of this program, whose counters would fall when its own sender takes over."""
    (folder / "pushed.py").write_text(PUSHED)
    other = started([sys.executable, "work.py", "600", server.url])
    process = subprocess.Popen([sys.executable, "pushed.py", server.url], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        at = re.search(r"counters at (\S+/metrics)", process.stderr.readline())
        wait_for("windows of the other program", lambda: len(server.labels) >= 2)
        with urllib.request.urlopen(at[1], timeout=PATIENCE) as answer:
            page = answer.read().decode()
        assert 'goproton_push_windows_total{result="sent"} 0\n' in page and "goproton_push_sent_bytes_total 0\n" in page, page
    finally:
        (folder / "end").touch()
        process.communicate("end\n", timeout=PATIENCE)
        other.communicate(timeout=PATIENCE)


def test_port_that_is_taken(folder):
    (folder / "ranks.py").write_text(RANKS)
    (folder / "sessions.py").write_text(SESSIONS)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for command in ([BUILD / "proton", "run", "--name", "w", "--metrics", address, "--", sys.executable, "ranks.py", "3", "-"],
                        [sys.executable, "sessions.py", address]):
            result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE)
            assert result.returncode == 0 and f"another program listens at {address}: give another port" in result.stderr, result.stderr


def test_addresses_that_cannot_be_read(folder):
    (folder / "sessions.py").write_text(SESSIONS)
    result = subprocess.run([BUILD / "proton", "run", "--metrics", "nowhere", "x.py"], capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == 2 and '--prometheus "nowhere" is not an address to listen at' in result.stderr, result.stderr
    result = subprocess.run([sys.executable, "sessions.py", "nowhere"], capture_output=True, text=True, timeout=PATIENCE)
    assert 'ValueError: prometheus: "nowhere" is not an address' in result.stderr, result.stderr


def test_nothing_listens_in_the_program(folder):
    (folder / "sessions.py").write_text(SESSIONS + """
links = [os.readlink(entry.path) for entry in os.scandir("/proc/self/fd") if entry.is_symlink() and os.path.lexists(entry.path)]
print(sum(link.startswith("socket:") for link in links), "sockets", file=sys.stderr)
""")
    _, said = last_page([sys.executable, "sessions.py", "0"])
    assert "\n0 sockets" in said


@pytest.mark.parametrize("wrong", [{"wait": -1}, {"wait": float("nan")}, {"wait": float("inf")}, {"scopes": -1}])
def test_what_cannot_be_waited_for_is_refused(wrong):
    with pytest.raises(ValueError, match="wait is 0 seconds to a year"):
        Metrics("9464", **wrong)
