"""Scopes inside kernels: compiled by real releases of Triton for a GPU that is not there, launched on the fake driver with records
that are made up, and recorded by the real library."""

import json
import os

import pytest
from conftest import REPOSITORY, TESTS, run_python
from test_deactivate import RIVAL
from trees import at, load

KERNELS = """
import json, os, struct, sys, threading
import fake_gpu, fake_driver, fake_kernels
import triton, triton.language as tl
from triton import knobs
import goproton as proton
proton.install()
import triton.profiler.language as pl
from triton.profiler.hooks import InstrumentationHook
from goproton import _library
from triton.runtime import _allocation
pl.enable_semantic("triton")

@triton.jit
def loop(x, n, B: tl.constexpr):
    with pl.scope("whole"):
        i = tl.program_id(0) * B + tl.arange(0, B)
        acc = tl.zeros((B,), tl.float32)
        for k in range(n):
            with pl.scope("load"):
                v = tl.load(x + i)
            with pl.scope("math"):
                acc += v
        with pl.scope("store"):
            tl.store(x + i, acc)

@triton.jit
def plain(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i) + n)

class Tensor:
    dtype = "float32"
    data_ptr = (4096).__int__

fake_driver.use()
fake_driver.leave = fake_kernels.leave
x = Tensor()
def launch(blocks=4, kernel=loop): kernel[(blocks,)](x, 3, B=128)

def start(mode=None, name="profile", **more): return proton.start(name, backend="instrumentation", mode=mode, **more)

def problems(): return _library.call("status")["problems"]

def slots(f):
    "The slots of the last launch in f, by block: header and counts."
    _library.native.inside_keep(True)
    f()
    left = _library.native.inside_last()
    _library.native.inside_keep(False)
    if left is None: return None
    size = len(left) // 4
    return [struct.unpack_from("<4I3Q4I", left, n * size) for n in range(4)]
"""


