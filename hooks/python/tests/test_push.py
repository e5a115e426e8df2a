"""Windows of programs on the fake driver that are pushed to a server like Pyroscope: nothing is lost, whichever process is killed."""

import gzip
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest
from conftest import LIBRARY, PATIENCE, REPOSITORY, TESTS, companions, wait_for
from trees import load

BUILD = REPOSITORY / "build"
STUB = BUILD / "stub"
TOKEN = "s3cr3t-t0ken"

pytestmark = pytest.mark.skipif(not (LIBRARY.exists() and (BUILD / "proton").exists() and STUB.exists()), reason="needs build/: run make build")

# Launches kernels for so many seconds; the second argument says what to start.
WORK = f"""
import os, sys, time
sys.path.append({str(TESTS)!r})
import fake_gpu as gpu
import goproton as proton
if len(sys.argv) > 2:
    proton.start("w", push=proton.Push(sys.argv[2], every=1, labels={{"team": "vision"}}))
gpu.init()
kernel = gpu.function("kernel")
end = time.monotonic() + float(sys.argv[1])
print("begun", flush=True)
while True:
    with proton.scope("step"):
        gpu.launch(kernel)
    gpu.synchronize()
    time.sleep(0.01)
    if time.monotonic() > end or os.path.exists("end"): break
if len(sys.argv) > 2:
    proton.finalize()
"""


def fields(message):
    """The fields of a protobuf message that are bytes, by number."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        size = varint()
        assert tag & 7 in (0, 2), "neither a number nor bytes"
        if tag & 7 == 2:
            found.setdefault(tag >> 3, []).append(message[at:at + size])
            at += size
    return found


class Server:
    """Keeps what it gets, and answers 503 while `away`, and what `answers` says for a path."""

    def __init__(self, folder):
        self.folder, self.labels, self.headers, self.away, self.answers = folder, [], [], False, {}
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.headers.append(dict(self.headers))
                if not server.away and self.path not in server.answers:
                    server.keep(body)
                self.send_response(503 if server.away else server.answers.get(self.path, 200))
                self.send_header("Content-Type", "application/x-protobuf" if self.path.startswith("/v1") else "application/proto")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"pyroscope+http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def keep(self, body):
        for series in fields(body)[1]:
            parts = fields(series)
            labels = {fields(pair)[1][0].decode(): fields(pair)[2][0].decode() for pair in parts[1]}
            for sample in parts[2]:
                (self.folder / f"{len(self.labels):04}.pb.gz").write_bytes(fields(sample)[1][0])
                self.labels.append(labels)

    def launches(self):
        """The launches that arrived, of all windows."""
        total = 0
        for path in sorted(self.folder.glob("*.pb.gz")):
            assert gzip.decompress(path.read_bytes())
            out = path.with_suffix(".hatchet")
            subprocess.run([BUILD / "proton", "convert", path, "-o", out], check=True, capture_output=True, timeout=PATIENCE)
            total += count(load(out), "launches")
        return total


def count(node, metric):
    return node["metrics"].get(metric, 0) + sum(count(child, metric) for child in node["children"])


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "arrived"
    folder.mkdir()
    server = Server(folder)
    yield server
    server.http.shutdown()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with work.py, and an environment with the fake driver and a spool."""
    for name in ("RANK", "WORLD_SIZE", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PROTON_PUSH_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("LD_LIBRARY_PATH", STUB), ("PROTON_CUPTI_PATH", STUB / "libcupti.so"), ("PYTHONPATH", BUILD / "python"),
                        ("PROTON_LIB", LIBRARY), ("PROTON_PUSH_SPOOL", tmp_path / "spool"), ("PROTON_PUSH_TOKEN", TOKEN),
                        ("PATH", f"{BUILD}:{os.environ['PATH']}")):
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work.py").write_text(WORK)
    return tmp_path


def run(server, seconds, *flags):
    return [str(BUILD / "proton"), "run", "--name", "w", "--push", server.url, "--push-every", "1", *flags, "--", sys.executable, "work.py", str(seconds)]


