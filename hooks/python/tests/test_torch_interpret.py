"""Kernels on the CPU with tensors of torch, torch.compile, and programs that were written for a GPU."""

import pytest
from conftest import REPOSITORY, TESTS
from test_interpret import PROTON, pytestmark as needs_build, run, variables as variables
from test_torch import torch_python as torch_python

pytestmark = needs_build


def interpret(variables, python, *words):
    return run([PROTON, "interpret", "--python", python, *words], variables)


@pytest.mark.parametrize("what", ["views", "freed", "as_on_a_gpu", "more"])
def test_torch_tensors(variables, torch_python, what):
    done = run([torch_python, TESTS / "interpreted_torch.py", what], variables)
    assert done.returncode == 0, done.stderr


def test_torch_compile(variables, torch_python):
    done = interpret(variables, torch_python, TESTS / "interpreted_torch.py", "compiled")
    assert (done.returncode, done.stdout) == (0, "compiled\n"), done.stderr
    assert " interpreted: " in done.stderr and "0 findings" in done.stderr


@pytest.mark.parametrize("target, capability", [("cuda:120", "(12, 0) cuda 120"), ("hip:gfx942", "(9, 4) hip gfx942")])
def test_torch_device_cpu(variables, torch_python, target, capability):
    done = interpret(variables, torch_python, "--device", "cpu", "--target", target, TESTS / "interpreted_torch.py", "devices")
    assert (done.returncode, done.stdout) == (0, f"devices {capability} nan\n"), done.stderr


def test_torch_benchmark_kernels(variables, torch_python):
    done = interpret(variables, torch_python, REPOSITORY / "bench" / "interpret" / "kernels.py", "--torch")
    assert done.returncode == 0 and done.stdout.count(" is right\n") == 12 and "0 findings" in done.stderr, done.stderr


def test_torch_tutorials(variables, torch_python, tmp_path):
    """The tutorials with kernels that need no GPU by their nature, on small shapes; they are not edited."""
    small = "import sys; sys.path.insert(0, sys.argv[1]); import vecadd, torch; a, b, c = vecadd.run(5000); torch.testing.assert_close(c, a + b)"
    done = interpret(variables, torch_python, "--device", "cpu", "--", "-c", small, REPOSITORY / "tutorials" / "vecadd")
    assert done.returncode == 0 and "1 launch of 1 kernel interpreted" in done.stderr, done.stderr
    small = "import sys; sys.path.insert(0, sys.argv[1]); import matmul; matmul.CALLS = 1; matmul.compare(256, 384, 200)"
    done = interpret(variables, torch_python, "--device", "cpu", "--", "-c", small, REPOSITORY / "tutorials" / "matmul")
    assert done.returncode == 0 and "0 findings" in done.stderr, done.stderr
