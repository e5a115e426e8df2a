"""The wheel: what is in it, and what its commands do in an environment of its own outside this checkout."""

import base64
import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from conftest import LIBRARY, ORACLES, REPOSITORY, TESTS, other_python
from environments import GIVEN, given
from trees import at, load

CAPTURE = REPOSITORY / "testdata" / "captures" / "vecadd.capture.gz"
SMALLEST_GLIBC = (2, 28)
# The libraries that manylinux lets a wheel need, as far as ours does.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="needs build/: run make build")


def test_installed(environment, wheel):
    check_contents(wheel, str(REPOSITORY) if GIVEN else "")  # make build keeps debug information
    used(environment(), wheel, triton=ORACLES / "triton-3.6.0")


@pytest.mark.skipif(not GIVEN, reason="GOPROTON_WHEELS is not set: make check installs the wheel in every Python")
@pytest.mark.parametrize("version", ["3.9", "3.10", "3.12", "3.13", "3.14"])
def test_installed_in_other_pythons(environment, wheel, version):
    used(environment(other_python(version)), wheel)


PROGRAM = """
import triton.profiler as proton
import fake_gpu as gpu
assert proton.__name__ == "goproton", proton
gpu.init()
with proton.scope("step", metrics={"items": 3}):
    gpu.launch(gpu.function("kernel"))
gpu.synchronize()
"""
OWN = """
import goproton as proton
proton.start("own")
with proton.scope("step", metrics={"items": 3}):
    pass
proton.finalize()
"""


def used(env, wheel, triton=None):
    """Installs the wheel, uses each part of it, and removes it."""
    before = env.files()
    env.pip("install", "--no-index", "--no-compile", wheel)
    env.pip("check")
    number = wheel.name.split("-")[1]
    assert env.run(env.python, "-c", "import goproton; print(goproton.__version__)").stdout == number + "\n"
    for command in ("proton", "goproton"):
        assert re.fullmatch(rf"proton version {re.escape(number)}(\+\S+)?\n", env.run(command, "--version").stdout)

    (env.work / "linked").symlink_to(env.folder / "bin" / "proton")  # as pipx links it
    assert env.run(env.work / "linked", "--version").returncode == 0

    said = env.run("proton", "run", "--backend", "replay", "--name", "replayed", CAPTURE).stderr
    assert "wrote replayed.hatchet" in said
    tree = env.run("proton", "viewer", "-m", "time,count", "replayed.hatchet").stdout
    assert "ROOT" in tree and "add_kernel" in tree, tree
    assert env.run("proton-viewer", "-m", "time/ns", "replayed.hatchet").stdout == env.run("goproton", "viewer", "--compat", "-m", "time/ns", "replayed.hatchet").stdout

    # Triton's wheel is for one Python. Others have a package of its name, which the profiler does not look into.
    if triton is None or not triton.exists():
        triton = env.work / "packages"
        (triton / "triton").mkdir(parents=True)
        (triton / "triton" / "__init__.py").write_text("")
    # The fake driver is that of replays, and a part of the wheel.
    stub = next(env.folder.glob("lib/python3*/site-packages/goproton/stub"))
    shutil.copy(TESTS / "fake_gpu.py", env.work)
    fake = {"PYTHONPATH": str(triton), "LD_LIBRARY_PATH": str(stub), "PROTON_CUPTI_PATH": str(stub / "libcupti.so")}
    (env.work / "train.py").write_text(PROGRAM)
    env.run("proton", "run", "train.py", **fake)
    env.run("proton", "-n", "short", "-k", "triton", "train.py", **fake)  # as Triton's command is called
    # The program's Python may be another one than that of the wheel, as with pipx. pip would not find its bytecode to remove it.
    env.run("proton", "run", "--name", "other", "--python", sys.executable, "train.py", **fake, PYTHONDONTWRITEBYTECODE="1")
    for name in ("train", "short", "other"):
        step = at(load(env.work / f"{name}.hatchet"), "step")
        assert step["metrics"] == {"items": 3} and at(step, "kernel")["metrics"]["count"] == 1
    (env.work / "own.py").write_text(OWN)
    env.run(env.python, "own.py")
    assert at(load(env.work / "own.hatchet"), "step")["metrics"] == {"items": 3}

    findings = {f["name"]: f for f in json.loads(env.run("proton", "doctor", "--json", check=False).stdout)["findings"]}
    assert findings["runtime"]["state"] == "ok" and str(env.folder) in findings["runtime"]["text"], findings

    env.pip("uninstall", "--yes", "goproton")
    packages = f"lib/python{'.'.join(env.run(env.python, '-V').stdout.split()[1].split('.')[:2])}/site-packages"  # which pip removes where nothing else is in it
    assert env.files() - before == set() and before - env.files() <= {packages}


