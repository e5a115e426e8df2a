"""Each way into the package from an installed wheel: outside this checkout, without build/ in any path, next to Triton's wheel, which has commands of
the same names, and in every place in which pip installs.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from conftest import LIBRARY, ORACLES, PATIENCE, REPOSITORY, TESTS, made_once, wait_for
from test_notebook import Cell, NOTEBOOK, execute

CAPTURES = REPOSITORY / "testdata" / "captures"
VECTORS = REPOSITORY / "testdata" / "traces" / "vector_add" / "goproton"

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="needs build/: run make build")


def tritons_wheel(folder):
    """A wheel with the names of Triton's: its package, and its commands as entry points."""
    files = {
        "triton/__init__.py": "", "triton/profiler/__init__.py": "",
        "triton/profiler/proton.py": "def main(): print('the profiler of Triton')\n", "triton/profiler/viewer.py": "def main(): print('the viewer of Triton')\n",
        "triton-3.9.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: triton\nVersion: 3.9.0\n",
        "triton-3.9.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "triton-3.9.0.dist-info/entry_points.txt": "[console_scripts]\nproton = triton.profiler.proton:main\nproton-viewer = triton.profiler.viewer:main\n",
    }
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},{len(text)}\n" for name, text in files.items())
    files["triton-3.9.0.dist-info/RECORD"] = record + "triton-3.9.0.dist-info/RECORD,,\n"
    wheel = folder / "triton-3.9.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return wheel


def pip(python, *arguments, **variables):
    # The interpreter may have no pip of its own. That of this environment runs in it.
    command = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "--no-input", *arguments, "--no-index", "--no-compile"]
    done = subprocess.run(list(map(str, command)), env={"PATH": "/usr/bin:/bin", "TMPDIR": os.environ.get("TMPDIR", "/tmp"), **variables}, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr


def installed(way, wheel, folder):
    """Installs the wheel into a folder of this folder."""
    place = folder / "place"
    if way in ("--target", "--user"):
        python = os.path.realpath(sys.executable)  # of no virtual environment
        where = ["--target", place] if way == "--target" else ["--user", "--break-system-packages"]
        pip(python, "install", *where, wheel, HOME=str(folder), PYTHONUSERBASE=str(place))
    else:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=PATIENCE)
        for each in {"": [wheel], "Triton's after it": [wheel, tritons_wheel(folder)], "Triton's before it": [tritons_wheel(folder), wheel]}[way]:
            pip(place / "bin" / "python", "install", each, HOME=str(folder))
    return place