@pytest.fixture
def on_gpu(library, triton, tmp_path):
    """Runs code after the kernels above on the fake GPU; returns how it ended."""
    stub = REPOSITORY / "build" / "stub"
    if not (stub / "libcuda.so.1").exists():
        pytest.skip("the fake GPU is not built; make build")

    def go(code, check=True, **env):
        script = tmp_path / "script.py"
        script.write_text(KERNELS + code)
        full = {"PROTON_LIB": library, "TRITON_CACHE_DIR": str(tmp_path / "cache"), "LD_LIBRARY_PATH": str(stub),
                "PROTON_CUPTI_PATH": str(stub / "libcupti.so"), "TRITON_DEFAULT_FP_FUSION": "1", **env}
        return run_python(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')", path=[triton, TESTS], env=full, check=check, cwd=tmp_path)

    go.folder = tmp_path
    go.version = triton.name.removeprefix("triton-")
    return go


def test_the_slots_of_a_launch_arrive(on_gpu):
    on_gpu("""
start()
got = slots(launch)
assert [s[:3] for s in got] == [(0xdeadbeef, n, n) for n in range(4)], got
assert all(s[-4:] == (16,) * 4 for s in got), got
launch(kernel=plain)  # a kernel without scopes behind one with scopes
assert problems() == [], problems()
proton.finalize()
""")


def test_the_buffer_of_the_last_launch(on_gpu):
    """What Triton's profiler keeps for debugging. A kernel without scopes has a header and no blocks."""
    on_gpu("""
import types
sys.modules["torch"] = types.SimpleNamespace(frombuffer=lambda words, dtype: bytes(words), uint8=None, Tensor=types.SimpleNamespace)
InstrumentationHook.enable_host_buffer = True
start()
assert InstrumentationHook.host_buffer is None
launch()
kept = InstrumentationHook.host_buffer
version, _, size, payload, bytes_, device, blocks, warps, slot, units = struct.unpack_from("<10I", kept)
assert (version, device, blocks, warps, units) == (1, 1, 4, 4, 4) and size == payload == 56 and bytes_ == 4 * slot == len(kept) - size, kept
assert [struct.unpack_from("<2I", kept, size + n * slot) for n in range(4)] == [(0xdeadbeef, n) for n in range(4)]
launch(kernel=plain)
assert struct.unpack("<10I", InstrumentationHook.host_buffer) == (1, 4, 40, 40, 0, 0, 0, 0, 0, 0)
proton.finalize()
assert InstrumentationHook.host_buffer is None
""")


def test_trees_under_triton_s_names_have_no_other_kernels(on_gpu):
    on_gpu("""
def kernels(name):
    start(name=name)
    with proton.scope("init"):
        launch(kernel=plain)
    with proton.scope("step", {"loss (exc)": 0.5}):
        launch(kernel=plain), launch()
    proton.finalize()
    (step,) = [child for child in json.load(open(name + ".hatchet"))[0]["children"] if child["frame"]["name"] == "step"]
    root = json.load(open(name + ".hatchet"))[0]
    return [child["frame"]["name"] for child in root["children"]], [child["frame"]["name"] for child in step["children"]]
assert kernels("upstream") == (["step"], ["loop"])
proton.install(upstream=False)
assert kernels("ours") == (["init", "step"], ["plain", "loop"])
""")


def test_blocks_that_do_not_start_leave_nothing_of_an_earlier_launch(on_gpu):
    on_gpu("""
start()
assert slots(launch)[2][0] == 0xdeadbeef
fake_kernels.absent = {2}
for _ in range(3):
    got = slots(launch)
    assert got[2] == (0,) * 11, got
    assert got[3][0] == 0xdeadbeef
proton.finalize()
""")


def test_what_was_there_before_is_put_back(on_gpu):
    on_gpu("""
theirs = lambda size, alignment, stream: 4096
_allocation.set_profile_allocator(theirs)
knobs.compilation.instrumentation_mode = "another"
session = start()
assert "another" not in knobs.compilation.instrumentation_mode and proton.flags.flags.instrumentation_on
assert _allocation._profile_allocator.get() is _library.native.inside_take and InstrumentationHook.active_count == 1
proton.deactivate(session)
assert knobs.compilation.instrumentation_mode == "another" and not proton.flags.flags.instrumentation_on
assert _allocation._profile_allocator.get() is theirs and InstrumentationHook.active_count == 0
proton.activate(session)
assert _allocation._profile_allocator.get() is _library.native.inside_take
proton.finalize()
assert _allocation._profile_allocator.get() is theirs and knobs.compilation.instrumentation_mode == "another"
""")


def test_a_user_s_scratch_allocator(on_gpu):
    """A kernel with scopes that needs scratch memory of its own asks the user's allocator, for what it needs without scopes, on the stream of the launch."""
    on_gpu("""
@triton.jit
def described(x, B: tl.constexpr):
    d = tl.make_tensor_descriptor(x, shape=[64, 64], strides=[64, 1], block_shape=[B, B])
    pl.enter_scope("load")
    block = d.load([B, B])
    pl.exit_scope("load")
    d.store([0, 0], block)
asked = []
triton.set_allocator(lambda *what: asked.append(what) or 4096)
def go(blocks): described[(blocks,)](x, B=16)
go(1)
start()
go(1); go(3)
fake_driver.stream = fake_gpu.stream()
go(1)
proton.finalize()
go(1)
(size, alignment, stream) = asked[0]
assert size and alignment == 128 and stream == 0
other = fake_driver.stream
assert asked == [(size, 128, 0), (size, 128, 0), (3 * size, 128, 0), (size, 128, other), (size, 128, other)], asked
""")


def test_a_kernel_with_scopes_runs_without_a_session(on_gpu):
    on_gpu("""
start()
launch()
compiled = list(loop.device_caches[0][0].values())[0]
proton.finalize()
for _ in range(3): compiled[(4, 1, 1)](x, 3, 128)
""")


def test_sessions_of_one_mode_share_what_is_compiled(on_gpu):
    on_gpu("""
one = start(name="one"); two = start("default:granularity=warp", name="two")
assert InstrumentationHook.active_count == 1
launch()
proton.deactivate(one)
assert InstrumentationHook.active_count == 1
proton.deactivate(two)
assert InstrumentationHook.active_count == 0
launch()  # compiled without records
assert len(loop.device_caches[0][0]) == 2
try: start("default:optimizations=clock32", name="three")
except ValueError as error: assert "different mode" in str(error)
else: raise AssertionError("two modes")
proton.finalize()
""")


def test_a_kernel_of_an_earlier_mode(on_gpu):
    """It is loaded when it is launched first; its records are read as it was compiled."""
    on_gpu("""
from goproton._inside import kernels
described = []
real = kernels.described
kernels.described = lambda *a: described.append(real(*a)) or described[-1]
start("default:optimizations=clock32:sampling_strategy=selective:sampling_options=1", name="one")
compiled = loop.warmup(x, 3, B=128, grid=(4,))
proton.finalize()
assert not described
start(name="two")
compiled[(4, 1, 1)](x, 3, 128)
(kernel,) = described
assert kernel["clock32"] and kernel["units"] == [1] and "CLOCK32" not in kernel["mode"] and "clock32" in kernel["mode"], kernel
proton.finalize()
""")


def test_a_forked_child_compiles_without_scopes(on_gpu):
    on_gpu("""
start()
launch()
child = os.fork()
if not child:
    off = not proton.flags.flags.instrumentation_on and "goproton" not in knobs.compilation.instrumentation_mode and InstrumentationHook.active_count == 0
    os._exit(0 if off else 1)
assert os.waitpid(child, 0)[1] == 0
assert slots(launch)[0][0] == 0xdeadbeef
proton.finalize()
""")


def test_next_to_the_launch_hook(on_gpu):
    on_gpu("""
from goproton.hooks import HookManager
start(hook="triton")
runtime = knobs.runtime
assert runtime.launch_enter_hook.calls == [_library.native.launch_enter], runtime.launch_enter_hook.calls
got = slots(launch)
assert got[3][0] == 0xdeadbeef
proton.finalize()
assert runtime.launch_enter_hook.calls == runtime.launch_exit_hook.calls == []
""")


def test_the_limit_is_said(on_gpu):
    on_gpu("""
start()
launch()
launch(1000)
print(problems())
(said,) = problems()
assert "1 launch found no memory" in said and "PROTON_INSIDE_MEMORY=1" in said, said
proton.finalize()
""", PROTON_INSIDE_MEMORY="1")


@pytest.mark.parametrize("blocks, mode", [(1, None), (40, None), (200, None), (200, "default:sampling_strategy=selective:sampling_options=3,1"),
                                          (1000, "default:buffer_size=256")])
def test_only_what_was_written_is_copied(on_gpu, blocks, mode):
    """A buffer that several launches share is copied whole, a large launch by rows. What arrives is what the kernels left."""
    on_gpu(f"""
from goproton._inside import kernels
kept = []
def leave(address, size, metadata):
    fake_kernels.leave(address, size, metadata)
    kept.append((size, metadata))
fake_driver.leave = leave
start({mode!r})
launch({blocks})
for _ in range(3): launch({blocks})
assert problems() == [], problems()
proton.finalize()
tree = json.load(open("profile.hatchet"))
def scopes(node, found):
    if "cycles" in node["metrics"]: found[node["frame"]["name"]] = node["metrics"]["cycles"]
    for child in node["children"]: scopes(child, found)
    return found
found = scopes(tree[0], {{}})
units = 2 if {mode!r} and "selective" in {mode!r} else 4
if found: assert found == {{name: cycles * units * {blocks} * 4 for name, cycles in zip(("whole", "load", "math", "store"), (900, 300, 200, 100))}}, found
""")


def test_another_allocator_is_said(on_gpu):
    on_gpu("""
import ctypes
start()
launch()
memory = ctypes.create_string_buffer(1 << 20)
_allocation.set_profile_allocator(lambda size, alignment, stream: ctypes.addressof(memory))
launch()
(said,) = problems()
assert "another profile allocator" in said, said
proton.finalize()
""")


def test_errors_of_the_driver_are_said_and_the_program_goes_on(on_gpu):
    on_gpu("""
start()
launch()
proton.finalize()
""", PROTON_STUB_RESULTS="cuMemcpy2DAsync_v2=700")
    done = on_gpu("""
start()
launch()
proton.finalize()
""", PROTON_STUB_RESULTS="cuEventQuery=700")
    assert "error 700" in done.stderr


def test_memory_of_the_gpu_is_used_up(on_gpu):
    done = on_gpu("""
start()
launch()
""", check=False, PROTON_STUB_RESULTS="cuMemAlloc_v2=2")
    assert "RuntimeError: the GPU has no memory for the records of scopes inside a kernel" in done.stderr


def test_threads_and_streams(on_gpu):
    on_gpu("""
start()
launch()
streams = [fake_gpu.stream() for _ in range(4)]
def work():
    fake_gpu.use()
    for n in range(100): launch(1 + n % 7)
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
proton.deactivate(flushing=True)
assert problems() == [], problems()
proton.finalize()
""")


def test_a_deactivated_session_leaves_cupti(on_gpu):
    """Between two launches of one kernel, whose scopes are counted before and after, and not between."""
    on_gpu(RIVAL + """
import time
session = start()
launch()
proton.deactivate(session)
assert leaves(work=launch)
proton.activate(session)
assert not rival()
launch(); launch()
proton.deactivate(session, flushing=True)
assert leaves(work=lambda: launch(kernel=plain))
assert problems() == [], problems()
proton.finalize()
""", PROTON_STUB_FULL="1")
    kernel = at(load(on_gpu.folder / "profile.hatchet"), "loop")
    (whole,) = kernel["children"]
    assert kernel["metrics"]["count"] == 3 and sum(n for _, n, _ in whole["inside"]["scope"]["by_sm"]) == 3 * 16, kernel


@pytest.mark.parametrize("mode", ["default:granularity=warp", "default:optimizations=clock32,sched_stores", "mma", "default:buffer_type=global:buffer_size=512",
                                  "default:sampling_strategy=selective:sampling_options=2,0"])
def test_modes_compile(on_gpu, mode):
    on_gpu(f"""
start({mode!r})
assert slots(launch) is not None
proton.finalize()
""")


def test_what_is_known_of_a_kernel(on_gpu):
    done = on_gpu(r"""
from goproton._inside import kernels
@triton.jit
def helper(x):
    with pl.scope("in helper"):
        y = x + 1
    return y
@triton.jit
def odd(x, B: tl.constexpr):
    i = tl.arange(0, B)
    with pl.scope('é " \\ 名 \n'):
        v = helper(helper(tl.load(x + i)))
    with pl.scope("again"):
        tl.store(x + i, v)
    with pl.scope("again"):
        tl.store(x + i + B, v)
described = []
real = kernels.described
kernels.described = lambda *a: described.append(real(*a)) or described[-1]
start("default:sampling_strategy=selective:sampling_options=3,1,9")
odd[(2,)](x, B=128)
kernel = described[-1]
print(json.dumps(kernel))
proton.finalize()
""")
    kernel = json.loads(done.stdout.splitlines()[-1])
    assert [(s["id"], s["name"], s["parent"]) for s in kernel["scopes"]] == [
        (0, 'é " \\ 名 \n', -1), (1, "in helper", 0), (2, "in helper", 0), (3, "again", -1), (4, "again", -1)]
    source = (on_gpu.folder / "script.py").read_text().splitlines()
    text = [source[s["line"] - 1].strip() for s in kernel["scopes"]]
    assert text[1].startswith("with pl.scope(\"in helper\")") or "x + 1" in text[1], text
    assert all(s["file"].endswith("script.py") for s in kernel["scopes"])
    assert kernel["units"] == [1, 3] and kernel["warps"] == 4 and kernel["slot_size"] % 128 == 0
    assert "names warps that it does not have" in done.stderr


def test_kernel_without_line_information(on_gpu):
    on_gpu("""
start()
assert slots(launch) is not None
proton.finalize()
""", TRITON_DISABLE_LINE_INFO="1")


def test_only_binaries_are_kept(on_gpu):
    done = on_gpu("""
start()
launch()
proton.finalize()
""", TRITON_STORE_BINARY_ONLY="1")
    assert "have numbers instead of names" in done.stderr


def test_a_scope_that_is_left_open(on_gpu):
    on_gpu("""
@triton.jit
def open_scope(x, B: tl.constexpr):
    i = tl.arange(0, B)
    pl.enter_scope("open")
    tl.store(x + i, tl.load(x + i))
start()
open_scope[(2,)](x, B=128)
launch()
proton.finalize()
""")


def test_functions_that_are_not_inlined(on_gpu):
    """Triton's passes refuse such a module: the kernel runs without scopes, and others have theirs."""
    done = on_gpu("""
@triton.jit(noinline=True)
def helper(x, B: tl.constexpr):
    with pl.scope("within"):
        tl.store(x, tl.load(x) + 1)

@triton.jit
def calling(x, n, B: tl.constexpr):
    with pl.scope("whole"):
        helper(x, B)
        helper(x + 1, B)

start()
assert slots(lambda: launch(kernel=calling)) is None
(compiled,) = calling.device_caches[0][0].values()
assert compiled.metadata.profile_scratch_size == 0 and "clock" not in compiled.asm["ptx"]
assert slots(launch)[0][0] == 0xdeadbeef
proton.finalize()
""")
    assert "kernel calling has no scopes: it calls functions that are not inlined" in done.stderr
    assert "error:" not in done.stderr and "IR" not in done.stderr


def test_events_of_a_kernel_that_calls_functions(on_gpu):
    if on_gpu.version == "3.6.0":
        pytest.skip("Triton 3.6 has no events")
    done = on_gpu("""
@triton.jit(noinline=True)
def helper(x):
    tl.store(x, tl.load(x) + 1)

@triton.jit
def calling(x, n, B: tl.constexpr):
    event = pl.allocate_event("first")
    pl.start_event(event)
    for i in range(n):
        pl.end_event(event)
        event = pl.allocate_event("next")
        pl.start_event(event)
        helper(x + i)
    pl.end_event(event)

start()
launch(kernel=calling)
proton.finalize()
""")
    assert "kernel calling has no scopes: it calls functions that are not inlined" in done.stderr


def test_a_buffer_that_the_compiler_refuses(on_gpu):
    done = on_gpu("""
start("default:buffer_size=1000")
assert slots(launch) is None
proton.finalize()
""")
    assert "kernel loop has no scopes: Triton could not compile it with them" in done.stderr


def test_loops_that_triton_divides_between_warps(on_gpu):
    done = on_gpu("""
@triton.jit
def divided(x, n, B: tl.constexpr):
    a = tl.make_tensor_descriptor(x, [1024, 64], [64, 1], [64, 64])
    b = tl.make_tensor_descriptor(x, [1024, 64], [64, 1], [64, 64])
    total = tl.zeros((64, 64), tl.float32)
    with pl.scope("around"):
        for k in tl.range(0, n, 64, warp_specialize=True):
            with pl.scope("turn"):
                total = tl.dot(a.load([k, 0]), b.load([k, 0]).T, total)
    i = tl.arange(0, 64)
    tl.store(x + i[:, None] * 64 + i[None, :], total)

triton.set_allocator(lambda size, alignment, stream: Tensor())
start()
compiled = divided.warmup(x, 3, B=128, grid=(1,))
assert "ttg.warp_specialize(" in compiled.asm["ttgir"]
launch(kernel=divided)
proton.finalize()
""")
    assert "kernel divided has scopes of its own, which Triton does not keep in place" in done.stderr and "those in the loop (turn)" in done.stderr


def test_scopes_need_their_language_enabled(on_gpu):
    done = on_gpu("""
pl.disable_semantic("triton")
start()
try: launch()
except Exception as error: print("refused", error.__cause__ or error)
proton.finalize()
launch()  # without a session the scopes are nothing
""")
    assert "refused" in done.stdout and "Unsupported semantic type" in done.stdout + done.stderr


@pytest.mark.parametrize("mode, error", [("default:granularity=thread", "Unknown granularity: thread; use cta, warp"), ("fast", "Unknown mode: fast; use default or mma"),
                                         ("default:clock32", "Malformed instrumentation option: 'clock32'"),
                                         ("default:optimizations=fast", "Unknown optimization: fast")])
def test_modes_that_do_not_exist(proton, mode, error):
    with pytest.raises(ValueError, match=error):
        proton.start("p", backend="instrumentation", mode=mode)


def test_a_triton_with_other_passes(on_gpu):
    on_gpu("""
from triton._C import libtriton
class Other: load_dialects = get_scope_id_names = get_scope_id_parents = None
sys.modules["triton._C.libtriton.proton"] = libtriton.proton = Other
try: start()
except RuntimeError as error: said = str(error)
assert "its passes differ, create_proton_record" in said and triton.__version__ in said and "3.6 to 3.9" in said, said
""")


def test_direct_callers(on_gpu):
    on_gpu("""
import ctypes
from triton._C.libproton import proton as native
metadata = {"profile_scratch_size": 4224, "num_warps": 4, "target": {"backend": "cuda", "arch": 90}}
with open("kernel.json", "w") as file: json.dump(metadata, file)
session = native.start("direct", "shadow", "tree", "instrumentation", "cuda:default")
native.init_function_metadata(4711, "mine", [(0, "a"), (1, "b")], [(0, -1), (1, 0)], "kernel.json")
memory = ctypes.c_uint64()
assert fake_gpu.cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4 * 4224)) == 0
import types
fake_kernels.leave(memory.value, 4 * 4224, types.SimpleNamespace(**metadata))
native.enter_instrumented_op(0, 4711, memory.value, 4 * 4224)
def exits(): native.exit_instrumented_op(0, 4711, memory.value, 4 * 4224)
assert slots(exits)[3][:2] == (0xdeadbeef, 3)
native.destroy_function_metadata(4711)
exits()
native.finalize(session, "")
""")


def test_memory_of_another_gpu(on_gpu):
    on_gpu("""
import ctypes, types
from triton._C.libproton import proton as native
metadata = {"profile_scratch_size": 4224, "num_warps": 4, "target": {"backend": "cuda", "arch": 90}}
with open("kernel.json", "w") as file: json.dump(metadata, file)
session = native.start("direct", "shadow", "tree", "instrumentation", "cuda:default")
native.init_function_metadata(4711, "mine", [(0, "a")], [(0, -1)], "kernel.json")
memory = ctypes.c_uint64()
assert fake_gpu.cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4 * 4224)) == 0
native.enter_instrumented_op(0, 4711, memory.value, 4 * 4224)
native.exit_instrumented_op(0, 4711, memory.value, 4 * 4224)
(said,) = problems()
assert "1 launch got memory of another GPU than the one that ran it" in said, said
native.finalize(session, "")
""", PROTON_STUB_RESULTS="cuPointerGetAttribute=1")
