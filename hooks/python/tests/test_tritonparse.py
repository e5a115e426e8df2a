"""TritonParse traces in real Triton releases: they compile without a GPU, and their hooks can be called like launches."""

import glob
import gzip
import json
import os
import signal
import subprocess
import sys

import pytest
from conftest import PATIENCE, REPOSITORY, TESTS, run_python

# Kernels live in a file: Triton reads their source.
KERNELS = '''
import sys, types
import fake_driver
import triton, triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, LazyDict

fake_driver.quick_keys()

SCALE = tl.constexpr(2.0)
OFFSET = tl.constexpr(3)

@triton.constexpr_function
def twice(n):
    return n * 2

@triton.jit
def inner(x):
    return x * SCALE

@triton.jit
def helper(x):
    return inner(x) + OFFSET

@triton.jit
def add_kernel(x, y, n, B: tl.constexpr = 128):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, helper(tl.load(x + i, mask=i < n)), mask=i < twice(B))

def compiled(B=128):
    src = ASTSource(fn=add_kernel, signature={"x": "*fp32", "y": "*fp32", "n": "i32", "B": "constexpr"}, constexprs={(3,): B})
    return triton.compile(src, target=GPUTarget("cuda", 90, 32))

def launch(kernel, *args, grid=(4, 1), function=0x1234):
    """What Triton does with its hook before a launch. Returns the metadata, as hooks after ours find them."""
    lazy = LazyDict({"name": kernel.name, "function": function, "stream": 7})
    fn = kernel.src.fn
    if fn.launch_metadata is not None:
        lazy.add(fn.launch_metadata, (grid, kernel.metadata, dict(zip(fn.arg_names, args))))
    if knobs.runtime.launch_enter_hook is not None:
        knobs.runtime.launch_enter_hook(lazy)
    return lazy
'''

FAKE_TORCH = '''
torch = types.ModuleType("torch")
class dtype:
    itemsize = 2
    def __str__(self): return "torch.float16"
torch.dtype = dtype
half = dtype()
class Tensor:
    dtype, device, is_cuda = half, "cuda:1", True
    def __init__(self, shape, strides, offset=0, address=0x7f0000000000):
        self.shape, self._strides, self._offset, self._address = shape, strides, offset, address
    def stride(self): return self._strides
    def storage_offset(self): return self._offset
    def data_ptr(self): return self._address
    def get_device(self): return 1
    def numel(self):
        n = 1
        for m in self.shape: n *= m
        return n
    def element_size(self): return 2
    def is_contiguous(self): return False
class FakeTensor(Tensor):
    def data_ptr(self): raise RuntimeError("no data")
torch.Tensor = Tensor
sys.modules["torch"] = torch
'''


@pytest.fixture
def traced(library, triton, tmp_path):
    """Runs code after the kernels above, with a fresh cache; returns the records of the folder "out"."""
    (tmp_path / "kernels.py").write_text(KERNELS)

    def go(code, check=True, **env):
        env = {"PROTON_LIB": library, "TRITON_CACHE_DIR": str(tmp_path / "cache"), "USER": "me", **env}
        done = run_python("from kernels import *\n" + code, path=[tmp_path, triton], env=env, cwd=tmp_path, check=check)
        return records(tmp_path / "out"), done

    go.triton = triton.name
    go.folder = tmp_path
    return go


def records(folder):
    """Traces that were written with compression "none" or "gzip"."""
    found = []
    for path in sorted(glob.glob(f"{folder}/dedicated_log_triton_trace_me_*")):
        text = open(path, "rb").read()
        found += map(json.loads, (gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text).decode().splitlines())
    return found


BEGIN = "from goproton import trace\nt = trace.init('out', compression='none')\n"


def of(records, kind):
    return [r for r in records if r["event_type"] == kind]