class Installation:
    """A Python that has the wheel, and where its commands are."""

    def __init__(self, way, place, folder):
        self.place, self.work, self.home = place, folder / "work", folder / "home"
        self.work.mkdir()
        self.home.mkdir()
        self.bin = place / "bin"
        if way in ("--target", "--user"):
            self.python, self.prefix = os.path.realpath(sys.executable), None
            self.own = {"PYTHONPATH": str(place)} if way == "--target" else {"PYTHONUSERBASE": str(place)}
        else:
            self.python, self.prefix, self.own = str(self.bin / "python"), str(place), {}

    def fake_driver(self):
        """Variables with which programs in the working folder find fake_gpu, on the driver of replays, which is a part of the wheel."""
        stub = next(self.place.glob("**/goproton/stub"))
        shutil.copy(TESTS / "fake_gpu.py", self.work)
        return {"LD_LIBRARY_PATH": str(stub), "PROTON_CUPTI_PATH": str(stub / "libcupti.so")}

    def environment(self, **variables):
        """These variables and hardly any other; PATH is empty unless it is given."""
        return {"PATH": "", "HOME": str(self.home), "TMPDIR": os.environ.get("TMPDIR", "/tmp"), "PYTHONDONTWRITEBYTECODE": "1", **self.own, **variables}

    def run(self, command, code=0, **variables):
        done = subprocess.run(list(map(str, command)), cwd=self.work, env=self.environment(**variables), capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == code, done.stdout + done.stderr
        return done


@pytest.fixture
def install(wheel, tmp_path, tmp_path_factory):
    """Installs the wheel, once for all tests that do not change it."""

    def go(way=""):
        name = "installed" + "-".join(re.findall(r"\w+", way))
        return Installation(way, made_once(tmp_path_factory, name, lambda folder: installed(way, wheel, folder)), tmp_path)

    return go


# Every function of the package that runs the command.
USES = """
import contextlib, glob, io, os, re, sys, urllib.request
import goproton as proton
assert os.path.dirname(proton.__file__).startswith(sys.argv[1]), proton.__file__
profile = proton.read("replayed.hatchet")
assert {"time", "count"} <= {metric["name"] for metric in profile.metrics()}
assert len(profile.rows("count")["rows"]) > 1 and "add_kernel" in profile.tree("time,count")
assert "GoProton report" in profile.html() and profile._repr_html_().startswith("<iframe")

import fake_gpu as gpu
gpu.init()
proton.start("pushed", push="file://" + os.getcwd())
gpu.launch(gpu.function("kernel"))
gpu.synchronize()
proton.finalize()
assert glob.glob("*/*/*.hatchet_msgpack.zst"), os.listdir()

said = io.StringIO()
with contextlib.redirect_stderr(said):
    proton.start("counted", metrics="0")
address = re.search(r"http://\\S+", said.getvalue())
assert address, said.getvalue()
assert b"proton_" in urllib.request.urlopen(address[0]).read()
proton.finalize()

class Ref:
    def __init__(self, value): self.value = value
class Task:
    def __init__(self, function): self.remote = lambda *a: Ref(function(*[x.value if isinstance(x, Ref) else x for x in a]))
class ray: remote, get = Task, staticmethod(lambda ref: ref.value)
sys.modules["ray"] = ray
import goproton.ray
goproton.ray.merge(["replayed.hatchet"] * 3, "merged.hatchet", group=2)
launches = lambda path: proton.read(path).rows("count")["rows"][0]["values"]
assert launches("merged.hatchet")[0] == 3 * launches("replayed.hatchet")[0]

from goproton import trace
found, again = trace.info(sys.argv[2]), trace.parse(sys.argv[2], "parsed", analysis=["roofline"], force=True)
assert found["records"]["launch"] == again["launches"] == 3 and found["kernels"][0]["name"] == "add_kernel", (found, again)
assert {file["name"]: file["bytes"] for file in again["files"]} == {name: os.path.getsize("parsed/" + name) for name in os.listdir("parsed")}
[wide] = trace.info(sys.argv[2], "add_kernel", args_list={"n": 4096})["launches"]
assert len(trace.info(sys.argv[2], kinds=True)) == 2 and len(trace.info("parsed", compilations=True)) == again["compilations"]
script = trace.reproduce(sys.argv[2], line=wide["line"], out_dir="repro", stamp="", force=True)
assert script["launch"]["line"] == wide["line"] and {"name": "n", "value": "4096", "from": "recorded"}.items() <= {a["name"]: a for a in script["arguments"]}["n"].items(), script
for call, error, said in [(lambda: trace.info("gone"), FileNotFoundError, "no trace gone"), (lambda: trace.info(sys.argv[2], "nope"), ValueError, "add_kernel"),
                          (lambda: trace.reproduce(sys.argv[2], nonsense=1), ValueError, "unknown flag: --nonsense")]:
    try: call()
    except error as e: assert said in str(e) and not str(e).startswith("proton"), e
    else: assert False, said
"""

WAYS = ["", "Triton's after it", "Triton's before it", "--target", "--user"]


@pytest.mark.parametrize("way", WAYS)
def test_python(way, install):
    """With an empty PATH, and Python by its absolute path."""
    here = install(way)
    said = here.run([here.python, "-m", "goproton", "run", "--backend", "replay", "--name", "replayed", CAPTURES / "vecadd.capture.gz"]).stderr
    assert "wrote replayed.hatchet" in said
    fake = here.fake_driver()
    here.run([here.python, "-c", USES, here.place, VECTORS], **fake)
    assert "add_kernel" in here.run([here.python, "-m", "goproton", "viewer", "replayed.hatchet"]).stdout
    if way.startswith("Triton's"):  # a PATH that leads to Triton's first is as good
        here.run([here.python, "-c", USES, here.place, VECTORS], **fake, PATH=f"{ORACLES}/triton-3.9.0/bin:{here.bin}")


@pytest.mark.parametrize("way", ["", "--target"])
def test_kernels_on_the_cpu(way, install):
    """proton interpret and goproton.interpret, with a real Triton and numpy, and a saved launch without either."""
    import numpy
    triton = ORACLES / "triton-3.9.0"
    if not triton.exists():
        pytest.skip("Triton's wheel is missing: run tools/oracles.sh")
    here = install(way)
    packages = here.home / "packages"
    packages.mkdir()
    for name in "numpy", "numpy.libs":
        if (found := Path(numpy.__file__).parent.with_name(name)).exists():
            (packages / name).symlink_to(found)
    path = os.pathsep.join(filter(None, [here.own.get("PYTHONPATH"), str(packages), str(triton)]))
    shutil.copy(TESTS / "interpreted.py", here.work)
    here.run([here.python, "-c", "import interpreted, goproton, sys; assert goproton.__file__.startswith(sys.argv[1]); interpreted.one_call(); interpreted.finding()", here.place], PYTHONPATH=path, PYTHONWARNINGS="ignore")
    done = here.run([here.python, "-m", "goproton", "interpret", "--save", "launches", "interpreted.py", "script", "0"], PYTHONPATH=path, PYTHONWARNINGS="ignore")
    assert done.stdout == "sum True\n" and "1 launch of 1 kernel interpreted" in done.stderr, done.stderr
    again = here.run([here.bin / "goproton", "interpret", "--launch", "launches/1-add_kernel"])
    assert "the same bytes as when the launch was saved" in again.stderr


def test_pip_target_into_a_folder_with_commands(wheel, tmp_path):
    """pip leaves out our commands then, with a warning of its own; we say what to do."""
    here = Installation("--target", installed("--target", wheel, tmp_path), tmp_path)
    for script in here.bin.iterdir():
        script.unlink()
    (here.bin / "other").touch()
    said = here.run([here.python, "-c", "import goproton; goproton.read('/dev/null').metrics()"], code=1).stderr
    assert "with pip install --target into a folder that already has a bin, add --upgrade" in said
    pip(here.python, "install", "--upgrade", "--target", here.place, wheel, HOME=str(here.home))
    here.run([here.python, "-m", "goproton", "--version"])


@pytest.mark.parametrize("way", ["", "Triton's before it", "--user"])
def test_scripts_run_in_the_python_of_the_wheel(way, install):
    here = install(way)
    (here.work / "which.py").write_text("import sys; print(sys.prefix, '%d.%d' % sys.version_info[:2])")
    shell = {"PATH": f"{os.path.dirname(here.python)}:/usr/bin:/bin"} if way == "--user" else {"PATH": "/usr/bin:/bin"}
    expected = here.run([here.python, here.work / "which.py"]).stdout
    for command in (["goproton"], ["goproton", "run"], *([["proton", "run"]] if way != "--user" else [])):
        done = here.run([here.bin / command[0], *command[1:], "--allow-empty" if command[1:] else "which.py", *["which.py"][:len(command[1:])]], code=0 if command[1:] else 3, **shell)
        assert done.stdout == expected, done.stderr
    doctor = json.loads(subprocess.run([here.bin / "goproton", "doctor", "--json"], cwd=here.work, env={"HOME": str(here.home), **here.own, **shell}, capture_output=True, text=True).stdout)
    assert Path(doctor["python"]["path"]).resolve() == Path(here.python).resolve() and doctor["python"]["version"].startswith(expected.split()[1])
    other = here.home / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", other], check=True)
    if way == "--user":
        return
    active = {"PATH": f"{other}/bin:/usr/bin:/bin", "VIRTUAL_ENV": str(other)}
    done = here.run([here.bin / "goproton", "run", "--allow-empty", "which.py"], **active)
    assert done.stdout == expected
    note = re.search(r"^proton: running (\S+), in which GoProton is installed, and not (\S+): to run that, add --python \S+ or install GoProton there$", done.stderr, re.M)
    assert note and note[1].startswith(here.prefix) and note[2] == f"{other}/bin/python3", done.stderr
    done = here.run([here.bin / "goproton", "run", "--allow-empty", "--python", note[2], "which.py"], **active)
    assert done.stdout.startswith(f"{other} ") and "in which GoProton" not in done.stderr


def test_python_m(install):
    """python -m goproton is the command with that Python."""
    here = install()
    (here.work / "which.py").write_text("import sys; print(sys.executable)")
    for words in (["run", "--allow-empty", "which.py"], ["--allow-empty", "which.py"]):
        assert here.run([here.python, "-m", "goproton", *words], PATH="/usr/bin:/bin").stdout == f"{here.python}\n"
    # Other programs are run as they are, and what stands for the interpreter is this one.
    for words in (["-m", "which"], [here.python, "which.py"], [here.python, "-m", "which"], ["sh", "-c", f"{here.python} which.py"]):
        assert here.run([here.python, "-m", "goproton", "run", "--allow-empty", "--", *words], PATH="/usr/bin:/bin").stdout == f"{here.python}\n"
    here.run([here.python, "-m", "goproton", "--allow-empty", "--", here.python, "-c", "raise SystemExit(7)"], code=7)
    said = here.run([here.python, "-m", "goproton", "python", "which.py"], code=2).stderr
    assert said.startswith('proton: there is no command or file "python"')
    said = here.run([here.python, "-m", "goproton", "viewer", "gone.hatchet"], code=1).stderr
    assert "Traceback" not in said and said.startswith("proton: ")
    said = here.run([here.python, "-m", "goproton.proton", "viewer", "gone.hatchet"], code=2).stderr
    assert "Traceback" not in said and "there is no script viewer" in said
    for words in (["version"], ["-V"], ["--version"]):
        assert here.run([here.python, "-m", "goproton", *words]).stdout.startswith("proton version ")


def test_demo(install):
    """proton demo, from the wheel alone: nothing is needed but the wheel, and what it prints names the kernel, the line and the cause."""
    here = install()
    done = here.run([here.python, "-m", "goproton", "demo"], PATH="/usr/bin:/bin")
    assert all(said in done.stdout for said in ("matmul_4096_4096_4096", "tl.dot(left, right, total)", "short_scoreboard 70%")), done.stdout
    assert "open proton-demo/matmul.html in a browser" in done.stderr
    assert "GoProton report" in (here.work / "proton-demo" / "matmul.html").read_text()


def test_ten_minutes(install):
    """From the README's first lines to the cause and the line of the slowest kernel of the demo, without a GPU: as a person does, and as a program that knows the schema of
    explain only, in one call."""
    here = install()
    shell = {"PATH": f"{here.bin}:/usr/bin:/bin"}
    lines = re.search(r"```sh\n(.*?)```", (REPOSITORY / "README.md").read_text(), re.S)[1].splitlines()
    _, demo, _ = (line.split(" #")[0].split() for line in lines)
    printed = here.run(demo, **shell).stdout
    kernel, line, said = re.search(r"^\d occupancy: (\S+) (\S+): saves at most .*\n  (few warps are resident)", printed, re.M).groups()
    assert (kernel, line) == ("matmul_kernel", "matmul.py:83") and "83 | total = tl.dot(left, right, total)" in printed, printed
    profile = re.search(r"^\$ proton explain (\S+)$", printed, re.M)[1]

    explained = json.loads(here.run(["proton", "explain", "--json", profile], **shell).stdout)
    schema = json.loads(here.run(["proton", "explain", "--schema"], **shell).stdout)

    def conforms(value, to, at):
        kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
        allowed = [to["type"]] if isinstance(to["type"], str) else to["type"]
        assert any(isinstance(value, kinds[kind]) for kind in allowed), at
        if isinstance(value, dict):
            assert set(to.get("required", ())) <= set(value) <= set(to["properties"]), at
            for key, each in value.items():
                conforms(each, to["properties"][key], f"{at}.{key}")
        if isinstance(value, list):
            for i, each in enumerate(value):
                conforms(each, to["items"], f"{at}[{i}]")

    conforms(explained, schema, "document")
    meaning = {name: of.get("description", "") for name, of in schema["properties"]["findings"]["items"]["properties"].items()}

    def named(text):
        return next(name for name, about in meaning.items() if about.startswith(text))

    slowest = max((f for f in explained["findings"] if named("kernel that it is about") in f), key=lambda f: f[named("time of what it is about")])
    at = slowest[named("source line")]
    assert (slowest[named("kernel that")], slowest[named("launch, data movement, ")], f"{Path(at['file']).name}:{at['number']}") == (kernel, "occupancy", line)


PAUSED = """
import fake_gpu, os, time
def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.005)
fake_gpu.init()
kernel = fake_gpu.function("kernel")
for step, launches in enumerate((3, 5, 7)):  # before, while and after it is recorded
    wait_for(f"step{step}")
    for _ in range(launches):
        fake_gpu.launch(kernel)
    fake_gpu.synchronize()
    open(f"done{step}", "w").close()
wait_for("end")
"""


def test_ctl(install):
    """python -m goproton ctl, of a run that python -m goproton began."""
    here = install()
    (here.work / "paused.py").write_text(PAUSED)
    variables = {**here.fake_driver(), "XDG_RUNTIME_DIR": str(here.home)}
    ctl = lambda *words, code=0: here.run([here.python, "-m", "goproton", "ctl", *words], code, **variables)
    assert "no process can be controlled" in ctl("--json", code=1).stderr
    program = subprocess.Popen([here.python, "-m", "goproton", "run", "--paused", "-b", "cupti", "-n", "ctl", "paused.py"], cwd=here.work,
                               env=here.environment(**variables), stderr=subprocess.PIPE, text=True)

    def step(number):
        (here.work / f"step{number}").touch()
        wait_for(f"the launches of step {number}", lambda: (here.work / f"done{number}").exists() or program.poll() is not None)

    try:
        step(0)
        assert " recording, 1 window" in ctl(str(program.pid), "start").stdout
        step(1)
        assert " paused, 1 window" in ctl("stop").stdout
        step(2)
        (here.work / "end").touch()
        said = program.communicate(timeout=PATIENCE)[1]
    finally:
        program.kill()
    assert program.returncode == 0 and "5 kernels" in said, said
    assert launches(here, "ctl.hatchet") == 5


def launches(here, path):
    return json.loads(here.run([here.python, "-m", "goproton", "viewer", "--view", "json", "-m", "count", path]).stdout)["rows"][0]["values"][0]


PUSHED = """
import fake_gpu, goproton as proton, sys
fake_gpu.init()
proton.start("pushed", push=proton.Push(sys.argv[1], wait=0.1))
for _ in range(4):
    fake_gpu.launch(fake_gpu.function("kernel"))
fake_gpu.synchronize()
proton.finalize()
"""


def test_push_to_a_folder_that_is_away(install):
    """Windows wait, the folder is not made, and python -m goproton push delivers them once it is there."""
    here = install()
    (here.work / "pushed.py").write_text(PUSHED)
    mount = here.home / "mount" / "windows"
    url = f"file://{mount}"
    said = here.run([here.python, "pushed.py", url], **here.fake_driver()).stderr
    first, last = said.splitlines()
    assert first.startswith(f"proton: warning: {url}: ") and "until then windows wait in " in first, said
    assert last.startswith("proton: warning: 1 windows are not sent to ") and "for proton push" in last, said
    assert not mount.parent.exists()
    push = [here.python, "-m", "goproton", "push"]
    assert json.loads(here.run([*push, "--status", url]).stdout)["waiting"] == 1
    assert "1 window" in here.run([*push, "--wait", "0.1", url], code=1).stderr
    mount.mkdir(parents=True)
    here.run([*push, url])
    assert json.loads(here.run([*push, "--status", url]).stdout)["waiting"] == 0
    (window,) = mount.glob("**/*.hatchet_msgpack.zst")
    assert launches(here, window) == 4
    assert here.run([here.python, "-m", "goproton", "query", mount]).stdout.startswith("1 profile of 1 rank")


def test_python_of_the_readme(install):
    """The program under From Python, with the names of Triton's profiler as well."""
    here = install("Triton's before it")
    code = re.search(r"## From Python\n\n```python\n(.*?)```", (REPOSITORY / "README.md").read_text(), re.S)[1]
    kernels = """
import fake_gpu
fake_gpu.init()
m = n = k = 64
a = b = None
matmul, step = (lambda *_, name=name: fake_gpu.launch(fake_gpu.function(name)) for name in ("matmul", "step"))
"""
    assert "import goproton as proton" in code
    of_triton = "import goproton; goproton.install()\n" + code.replace("import goproton as proton", "import triton.profiler as proton")
    fake = here.fake_driver()
    (here.work / "plain.py").write_text(kernels + code)
    (here.work / "names.py").write_text(kernels + of_triton)
    for command in (["plain.py"], ["names.py"], ["-m", "goproton.proton", "-n", "train", "plain.py"], ["-m", "goproton", "run", "-b", "cupti", "-n", "train", "plain.py"]):
        said = here.run([here.python, *command], **fake)
        assert "Traceback" not in said.stderr and launches(here, "train.hatchet") == 2, said.stderr
        tree = here.run([here.python, "-m", "goproton", "viewer", "-m", "count,flops16", "train.hatchet"]).stdout
        assert all(name in tree for name in ("forward", "warm", "step", "matmul", "524")), tree
        (here.work / "train.hatchet").unlink()


def test_viewer_functions(install):
    """python -m goproton.viewer, which needs pandas and llnl-hatchet, says so where they are missing."""
    here = install()
    here.run([here.python, "-m", "goproton", "run", "--backend", "replay", "--name", "replayed", CAPTURES / "vecadd.capture.gz"])
    said = here.run([here.python, "-m", "goproton.viewer", "-m", "time/ms", "replayed.hatchet"], code=1).stderr
    assert "pip install llnl-hatchet" in said.splitlines()[-1] and "proton viewer" in said
    printed = here.run([here.python, "-m", "goproton.viewer", "-m", "time/ms", "replayed.hatchet"], PYTHONPATH=sysconfig.get_path("purelib")).stdout
    assert "add_kernel" in printed


def test_notebook(install, tmp_path):
    if not (ORACLES / "jupyter").exists():
        pytest.skip(f"{ORACLES}/jupyter is not there; make oracles")
    here = install("Triton's before it")
    folder = here.work / "a" / "b"  # the notebook names a capture by ../../testdata
    folder.mkdir(parents=True)
    (here.work / "testdata").symlink_to(REPOSITORY / "testdata")
    variables = {"PATH": f"{here.bin}:/usr/bin:/bin", "HOME": str(here.home), "PYTHONPATH": f"{ORACLES / 'jupyter'}:{sysconfig.get_path('purelib')}", "PYTHONDONTWRITEBYTECODE": "1"}
    cells = [Cell(outputs) for outputs in execute(here.python, variables, NOTEBOOK, here.work / "executed.ipynb", folder)]
    assert [cell.errors for cell in cells] == [[]] * len(cells)
    assert "GoProton report" in cells[1].page() and "matmul_4096" in cells[2].html


def test_readme(install):
    """The commands of README.md that need no GPU."""
    here = install("Triton's before it")
    text = (REPOSITORY / "README.md").read_text()
    (here.work / "testdata").symlink_to(REPOSITORY / "testdata")
    replay = re.search(r"`proton run (--backend replay --name train \S+)`", text)[1]
    (here.home / "xdg-open").write_text("#!/bin/sh\n")  # for --open
    (here.home / "xdg-open").chmod(0o755)
    shell = {"PATH": f"{here.bin}:{here.home}:/usr/bin:/bin"}
    names = ["train", *(f"{side}{run}" for side in ("before", "after") for run in range(1, 6))]
    for name in names:
        here.run(["sh", "-c", "proton run " + replay.replace("--name train", f"--name {name}")], **shell)
    commands = re.search(r"## Five ways to look at it\n\n```sh\n(.*?)```", text, re.S)[1]
    ran = [line for line in commands.splitlines() if line.startswith("proton ")]
    for line in ran:
        here.run(["sh", "-c", line.replace("train.py", replay).replace("-http=:0", "-top")], **shell)
    assert len(ran) >= 7 and (here.work / "train.perfetto").exists() and (here.work / "train.html").exists()
    assert here.run(["sh", "-c", "proton doctor"], code=1, **shell).stdout
