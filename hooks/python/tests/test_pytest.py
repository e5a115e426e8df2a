"""The plugin of pytest: tests of tests, on the fake GPU and on a machine without one."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest
from conftest import LIBRARY, PACKAGE, REPOSITORY, TESTS

pytest_plugins = ["pytester"]

GPU = """
import pytest, fake_gpu as gpu

@pytest.fixture(scope="session")
def kernels():
    gpu.init()
    return gpu.function("alpha"), gpu.function("beta")

def launch(kernel, times=1):
    for _ in range(times):
        gpu.launch(kernel)
    gpu.synchronize()
"""


@pytest.fixture
def tests(pytester, monkeypatch, library):
    """Runs tests that use the fake GPU."""
    stub = LIBRARY.parent / "stub"
    if not (stub / "libcuda.so.1").exists():
        pytest.skip(f"{stub} is not built; make build")

    def run(code, *arguments, gpu=True, **variables):
        pytester.makepyfile(test_it=(GPU if gpu else "import pytest\n") + code)
        fake = {"LD_LIBRARY_PATH": str(stub), "PROTON_CUPTI_PATH": str(stub / "libcupti.so")} if gpu else {}
        for name, value in {"PYTHONPATH": f"{PACKAGE}{os.pathsep}{TESTS}", "PROTON_LIB": str(library), **fake, **variables}.items():
            monkeypatch.setenv(name, value)
        return pytester.runpytest_subprocess("-p", "goproton_pytest", "-p", "no:cacheprovider", *arguments)

    return run


def test_limits(tests, pytester):
    """The time of a mark's test is that of its profile: limits just below and above it decide otherwise."""
    program = """
@pytest.mark.gpu_time(limit="{limit}")
def test_time(kernels):
    launch(kernels[0], 3), launch(kernels[1])
"""
    result = tests(program.format(limit="10 s"), "--proton", "--junitxml=out.xml")
    result.assert_outcomes(passed=1)
    properties = {p.get("name"): p.get("value") for p in xml.parse(pytester.path / "out.xml").iter("property")}
    time, profile = int(float(properties["gpu_time_ns"])), properties["proton_profile"]
    viewer = [LIBRARY.parent / "proton", "viewer", "--view", "json", "-m", "time/ns,count", profile]
    root = json.loads(subprocess.run(viewer, capture_output=True, text=True, check=True).stdout)["rows"][0]
    assert root["values"] == [time, 4]
    result.stdout.fnmatch_lines(["*proton_profiles/test_it.py_test_time.hatchet", "to read one: proton viewer proton_profiles/test_it.py_test_time.hatchet"])
    tests(program.format(limit=f"{time}ns")).assert_outcomes(passed=1)
    result = tests(program.format(limit=f"{time - 1}ns"))
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines([r"gpu_time: the kernels of the test took [\d.]+ us, more than the limit of [\d.]+ us$", r" +[\d.]+ us  alpha \(3 launches\)$",
                                  r" +[\d.]+ (us|ns)  beta \(1 launch\)$", "pytest --proton keeps the profile$"])
    assert "Traceback" not in result.stdout.str()


def test_profiles(tests, pytester):
    """--proton keeps a profile for each test that used the GPU, parametrized ones apart, and that of a test that failed."""
    result = tests("""
@pytest.mark.parametrize("name", ["a/b", "a b", "a:b"])
def test_each(kernels, name): launch(kernels[0])
def test_nothing(): pass
def test_wrong(kernels): launch(kernels[0], 2); assert False
def test_its_own(kernels, tmp_path):
    import goproton
    session = goproton.start(str(tmp_path / "own"))
    launch(kernels[0])
    goproton.finalize()
    assert (tmp_path / "own.hatchet").exists()
""", "--proton", "--proton-dir", "kept")
    result.assert_outcomes(passed=5, failed=1)
    files = sorted(path.name for path in (pytester.path / "kept").iterdir())
    assert len(files) == 5 and [sum(word in name for name in files) for word in ("each", "wrong", "own")] == [3, 1, 1], files


def test_the_mark_needs_work(tests):
    """A test that uses no GPU has no time to compare; other errors of a test are not replaced."""
    result = tests("""
@pytest.mark.gpu_time(limit="1ms")
def test_nothing(kernels): pass
@pytest.mark.gpu_time("1ns")
def test_wrong(kernels): launch(kernels[0]); assert "itself" == "wrong"
""")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*gpu_time: the test ran no kernel on the GPU, so there is no time*", "*itself*"])


@pytest.mark.skipif(any(map(os.path.exists, ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg"))), reason="this machine has a GPU")
def test_without_a_gpu(tests):
    """Marked tests are skipped before their fixtures run, and --proton says that there was nothing to keep."""
    result = tests("""
@pytest.fixture
def torch_on_gpu(): raise RuntimeError("no CUDA")
@pytest.mark.gpu_time(limit="1ms")
def test_marked(torch_on_gpu): pass
def test_other(): pass
""", "-rs", "--proton", gpu=False)
    result.assert_outcomes(skipped=1, passed=1)
    result.stdout.fnmatch_lines(["no test used a GPU, so no profile was kept", "SKIPPED*gpu_time: this machine has no GPU*"])


@pytest.mark.parametrize("mark", ["", "limit=5", "limit='5'", "limit='0ms'", "limit='-1ms'", "limit='5 parsecs'", "limit='1ms', warmup=3", "'1ms', '2ms'"])
def test_wrong_limits(tests, mark):
    """A limit that cannot be read ends pytest before the first test, and the message shows how one is written."""
    result = tests(f"@pytest.mark.gpu_time({mark})\ndef test_it(): pass", gpu=False)
    assert result.ret == 4
    assert re.search(r"test_it.py::test_it: read gpu_time\(.*\): write a limit with its unit, as in @pytest.mark.gpu_time\(limit=\"2ms\"\)", result.stderr.str())


def test_under_proton_run(tests, pytester):
    """There the whole of pytest is profiled: a limit that is not checked is said."""
    pytester.makepyfile(test_it=GPU + """
@pytest.mark.gpu_time(limit="1ns")
def test_time(kernels): launch(kernels[0])
""")
    stub = LIBRARY.parent / "stub"
    environment = {**os.environ, "PYTHONPATH": f"{PACKAGE}{os.pathsep}{TESTS}", "LD_LIBRARY_PATH": str(stub), "PROTON_CUPTI_PATH": str(stub / "libcupti.so")}
    done = subprocess.run([LIBRARY.parent / "proton", "run", "--python", sys.executable, "pytest", "-p", "goproton_pytest"], env=environment, cwd=pytester.path,
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "is not checked: proton run profiles the whole of pytest" in done.stdout, done.stdout + done.stderr


def test_unused_it_imports_nothing(tests):
    """Where neither the mark nor --proton is used, the package is not imported, and no option of pytest has another meaning."""
    result = tests("""
import sys
def test_it(): assert not {"goproton", "torch", "triton"} & set(sys.modules)
""", "--strict-markers", "-W", "error", gpu=False)
    result.assert_outcomes(passed=1)


def test_it_comes_with_the_wheel(wheel):
    import zipfile
    with zipfile.ZipFile(wheel) as packed:
        (entry,) = [name for name in packed.namelist() if name.endswith("entry_points.txt")]
        assert packed.read(entry).decode() == "[pytest11]\ngoproton = goproton_pytest\n"
        assert packed.read("goproton_pytest.py").decode() == (REPOSITORY / "hooks/python/goproton_pytest.py").read_text()
