"""Notebooks: the cell magic, ``goproton.show``, and the notebook of the tutorials, run by Jupyter's own client.

viewer/report shows the page within a notebook in a browser.
"""

import html
import json
import os
import re
import subprocess
import sys

import pytest
from conftest import ORACLES, PACKAGE, PATIENCE, REPOSITORY, TESTS

BUILD = REPOSITORY / "build"
STUB = BUILD / "stub"
NOTEBOOK = REPOSITORY / "tutorials" / "notebook" / "notebook.ipynb"


@pytest.fixture
def run_cells(library, tmp_path):
    """Runs cells in a real kernel, in a process with the fake driver; returns the executed notebook."""
    jupyter = ORACLES / "jupyter"
    if not jupyter.exists():
        pytest.skip(f"{jupyter} is not there; make oracles")
    if not (BUILD / "proton").exists() or not STUB.exists():
        pytest.skip(f"{BUILD}/proton and the fake driver are not built; make build")

    def run(*cells, path=None, fake_gpu=True, folder=tmp_path):
        if path is None:
            path = tmp_path / "cells.ipynb"
            code = [{"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": cell} for cell in cells]
            path.write_text(json.dumps({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
        out = tmp_path / "executed.ipynb"
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [PACKAGE, TESTS, jupyter])), "PROTON_LIB": library,
               "PATH": f"{BUILD}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
        if fake_gpu:
            env.update(LD_LIBRARY_PATH=str(STUB), PROTON_CUPTI_PATH=str(STUB / "libcupti.so"))
        return [Cell(outputs) for outputs in execute(sys.executable, env, path, out, folder)]

    return run


def execute(python, env, path, out, folder):
    """Runs a notebook in a folder; returns the outputs of each cell of code."""
    code = ("import sys, nbformat, nbclient\n"
            "book = nbformat.read(sys.argv[1], 4)\n"
            "nbclient.NotebookClient(book, timeout=None, allow_errors=True, resources={'metadata': {'path': sys.argv[3]}}).execute()\n"
            "nbformat.write(book, sys.argv[2])\n")
    own = {"JUPYTER_PLATFORM_DIRS": "1", "JUPYTER_RUNTIME_DIR": f"{env['HOME']}/runtime", "IPYTHONDIR": f"{env['HOME']}/ipython"}
    done = subprocess.run([python, "-c", code, str(path), str(out), str(folder)], env={**env, **own}, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return [cell["outputs"] for cell in json.loads(out.read_text())["cells"] if cell["cell_type"] == "code"]


class Cell:
    """What a cell put out: text of its streams and results, HTML, and errors."""

    def __init__(self, outputs):
        join = "".join
        self.text = join(join(o.get("text", "")) for o in outputs) + join(join(o["data"].get("text/plain", "")) for o in outputs if "data" in o)
        self.html = join(join(o["data"].get("text/html", "")) for o in outputs if "data" in o)
        self.errors = [o["ename"] for o in outputs if o["output_type"] == "error"]

    def page(self):
        """The page inside the element that ``show`` displays."""
        return html.unescape(re.fullmatch(r'<iframe srcdoc="(.*?)" sandbox="[^"]*" .*</iframe>', self.html, re.DOTALL)[1])


START = "%load_ext goproton\nimport fake_gpu, goproton\nfake_gpu.init()\nkernel = fake_gpu.function('my_kernel')"


def test_cell_magic(run_cells):
    _, shown, counted, rest = run_cells(
        START,
        "%%proton -o shown\nwith goproton.scope('inside'):\n    for _ in range(3): fake_gpu.launch(kernel)\nanswer = 42",
        "%%proton kept -m count -o made\nfake_gpu.launch(kernel)",
        "import os\nprint(answer, made.path, os.path.exists('kept.hatchet'), os.listdir('.'))\n"
        "for profile in shown, made: print(profile.to_pandas('count')[['name', 'count']].values.tolist())")
    assert "GoProton report" in shown.page() and shown.text.startswith("goproton.read(")
    assert "my_kernel" in counted.text and not counted.html and "inside" not in counted.text
    assert "42 kept.hatchet True" in rest.text and ".hatchet" not in rest.text.splitlines()[0].replace("kept.hatchet", "")  # without a name, nothing is left in the folder
    assert rest.text.splitlines()[1:] == ["[['ROOT', 3.0], ['inside', 3.0], ['my_kernel', 3.0]]", "[['ROOT', 1.0], ['my_kernel', 1.0]]"]


def test_trace_and_python_context(run_cells):
    _, trace, paths = run_cells(START, "%%proton -d trace\nfake_gpu.launch(kernel)",
                                "%%proton -c python -m count\ndef step(): fake_gpu.launch(kernel)\nstep()")
    assert "GoProton report" in trace.page()
    assert "step" in paths.text and "my_kernel" in paths.text


def test_an_error_in_the_cell_is_shown_and_what_ran_is_kept(run_cells):
    _, failed, after = run_cells(START, "%%proton -m count\nfake_gpu.launch(kernel)\n1 / 0", "%%proton -m count\nfake_gpu.launch(kernel)")
    assert failed.errors == ["ZeroDivisionError"] or "ZeroDivisionError" in failed.text
    assert "my_kernel" in failed.text and "my_kernel" in after.text


def test_wrong_options_say_what_to_do(run_cells):
    _, variable, metric, missing, other = run_cells(
        START, "%%proton -o 1x\npass", "%%proton -m nosuch\nfake_gpu.launch(kernel)",
        "goproton.show('missing.hatchet')", "open('text', 'w').write('hello')\ngoproton.show('text')")
    assert "give the name of a variable" in variable.text
    assert "there is no metric nosuch" in metric.text and "recorded are" in metric.text
    assert missing.errors == ["FileNotFoundError"] and other.errors == ["ValueError"]


def test_a_cell_without_kernels(run_cells):
    _, cell = run_cells(START, "%%proton\npass")
    assert not cell.errors and (cell.html or "cannot be shown" in cell.text)


def test_tutorial(run_cells, tmp_path):
    folder = tmp_path / "a" / "b"  # the notebook names a capture by ../../testdata
    folder.mkdir(parents=True)
    (tmp_path / "testdata").symlink_to(REPOSITORY / "testdata")
    cells = run_cells(path=NOTEBOOK, fake_gpu=False, folder=folder)
    assert [cell.errors for cell in cells] == [[]] * len(cells)
    load, shown, frames, kernels, timed, table = cells
    assert "a replay of NVIDIA H200: 312 kernels" in shown.text and "GoProton report" in shown.page()
    assert "matmul_4096" in frames.html and "matmul" in kernels.text and "%" in kernels.text
    assert "sort" in timed.text and "sort" in table.html

    viewer = subprocess.run([BUILD / "proton", "viewer", "--view", "csv", "-m", "time/ms", "matmul.hatchet"], cwd=folder, capture_output=True,
                            text=True, check=True)
    total = float(viewer.stdout.splitlines()[1].rsplit(",", 1)[1])
    hottest = float(kernels.text.split()[0])
    assert 0 < hottest < total


def test_to_pandas_equals_the_file(library, tmp_path, monkeypatch):
    """The data frame against the JSON of the file itself, summed here once more."""
    pytest.importorskip("pandas")
    if not (BUILD / "proton").exists():
        pytest.skip(f"{BUILD}/proton is not built; make build")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{BUILD}{os.pathsep}{os.environ['PATH']}")
    import goproton
    capture = REPOSITORY / "testdata" / "captures" / "vecadd.capture.gz"
    subprocess.run([BUILD / "proton", "run", "--name", "vecadd", "--backend", "replay", capture], check=True, capture_output=True)
    frames = goproton.read("vecadd.hatchet").to_pandas()
    root = json.loads((tmp_path / "vecadd.hatchet").read_text())[0]

    expected = []

    def walk(node, path):
        path = (*path, node["frame"]["name"])
        own = node["metrics"].get("time (ns)", 0)
        at = len(expected)
        expected.append(None)
        total = own + sum(walk(child, path) for child in node["children"])
        expected[at] = (path, own, total)
        return total

    walk(root, ())
    got = list(zip(frames["path"], frames["time (ns) own"].fillna(0), frames["time (ns)"].fillna(0)))
    assert sorted(got) == sorted(expected)
    assert frames["parent"][0] is frames["parent"].dtype.na_value
    assert all(frames["path"][parent] == path[:-1] for parent, path in zip(frames["parent"][1:], frames["path"][1:]))
    with pytest.raises(ValueError, match="there is no metric nosuch"):
        goproton.read("vecadd.hatchet").to_pandas("nosuch")
    with pytest.raises(FileNotFoundError, match="no profile"):
        goproton.read("missing")


def test_explain_names_the_cause(library, tmp_path, monkeypatch):
    if not (BUILD / "proton").exists():
        pytest.skip(f"{BUILD}/proton is not built; make build")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{BUILD}{os.pathsep}{os.environ['PATH']}")
    import goproton
    subprocess.run([BUILD / "proton", "demo", "--no-open"], check=True, capture_output=True)
    first = goproton.explain("proton-demo/matmul.hatchet", kernel="matmul_*")["findings"][0]
    assert (first["class"], first["line"]["number"]) == ("occupancy", 83) and first["saves_at_most_ns"] > 0, first
    with pytest.raises(ValueError, match="missing"):
        goproton.explain("missing.hatchet")
