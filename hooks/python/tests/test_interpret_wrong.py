"""The table of docs/interpret.md: where the answer of a compiled kernel is known, ours is right, and the page says what Triton's interpreter answers."""

import os
import subprocess
import sys

import pytest
from conftest import ALL, LIBRARY, PACKAGE, PATIENCE, REPOSITORY

ORACLES = REPOSITORY / ".venv" / "oracles"


def test_table():
    torch = ORACLES / "torch-2.15.0"
    if not ALL or not (torch / "cuda").exists() or not LIBRARY.exists():
        pytest.skip("needs PyTorch with empty libraries of CUDA; make check")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [PACKAGE, ORACLES / "triton-3.9.0", torch])), "LD_LIBRARY_PATH": str(torch / "cuda"), "PROTON_LIB": str(LIBRARY)}
    done = subprocess.run([sys.executable, REPOSITORY / "bench" / "interpret" / "wrong.py"], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (REPOSITORY / "docs" / "interpret.md").read_text(encoding="utf-8")
    assert done.stdout.strip() in page, "write the table into docs/interpret.md:\n" + done.stdout
