"""Kernels on the CPU: the hook in Triton, with the pinned wheels of Triton and numpy, without torch and without a GPU."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import LIBRARY, PACKAGE, PATIENCE, REPOSITORY, TESTS

PROTON = REPOSITORY / "build" / "proton"
pytestmark = pytest.mark.skipif(not LIBRARY.exists() or not PROTON.exists(), reason="needs build/: run make build")


@pytest.fixture
def variables(triton, library):
    """The environment of a process with one Triton."""
    path = os.pathsep.join(map(str, [PACKAGE, TESTS, triton]))
    return {**os.environ, "PYTHONPATH": path, "PROTON_LIB": library, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}


def run(command, environment, **more):
    return subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=PATIENCE, **more)


def interpret(environment, *words, **more):
    return run([PROTON, "interpret", "--python", sys.executable, *words], environment, **more)


@pytest.mark.parametrize("what", ["one_call+with_statement+finding+arguments+descriptors+views+read_only+hooks+changed_global+limits+samples+empty_grid+wrong_grids+block_shapes",
                                  "threads+forked", "refused", "missing_name"])
def test_from_python(variables, what):
    """Programs in one process, but for those that leave it changed: half a second of each is Triton's import."""
    done = run([sys.executable, TESTS / "interpreted.py", what], variables)
    assert done.returncode == 0, done.stderr


def test_benchmark_kernels(variables):
    """Twelve kernels, unedited, with arrays of numpy: each is right, and nothing is found."""
    done = interpret(variables, REPOSITORY / "bench" / "interpret" / "kernels.py")
    assert done.returncode == 0 and done.stdout.count(" is right\n") == 12 and "12 launches of 10 kernels interpreted" in done.stderr and "0 findings" in done.stderr, done.stderr


def test_shuffled_parallel_and_front_form(variables):
    """The order of program instances, their number at a time and the form of the kernel do not change what kernels without atomics give."""
    for words in ["--order", "shuffle", "--seed", "5"], ["--order", "parallel", "--workers", "3"], ["--form", "front", "--order", "reverse"], ["--target", "hip:gfx942"]:
        if "hip:gfx942" in words and "3.6.0" in variables["PYTHONPATH"]:
            continue  # which needs torch for it
        done = interpret(variables, *words, REPOSITORY / "bench" / "interpret" / "kernels.py")
        assert done.returncode == 0 and done.stdout.count(" is right\n") == 12, done.stderr


def test_command(variables):
    done = interpret(variables, TESTS / "interpreted.py", "script", "0")
    assert (done.returncode, done.stdout) == (0, "sum True\n"), done.stderr
    assert "1 launch of 1 kernel interpreted: 4 program instances" in done.stderr and "0 findings" in done.stderr


def test_benchmarks_are_not_run(variables):
    """triton.testing's functions return nan, and one sentence says so; outside of launches the driver has the target of --target."""
    done = interpret(variables, "--target", "cuda:80", TESTS / "interpreted.py", "benchmarks")
    assert (done.returncode, done.stdout) == (0, "2048 227 cuda\nnan [nan, nan, nan] nan []\n[nan] [nan, nan]\n"), done.stderr
    assert done.stderr.count("benchmarks are not run, and measured times are nan") == 1, done.stderr


def test_command_with_finding(variables):
    raised = interpret(variables, TESTS / "interpreted.py", "script", "1")
    assert raised.returncode == 1 and "Finding: out of bounds" in raised.stderr and raised.stdout == ""
    went_on = interpret(variables, "--keep-going", "--json", TESTS / "interpreted.py", "script", "1")
    printed, report = went_on.stdout.split("\n", 1)
    assert went_on.returncode == 1 and printed == "sum True" and len(json.loads(report)["findings"]) == 3, went_on.stderr


def test_command_without_the_kernel(variables):
    done = interpret(variables, "--kernel", "mul_*", TESTS / "interpreted.py", "script", "0")
    assert done.returncode == 1 and "no kernel is named mul_*; the program launched add_kernel" in done.stderr


def test_saved_launch_gives_the_same_bytes(variables, tmp_path):
    saved = interpret(variables, "--save", tmp_path / "launches", TESTS / "interpreted.py", "script", "0")
    assert saved.returncode == 0, saved.stderr
    again = run([PROTON, "interpret", "--launch", tmp_path / "launches" / "1-add_kernel"], {"PATH": ""})
    assert again.returncode == 0 and "the same bytes as when the launch was saved, in 3 buffers" in again.stderr, again.stderr


