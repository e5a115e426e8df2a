"""Sessions with ``inside``: kernels of a real Triton on the fake GPU, with records that are made up."""

import json
import os
import subprocess

import pytest
from conftest import PATIENCE, REPOSITORY, TESTS, PACKAGE, run_python

HEAD = """
import json, os, sys
import fake_gpu, fake_driver, fake_kernels, inside_kernels
import triton
from triton import knobs
import goproton as proton

class Tensor:
    dtype = "float32"
    data_ptr = (4096).__int__

fake_driver.use()
fake_driver.leave = fake_kernels.leave
x = Tensor()
def loop(blocks=4): return inside_kernels.loop_kernel[(blocks,)](x, x, 3, BLOCK=128)
def nested(): return inside_kernels.nested_kernel[(1,)](x, x, 3, 3, BLOCK=128)
"""

FRAMES = """
def frames(file="profile.hatchet"):
    found, stack = {}, [(json.load(open(file))[0], ())]
    while stack:
        node, path = stack.pop()
        path += (node["frame"]["name"],)
        found[path[1:]] = node
        stack += [(child, path) for child in node["children"]]
    return found
"""


@pytest.fixture
def environment(library, triton, tmp_path):
    stub = REPOSITORY / "build" / "stub"
    if not (stub / "libcuda.so.1").exists():
        pytest.skip("the fake GPU is not built; make build")
    return {"PROTON_LIB": library, "TRITON_CACHE_DIR": str(tmp_path / "cache"), "LD_LIBRARY_PATH": str(stub),
            "PROTON_CUPTI_PATH": str(stub / "libcupti.so"), "TRITON_DEFAULT_FP_FUSION": "1"}


@pytest.fixture
def on_gpu(environment, triton, tmp_path):
    """Runs code on the fake GPU; returns how it ended."""

    def go(code, **env):
        return run_python(HEAD + FRAMES + code, path=[triton, TESTS], env={**environment, **env}, cwd=tmp_path)

    return go


def test_a_kernel_that_was_not_edited_has_scopes(on_gpu):
    done = on_gpu("""
proton.start("profile", inside="loop_*, none_of_these")
for _ in range(40): loop()
nested()
proton.finalize()
found = frames()
scopes = [path[1:] for path in found if len(path) > 1 and path[0] == "loop_kernel"]
line = next(n for n, text in enumerate(open(inside_kernels.__file__), 1) if text.startswith("def loop_kernel"))
assert sorted(scopes) == sorted([("kernel",), ("kernel", f"loop:{line + 3}"), ("kernel", f"loop:{line + 3}", f"load x_ptr:{line + 4}"),
                                 ("kernel", f"store out_ptr:{line + 6}")]), scopes
count = lambda *path: found[path]["metrics"]["count"]
# Launches 2, 5, 8, 11, 14, 17 and 34 of 40 ran without scopes.
assert (count("loop_kernel"), count("<without scopes>", "loop_kernel")) == (33, 7), found.keys()
assert found["loop_kernel",]["inside"]["kernel"]["launches"] == 33
assert not found["nested_kernel",]["children"] and count("nested_kernel") == 1
""")
    said = done.stderr.splitlines()
    assert "goproton: inside='none_of_these': no kernel has that name; the program launched loop_kernel, nested_kernel" in said
    cost = next(line for line in said if "scopes in kernel loop_kernel cost:" in line)
    assert "µs with them" in cost and "bytes of shared memory 0 -> 4096" in cost, cost
    assert len(said) == 2, said


@pytest.mark.parametrize("period", [1, 2, 3, 4, 6, 8, 16])
def test_launches_without_scopes_are_of_all_shapes(period):
    """Programs launch a kernel with one grid after another, and repeat that; the shape may also be in the arguments."""
    from goproton._inside.comparison import Comparison
    made = Comparison(None, None)
    made._compiled, made.plain = True, object()
    plain = {n: 0 for n in range(period)}
    for number in range(100 * period):
        plain[number % period] += made._plain_now((number % period + 1, 1, 1)) is not None
    assert set(plain.values()) == {10}
    made._launches.clear()
    shapes = {number % period for number in range(40 * period) if made._plain_now((1, 1, 1)) is not None}
    assert shapes == set(range(period))


