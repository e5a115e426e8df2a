"""What pip calls to build this checkout (PEP 517): a wheel of what "make build" makes, for this machine."""

import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # the checkout stays as it was
from wheel import REPOSITORY, pack  # noqa: E402


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds the wheel and returns its file name."""
    _check_machine()
    _run(["tools/build.sh"])
    with tempfile.TemporaryDirectory() as parts:
        _run(["tools/packages/parts.sh", "here", parts])
        return pack(Path(parts), f"py3-none-linux_{platform.machine()}", Path(wheel_directory)).name


def build_sdist(sdist_directory, config_settings=None):
    sys.exit("goproton: there is no source distribution: run pip install . or make wheel in a checkout")


def _check_machine():
    if platform.system() != "Linux":
        sys.exit(f"goproton: the profiler is for Linux, not for {platform.system()}; to read profiles here: go build ./cmd/proton")
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    missing = [need for need, there in (("Go 1.21 or newer (go)", shutil.which("go")), ("a C compiler (cc)", compiler)) if not there]
    if missing:
        sys.exit(f"goproton: building from source needs {' and '.join(missing)}; a wheel needs neither: see Install in README.md")


def _run(command):
    done = subprocess.run(command, cwd=REPOSITORY)
    if done.returncode:
        sys.exit(f"goproton: {' '.join(command)} failed with code {done.returncode}; its messages are above (pip shows them with -v)")
