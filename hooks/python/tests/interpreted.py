"""Kernels and programs that tests of the interpreter run, in a process of their own: python interpreted.py NAME+NAME."""

import sys

import numpy as np
import triton
import triton.language as tl

import goproton


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)  # the sum


def vectors(n=1000):
    random = np.random.default_rng(0)
    return random.random(n, np.float32), random.random(n, np.float32), np.zeros(n, np.float32)


def one_call():
    x, y, out = vectors()
    goproton.interpret(add_kernel)[(4,)](x, y, out, len(x), BLOCK=256)
    assert (out == x + y).all()


def empty_grid():
    x, y, out = vectors(0)
    add_kernel_hooked = []
    triton.knobs.runtime.launch_exit_hook.add(add_kernel_hooked.append)
    with goproton.interpreting() as run:
        for grid in (0,), (triton.cdiv(len(x), 256), 1), lambda meta: (1, 0, 3):
            add_kernel[grid](x, y, out, len(x), BLOCK=256)
    assert run.counts == [] and len(add_kernel_hooked) == 3, run.counts  # as on a GPU: hooks are called, and nothing is launched


def wrong_grids():
    """Grids that Triton's launchers and GPUs refuse."""
    x, y, out = vectors()
    for grid, kind, text in ((2.5,), TypeError, "'float' object cannot be"), ((1, 65536), RuntimeError, "a grid of 1 × 65536 × 1 cannot be launched"), (
            (2**32 + 1,), RuntimeError, "a grid of 4294967297 in dimension 0"), ((-1,), RuntimeError, "a grid of -1 × 1 × 1"):
        try:
            goproton.interpret(add_kernel)[grid](x, y, out, 256, BLOCK=256)
        except kind as error:
            assert text in str(error), error
        else:
            raise AssertionError(f"the grid {grid} was launched")


def one_launch(number):
    """For proton interpret: nothing of goproton is used."""
    x, y, out = vectors()
    add_kernel[(4,)](x, y, out, len(x), BLOCK=256)
    assert (out == x + y).all()


def with_statement():
    x, y, out = vectors()
    with goproton.interpreting("add_*", order="reverse") as run:
        add_kernel[lambda meta: (triton.cdiv(len(x), meta["BLOCK"]),)](x, y, out, len(x), BLOCK=256)
    assert (out == x + y).all() and run.findings == [] and [(k["name"], k["programs"]) for k in run.counts] == [("add_kernel", 4)]
    try:
        add_kernel[(4,)](x, y, out, len(x), BLOCK=256)
    except RuntimeError as error:
        assert "active drivers" in str(error), error  # there is no GPU, and the kernel is not interpreted any more
    else:
        raise AssertionError("the kernel ran")


def finding():
    x, y, out = vectors()
    try:
        goproton.interpret(add_kernel)[(4,)](x, y, out, len(x) + 1, BLOCK=256)
    except goproton.Finding as error:
        line = next(i for i, text in enumerate(open(__file__), 1) if "# the sum" in text)
        assert (error.file, error.line, error.program, error.lane, error.kernel) == (__file__, line, (3, 0, 0), 1000 - 768, "add_kernel"), vars(error)
        assert "x_ptr: element 1000 of 1000" in str(error)
    else:
        raise AssertionError("nothing was found")


@triton.jit
def twice(x):
    return x + x


@triton.jit
def odd_arguments(pair, none, n, out_ptr, scale, flag, BLOCK: tl.constexpr, KIND: tl.constexpr = "twice"):
    at = tl.arange(0, BLOCK)
    x = tl.load(pair[0] + at, mask=at < n) * scale + pair[1]
    if none is None and KIND == "twice":
        x = twice(x)
    if flag:
        tl.store(out_ptr + at, x, mask=at < n)


def arguments():
    """Tuples, None, a default, a bool, an integer that is 1, NaN, and a function that the kernel calls."""
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    with goproton.interpreting(odd_arguments):
        odd_arguments[(1,)]((x, 3), None, 8, out, 0.5, True, BLOCK=8)
        assert (out == 2 * (x * 0.5 + 3)).all(), out
        odd_arguments[(1, 1)]((x, 1), None, n=1, out_ptr=out, scale=2.0, flag=True, BLOCK=8, KIND="once")
        assert out[0] == 1 and out[1] == 2 * (0.5 + 3), out
        odd_arguments[(1,)]((x, 1), None, 8, out, float("inf"), False, BLOCK=8)
        odd_arguments[(1,)]((x, 1), None, 8, out, float("nan"), True, BLOCK=8)
        assert np.isnan(out).all()
        odd_arguments[(np.int64(1),)]((x, 3), None, 8, out, 1 / np.sqrt(4.0), True, BLOCK=8)  # numpy.float64
        assert (out == 2 * (x * 0.5 + 3)).all(), out


@triton.jit
def copy_tile(source, out_ptr, B: tl.constexpr):
    tile = source.load([tl.program_id(0) * B, 0])
    rows, columns = tl.arange(0, B), tl.arange(0, B)
    tl.store(out_ptr + (tl.program_id(0) * B + rows[:, None]) * B + columns[None, :], tile)


