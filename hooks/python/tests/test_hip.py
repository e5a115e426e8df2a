"""AMD's backends on the fake libraries of replay/fakehip: when HIP is loaded, launches with Triton's metadata, programs in C."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import LIBRARY, PATIENCE, TESTS, run_python
from test_tritonparse import of, records
from trees import at, load

STUB = LIBRARY.parent / "stub" / "hip"
HIP = STUB / "libamdhip64.so.6"

pytestmark = pytest.mark.skipif(not HIP.exists(), reason="needs build/stub/hip: run make build")


@pytest.fixture(params=["roctracer", "rocprofiler"], autouse=True)
def backend(request, monkeypatch):
    monkeypatch.setenv("BACKEND", request.param)
    monkeypatch.setenv("TRITON_ROCPROFILER_SDK_LIB_PATH", str(STUB))
    for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    return request.param


def run(code, library, tmp_path, path=()):
    return run_python(code, path=path, cwd=tmp_path, env={"PROTON_LIB": library, "FAKE_HIP": str(HIP)})


WORK = """
import os, sys, fake_hip
import goproton as proton
def work():
    with proton.scope("inside"):
        fake_hip.launch(fake_hip.function("kernel_a"))
"""


def test_hip_before_the_session(library, tmp_path):
    run(WORK + """
fake_hip.load()
proton.start("p", backend=os.environ["BACKEND"])
work()
proton.finalize()
""", library, tmp_path)
    tree = load(tmp_path / "p.hatchet")
    assert at(tree, "inside", "kernel_a")["metrics"]["count"] == 1


def test_hip_with_the_import_of_torch(library, tmp_path):
    (tmp_path / "torch.py").write_text("import fake_hip\nfake_hip.load()\n")
    run(WORK + """
sys.path.insert(0, ".")
proton.start("p", backend=os.environ["BACKEND"])
import torch
work()
proton.finalize()
""", library, tmp_path)
    assert at(load(tmp_path / "p.hatchet"), "inside", "kernel_a")["metrics"]["count"] == 1


def test_hip_with_triton_s_driver(library, tmp_path):
    folder = tmp_path / "triton" / "backends" / "amd"
    folder.mkdir(parents=True)
    (folder / "driver.py").write_text("class HIPUtils:\n    def __init__(self):\n        import fake_hip\n        fake_hip.load()\n")
    run(WORK + """
sys.path.insert(0, ".")
proton.start("p", backend=os.environ["BACKEND"])
from triton.backends.amd import driver
assert fake_hip.hip is None
driver.HIPUtils()
work()
proton.finalize()
""", library, tmp_path)
    assert at(load(tmp_path / "p.hatchet"), "inside", "kernel_a")["metrics"]["count"] == 1


def test_launch_metadata(library, tmp_path, triton):
    "The hook takes name and metrics of a launch, and its handle is HIP's."
    run("""
import os, fake_hip, goproton as proton
fake_hip.load()
proton.start("p", backend=os.environ["BACKEND"], hook="triton")
handle = fake_hip.function("matmul_kernel")
for _ in range(3):
    fake_hip.launch_triton(handle, "matmul_kernel", lambda *_: {"name": "matmul <M=16>", "flops16": 100, "bytes": 8})
proton.finalize()
""", library, tmp_path, path=[triton])
    op = at(load(tmp_path / "p.hatchet"), "matmul <M=16>")
    assert {name: op["metrics"][name] for name in ("flops16", "bytes", "count")} == {"flops16": 300, "bytes": 24, "count": 3}


def test_devices_are_hip_s(library, tmp_path):
    run(WORK + """
fake_hip.load()
proton.start("p", backend=os.environ["BACKEND"])
work()
proton.finalize()
""", library, tmp_path)
    import json
    devices = json.loads((tmp_path / "p.hatchet").read_text())[-1]
    assert list(devices) == ["HIP"] and devices["HIP"]["0"]["arch"].startswith("gfx")


@pytest.fixture
def proton_run(tmp_path, backend):
    proton = LIBRARY.parent / "proton"
    if not proton.exists() or not shutil.which("cc"):
        pytest.skip("needs build/proton and cc")

    def go(*command, **env):
        inherited = {k: v for k, v in os.environ.items() if k not in ("PROTON_RUN_CONFIG", "LD_PRELOAD")}
        return subprocess.run([proton, "run", "--backend", backend, "--allow-empty", "-n", "out", *command], cwd=tmp_path, capture_output=True,
                              text=True, timeout=PATIENCE, env={**inherited, **env})

    return go


TRACED = """
import sys
sys.path.append({tests!r})
import torch, fake_hip
import fake_driver, triton, triton.language as tl