def test_a_compilation(traced):
    found, _ = traced(BEGIN + "compiled()\nprint(trace.finalize())\n")
    (record,) = found
    payload, ours = record["payload"], record["goproton"]
    assert list(record) == ["event_type", "pid", "stack", "timestamp", "payload", "goproton"]
    assert list(payload) == ["metadata", "file_path", "file_content", "python_source"]
    assert payload["metadata"]["cache_hit"] is False and payload["metadata"]["src_constants"] == {"(3,)": 128}
    assert set(payload["metadata"]["times"]) == {"ir_initialization", "lowering_stages", "store_results"}
    assert {name.split(".")[1] for name in payload["file_content"]} == {"ttir", "ttgir", "llir", "ptx", "json"}
    source = payload["python_source"]
    assert source["code"].startswith("@triton.jit\ndef add_kernel") and source["file_path"].endswith("kernels.py")
    assert record["stack"][0]["loc"] == "" and record["stack"][-1]["name"] == "compile"
    assert ours["function"] == "add_kernel" and ours["module"] == "kernels"
    assert ours["params"][3] == {"name": "B", "constexpr": True, "default": 128}
    assert [(d["name"], d["kind"]) for d in ours["dependencies"]] == [("helper", "jit"), ("inner", "jit"), ("twice", "constexpr_function")]
    assert {(g["name"], g["owner"], g["value"]) for g in ours["globals"] if g["type"] != "module"} == {("SCALE", "inner", 2.0), ("OFFSET", "helper", 3)}
    with open(traced.folder / "out" / ours["cubin"], "rb") as cubin:
        assert cubin.read(4) == b"\x7fELF"


def test_functions_that_a_kernel_gets_as_arguments(traced):
    """Each compilation names its own, with what they use."""
    (traced.folder / "given.py").write_text("""
from kernels import *

@triton.jit
def apply_kernel(x, FN: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, FN(tl.load(x + i)))
""")
    found, done = traced(BEGIN + """
from given import apply_kernel
from triton.language.standard import sigmoid
def build(function):
    src = ASTSource(fn=apply_kernel, signature={"x": "*fp32", "FN": "constexpr", "B": "constexpr"}, constexprs={(1,): function, (2,): 64})
    triton.compile(src, target=GPUTarget("cuda", 90, 32))
def plainly(x): return x
plainly.__module__ = "triton.language.standard"
for function in helper, inner, sigmoid:
    build(function)
from goproton._trace.source import Uses
print(Uses(apply_kernel, [plainly]).globals[-1]["value"])
trace.finalize()
""")
    assert done.stdout == "triton.language.standard:plainly\n"
    assert [[d["name"] for d in r["goproton"]["dependencies"]] for r in found] == [["helper", "inner"], ["inner"], []]
    assert {"name": "sigmoid", "owner": "apply_kernel", "type": "import", "value": "triton.language.standard:sigmoid"} in found[2]["goproton"]["globals"]


def test_how_a_kernel_is_tuned_and_named_is_not_what_it_uses(traced):
    (traced.folder / "tuned.py").write_text("""
import json, sys
import triton, triton.language as tl

SHIFT: tl.constexpr = tl.constexpr(4)
CONFIGS = [triton.Config({"B": 64}), triton.Config({"B": 128})]
STEADY = ["n"]

def bench(call, quantiles):
    return json.loads(sys.argv[1])

def named(grid, metadata, args):
    return {"name": json.dumps(grid)}

@triton.autotune(configs=CONFIGS, key=["n"], do_bench=bench)
@triton.jit(launch_metadata=named, do_not_specialize=STEADY)
def tuned(x, n, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), SHIFT)
""")
    found, _ = traced(BEGIN + """
from tuned import tuned
src = ASTSource(fn=tuned.fn, signature={"x": "*fp32", "n": "i32", "B": "constexpr"}, constexprs={(2,): 64})
triton.compile(src, target=GPUTarget("cuda", 90, 32))
trace.finalize()
""")
    ours = found[0]["goproton"]
    assert ours["dependencies"] == []
    assert {g["name"] for g in ours["globals"]} == {"tl", "SHIFT"} and ours["options"] == {"do_not_specialize": ["n"]}
    assert [d["name"] for d in ours["tuning"]["dependencies"]] == ["bench"]
    configs = next(g for g in ours["tuning"]["globals"] if g["name"] == "CONFIGS")
    assert [c["fields"]["kwargs"]["entries"][0][1]["value"] for c in configs["described"]["items"]] == [64, 128]


