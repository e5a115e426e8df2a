"""Fixtures: the native module, real or spied on, and subprocesses with a Triton of choice."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent
REPOSITORY = PACKAGE.parent.parent
LIBRARY = Path(os.environ.get("PROTON_LIB") or REPOSITORY / "build" / "libproton.so").resolve()
if "PROTON_LIB" in os.environ:  # tests change folders
    os.environ["PROTON_LIB"] = str(LIBRARY)
ORACLES = REPOSITORY / ".venv" / "oracles"

# Whether this run is that of make check, where a comparison goes over everything. In make test it goes over a part that covers every feature.
ALL = os.environ.get("GOPROTON_TESTS") == "all"

# A test that passes never waits for it: seconds after which a process hangs, also on a slow machine with other work.
PATIENCE = 600

# Jobs in the background of a script are started to ignore interrupts, as is what they start: tests of interrupts also run there.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Several tests run at a time, and numpy's threads would wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Before an installed goproton: these are the tests of this source tree.
sys.path.insert(0, str(PACKAGE))


def run_python(code, *argv, path=(), env=None, check=True, python=sys.executable, cwd=None):
    """Runs code in a fresh interpreter that has this package, and `path`, on its search path."""
    search = os.pathsep.join(map(str, [PACKAGE, TESTS, *path]))
    full = {**os.environ, "PYTHONPATH": search, **(env or {})}
    full.pop("PROTON_RUN_CONFIG", None)  # the tests themselves may be running under proton run
    done = subprocess.run([python, "-c", code, *argv], env=full, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE)
    if check:
        assert done.returncode == 0, done.stderr
    return done


def wait_for(what, happened):
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, f"{what} does not happen"
        time.sleep(0.02)


def companions(pid):
    """The processes that start(push=…) and start(metrics=…) of a process have begun."""
    found = []
    for path in Path("/proc").glob("[1-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        if b"--follow" in words and words[words.index(b"--follow") + 1] == b"%d" % pid:
            found.append(int(path.parent.name))
    return found


def answer_in_child(call):
    """What call() returns in a forked child, or how it fails there."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            said = repr(call())
        except BaseException as error:
            said = repr(error)
        finally:
            os.write(writer, said.encode())
            os._exit(0)
    os.close(writer)
    with open(reader) as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


def other_python(version):
    """Path of an interpreter of this version: on PATH, unpacked under .pythons, or installed by pyenv. Skips where none runs."""
    found = [shutil.which(f"python{version}"), *(REPOSITORY / ".pythons").glob(f"**/bin/python{version}")]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for path in [*filter(None, found), *pyenv.glob(f"versions/{version}.*/bin/python")]:
        said = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True)
        if said.stdout.strip() == version:
            return str(path)
    pytest.skip(f"there is no Python {version}")


@pytest.fixture
def library():
    """Path of the built libproton.so."""
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY} is not built; make build")
    return str(LIBRARY)


@pytest.fixture(params=["3.6.0", "3.9.0"])
def triton(request):
    """Folder of a real Triton, for PYTHONPATH."""
    folder = ORACLES / f"triton-{request.param}"
    if not folder.exists():
        pytest.skip(f"{folder} is not there; make oracles")
    return folder


@pytest.fixture
def proton(library, tmp_path, monkeypatch):
    """The package with the real native module, in an empty folder; no session is left behind."""
    monkeypatch.setenv("PROTON_LIB", library)
    monkeypatch.chdir(tmp_path)
    import goproton
    yield goproton
    goproton.flags.flags.command_line = False
    goproton.finalize()


def made_once(tmp_path_factory, name, make):
    """The path that make(folder) returns. What takes seconds is made by the first of several workers for all of them."""
    root = tmp_path_factory.getbasetemp()
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / name
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "done"
        if not done.exists():
            done.write_text(str(make(folder)))
        return Path(done.read_text())


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel for this machine."""
    import environments
    return made_once(tmp_path_factory, "wheel", environments.packed)


@pytest.fixture
def environment(tmp_path):
    """Makes an environment of a Python, by default of this one, in an empty folder."""
    import environments
    return lambda python=sys.executable: environments.Environment(tmp_path, python)