def descriptors():
    """A tensor descriptor: what is outside of it is 0."""
    from triton.tools.tensor_descriptor import TensorDescriptor
    x, out = np.arange(24 * 16, dtype=np.float32).reshape(24, 16), np.zeros((32, 16), np.float32)
    goproton.interpret(copy_tile)[(2,)](TensorDescriptor(goproton.Array(x), [24, 16], [16, 1], [16, 16]), out, B=16)
    assert (out[:24] == x).all() and not out[24:].any()


@triton.jit
def increase(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)


def views():
    """The storage of a view is its buffer: its elements and no others change, and beyond its end is what lies there."""
    whole = np.zeros((4, 8), np.int64)
    with goproton.interpreting() as run:
        increase[(1,)](whole[1:, ::2], 8, BLOCK=8)
        assert whole.sum() == 8 and whole[1].all(), whole
        try:
            increase[(1,)](whole[3, 4:], 5, BLOCK=8)
        except goproton.Finding as error:
            assert "element 32 of 32" in str(error), error
        else:
            raise AssertionError("the storage ends before")
        assert len(run.findings) == 1


def read_only():
    """An array that is read-only is read, and an error if it is written to."""
    x, y, out = vectors(8)
    x.flags.writeable = False
    with goproton.interpreting():
        add_kernel[(1,)](x, y, out, 8, BLOCK=8)
        assert (out == x + y).all()
        try:
            add_kernel[(1,)](y, y, x, 8, BLOCK=8)
        except ValueError as error:
            assert "read-only" in str(error)
        else:
            raise AssertionError("it was written to")


tuned = []


def hooks():
    """Autotune runs its first configuration once, its hooks run, and pre_run_hooks and launch hooks too."""
    from triton import knobs
    x, y, out = vectors()
    configs = [triton.Config({"BLOCK": block}, pre_hook=lambda args: tuned.append(args["BLOCK"])) for block in (64, 128, 256)]
    kernel = triton.autotune(configs, key=["n"])(add_kernel)
    before, entered = [], []
    add_kernel.add_pre_run_hook(lambda *args, **named: before.append(named["BLOCK"]))
    knobs.runtime.launch_enter_hook.add(lambda metadata: entered.append(metadata.get()["name"])) if hasattr(knobs.runtime.launch_enter_hook, "add") else None
    grid = lambda meta: (triton.cdiv(len(x), meta["BLOCK"]),)
    with goproton.interpreting("add_kernel") as run:
        kernel[grid](x, y, out, len(x))
        kernel[grid](x, y, out, len(x))
    assert (out == x + y).all() and kernel.best_config.kwargs == {"BLOCK": 64}, kernel.best_config
    assert tuned == [64] * 3 and entered == ["add_kernel"] * 2 and before[-1] == 64 and run.report()["launches"] == 2, (tuned, entered, before, run.report())
    with goproton.interpreting("add_kernel", autotune=2):
        kernel[grid](x[:900], y[:900], out[:900], 900)
    assert kernel.best_config.kwargs == {"BLOCK": 256}, kernel.best_config


def block_shapes():
    """A configuration's own hook gives a descriptor the shape of its blocks, without which the kernel cannot be compiled."""
    from triton.tools.tensor_descriptor import TensorDescriptor
    x, out = np.arange(32 * 16, dtype=np.float32).reshape(32, 16), np.zeros((32, 16), np.float32)

    def set_shape(args):
        args["source"].block_shape = [args["B"], 16]

    kernel = triton.autotune([triton.Config({"B": 16}, pre_hook=set_shape), triton.Config({"B": 16}, num_warps=8, pre_hook=set_shape)], key=[])(copy_tile)
    with goproton.interpreting():
        kernel[(2,)](TensorDescriptor(goproton.Array(x), [32, 16], [16, 1], [1, 1]), out)
    assert (out == x).all(), out


FACTOR = tl.constexpr(3)


@triton.jit
def times_factor(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * FACTOR)


def changed_global():
    """Triton refuses a launch after a global that the kernel uses has changed."""
    global FACTOR
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    with goproton.interpreting():
        times_factor[(1,)](x, out, BLOCK=8)
        assert (out == 3).all()
        FACTOR = tl.constexpr(4)
        try:
            times_factor[(1,)](x, out, BLOCK=8)
        except RuntimeError as error:
            assert "FACTOR has changed" in str(error)
        else:
            raise AssertionError("the old code ran")


def threads():
    """Launches of several threads at once, of which one has another run and one has none."""
    import threading
    wrong = []

    def work(number):
        x, y, out = vectors(64 + number)
        for _ in range(30):
            out[:] = 0
            add_kernel[(1,)](x, y, out, len(x), BLOCK=128)
            if (out != x + y).any():
                wrong.append(number)

    with goproton.interpreting() as run:
        list_of = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in list_of:
            thread.start()
        for thread in list_of:
            thread.join()
    assert not wrong and run.report()["launches"] == 120


