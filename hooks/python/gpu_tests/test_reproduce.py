"""Launches of recorded.py, reproduced from their trace in every way: what the scripts compute against what the recorded launches
wrote. The files with the kernels are gone by then. One process records and reproduces everything, since recording takes longest."""
import concurrent.futures
import json
import pathlib
import shutil
import sys

import pytest

from running import HERE, PROTON, ended

KERNELS = ["add_kernel", "matmul_kernel", "softmax_1024", "layer_norm_kernel", "attention_kernel", "descriptor_kernel", "gather_kernel",
           "in_place_kernel", "nested_kernel", "given_kernel"]
WAYS = {"auto": [], "override": ["--kernel-import", "override-ttir"], "embed": ["--embed-context"]}
TRACED = """
import sys, tritonparse.structured_logging as traced
traced.init(sys.argv[1], enable_trace_launch=True, enable_tensor_blob_storage=True)
import recorded
recorded.main(given=False)
"""
pytestmark = pytest.mark.patience(400)


@pytest.fixture
def recording(tmp_path):
    """The folder of the recorded program, which is where a trace's paths lead."""
    folder = tmp_path / "program"
    folder.mkdir()
    for name in "recorded.py", "kernels.py":
        shutil.copy(HERE / name, folder)
    return folder


def variables(folder):
    return {"TORCHINDUCTOR_RUN_JIT_POST_COMPILE_HOOK": "1", "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TRITON_CACHE_DIR": str(folder / "cache")}


def test_reproductions(tmp_path, recording):
    """All ways, the matmul through its autotuner (for which its file is put back), and the comparison of two traces."""
    trace = tmp_path / "trace"
    ended([PROTON, "run", "-n", tmp_path / "profile", "--trace", trace, "--trace-tensors", recording / "recorded.py"], **variables(tmp_path))
    shutil.rmtree(recording)  # the trace holds what the kernels need
    shutil.rmtree(tmp_path / "inductor", ignore_errors=True)
    failed = reproduced(trace, tmp_path, WAYS)
    recording.mkdir()
    shutil.copy(HERE / "kernels.py", recording)
    keeps_the_autotuner(trace, tmp_path, recording)
    compares_two_traces(trace, tmp_path)
    assert not failed, "\n".join(failed)


def test_reproductions_of_tritonparse(tmp_path, recording, pytestconfig):
    theirs = pytestconfig.getoption("tritonparse")
    if not theirs:
        pytest.skip("needs --tritonparse FOLDER")
    (recording / "traced.py").write_text(TRACED)
    ended([sys.executable, "traced.py", tmp_path / "trace"], cwd=recording, **variables(tmp_path), PYTHONPATH=theirs)
    failed = reproduced(tmp_path / "trace", tmp_path, ["auto", "override"], [kernel for kernel in KERNELS if kernel != "given_kernel"])
    assert not failed, "\n".join(failed)


def answer(text):
    return json.loads(text[text.index("{"):])


def launches(trace):
    """The places of each kernel's launches, as FILE:LINE."""
    found = {}
    for file in sorted(trace.glob("dedicated_log_*")):
        listed = [k["name"] for k in answer(ended([PROTON, "trace", "info", file, "--json"]).stdout)["kernels"] if k["launches"]]
        for kernel in listed:
            info = answer(ended([PROTON, "trace", "info", file, "--kernel", kernel, "--json"]).stdout)
            found.setdefault(kernel, []).extend(f"{file.name}:{each['line']}" for each in info["launches"])
    return found


def reproduced(trace, folder, ways, wanted=KERNELS):
    """Reproduces each kernel in each way; returns what is wrong."""
    places = launches(trace)
    missing = [f"{kernel} was not recorded" for kernel in wanted if kernel not in places]
    kernels = [k for k in wanted if k in places] + sorted(k for k in places if k.startswith("triton_"))
    # The first of the last two launches: past the autotuner.
    jobs = [(kernel, way, places[kernel][-2:][0]) for kernel in kernels for way in ways]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return missing + list(filter(None, pool.map(lambda job: wrong_with(trace, folder, *job), jobs)))


def wrong_with(trace, folder, kernel, way, place):
    """Reproduces one launch and runs the script elsewhere; prints what it computes, and returns what is wrong with it."""
    try:
        result = answer(ended([PROTON, "reproduce", trace, "--line", place, "-o", folder / "out" / way, "--stamp", "", "--force", "--template", "benchmark",
                               "--json", *WAYS[way]]).stdout)
        script, alone = pathlib.Path(result["repro_script"]), folder / "alone" / way / kernel
        shutil.copytree(script.parent, alone, dirs_exist_ok=True)
        ended([sys.executable, alone / script.name, "--repeat", "50", "--json", alone / "result.json"], cwd="/", TRITON_CACHE_DIR=str(folder / "cache2"), PYTHONPATH="")
        r = json.loads((alone / "result.json").read_text())
    except AssertionError as error:
        return f"{kernel} {way}: {error}"
    recorded = r["check"]["recorded"]
    said = ", ".join(f"{c['argument']} {'equal' if c['max_abs_diff'] == 0 else 'differs: ' + c['why'] if c['max_abs_diff'] is None else 'differs ' + format(c['max_abs_diff'], '.2g')}" for c in recorded) or "nothing recorded"
    print(f"{kernel:<32} {way:<9} {result['kernel_import']:<13} {said}; {r['median_ms'] * 1e3:.2f} us ({r['method']}), {r['gb_per_s']:.0f} GB/s; "
          f"shared memory as recorded {r['compiled']['same_as_recorded']}")
    return "" if recorded or kernel.startswith("triton_") else f"{kernel} {way}: nothing was recorded to compare with"


def keeps_the_autotuner(trace, folder, recording):
    """The matmul with --preserve-autotune: the trace has launches of both configurations, whose grids differ."""
    place = launches(trace)["matmul_kernel"][-2]
    script = answer(ended([PROTON, "reproduce", trace, "--line", place, "-o", folder / "tuned", "--stamp", "", "--preserve-autotune", "--json",
                           "--files-from", recording]).stdout)["repro_script"]
    grids = [each for each in pathlib.Path(script).read_text().splitlines() if each.startswith("    ({")]
    said = ended([sys.executable, script], TRITON_CACHE_DIR=str(folder / "cache3"), TRITON_PRINT_AUTOTUNING="1").stdout
    print(f"autotuner kept: grids of {len(grids)} configurations; {said.strip().splitlines()[-1]}")
    assert len(grids) == 2 and "configurations. The others' grids are not known" not in said


def compares_two_traces(trace, folder):
    """The same launch of two traces: a copy stands for the other."""
    shutil.copytree(trace, folder / "again")
    said = ended([PROTON, "reproduce", trace, "--kernel", "matmul_kernel", "--compare", folder / "again", "--rounds", "5", "-o", folder / "compared"],
                 TRITON_CACHE_DIR=str(folder / "cache4")).stdout
    verdict = [each for each in said.splitlines() if each.startswith(("verdict", "output"))]
    print("two traces: " + "; ".join(verdict))
    assert any("equal" in each for each in verdict), said