def test_interrupted_launch(variables, tmp_path):
    """Ctrl-C ends a saved launch with the exit code of the signal, and says so."""
    run([PROTON, "interpret", "--python", sys.executable, "--max-seconds", "0.1", "--save", tmp_path / "launches", TESTS / "interpreted.py", "endless"], variables)
    saved = tmp_path / "launches" / "1-forever"
    process = subprocess.Popen([PROTON, "interpret", "--launch", saved], stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130 and "the launch of forever was ended: interrupt" in error, error
    refused = run([PROTON, "interpret", "--kernel", "x*", "--launch", saved], {})
    assert refused.returncode == 2 and "--kernel selects or compiles kernels of a program" in refused.stderr, refused.stderr


def test_checks(variables):
    """Each fault is found in its line, and in a kernel without it nothing is."""
    done = run([sys.executable, TESTS / "checked.py", "races+waiting+uninitialised+memory+hints+duplicates+overflow+divisions+births"], variables)
    assert done.returncode == 0, done.stderr


def test_checks_of_benchmark_kernels(variables, tmp_path):
    """All checks are silent on kernels that are right, and what is found is written for other tools."""
    done = interpret(variables, "--check", "all", "--sarif", tmp_path / "x.sarif", REPOSITORY / "bench" / "interpret" / "kernels.py")
    assert done.returncode == 0 and done.stdout.count(" is right\n") == 12 and "0 findings" in done.stderr, done.stderr
    assert json.loads((tmp_path / "x.sarif").read_text())["runs"][0]["results"] == []
    found = interpret(variables, "--check", "all", "--keep-going", "--sarif", tmp_path / "x.sarif", TESTS / "interpreted.py", "script", "1")
    assert found.returncode == 1 and "tl.store(out_ptr + offsets" in found.stderr, found.stderr
    results = json.loads((tmp_path / "x.sarif").read_text())["runs"][0]["results"]
    assert {r["ruleId"] for r in results} == {"out-of-bounds"} and all(r["locations"][0]["physicalLocation"]["region"]["startLine"] > 1 for r in results)


def test_pytest_and_processes(variables, tmp_path):
    """A test that pytest runs, and processes of multiprocessing, whose launches are summed."""
    (tmp_path / "test_sum.py").write_text("from interpreted import one_launch\ndef test_sum(): one_launch(0)\n")
    done = interpret(variables, "--", "-m", "pytest", "-q", "test_sum.py", cwd=tmp_path)
    assert done.returncode == 0 and "1 launch of 1 kernel interpreted" in done.stderr, done.stdout + done.stderr
    (tmp_path / "pool.py").write_text("import multiprocessing, interpreted\nif __name__ == '__main__':\n    interpreted.one_launch(0)\n"
                                      "    with multiprocessing.get_context('spawn').Pool(2) as pool: pool.map(interpreted.one_launch, range(2), chunksize=1); pool.close(); pool.join()\n")
    done = interpret(variables, tmp_path / "pool.py")
    assert done.returncode == 0 and "3 launches of 1 kernel interpreted: 12 program instances" in done.stderr, done.stderr


def test_progress_on_a_terminal(monkeypatch):
    """A launch of seconds has a line, which is removed at its end; without a terminal there is none."""
    import importlib.util
    import io
    spec = importlib.util.spec_from_file_location("progress", PACKAGE / "goproton" / "_interpret" / "progress.py")
    progress = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(progress)
    for terminal in True, False:
        said = io.StringIO()
        said.isatty = lambda: terminal
        now = [100.0]
        monkeypatch.setattr(sys, "stderr", said)
        monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
        line = progress.Progress("softmax")
        for now[0] in 101, 102.5, 102.6, 104:
            line.show({"begun": int(now[0]), "programs": 500})
        line.end()
        assert said.getvalue().replace("\r\x1b[K", "|") == ("|proton: softmax: 102 of 500 program instances, 2 s|proton: softmax: 104 of 500 program instances, 4 s|" if terminal else "")


def test_clusters(variables, tmp_path):
    """The bound of a kernel whose program instances are clusters counts the blocks of all, also of a saved launch."""
    script = tmp_path / "clustered.py"
    script.write_text("import numpy\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\ndef fill(x, B: tl.constexpr):\n"
                      "    tl.store(x + tl.program_id(0) * B + tl.arange(0, B), 1.0)\n\n\nfill[(8,)](numpy.empty(128, numpy.float32), B=16, num_ctas=2)\n")
    for words in ["--save", tmp_path / "saved", script], ["--launch", tmp_path / "saved" / "1-fill"]:
        done = interpret(variables, "--json", *words)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["kernels"][0]["ctas"] == 2, done.stdout


def test_scopes_above_kernels(variables, tmp_path):
    """Counts stand below the scopes that were open at their launches, of other threads too; a profile of the same run gets those of its call paths."""
    script = tmp_path / "scoped.py"
    script.write_text("""import threading
import numpy
import triton
import triton.language as tl
import triton.profiler as proton


@triton.jit
def fill(x, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + at, 1.0, mask=at < n)


def run(n):
    fill[(triton.cdiv(n, 16),)](numpy.empty(n, numpy.float32), n, B=16)


@proton.scope("decorated")
def decorated():
    run(3)


run(1)
for _ in range(2):
    with proton.scope("step", {"tokens": 4}):
        with proton.scope("forward"):
            run(100)
        thread = threading.Thread(target=run, args=(20,))
        thread.start()
        thread.join()
decorated()
proton.enter_scope("entered")
run(7)
proton.exit_scope()
proton.start(PLACE)
with proton.scope("in a session"):
    run(9)
proton.finalize()
""".replace("PLACE", repr(str(tmp_path / "own"))))
    done = interpret(variables, "--json", "-o", tmp_path / "counts.hatchet", script)
    assert done.returncode == 0, done.stderr
    stored = {"/".join(k.get("path", [])): (k["launches"], sum(line.get("stores", {}).get("active_bytes", 0) for line in k["lines"])) for k in json.loads(done.stdout)["kernels"]}
    assert stored == {"": (1, 4), "step/forward": (2, 800), "step": (2, 160), "decorated": (1, 12), "entered": (1, 28), "in a session": (1, 36)}, stored
    shown = run([PROTON, "viewer", "-m", "count", tmp_path / "counts.hatchet"], variables).stdout
    assert all(name in shown for name in ("step", "forward", "decorated", "entered", "in a session")), shown
    assert "path" not in interpret(variables, "--json", script).stdout  # without counts, scopes cost nothing


@pytest.mark.parametrize("handled", [False, True])
def test_ended_by_a_signal(variables, tmp_path, handled):
    """A program that SIGTERM ends says so in a line, and keeps the counts and findings of the launches before; one that handles it counts all."""
    script = tmp_path / "long.py"
    script.write_text("""import signal, sys, time
import numpy
import triton
import triton.language as tl


@triton.jit
def fill(x, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + at, 1.0, mask=at < n)


def handle(*_):
    fill[(1,)](numpy.empty(8, numpy.float32), 8, B=16)
    sys.exit(0)


if HANDLED:
    signal.signal(signal.SIGTERM, handle)
for n in (8, 9):
    fill[(1,)](numpy.empty(8, numpy.float32), n, B=16)
print("ready", flush=True)
time.sleep(600)
""".replace("HANDLED", str(handled)))
    process = subprocess.Popen([str(w) for w in [PROTON, "interpret", "--python", sys.executable, "--keep-going", "-o", tmp_path / "counts.hatchet", script]],
                               env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    error = process.communicate(timeout=PATIENCE)[1]
    said = "of its launches, those that had ended when a signal came are counted"
    assert process.returncode == (1 if handled else -signal.SIGTERM) and (said in error) != handled, error
    assert f"{2 + handled} launches of 1 kernel interpreted" in error and "1 finding" in error and "out of bounds" in error, error
    assert (tmp_path / "counts.hatchet").exists()


def test_saved_launch_ended_by_a_signal(variables, tmp_path):
    """SIGTERM ends a saved launch as Ctrl-C does."""
    run([PROTON, "interpret", "--python", sys.executable, "--max-seconds", "0.1", "--save", tmp_path / "launches", TESTS / "interpreted.py", "endless"], variables)
    process = subprocess.Popen([PROTON, "interpret", "--launch", tmp_path / "launches" / "1-forever"], stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    error = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 128 + signal.SIGTERM and "the launch of forever was ended: terminated" in error, error


def test_elements_by_their_indices(variables, tmp_path):
    """Findings name elements of tensors with rows by their indices, of views and of saved launches too."""
    script = tmp_path / "rows.py"
    script.write_text("""import numpy
import triton
import triton.language as tl


@triton.jit
def fill(x, row, stride_row, stride_column, B: tl.constexpr):
    tl.store(x + row * stride_row + tl.arange(0, B) * stride_column, 1.0)


plain = numpy.zeros((4, 16), numpy.float32)
fill[(1,)](plain, 4, 16, 1, B=16)
fill[(1,)](plain.T, 15, 1, 16, B=8)
fill[(1,)](plain[1:, ::2], 3, 16, 2, B=8)
""")
    done = interpret(variables, "--keep-going", "--save", tmp_path / "saved", script)
    assert "element 64 of 64, [4 0] of [4 16] (byte 256 of 256)" in done.stderr, done.stderr
    for number, text in (1, "[4 0] of [4 16]"), (2, "[15 4] of [16 4]"), (3, "[3 0] of [3 8]"):
        again = interpret(variables, "--launch", tmp_path / "saved" / f"{number}-fill")
        assert again.returncode == 1 and text in again.stderr, again.stderr
