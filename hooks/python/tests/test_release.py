"""The archives of the viewer: what is in them, and that the one for this machine reads a profile."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import PATIENCE, REPOSITORY

GIVEN = os.environ.get("GOPROTON_RELEASE")
pytestmark = pytest.mark.skipif(not GIVEN, reason="GOPROTON_RELEASE is not set: make check builds the archives")

SYSTEMS = [f"{system}-{architecture}" for system in ("linux", "darwin", "windows") for architecture in ("amd64", "arm64")]
# How the files of programs begin: ELF, and by machine Mach-O; PE names its machine further on.
BEGINNINGS = {"linux": b"\x7fELF", "darwin": b"\xcf\xfa\xed\xfe", "windows": b"MZ"}


def archive(system):
    found = list(Path(GIVEN).glob(f"proton-*-{system}.*"))
    assert len(found) == 1, found
    return found[0]


def unpacked(path, folder):
    """Unpacks an archive and returns its only folder."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed:
            packed.extractall(folder)
    else:
        with tarfile.open(path) as packed:
            packed.extractall(folder)
    (top, ) = folder.iterdir()
    return top


@pytest.mark.parametrize("system", SYSTEMS)
def test_contents(system, tmp_path):
    path = archive(system)
    assert path.stat().st_size <= 15e6
    top = unpacked(path, tmp_path)
    assert path.name in (top.name + ".zip", top.name + ".tar.gz")
    program = top / ("proton.exe" if system.startswith("windows") else "proton")
    content = program.read_bytes()
    assert content.startswith(BEGINNINGS[system.partition("-")[0]]) and str(REPOSITORY).encode() not in content
    for name in ("LICENSE", "README.md", "CHANGELOG.md"):
        assert (top / name).read_text() == (REPOSITORY / name).read_text()
    assert {p.name for p in (top / "completions").iterdir()} == {"proton.bash", "_proton", "proton.fish", "proton.ps1"}
    assert (top / "man" / "man1" / "proton-viewer.1").exists()


def test_sums():
    sums = dict(reversed(line.split("  ")) for line in (Path(GIVEN) / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {p.name for p in Path(GIVEN).iterdir()} - {"SHA256SUMS"}
    for name, want in sums.items():
        assert hashlib.sha256((Path(GIVEN) / name).read_bytes()).hexdigest() == want, name


@pytest.mark.parametrize("system", SYSTEMS[:2])
def test_programs_are_static(system, tmp_path):
    if not shutil.which("readelf"):
        pytest.skip("there is no readelf: install binutils")
    said = subprocess.run(["readelf", "--dynamic", "--program-headers", "--wide", unpacked(archive(system), tmp_path) / "proton"], check=True, capture_output=True, text=True).stdout
    assert "NEEDED" not in said and "INTERP" not in said


def test_reads_a_profile(tmp_path):
    """With an empty environment, as on a machine with nothing else."""
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    top = unpacked(archive(f"linux-{architecture}"), tmp_path)
    profile = next((REPOSITORY / "testdata").glob("**/*.hatchet"))

    def run(*command):
        return subprocess.run([top / "proton", *command], env={}, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)

    assert run("viewer", "-m", "time", profile).stdout.count("ROOT") == 1
    report = run("report", profile, "-o", "page.html")
    assert report.returncode == 0 and (tmp_path / "page.html").read_text().startswith("<!doctype html>"), report.stderr
    (tmp_path / "script.py").touch()
    refused = run("run", "--python", sys.executable, "script.py")
    assert refused.returncode == 1 and "install GoProton with pip (an archive has the viewer alone)" in refused.stderr, refused.stderr
    for shell, name in (("bash", "proton.bash"), ("zsh", "_proton"), ("fish", "proton.fish")):
        if shutil.which(shell):
            subprocess.run([shell, "-n", top / "completions" / name], check=True)