def test_revision(tmp_path):
    """A source tree without git has no revision, also within another repository."""
    copy = tmp_path / "outer" / "goproton" / "tools" / "revision.sh"
    copy.parent.mkdir(parents=True)
    shutil.copy(REPOSITORY / "tools" / "revision.sh", copy)
    subprocess.run(["git", "init", "--quiet", tmp_path / "outer"], check=True)
    assert subprocess.run([copy], check=True, capture_output=True, text=True).stdout == ""
    own = subprocess.run([REPOSITORY / "tools" / "revision.sh"], check=True, capture_output=True, text=True).stdout
    assert re.fullmatch(r"([0-9a-f]{7,40}(\.dirty)?\n)?", own), own


def test_building_from_source_says_what_it_needs(tmp_path):
    """What pip prints when it builds a checkout on a machine without Go."""
    code = f"import sys; sys.path.insert(0, {str(REPOSITORY / 'tools/packages')!r}); import backend; backend.build_wheel({str(tmp_path)!r})"
    done = subprocess.run([sys.executable, "-c", code], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == "goproton: building from source needs Go 1.21 or newer (go) and a C compiler (cc); a wheel needs neither: see Install in README.md\n"


# ---- what is in it ----


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_contents(machine):
    check_contents(given(machine), str(REPOSITORY))


def check_contents(path, checkout):
    """What a wheel has; no file names the folder that it was built in."""
    assert path.stat().st_size <= 17.5e6, f"{path.name} has {path.stat().st_size / 1e6:.1f} MB"
    with zipfile.ZipFile(path) as packed:
        names = packed.namelist()
        assert len(names) == len(set(names)) and names[-1].endswith(".dist-info/RECORD")
        check_record(packed)
        check_metadata(packed, path)
        for name in names:
            executable = bool(packed.getinfo(name).external_attr >> 16 & 0o111)
            content = packed.read(name)
            assert not checkout or checkout.encode() not in content, f"{name} has the path of this checkout"
            assert executable == ("/scripts/" in name or name.startswith(("goproton/libproton-", "goproton/proton-", "goproton/stub/"))), f"{name}: executable is {executable}"
            assert not name.endswith((".pyc", ".o", ".h"))


def check_record(packed):
    name = packed.namelist()[-1]
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(packed.read(name).decode()))}
    assert rows.pop(name) == ["", ""] and set(rows) == set(packed.namelist()) - {name}
    for file, (digest, size) in rows.items():
        content = packed.read(file)
        want = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert (digest, size) == ("sha256=" + want, str(len(content))), file


def check_metadata(packed, path):
    _, number, *tag = path.stem.split("-")
    info = f"goproton-{number}.dist-info"
    text = packed.read(f"{info}/METADATA").decode()
    # Fields that a registry refuses raise here.
    metadata = pytest.importorskip("packaging.metadata").Metadata.from_email(text, validate=True)
    assert (metadata.name, str(metadata.version), str(metadata.requires_python), metadata.license_expression) == ("goproton", number, ">=3.9", "MIT")
    assert metadata.requires_dist in (None, []) and metadata.description.startswith("# GoProton")
    assert not re.search(r"\]\((?!https?:|#)", metadata.description), "a link leads into the checkout"
    for file in metadata.license_files:
        assert packed.read(f"{info}/licenses/{file}") == (REPOSITORY / file).read_bytes()
    wheel = message_from_string(packed.read(f"{info}/WHEEL").decode())
    assert wheel["Root-Is-Purelib"] == "false" and wheel.get_all("Tag") == ["-".join(tag)]


@pytest.mark.skipif(not shutil.which("readelf"), reason="there is no readelf: install binutils")
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_libraries_of_the_system(machine, tmp_path):
    """Binaries are for the machine that the file's name has, and need no glibc newer than its tag promises."""
    seen = 0
    with zipfile.ZipFile(given(machine)) as packed:
        for name in packed.namelist():
            if packed.read(name)[:4] != b"\x7fELF":
                continue
            seen += 1
            path = Path(packed.extract(name, tmp_path))
            said = subprocess.run(["readelf", "--wide", "--file-header", "--dynamic", "--version-info", path], check=True, capture_output=True, text=True).stdout
            assert {"x86_64": "X86-64", "aarch64": "AArch64"}[machine] in re.search(r"Machine: *(.*)", said).group(1), name
            needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", said))
            assert needed <= SYSTEM | ({"libcuda.so.1"} if name.endswith("stub/libcupti.so") else set()), (name, needed)
            assert set(re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", said)) <= {"$ORIGIN"}, name
            versions = {tuple(map(int, v.split("."))) for v in re.findall(r"Name: GLIBC_([0-9.]+)", said)}
            assert max(versions, default=(0, )) <= SMALLEST_GLIBC, (name, versions)
            others = set(re.findall(r"Name: (?!GLIBC_)([A-Z]+)_[0-9]", said))
            assert not others, (name, others)
    assert seen >= 12, f"{seen} binaries"