def test_a_cache_hit_and_sass(traced):
    found, _ = traced("compiled()\nfrom goproton import trace\nadd_kernel.device_caches.clear()\nimport gc; gc.collect()\n"
                      "trace.init('out', compression='gzip', sass=True, full_source=True)\ncompiled()\ntrace.finalize()\n")
    record = of(found, "compilation")[-1]["payload"]
    assert record["metadata"]["cache_hit"] is True
    assert record["file_content"]["add_kernel.sass"].startswith("Function:add_kernel\n") and "EXIT" in record["file_content"]["add_kernel.sass"]
    assert record["python_source"]["start_line"] == 1 and record["python_source"]["code"] == KERNELS


def test_launches(traced):
    found, _ = traced(FAKE_TORCH + BEGIN + """
from triton.tools.tensor_descriptor import TensorDescriptor
k = compiled()
x = Tensor((8, 1, 2), (2, 99, 1), offset=3)
launch(k, x, Tensor((4,), (2,)), 5, 128)
launch(k, FakeTensor((4,), (1,)), None, 1 << 70, True)
launch(k, tl.float32, float("nan"), "text", (1, 2), grid=[3], function=None)
d = TensorDescriptor.__new__(TensorDescriptor)
d.base, d.shape, d.strides, d.block_shape, d.padding = x, [8, 16], [16, 1], [8, 16], "nan"
launch(k, d, float("-inf"), 1.5, False, grid=(2, 3, 4), function="text")
trace.finalize()
""")
    first, second, third, fourth = of(found, "launch")
    assert list(first) == ["event_type", "pid", "name", "function", "stream", "grid", "compilation_metadata", "extracted_args",
                           "extracted_inductor_args", "stack", "timestamp", "goproton"]
    assert (first["name"], first["function"], first["stream"], first["grid"]) == ("add_kernel", 0x1234, 7, [4, 1])
    assert first["extracted_args"]["x"] == {
        "type": "tensor", "shape": [8, 1, 2], "dtype": "torch.float16", "device": "cuda:1", "stride": [2, 99, 1], "numel": 16,
        "is_contiguous": True, "element_size": 2, "storage_offset": 3, "memory_usage": 32, "data_ptr": "0x7f0000000000"}
    assert first["extracted_args"]["y"]["is_contiguous"] is False
    assert first["extracted_args"]["n"] == {"type": "int", "value": 5}
    assert first["stack"][-1]["name"] == "launch" and "launch_enter_hook(lazy)" in first["stack"][-1]["loc"]
    assert "data_ptr" not in second["extracted_args"]["x"] and second["extracted_args"]["x"]["shape"] == [4]
    assert second["extracted_args"]["y"] == {"type": "NoneType", "repr": "None"}
    assert second["extracted_args"]["n"] == {"type": "int", "value": 1 << 70}
    assert second["extracted_args"]["B"] == {"type": "bool", "value": True}
    assert third["extracted_args"] == {
        "x": {"type": "dtype", "repr": "fp32"}, "y": {"type": "float", "value": "nan"},
        "n": {"type": "str", "value": "text", "length": 4},
        "B": {"type": "tuple", "repr": "(1, 2)", "items": [{"type": "int", "value": 1}, {"type": "int", "value": 2}]}}
    assert third["function"] is None and third["grid"] == [3]
    assert fourth["extracted_args"]["x"]["type"] == "TensorDescriptor" and fourth["extracted_args"]["x"]["padding"] == "nan"
    assert fourth["extracted_args"]["x"]["base"] == first["extracted_args"]["x"]
    assert [r["goproton"]["timestamp"]["sequence"] for r in (first, second, third, fourth)] == [1, 2, 3, 4]
    assert first["compilation_metadata"]["hash"] == of(found, "compilation")[0]["payload"]["metadata"]["hash"]


