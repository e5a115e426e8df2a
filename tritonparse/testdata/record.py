"""Records dedicated_log_triton_trace_gfx942_ and …_sm90_: tritonparse writes what Triton compiled, without a GPU.

  python record.py TRITON TRITONPARSE OUT    # folders with these packages, and the folder for the traces

Launches are what the driver would have been given: there is none here, so tritonparse's launch hook is called with them.
"""

import os
import pathlib
import shutil
import sys
import traceback
import types

here = pathlib.Path(__file__).parent
site = pathlib.Path("/tmp/goproton/site")  # no path of whoever records gets into the trace
shutil.rmtree("/tmp/goproton", ignore_errors=True)
site.mkdir(parents=True)
for package in pathlib.Path(sys.argv[1]).resolve().glob("triton*"):  # with its dist-info, where Triton finds its backends
    (site / package.name).symlink_to(package)
shutil.copy(here / "kernels.py", "/tmp/goproton/kernels.py")
sys.path[:0] = [str(site), "/tmp/goproton", sys.argv[2]]
os.environ.update(TRITON_CACHE_DIR="/tmp/goproton/cache", USER="goproton", TRITONPARSE_DUMP_SASS="1", HOSTNAME="host")


def stub_torch():
    """tritonparse asks torch for the compilation and the rank; there is neither."""
    torch = types.ModuleType("torch")
    torch.dtype = type("dtype", (), {})
    torch.Tensor = type("Tensor", (), {})
    torch.distributed = types.ModuleType("torch.distributed")
    torch.distributed.is_available = lambda: False
    torch._guards = types.SimpleNamespace(CompileContext=types.SimpleNamespace(current_trace_id=lambda: None))
    traceback_module = types.ModuleType("torch.utils._traceback")
    traceback_module.CapturedTraceback = types.SimpleNamespace(extract=lambda skip=0: types.SimpleNamespace(summary=user_frames))
    sys.modules.update({"torch": torch, "torch.distributed": torch.distributed, "torch.utils": types.ModuleType("torch.utils"),
                        "torch.utils._traceback": traceback_module})


def user_frames():
    """The frames of this script, under a name that is not the recorder's folder."""
    frames = [f for f in traceback.extract_stack() if f.filename == __file__ and f.name != "user_frames"]
    return traceback.StackSummary.from_list([("/tmp/goproton/record.py", f.lineno, f.name, f.line) for f in frames])


stub_torch()
import kernels  # noqa: E402
import triton  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402
from tritonparse import structured_logging as writer  # noqa: E402

tiles = dict(BM=64, BN=64, BK=32)
matmul_types = dict(a_ptr="*fp16", b_ptr="*fp16", c_ptr="*fp16", **{n: "i32" for n in ("M", "N", "K", "stride_am", "stride_bk", "stride_cm")})


def tensor(shape, dtype, size, at, **more):
    strides, numel = [], 1
    for n in reversed(shape):
        strides.insert(0, numel)
        numel *= n
    return dict(type="tensor", shape=shape, dtype=f"torch.{dtype}", device="cuda:0", stride=strides, numel=numel, is_contiguous=True,
                element_size=size, storage_offset=0, memory_usage=numel * size, data_ptr=hex(at), **more)


def descriptor(shape, block, at):
    base = tensor(shape, "float16", 2, at)
    del base["type"]
    return dict(type="TensorDescriptor", base=base, shape=shape, strides=base["stride"], block_shape=block, padding="zero")


def number(n):
    return dict(type="int", value=n)


def compile(kernel, types, constants, target, **options):
    names = kernel.arg_names
    source = ASTSource(
        kernel,
        {n: types.get(n, "constexpr") for n in names},
        constexprs={(names.index(n),): v for n, v in constants.items()},
        attrs={(i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if n.endswith("_ptr")},
    )
    return triton.compile(source, target=target, options=options)


def launch(compiled, grid, function, arguments, times=1):
    metadata = compiled.metadata._asdict()
    for i in range(times):
        moved = {k: dict(v, data_ptr=hex(int(v["data_ptr"], 16) + 512 * i)) if "data_ptr" in v else v for k, v in arguments.items()}
        record = dict(name=compiled.metadata.name, function=function, stream=0, launch_metadata_tritonparse=(grid, metadata, moved, {}))
        writer.LaunchHookImpl()(types.SimpleNamespace(get=lambda record=record: record))


def matmul_arguments(m, n, k):
    return dict(a_ptr=tensor([m, k], "float16", 2, 1 << 40), b_ptr=tensor([k, n], "float16", 2, 2 << 40), c_ptr=tensor([m, n], "float16", 2, 3 << 40),
                M=number(m), N=number(n), K=number(k), stride_am=number(k), stride_bk=number(n), stride_cm=number(n), **{k: number(v) for k, v in tiles.items()})


def record(name, pid, target, extra):
    out = pathlib.Path("/tmp/goproton/traces") / name
    out.mkdir(parents=True)
    writer.init_basic(str(out))
    triton.knobs.compilation.listener = writer.maybe_trace_triton
    copy = compile(kernels.global_load_kernel, dict(x_ptr="*fp32", out_ptr="*fp32", n="i32"), dict(BLOCK=1024), target)
    launch(copy, [4], 1 << 44, dict(x_ptr=tensor([4000], "float32", 4, 1 << 40), out_ptr=tensor([4000], "float32", 4, 2 << 40), n=number(4000), BLOCK=number(1024)), 3)
    matmul = compile(kernels.matmul_kernel, matmul_types, tiles, target, num_warps=4)
    launch(matmul, [64], 2 << 44, matmul_arguments(512, 512, 512), 2)
    launch(matmul, [16], 2 << 44, matmul_arguments(256, 256, 1024))
    extra(target)
    writer.clear_logging_config()
    (trace,) = out.glob("*.ndjson")
    text = trace.read_text().replace(f'"pid":{os.getpid()}', f'"pid":{pid}')
    for path in (sys.argv[1], str(here), str(pathlib.Path.home()), os.getcwd()):
        assert path not in text, f"a path of this machine: {path}"
    pathlib.Path(sys.argv[3], f"dedicated_log_triton_trace_{name}_.ndjson").write_text(text)


def hopper(target):
    types = dict(a_desc="tensordesc<fp16[64,32]>", b_desc="tensordesc<fp16[32,64]>", c_desc="tensordesc<fp16[64,64]>", K="i32")
    kernel = compile(kernels.descriptor_kernel, types, tiles, target)
    arguments = dict(a_desc=descriptor([256, 512], [64, 32], 1 << 40), b_desc=descriptor([512, 128], [32, 64], 2 << 40),
                     c_desc=descriptor([256, 128], [64, 64], 3 << 40), K=number(512), **{k: number(v) for k, v in tiles.items()})
    launch(kernel, [4, 2], 3 << 44, arguments, 2)
    triangle = compile(kernels.triangle_kernel, dict(x_ptr="*fp32", out_ptr="*fp32", n="i32", stride="i32"), dict(BLOCK=16), target, num_warps=1)
    arguments = dict(x_ptr=tensor([64, 64], "float32", 4, 1 << 40), out_ptr=tensor([64], "float32", 4, 2 << 40), n=number(64), stride=number(64), BLOCK=number(16))
    launch(triangle, [64], 4 << 44, arguments)


record("gfx942", 4242, GPUTarget("hip", "gfx942", 64), lambda target: None)
record("sm90", 4243, GPUTarget("cuda", 90, 32), hopper)