def test_grids_that_do_not_repeat():
    from goproton._inside import comparison
    made = comparison.Comparison(None, None)
    made._compiled, made.plain = True, object()
    plain = sum(made._plain_now((number, 1, 1)) is not None for number in range(10_000))
    assert len(made._launches) == comparison._GRIDS + 1 and 500 < plain < 700


def test_a_timeline_has_the_cost(on_gpu):
    done = on_gpu("""
proton.start("profile", inside="loop_*", data="trace")
for _ in range(40): loop()
proton.finalize()
assert os.path.exists("profile.chrome_trace")
""")
    assert "scopes in kernel loop_kernel cost: 1.0 µs with them, 1.0 µs without (x1.000, medians)" in done.stderr


def test_times_of_a_timeline(tmp_path):
    """Medians of a kernel's slices at the call paths that have both; the lines between them are not times of kernels."""
    from goproton._inside import report
    plain = "<without scopes>"
    slices = [(["ROOT", "a", "k"], 5), (["ROOT", "a", "k"], 3), (["ROOT", "a", "k"], 0.5), (["ROOT", "a", plain, "k"], 2),
              (["ROOT", "b", "k"], 900), (["ROOT", "<autotuning, without scopes>", "k"], 1), (["ROOT", plain, "other"], 1)]
    events = [{"ph": "X", "cat": "kernel", "name": path[-1], "dur": time, "args": {"call_stack": path}} for path, time in slices]
    events.insert(2, {"ph": "X", "cat": "inside", "name": "k", "dur": 7, "args": {"call_stack": ["ROOT", "a", plain, "k"]}})
    text = '{"traceEvents":[\n' + ",\n".join(json.dumps(event, separators=(",", ":")) for event in events) + "\n]}\n"
    (tmp_path / "p.chrome_trace").write_text(text)
    assert report._times(str(tmp_path / "p.chrome_trace")) == {"k": (3000, 2000)}
    (tmp_path / "p.chrome_trace").write_text(text[:text.rindex('"args"')])
    assert report._times(str(tmp_path / "p.chrome_trace")) is None
    assert report._times(str(tmp_path / "p.pb.gz")) is report._times(str(tmp_path / "missing.hatchet")) is None


def test_medians_are_of_the_same_call_path():
    """Of 100 short launches and 100 long ones, most of those without scopes may be short."""
    from goproton._inside import report
    with_scopes = {("a", "k"): [(12, 100)], ("b", "k"): [(1200, 100)], ("c", "k"): [(5, 1)]}
    without = {("a", "k"): [(10, 20)], ("b", "k"): [(1000, 5)]}
    assert report._medians(with_scopes, without) == {"k": (606, 505)}


def test_a_session_leaves_nothing_behind(on_gpu):
    done = on_gpu("""
from triton.compiler.compiler import CompiledKernel
from triton.runtime.autotuner import Autotuner
theirs = lambda *arguments: ("k", "h") if not arguments else None
knobs.runtime.add_stages_inspection_hook = theirs
from triton.backends.nvidia.compiler import CUDABackend
before = CompiledKernel._init_handles, Autotuner._bench, CUDABackend.parse_options
plain = loop()
session = proton.start("profile", inside="loop_kernel")
with_scopes = loop()
assert plain is not with_scopes and with_scopes.metadata.profile_scratch_size and not plain.metadata.profile_scratch_size
proton.deactivate(session)
assert loop() is plain
proton.activate(session)
assert loop() is with_scopes
proton.finalize()
assert loop() is plain
assert knobs.runtime.add_stages_inspection_hook is theirs and (CompiledKernel._init_handles, Autotuner._bench, CUDABackend.parse_options) == before
with_scopes[(4, 1, 1)](x, x, 3, 128)  # a program may keep one

proton.start("second", inside="loop*")  # other patterns: another binary in both caches
assert loop() is not with_scopes
proton.finalize()
proton.start("third", backend="instrumentation")
assert not loop().metadata.profile_scratch_size
proton.finalize()
""")
    assert "Traceback" not in done.stderr