def test_what_others_find_in_the_metadata(traced):
    traced(BEGIN + """
k = compiled()
lazy = launch(k, None, None, 1, 128)
assert lazy.extras == [] and lazy.get() == {"name": "add_kernel", "function": 0x1234, "stream": 7}
calls = []
def mine(grid, metadata, args):
    calls.append(args["n"])
    return {"flops": 3}
add_kernel.launch_metadata = mine
lazy = launch(k, None, None, 2, 128)
assert calls == [] and lazy.get()["flops"] == 3 and calls == [2]
trace.finalize()
assert add_kernel.launch_metadata is mine
""")
    found = of(records(traced.folder / "out"), "launch")
    assert [r["extracted_args"]["n"]["value"] for r in found] == [1, 2]


def test_kernels_from_before_and_everything_put_back(traced):
    found, done = traced("k = compiled()\nbefore = vars(knobs.runtime).get('launch_enter_hook')\n" + BEGIN + """
launch(k, None, None, 1, 128)
trace.finalize()
assert add_kernel.launch_metadata is None and knobs.compilation.listener is None
assert not getattr(knobs.runtime.launch_enter_hook, "calls", None)
launch(k, None, None, 2, 128)
with trace.init("out", compression="none", launches=False): launch(k, None, None, 3, 128)
with trace.init("out", compression="none", kernels="mul*, sub?"): launch(k, None, None, 4, 128)
with trace.init("out", compression="none", kernels="mul*,add*"): launch(k, None, None, 5, 128)
""")
    assert [r["extracted_args"]["n"]["value"] for r in of(found, "launch")] == [1, 5]
    assert len(of(found, "compilation")) == 3, "the kernel was there before each of the three that wanted it"


def test_another_listener_and_tritonparse_itself(traced):
    """tritonparse.structured_logging sets Triton's slots: this stands for it, as it needs torch."""
    (traced.folder / "tritonparse").mkdir()
    (traced.folder / "tritonparse" / "__init__.py").write_text("")
    (traced.folder / "tritonparse" / "structured_logging.py").write_text("""
from triton import knobs
seen = []
class Launch:
    def __call__(self, metadata): seen.append(("launch", metadata.get().get("theirs")))
def metadata_of(grid, metadata, args): return {"theirs": args["n"]}
def listener(**kwargs):
    seen.append(("compilation", kwargs["cache_hit"]))
    kwargs["src"].fn.launch_metadata = metadata_of
def init_basic(): knobs.compilation.listener = listener
def enable_launch_tracing(): knobs.runtime.launch_enter_hook = Launch()
def disable_launch_tracing(): knobs.runtime.launch_enter_hook = None
def clear_logging_config():
    disable_launch_tracing()
    knobs.compilation.listener = None
def init(): init_basic(); enable_launch_tracing()
""")
    for order in ("trace.init('out', compression='none'); theirs.init()", "theirs.init(); trace.init('out', compression='none')"):
        traced("from goproton import trace\nimport tritonparse.structured_logging as theirs\n" + order + """
launch(compiled(64), None, None, 1, 64)
assert theirs.seen in ([("compilation", False), ("launch", 1)], [("compilation", True), ("launch", 1)]), theirs.seen
theirs.clear_logging_config()
launch(compiled(64), None, None, 2, 64)
trace.finalize()
assert knobs.compilation.listener is None and not getattr(knobs.runtime.launch_enter_hook, "calls", None)
""")
    found = records(traced.folder / "out")
    assert [r["extracted_args"]["n"]["value"] for r in of(found, "launch")] == [1, 2, 1, 2]
    assert len(of(found, "compilation")) == 4


