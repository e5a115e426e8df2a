"""Wheels, and environments in which they are installed.

GOPROTON_WHEELS names a folder of wheels, which tools/check.sh builds for other machines and for every Python; without it there is one
of the parts in build/, for this machine and this Python.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE, REPOSITORY

GIVEN = os.environ.get("GOPROTON_WHEELS")


def given(machine):
    """The wheel that was built for a machine."""
    if not GIVEN:
        pytest.skip("GOPROTON_WHEELS is not set: make check builds wheels for other machines")
    wheels = list(Path(GIVEN).glob(f"*manylinux_2_28_{machine}.whl"))
    assert len(wheels) == 1, wheels
    return wheels[0]


def packed(folder):
    """The wheel for this machine."""
    if GIVEN:
        return given(platform.machine())
    subprocess.run([REPOSITORY / "tools/packages/parts.sh", "here", folder / "parts"], check=True)
    packer = REPOSITORY / "tools/packages/wheel.py"
    done = subprocess.run([sys.executable, packer, folder / "parts", f"py3-none-linux_{platform.machine()}", folder], check=True, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip())


class Environment:
    """A virtual environment with nothing but the wheel, in an empty folder, without variables of ours."""

    def __init__(self, folder, python):
        self.folder, self.work = folder / "environment", folder / "work"
        self.work.mkdir()
        self.own = python == sys.executable
        self.python = self.folder / "bin" / "python"
        subprocess.run([python, "-m", "venv", *["--without-pip"] * self.own, self.folder], check=True, timeout=PATIENCE)

    def run(self, *command, check=True, **variables):
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PROTON_", "PYTHON", "TRITON_", "CUDA", "LD_", "VIRTUAL_ENV"))}
        path = f"{self.folder}/bin:/usr/bin:/bin"
        done = subprocess.run(list(map(str, command)), env={**inherited, "PATH": path, **variables}, cwd=self.work, capture_output=True, text=True, timeout=PATIENCE)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def pip(self, *arguments):
        # An environment of this Python has no pip of its own: making one takes seconds.
        pip = [sys.executable, "-m", "pip", "--python", self.python] if self.own else [self.python, "-m", "pip"]
        return self.run(*pip, "--disable-pip-version-check", "--no-input", *arguments)

    def files(self):
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}