def test_a_binary_from_the_cache_has_its_scopes(on_gpu):
    first = 'proton.start("profile", inside="*")\nloop(); loop(); loop()\nproton.finalize()\nprint(sorted(map(str, frames())))'
    said = [on_gpu(first).stdout for _ in range(2)]
    assert said[0] == said[1] and "load x_ptr" in said[0]


def test_autotuning_runs_without_scopes(on_gpu):
    on_gpu("""
tuned = triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in (128, 256)], key=[])(inside_kernels.loop_kernel)
proton.start("profile", inside="*")
for _ in range(3): tuned[(4,)](x, x, 3)
proton.finalize()
found = frames()
tuning = [path for path in found if "<autotuning, without scopes>" in path]
print(found.keys())
assert tuning and found["loop_kernel",]["metrics"]["count"] == 2 and found["<without scopes>", "loop_kernel"]["metrics"]["count"] == 1, found.keys()
""")


def test_kernels_without_scopes_are_named(on_gpu):
    done = on_gpu("""
proton.start("profile", inside=["calling_kernel", "pointless_kernel"])
inside_kernels.calling_kernel[(1,)](x, x)
inside_kernels.pointless_kernel[(1,)](BLOCK=128)
proton.finalize()
""")
    assert "goproton: kernel calling_kernel has no scopes: it calls functions that are not inlined" in done.stderr
    assert "goproton: kernel pointless_kernel has no scopes: none of its operations gets one" in done.stderr


def test_a_text_that_cannot_be_rewritten_runs_as_it_is(on_gpu):
    done = on_gpu("""
from goproton._inside import compiler
compiler.scopes = lambda text, pairs: {"text": text.replace("scf.for", "scf.fro"), "scopes": 1}
proton.start("profile", inside="loop_kernel")
assert not loop().metadata.profile_scratch_size
proton.finalize()
assert frames()["loop_kernel",]["metrics"]["count"] == 1
""")
    assert "kernel loop_kernel has no scopes: its TTGIR could not be rewritten" in done.stderr


def test_a_compiler_that_fails_behind_the_scopes_runs_without(on_gpu):
    done = on_gpu("""
from goproton._inside.passes import _Passes, without_records
def fails(self, passes):
    if not without_records(): raise RuntimeError("no such pass")
_Passes.before_llvm = fails
proton.start("profile", inside="loop_kernel")
assert not loop().metadata.profile_scratch_size
proton.finalize()
assert frames()["loop_kernel",]["metrics"]["count"] == 1
""")
    assert "kernel loop_kernel has no scopes: Triton could not compile it with them: RuntimeError('no such pass')" in done.stderr


def test_a_kernel_that_does_not_fit_runs_without(on_gpu):
    done = on_gpu("""
real = fake_driver._load_binary
def load(name, image, shared, device):
    if shared > 2048: raise RuntimeError("out of resource: shared memory")
    return real(name, image, shared, device)
triton.runtime.driver.active.utils.load_binary = load
proton.start("profile", inside="loop_kernel")
for _ in range(3): loop()
proton.finalize()
assert frames()["loop_kernel",]["metrics"]["count"] == 3
""")
    assert "kernel loop_kernel has no scopes: the GPU has no room for it with them: out of resource: shared memory" in done.stderr