def test_autotune_records(traced):
    if traced.triton == "triton-3.6.0":
        pytest.skip("needs a Triton with a listener of autotuning: 3.6.0 has none")
    found, _ = traced(BEGIN + """
best = triton.Config({"B": 128})
knobs.autotuning.listener(fn=add_kernel, key=(1, "x"), best_config=best, configs_timings={best: [1.5, 1.0, float("inf")]},
                          duration=None, cache_hit=False)
print(trace.finalize())
assert knobs.autotuning.listener is None
""")
    (record,) = found
    assert list(record) == ["event_type", "pid", "kernel_name", "cache_key", "best_config", "configs_timings", "duration", "cache_hit",
                            "autotune_key", "stack", "timestamp"]
    assert record["kernel_name"] == "add_kernel" and record["autotune_key"] == "(1, 'x')"
    assert list(record["configs_timings"].values()) == [[1.5, 1.0, "inf"]]


def test_the_rank_changes_the_file(traced):
    found, _ = traced("""
c10d = types.ModuleType("torch.distributed.distributed_c10d")
c10d._world = types.SimpleNamespace(_default_pg=None)
distributed = types.ModuleType("torch.distributed")
distributed.is_available = lambda: True
distributed.is_initialized = lambda: c10d._world._default_pg is not None
distributed.get_rank = lambda: 3
sys.modules.update({"torch.distributed": distributed, "torch.distributed.distributed_c10d": c10d})
""" + BEGIN + """
k = compiled()
launch(k, None, None, 1, 128)
c10d._world._default_pg = object()
launch(k, None, None, 2, 128)
trace.finalize()
""")
    ranks = {path.name.split("_rank_")[1].split("_")[0] for path in (traced.folder / "out").glob("dedicated*")}
    assert ranks == {"none", "3"} and len(of(found, "launch")) == 2


def test_a_forked_child_is_silent(traced):
    found, _ = traced(BEGIN + """
import os
k = compiled()
child = os.fork()
launch(k, None, None, 1, 128)
if not child:
    trace.finalize()
    os._exit(0)
os.waitpid(child, 0)
trace.finalize()
""")
    assert len(of(found, "launch")) == 1


def test_what_goes_wrong_is_said(library, triton, tmp_path):
    (tmp_path / "file").write_text("")
    done = run_python("""
import sys, types
from goproton import trace
for arguments in (dict(), dict(folder="out", launches="some"), dict(folder="out", compression="rar"), dict(folder="file/out")):
    try:
        trace.init(**arguments)
    except (ValueError, OSError) as error:
        print(type(error).__name__, error)
assert trace.finalize() == {}
sys.modules["triton"] = types.SimpleNamespace(__version__="3.2.0")
try:
    trace.init("out")
except RuntimeError as error:
    print(error)
""", env={"PROTON_LIB": library}, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "ValueError no folder for the trace: pass one, or set PROTON_TRACE",
        "ValueError launches='some' is not known: use True, 'profiled' or False",
        "ValueError compression='rar' is not known: use 'zstd', 'gzip' or 'none'",
        f"OSError make the trace folder: mkdir {tmp_path}/file: not a directory; choose another folder",
        "Triton 3.2.0 does not report what it compiles: traces need Triton 3.4 or newer",
    ]


VARIABLES = {"TRITON_TRACE_COMPRESSION": "none", "TRITON_FULL_PYTHON_SOURCE": "1", "TRITONPARSE_KERNEL_ALLOWLIST": "add*", "TRITON_MAX_SOURCE_SIZE": "5"}


def test_variables_of_tritonparse(traced):
    """They stand for arguments that are not given."""
    found, done = traced("from goproton import trace\nwith trace.init(): launch(compiled(), None, None, 1, 128)\n", **VARIABLES, TRITON_TRACE="out",
                         TRITON_TRACE_LAUNCH="0")
    (record,) = found
    assert "import sys" in record["payload"]["python_source"]["code"], "the whole file"
    assert done.stderr.count("TRITON_MAX_SOURCE_SIZE=5 has no effect: ") == 1
    found, _ = traced("from goproton import trace\nwith trace.init(kernels='none', launches=True, full_source=False): compiled()\n", **VARIABLES, TRITON_TRACE="out")
    assert len(found) == 1, "arguments win"