@triton.jit(do_not_specialize=["n"])
def add_kernel(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)

class Tensor:
    dtype = "float32"
    data_ptr = (4096).__int__

fake_driver.use(("hip", "gfx942", 64), on=fake_hip)
x = Tensor()
add_kernel[(2,)](x, 7, B=64)
fake_driver.stream = fake_hip.stream()
with fake_hip.Graph(fake_driver.stream) as graph:
    add_kernel[(3,)](x, 8, B=64)
graph.replay()
"""


def test_a_trace_of_compiled_kernels(proton_run, tmp_path, triton):
    "Compiled for gfx942 by Triton's own compiler: its texts, its binary, the launches, and one of them in a captured graph."
    (tmp_path / "torch.py").write_text("import fake_hip\nfake_hip.load()\nclass Tensor: pass\n")
    (tmp_path / "script.py").write_text(TRACED.format(tests=str(TESTS)))
    done = proton_run("--trace", "out", "--trace-compression", "none", "script.py", PYTHONPATH=str(triton), FAKE_HIP=str(HIP), PYTHON=sys.executable, AMDGCN_USE_BUFFER_OPS="0", USER="me",
                      TRITON_CACHE_DIR=str(tmp_path / "cache"), PROTON_LIB=str(LIBRARY))
    assert done.returncode == 0, done.stderr
    events = records(tmp_path / "out")
    (compilation,) = of(events, "compilation")
    assert any(name.endswith(".amdgcn") for name in compilation["payload"]["file_content"])
    assert compilation["payload"]["metadata"]["target"] == {"backend": "hip", "arch": "gfx942", "warp_size": 64}
    assert [file.suffix for file in (tmp_path / "out" / "cubins").iterdir()] == [".hsaco"]  # the folder is called so for every vendor
    first, captured = of(events, "launch")
    assert (first["grid"], captured["grid"]) == ([2], [3]) and first["extracted_args"]["n"]["value"] == 7
    assert "_note" in captured["extracted_args"], "the driver was not asked whether the stream is being captured"
    root = load(tmp_path / "out.hatchet")
    assert at(root, "add_kernel")["metrics"]["count"] == 1


PROGRAM = """
#include <stddef.h>
#include <stdio.h>
int hipModuleLoadData(void **, const void *), hipModuleGetFunction(void **, void *, const char *);
int hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int main(void) {
  void *module, *function;
  int failed = hipModuleLoadData(&module, "image") || hipModuleGetFunction(&function, module, "kernel_c");
  for (int i = 0; i < 5; i++) failed |= hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);
  puts(failed ? "failed" : "worked");
  return failed;
}
"""


def compiled(tmp_path, text, *flags):
    (tmp_path / "program.c").write_text(text)
    subprocess.run(["cc", "-o", tmp_path / "program", tmp_path / "program.c", *flags], check=True)
    return str(tmp_path / "program")


def test_a_program_that_links_hip(proton_run, tmp_path):
    done = proton_run(compiled(tmp_path, PROGRAM, str(HIP), f"-Wl,-rpath,{STUB}"))
    assert done.returncode == 0 and done.stdout == "worked\n", done.stderr
    assert at(load(tmp_path / "out.hatchet"), "kernel_c")["metrics"]["count"] == 5


OTHER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  char line[4096];
  FILE *maps = fopen("/proc/self/maps", "r");
  int loaded = 0;
  while (fgets(line, sizeof line, maps)) loaded |= strstr(line, "libproton.so") != NULL;
  printf("%s %s\\n", loaded ? "loaded" : "untouched", getenv("LD_PRELOAD"));
  return 0;
}
"""


@pytest.mark.parametrize("flags", [[], ["-static"]])
def test_a_program_without_hip_is_left_alone(proton_run, tmp_path, flags):
    done = proton_run(compiled(tmp_path, OTHER, *flags))
    assert done.returncode == 0 and done.stdout.startswith("untouched "), done.stdout + done.stderr
    assert not (tmp_path / "out.hatchet").exists()


def test_another_preload_is_kept(proton_run, tmp_path):
    done = proton_run(compiled(tmp_path, OTHER), LD_PRELOAD="libm.so.6")
    preload = done.stdout.split()[1]
    assert preload == f"{LIBRARY.parent}/libproton-preload.so:libm.so.6", done.stderr


