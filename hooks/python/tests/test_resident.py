"""Sessions of a process that times whole graphs, which keep the subscription of the first, on the fake driver."""

import os

import pytest
from conftest import LIBRARY, TESTS, run_python

PROGRAM = """
import ctypes, os, sys
sys.path.append({tests!r})
import fake_gpu, goproton as proton
fake_gpu.init()
cupti = ctypes.CDLL(os.environ["PROTON_CUPTI_PATH"])
for number, mode in enumerate({modes!r}):
    proton.start(f"out{{number}}", mode=mode)
    fake_gpu.launch(fake_gpu.function("kernel"))
    print(cupti.stub_sampling_enabled())
    proton.finalize()
"""
SAMPLES = "pcsampling"


@pytest.mark.parametrize("modes, enabled, said", [
    ([SAMPLES, SAMPLES], [1, 1], ""),
    ([SAMPLES, None, SAMPLES], [1, 0, 1], ""),
    ([None, SAMPLES], [0, 0], "goproton: instructions are not sampled: the first session of a process that times whole graphs decides that; have it sample, "
                              "too, or leave --graph graph out\n"),
])
def test_sessions_that_sample(library, tmp_path, modes, enabled, said):
    stub = LIBRARY.parent / "stub"
    if not (stub / "libcupti.so").exists():
        pytest.skip(f"{stub} is not built; make build")
    env = {**os.environ, "PROTON_LIB": library, "PROTON_GRAPH": "graph", "PROTON_GRAPH_LATE": "1", "LD_LIBRARY_PATH": str(stub),
           "PROTON_CUPTI_PATH": str(stub / "libcupti.so")}
    done = run_python(PROGRAM.format(tests=str(TESTS), modes=modes), env=env, cwd=tmp_path)
    assert [int(line) for line in done.stdout.split()] == enabled
    assert done.stderr == said