def test_variables_of_tritonparse_and_proton_run(traced, library, monkeypatch):
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TRITON_TRACE_LAUNCH", "0")
    done, found = proton_run(traced, library, "launch(compiled(), None, None, 1, 128)\n", "--trace-kernels", "add_kernel")
    assert [r["event_type"] for r in found] == ["compilation"] and "import sys" in found[0]["payload"]["python_source"]["code"]
    assert done.stderr.count("proton: warning: trace: TRITON_MAX_SOURCE_SIZE=5 has no effect: ") == 1
    done, found = proton_run(traced, library, "launch(compiled(), None, None, 1, 128)\n", "--trace-launches", "all")
    assert "traced 1 compilation, 1 launch" in done.stderr, "flags win"


def proton_run(traced, library, code, *flags):
    """`proton run --trace out` of a script; returns how it ended and the records."""
    command = REPOSITORY / "build" / "proton"
    if not command.exists():
        pytest.skip("proton is not built; make build")
    (traced.folder / "script.py").write_text("import sys\nsys.path.insert(0, sys.path[0])\nfrom kernels import *\n" + code)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [TESTS, REPOSITORY / ".venv" / "oracles" / traced.triton])), "PROTON_LIB": library, "USER": "me",
           "TRITON_CACHE_DIR": str(traced.folder / "cache"), "PYTHON": sys.executable}
    done = subprocess.run([str(command), "run", "--allow-empty", "--trace", "out", "--trace-compression", "none", *flags, "script.py"],
                          env=env, cwd=traced.folder, capture_output=True, text=True, timeout=PATIENCE)
    return done, records(traced.folder / "out")


def test_proton_run(traced, library):
    done, found = proton_run(traced, library, "launch(compiled(), None, None, 1, 128)\n")
    assert done.returncode == 0, done.stderr
    assert "proton: traced 1 compilation, 1 launch; wrote out; view: proton trace info out" in done.stderr
    (file,) = (traced.folder / "out").glob("*.ndjson")
    (said,) = (line for line in done.stderr.splitlines() if file.name in line)
    amount, unit = said.split()[-2:]
    assert round(file.stat().st_size / {"B": 1, "kB": 1000}[unit]) == round(float(amount)), said
    assert sorted(r["event_type"] for r in found) == ["compilation", "launch"]
    assert not list((traced.folder / "out").glob(".*")), "the spool is gone"


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_proton_run_of_a_program_that_is_killed(traced, library, by):
    done, found = proton_run(traced, library, f"import os\nlaunch(compiled(), None, None, 1, 128)\nos.kill(os.getpid(), {int(by)})\n", "--trace-sass")
    assert done.returncode == -by
    assert sorted(r["event_type"] for r in found) == ["compilation", "launch"]
    assert "add_kernel.sass" in of(found, "compilation")[0]["payload"]["file_content"]


def test_proton_trace_completes_what_a_program_left(traced):
    command = REPOSITORY / "build" / "proton"
    if not command.exists():
        pytest.skip("proton is not built; make build")
    traced(BEGIN + "import os\nlaunch(compiled(), None, None, 1, 128)\nos.kill(os.getpid(), 9)\n", check=False)
    info = [subprocess.run([str(command), "trace", "info", "out"], cwd=traced.folder, capture_output=True, text=True, check=True) for _ in range(2)]
    assert "completed the traces of 1 process in out that ended without it" in info[0].stderr and info[1].stderr == ""
    assert info[0].stdout == info[1].stdout and "add_kernel" in info[0].stdout
    assert sorted(r["event_type"] for r in records(traced.folder / "out")) == ["compilation", "launch"]


def test_only_while_something_profiles(traced):
    found, _ = traced("""
profiler = types.ModuleType("torch.autograd.profiler")
profiler._is_profiler_enabled = False
sys.modules["torch.autograd.profiler"] = profiler
from goproton import trace
import goproton
trace.init("out", compression="none", launches="profiled")
k = compiled()
launch(k, None, None, 1, 128)
profiler._is_profiler_enabled = True
launch(k, None, None, 2, 128)
profiler._is_profiler_enabled = False
session = goproton.start("profile")
launch(k, None, None, 3, 128)
goproton.deactivate(session)
launch(k, None, None, 4, 128)
trace.finalize()
""")
    assert [r["extracted_args"]["n"]["value"] for r in of(found, "launch")] == [2, 3]