def test_scopes_by_hand_are_not_in_what_is_compared(on_gpu):
    on_gpu("""
proton.install()
import tempfile, importlib.util
source = '''
import triton, triton.language as tl
import triton.profiler.language as pl
@triton.jit
def mine(x, B: tl.constexpr):
    i = tl.arange(0, B)
    with pl.scope("by hand"):
        v = tl.load(x + i)
    tl.store(x + i, v)
'''
open("mine.py", "w").write(source)
sys.path.insert(0, ".")
import mine
import triton.profiler.language as pl
pl.enable_semantic("triton")
proton.start("profile", inside="mine")
for _ in range(4): kernel = mine.mine[(1,)](x, B=128)
assert "by hand" in kernel.asm["ttgir"] and "load x:8" in kernel.asm["ttgir"], kernel.asm["ttgir"]
plain = kernel.run.plain
assert "proton" not in plain.asm["ttgir"] and plain.metadata.profile_scratch_size == 0
proton.finalize()
mine.mine[(1,)](x, B=128)
without = list(mine.mine.device_caches[0][0].values())[-1]
assert without.asm["cubin"] == plain.asm["cubin"]
""")


@pytest.mark.parametrize("arguments, error", [
    ("backend='cupti', inside='k'", "need backend 'instrumentation', not 'cupti'"),
    ("inside='k', mode='fast'", "Unknown mode: fast"),
])
def test_what_cannot_be_asked_for(proton, arguments, error):
    with pytest.raises(ValueError, match=error):
        eval(f"proton.start('p', {arguments})")


def test_sessions_with_other_patterns(on_gpu):
    on_gpu("""
proton.start("one", inside="a,b")
proton.start("two", inside=["b", "a"])
try: proton.start("three", inside="c")
except ValueError as error: said = str(error)
assert "inside='a,b'" in said, said
proton.finalize()
""")


def test_the_command(environment, triton, tmp_path):
    """proton run --inside: the same, and the closing lines."""
    proton = REPOSITORY / "build" / "proton"
    if not proton.exists():
        pytest.skip("proton is not built; make build")
    (tmp_path / "train.py").write_text(HEAD + "for _ in range(12): loop()\nnested()\n")
    env = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(map(str, [PACKAGE, TESTS, triton]))}

    def run(*words):
        done = subprocess.run([proton, "run", "--name", "out", *words, "train.py"], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        first, *closing = done.stderr.splitlines()
        assert first.startswith("proton: the chosen kernels will be slower"), first
        return closing

    said = run("--inside", "loop_kernel")
    assert len(said) == 2 and said[0].startswith("proton: scopes in kernel loop_kernel cost: ") and said[1].startswith("proton: 13 kernels"), said
    assert "load x_ptr:" in (tmp_path / "out.hatchet").read_text()
    said = run("--inside", "matmul,lop*")
    assert said[:2] == ["proton: warning: --inside: no kernel is named matmul; the program launched loop_kernel, nested_kernel",
                        "proton: warning: --inside: no kernel is named 'lop*'; the program launched loop_kernel, nested_kernel"], said


COPY = """module {
    %27 = ttng.init_barrier %26, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable> loc(#loc)
    ttg.warp_specialize(%length, %9) attributes {requestedRegisters = array<i32: 232, 232>}
      ttng.async_tma_copy_global_to_local %q_desc[%row, %c0] %50, %49, %true {async_task_id = array<i32: 0>} : !tt.tensordesc<BLOCKf16, #shared>>, \
!ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable> loc(#loc51)
"""


@pytest.mark.parametrize("block, ends", [("tensor<64x64x", True), ("tensor<128x64x", False), ("128x64x", False), ("1x64x64x", True)])
def test_kernels_that_wait_forever(tmp_path, block, ends):
    """Triton 3.6 makes a kernel whose warps wait for 64 rows that are copied, and copies 128: seen on an H200, without a session too."""
    from goproton._inside import kernels
    path = tmp_path / "kernel.ttgir"
    path.write_text(COPY.replace("BLOCK", block))
    said = kernels.doubts({"kernel.ttgir": str(path)}, False)
    assert said == [] if ends else len(said) == 1 and said[0].startswith("will never end, with scopes or without"), said
    path.write_text(path.read_text().replace("ttg.warp_specialize(", "scf.for("))
    assert kernels.doubts({"kernel.ttgir": str(path)}, False) == []