def test_the_preloaded_library_needs_no_libc(tmp_path):
    "It is loaded into programs of any libc: it needs no library and no version of a symbol."
    if not shutil.which("readelf"):
        pytest.skip("needs readelf")
    text = subprocess.run(["readelf", "-d", "-V", LIBRARY.parent / "libproton-preload.so"], capture_output=True, text=True, check=True).stdout
    assert "(NEEDED)" not in text and "GLIBC" not in text and "BIND_NOW" not in text, text


SELECT = """
import os, sys, types, goproton
from goproton.profile import _select_backend
def module(name, **members):
    sys.modules[name] = types.SimpleNamespace(**members)
    return sys.modules[name]
def torch(**versions):
    module("torch", version=types.SimpleNamespace(**versions))
def triton(backend):
    target = types.SimpleNamespace(backend=backend)
    module("triton.runtime.driver", driver=types.SimpleNamespace(_active=types.SimpleNamespace(get_current_target=lambda: target)))
has = set()
os.path.exists = lambda path: path in has
assert _select_backend() == "cupti"               # nothing is known
has |= {"/dev/kfd"}
assert _select_backend() == "hip"                 # AMD's driver is there, and no other
has |= {"/dev/nvidiactl"}
assert _select_backend() == "cupti"
torch(hip=None, cuda=None)
assert _select_backend() == "cupti"               # torch for the CPU
import fake_hip
fake_hip.load()
assert _select_backend() == "hip"                 # the program has HIP
torch(hip=None, cuda="13.0")
assert _select_backend() == "cupti"
torch(hip="7.0", cuda=None)
assert _select_backend() == "hip"
triton("cuda")
assert _select_backend() == "cupti"               # Triton's driver comes first
torch(hip=None, cuda="13.0")
triton("hip")
assert _select_backend() == "hip"
triton("cpu")
assert _select_backend() == "cupti"               # torch's, where Triton's is of neither
del sys.modules["torch"]
try:
    _select_backend()
except ValueError as e:
    assert "cpu" in str(e)
else:
    raise AssertionError("a Triton backend without a profiler")
"""


def test_which_backend_is_selected(library, tmp_path):
    run(SELECT, library, tmp_path)


SAMPLED = """
import sys
sys.path.append({tests!r})
import fake_hip, goproton as proton
fake_hip.load()
SESSION
with proton.scope("train"):
    fake_hip.launch(fake_hip.function("inlined", open({image!r}, "rb").read()))
proton.finalize()
"""
STOCHASTIC = "sampling stochastic; samples inlined 0x1600:0:2 0x1608:3:5"


def sampled_script(tmp_path, session=""):
    image = TESTS.parents[2] / "gpu/hsaco/testdata/inlined.gfx942.hsaco"
    script = tmp_path / "script.py"
    script.write_text(SAMPLED.format(tests=str(TESTS), image=str(image)).replace("SESSION", session))
    return script


def sampled_lines(profile):
    out = subprocess.run([LIBRARY.parent / "proton", "viewer", "--source", "--json", profile], capture_output=True, text=True, timeout=PATIENCE)
    assert out.returncode == 0, out.stderr
    return out.stdout


def test_proton_run_samples(proton_run, backend, tmp_path):
    done = proton_run("-m", "pcsampling", "script.py", PYTHON=sys.executable, FAKE_HIP=str(HIP), PROTON_STUB_SCRIPT=STOCHASTIC,
                      PYTHONPATH=str(sampled_script(tmp_path).parent))
    if backend == "roctracer":
        assert done.returncode == 2 and 'backend "roctracer" has no mode "pcsampling"' in done.stderr, done.stderr
        return
    assert done.returncode == 0, done.stderr
    text = sampled_lines(tmp_path / "out.hatchet")
    assert '"samples": 7' in text and '"amd_waitcnt": 5' in text, text


@pytest.mark.parametrize("mode", ['"pcsampling"', "proton.mode.PCSampling(interval=300000)"])
def test_a_session_in_python_samples(mode, library, backend, tmp_path, monkeypatch):
    if backend == "roctracer":
        pytest.skip("roctracer cannot sample")
    monkeypatch.setenv("PROTON_STUB_SCRIPT", STOCHASTIC)
    script = sampled_script(tmp_path, f'import goproton.mode\nproton.start("p", backend="rocprofiler", mode={mode})')
    run(script.read_text(), library, tmp_path)
    text = sampled_lines(tmp_path / "p.hatchet")
    assert '"samples": 7' in text and '"amd_waitcnt": 5' in text, text