def test_wrappers_of_triton_kernels(traced):
    found, _ = traced(FAKE_TORCH + """
def of_kernels(kind, **members):
    base = type("Layout", (), {"__module__": "triton_kernels.layout"}) if kind.endswith("Layout") else object
    made = type(kind, (base,), {"__module__": "triton_kernels.tensor"})()
    vars(made).update(members)
    return made
""" + BEGIN + """
layout = of_kernels("StridedLayout", initial_shape=[2, 3], name=None)
wrapped = of_kernels("Tensor", shape=[2, 3], shape_max=[2, 4], dtype=half,
                     storage=of_kernels("Storage", data=Tensor((2, 3), (3, 1)), layout=layout))
launch(compiled(), wrapped, None, 1, 128)

# As it is in 2026: layouts are dataclasses, and a size may be computed on the GPU.
import dataclasses
class Layout: pass
Layout.__module__ = "triton_kernels.tensor_details.layout_details.base"
@dataclasses.dataclass(frozen=True)
class HopperMXValueLayout(Layout):
    mx_axis: int
    mma_version: int
    name = "HOPPER_VALUE"
storage = of_kernels("Storage", data=Tensor((2, 3), (3, 1)), layout=HopperMXValueLayout(-2, 3))
launch(compiled(), of_kernels("Tensor", shape=[Tensor((), ()), 3], shape_max=[2, 3], dtype=half, storage=storage), None, 1, 128)
trace.finalize()
""")
    record, later = of(found, "launch")
    described = later["extracted_args"]["x"]
    assert described["storage"]["layout"] == {"type": "HopperMXValueLayout", "name": "HOPPER_VALUE", "mx_axis": -2, "mma_version": 3}
    assert described["shape"] == ["Tensor(shape=(), dtype=torch.float16, device='cuda:1', stride=())", 3]
    described = record["extracted_args"]["x"]
    assert described["type"] == "triton_kernels.tensor.Tensor" and described["shape_max"] == [2, 4] and described["dtype"] == "torch.float16"
    assert described["storage"]["type"] == "triton_kernels.tensor.Storage" and described["storage"]["data"]["numel"] == 6
    assert described["storage"]["layout"] == {"type": "StridedLayout", "initial_shape": [2, 3], "name": None}


def test_proton_run_that_traces_nothing_says_why(traced, library):
    done, _ = proton_run(traced, library, "pass\n")
    assert "proton: nothing was traced: Triton was imported, and compiled and launched nothing" in done.stderr
    (traced.folder / "out" / "x").write_text("")
    done, _ = proton_run(traced, library, "pass\n", "--trace", "out/x/y")
    assert done.returncode == 0 and "proton: nothing was traced: make the trace folder: mkdir" in done.stderr


def test_tritonparse_reads_what_we_write(tmp_path):
    oracle = REPOSITORY / ".venv" / "oracles" / "tritonparse-0.6.0"
    if not oracle.exists():
        pytest.skip(f"{oracle} is not there; make oracles")
    code = "import sys; from tritonparse.parse.utils import unified_parse; unified_parse(sys.argv[1], out=sys.argv[2], overwrite=True)"
    for case in ("zstd", "vector_add"):
        source, out = REPOSITORY / "testdata" / "traces" / case / "goproton", tmp_path / case
        subprocess.run([sys.executable, "-c", code, str(source), str(out)], env={**os.environ, "PYTHONPATH": str(oracle)}, check=True,
                       capture_output=True, timeout=PATIENCE)
        (parsed,) = out.glob("*_mapped.ndjson.gz")
        kinds = [json.loads(line)["event_type"] for line in gzip.decompress(parsed.read_bytes()).splitlines()]
        assert kinds.count("compilation") == 1 and kinds.count("launch") == 3