def started(command):
    """A program that has begun to launch."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n", process.communicate()[1]
    return process


def senders(url):
    """The command lines of the senders to a URL that run."""
    lines = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if "proton push" in line and url in line]


def windows(folder):
    return [path for path in folder.glob("spool/*/*.window*") if not path.name.startswith(".")]  # that of a process that is killed may begin one


def local():
    return count(load("w.hatchet"), "count")


def no_secrets(folder):
    """The token is in no file."""
    for path in folder.rglob("*"):
        if path.is_file():
            assert TOKEN.encode() not in path.read_bytes(), path


def test_windows_of_a_run_add_up_to_its_profile(server, folder):
    done = subprocess.run(run(server, 2.5, "--push-label", "team=vision"), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert f"windows to {server.url}" in done.stderr and "warning" not in done.stderr
    assert len(server.labels) >= 2 and server.launches() == local() > 0
    for labels in server.labels:
        assert labels["service_name"] == "work" and labels["team"] == "vision" and labels["gpu"] == "0" and labels["host"]
        assert not {"pid", "step"} & set(labels)
    assert all(h["Authorization"] == f"Bearer {TOKEN}" for h in server.headers)
    assert not windows(folder)
    no_secrets(folder)


def test_start(server, folder):
    process = started([sys.executable, "work.py", "1.5", server.url])
    sender = senders(server.url)
    assert len(sender) == 1 and "--follow" in sender[0] and TOKEN not in sender[0]
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and "warning" not in err, err
    assert server.launches() == local() > 0
    assert server.labels[0]["service_name"] == "w" and server.labels[0]["team"] == "vision"
    wait_for("the end of the sender", lambda: not senders(server.url))
    no_secrets(folder)


def test_a_program_that_is_killed(server, folder):
    """What it had put into the spool is sent, and the sender ends."""
    process = started([sys.executable, "work.py", "600", server.url])
    wait_for("a window", lambda: len(server.labels) >= 1)
    process.kill()
    process.communicate()
    wait_for("the end of the sender", lambda: not senders(server.url))
    assert server.launches() > 0 and not windows(folder)  # the first window may end soon: all end at full seconds


def test_a_run_that_is_killed_is_sent_by_the_next(server, folder):
    server.away = True
    process = started(run(server, 600))
    wait_for("windows in the spool", lambda: len(windows(folder)) >= 2)
    process.kill()
    process.communicate()
    left = len(windows(folder))
    assert left >= 2 and not server.labels
    server.away = False
    done = subprocess.run(run(server, 0.1), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and not windows(folder), done.stderr
    assert len(server.labels) > left and server.launches() > local()


def test_a_sender_that_is_killed(server, folder):
    """The program goes on; the next one sends what is left."""
    server.away = True
    process = started([sys.executable, "work.py", "1.5", server.url])
    children = companions(process.pid)
    assert len(children) == 1
    os.kill(int(children[0]), signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and "are not sent" in err, err
    assert windows(folder)
    server.away = False
    done = subprocess.run([BUILD / "proton", "push", server.url], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and "pushed" in done.stderr, done.stderr
    assert server.launches() == local() and not windows(folder)


def test_a_server_that_is_away_delays_the_end_no_longer_than_allowed(server, folder):
    server.away = True
    done = subprocess.run(run(server, 0.1, "--push-wait", "0.5"), capture_output=True, text=True, timeout=PATIENCE)  # it ends
    assert done.returncode == 0
    assert "not sent to" in done.stderr and "503" in done.stderr and "proton push" in done.stderr, done.stderr
    status = json.loads(subprocess.run([BUILD / "proton", "push", "--status", server.url], capture_output=True, text=True, check=True).stdout)
    assert status["waiting"] >= 1 and status["sent"] == 0 and TOKEN not in str(status)


def test_a_spool_that_is_deleted(server, folder):
    """What waited there is lost; what comes later is sent from a new one."""
    process = started(run(server, 600))
    wait_for("a window", lambda: server.labels)
    (folder / "spool").rename(folder / "deleted")
    before = len(server.labels)
    wait_for("windows from a new spool", lambda: len(server.labels) >= before + 2)
    (folder / "end").touch()
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and "warning" not in err, err
    assert 0 < server.launches() <= local() and not windows(folder)


# Its windows are so long that none ends. Its sender has the lock, and sends for others while it waits for a line.
HOLDER = f"""
import sys
sys.path.append({str(TESTS)!r})
import goproton as proton
proton.start("holder", push=proton.Push(sys.argv[1], every=86400, wait=0))
print("begun", flush=True)
sys.stdin.readline()
"""


def test_the_sender_of_a_program_with_longer_windows(server, folder):
    """It sends the windows of another program while that runs, and the last ones at once when that ends."""
    (folder / "holder.py").write_text(HOLDER)
    holder = subprocess.Popen([sys.executable, "holder.py", server.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "begun\n"
        wait_for("the lock", lambda: any(json.loads(status.read_text())["sending"] for status in folder.glob("spool/*/status.json")))
        process = started([sys.executable, "work.py", "600", server.url])
        wait_for("windows while the program runs", lambda: len(server.labels) >= 2)
        (folder / "end").touch()
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0 and "warning" not in err, err
        assert server.launches() == local() > 0 and not windows(folder)
        wait_for("the end of its sender", lambda: len(senders(server.url)) == 1)
        assert not list(folder.glob("spool/*/hurry-*"))
    finally:
        (folder / "end").touch()
        holder.communicate("end\n", timeout=PATIENCE)


FULL = ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64k,mode=700 tmpfs spool && { cat /dev/zero >spool/filler 2>/dev/null; exec "$@"; }', "sh"]


def test_a_spool_on_a_full_disk(server, folder):
    """The windows are dropped and counted. The local profile is whole."""
    (folder / "spool").mkdir(mode=0o700)
    if not shutil.which("unshare") or subprocess.run([*FULL, "true"], capture_output=True).returncode:
        pytest.skip("needs a file system of its own in a user namespace (unshare --map-root-user --mount)")
    done = subprocess.run([*FULL, *run(server, 3.5)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and local() > 50 and not server.labels, done.stderr
    assert "dropped" in done.stderr and "no space left on device" in done.stderr, done.stderr


@pytest.mark.parametrize("url, says", [
    ("https://user:s3cr3t-t0ken@example.com", "PROTON_PUSH_TOKEN_FILE"), ("https://example.com/?token=s3cr3t-t0ken", "PROTON_PUSH_TOKEN_FILE"),
    ("ftp://example.com", "http or https"), ("nonsense+http://example.com", "pyroscope"), ("http://example.com", "unencrypted"), ("", "URL"),
])
def test_urls_that_are_refused(folder, url, says):
    program = "import goproton, sys\ntry: goproton.start('x', push=sys.argv[1])\nexcept ValueError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and says in done.stdout and TOKEN not in done.stdout + done.stderr, done
    if url:
        done = subprocess.run([BUILD / "proton", "run", "--push", url, "true"], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode != 0 and says in done.stderr and TOKEN not in done.stderr, done


def test_options_of_the_environment(monkeypatch):
    import goproton
    for name, value in ("EVERY", "30"), ("WAIT", "0"), ("SERVICE", "trainer"), ("LABELS", "stage=prod,team=vision"):
        monkeypatch.setenv(f"PROTON_PUSH_{name}", value)
    assert repr(goproton.Push("u", labels={"stage": "test"})) == "goproton.Push('u', every=30.0, wait=0.0, service='trainer', labels={'stage': 'test', 'team': 'vision'}, counters=False)"
    assert repr(goproton.Push("u", every=5, wait=1, service="s")) == "goproton.Push('u', every=5, wait=1, service='s', labels={'stage': 'prod', 'team': 'vision'}, counters=False)"
    monkeypatch.setenv("PROTON_PUSH_METRICS", "1")
    assert goproton.Push("u").counters and not goproton.Push("u", counters=False).counters and not goproton.Push("u", metrics=False).counters  # an older name
    for name, value, message in ("EVERY", "soon", "not a number of seconds"), ("EVERY", "nan", "a window has 1 second"), ("LABELS", "stage", "not NAME=VALUE"):
        with monkeypatch.context() as patch:
            patch.setenv(f"PROTON_PUSH_{name}", value)
            with pytest.raises(ValueError, match=message):
                goproton.Push("u")
    for given in "soon", [5]:
        with pytest.raises(ValueError, match="Push: .* is not a number of seconds"):
            goproton.Push("u", wait=given)
    with pytest.raises(ValueError, match="the URL to push to"):
        goproton.start("w", push=3)