def forked():
    """A forked child says why it cannot."""
    import os
    x, y, out = vectors(8)
    goproton.interpret(add_kernel)[(1,)](x, y, out, 8, BLOCK=8)
    reader, writer = os.pipe()
    if not os.fork():
        said = "ran"
        try:
            with goproton.interpreting():
                add_kernel[(1,)](x, y, out, 8, BLOCK=8)
        except RuntimeError as error:
            said = str(error)
        os.write(writer, said.encode())
        os._exit(0)
    assert "forked" in (text := os.read(reader, 4096).decode()), text


@triton.jit
def forever(x_ptr, n):
    while tl.load(x_ptr) < n:
        tl.store(x_ptr, tl.load(x_ptr) - 1)


def endless():
    """For proton interpret: its launch does not end."""
    forever[(1,)](np.zeros(1, np.int32), 1)


def limits():
    """Launches end by --max-seconds, by --max-steps and by Ctrl-C, and the next one runs."""
    import _thread
    import threading
    x = np.zeros(1, np.int32)
    with goproton.interpreting(max_seconds=0.2):
        try:
            forever[(1,)](x, 1)
        except RuntimeError as error:
            assert "forever was stopped after --max-seconds 0.2, when 1 of 1 program instances had begun" in str(error), error
        else:
            raise AssertionError("it ended")
    with goproton.interpreting(max_steps=100_000):
        try:
            forever[(1,)](x, 1)
        except goproton.Finding as error:
            assert error.kind == "steps", error
    with goproton.interpreting():
        x[:] = 1
        forever[(1,)](x, 1)  # which ends at once: the next one is expected to
        x[:] = 0
        threading.Timer(0.3, _thread.interrupt_main).start()
        try:
            forever[(1,)](x, 1)
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("it ended")
        x[:] = 5
        forever[(1,)](x, 1)


def samples():
    """Some program instances of many, and chosen ones."""
    x, y, out = vectors(1000)
    with goproton.interpreting(sample=3, seed=1) as run:
        add_kernel[(10,)](x, y, out, 1000, BLOCK=128)
    assert (run.counts[0]["programs"], run.counts[0]["of"]) == (3, 10) and 0 < (out != 0).sum() <= 3 * 128
    out[:] = 0
    with goproton.interpreting(programs=[[2, 0, 0]]):
        add_kernel[(8,)](x, y, out, 1000, BLOCK=128)
    assert (out[256:384] == (x + y)[256:384]).all() and not out[:256].any() and not out[384:].any()


def refused():
    """What cannot be interpreted is said in a sentence."""
    x, y, out = vectors(8)
    class Other:
        dtype = "float32"
        def data_ptr(self):
            return 64
    with goproton.interpreting():
        try:
            add_kernel[(1,)](Other(), y, out, 8, BLOCK=8)
        except TypeError as error:
            assert "an argument of the type Other: pass tensors of torch, arrays of numpy and numbers" in str(error), error
    for wrong in {"order": "backwards"}, {"sample": -1}, {"nonsense": 1}:
        try:
            goproton.interpreting(**wrong)
        except (ValueError, RuntimeError, TypeError) as error:
            assert next(iter(wrong)) in str(error), error
        else:
            raise AssertionError(wrong)


def missing_name():
    """Of a Triton without a name that the hook needs, the name is said."""
    from triton.runtime.jit import JITFunction
    del JITFunction.create_binder
    try:
        goproton.interpreting()
    except RuntimeError as error:
        assert f"kernels of Triton {triton.__version__} cannot be interpreted: it has no triton.runtime.jit.JITFunction.create_binder" in str(error), error
    else:
        raise AssertionError("it is not missed")


def benchmarks():
    """For proton interpret: what is timed is not run, and has no time; and programs may divide by what a kernel uses of a GPU."""
    from triton.testing import do_bench, do_bench_cudagraph
    x, y, out = vectors()
    compiled = add_kernel.warmup(x, y, out, len(x), BLOCK=256, grid=(1,))
    compiled._init_handles()
    print(65536 // compiled.n_regs, 232448 // compiled.metadata.shared, triton.runtime.driver.active.get_current_target().backend)
    runs = []
    print(do_bench(lambda: runs.append(1)), do_bench(lambda: runs.append(1), quantiles=[0.5, 0.2, 0.8]), do_bench_cudagraph(lambda: runs.append(1), 20, None, [0.5]), runs)
    print(do_bench(lambda: runs.append(1), return_mode="all"), triton.runtime.driver.active.get_benchmarker()(lambda: runs.append(1), quantiles=(0.5, 0.2)))


def script():
    """For proton interpret: nothing of goproton is used."""
    x, y, out = vectors()
    add_kernel[(4,)](x, y, out, len(x) + int(sys.argv[2]), BLOCK=256)
    print("sum", float(out.sum()) == float((x + y).sum()))


if __name__ == "__main__":
    for name in sys.argv[1].split("+"):
        globals()[name]()
