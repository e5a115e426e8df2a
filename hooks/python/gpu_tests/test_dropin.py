"""Sessions of a program that imports triton.profiler and gets this package."""
import pytest
import torch
import triton
import triton.language as tl

import goproton as proton
from running import ended, program
from test_graphs import replayed
from trees import Tree

METADATA = "__proton_launch_metadata"


@pytest.fixture(autouse=True)
def installed():
    """Each check has a process of its own, so this needs no end."""
    proton.install()
    import triton.profiler
    assert triton.profiler is proton


@triton.jit
def help_kernel(out):
    tl.store(out, 1.0)


def describe(grid, kernel, args):
    help_kernel[(1,)](args["x"])
    return {"name": "named", "bytes": float(args["x"].numel()), "sum": args["x"].sum()}


@triton.jit(launch_metadata=describe)
def described_kernel(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)


@pytest.mark.parametrize("context", ["shadow", "python"])
def test_kernels_of_metadata_functions_stand_aside(profiled, context):
    x = torch.zeros(1024, device="cuda")

    def body():
        with proton.scope("step"):
            described_kernel[(1,)](x, 1024, BLOCK=1024)
    tree = profiled(body, hook="triton", context=context)
    assert tree.total("named") == 1 and tree.total(METADATA) == 2, tree.counts()
    aside = {path[path.index(METADATA) + 1:] for path, node in tree.walk() if METADATA in path and "count" in node["metrics"]}
    assert {frames[0] for frames in aside} == {"described_kernel"} and any(frames[-1] == "help_kernel" for frames in aside), aside
    assert tree.total("named", metric="bytes") == 1024


TYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool]


def test_tensor_metrics_of_a_launch_need_no_kernel(profiled):
    """Triton's profiler converts each tensor to 64 bits first, by a kernel below __proton_launch_metadata. The values are the same without."""
    values = {str(kind).split(".")[1]: torch.tensor([1], device="cuda").to(kind) for kind in TYPES}

    @triton.jit(launch_metadata=lambda grid, kernel, args: {"name": "measured", **values})
    def measured_kernel(x):
        tl.store(x, 1.0)
    x = torch.zeros(1, device="cuda")

    def body():
        for _ in range(3):
            measured_kernel[(1,)](x)
            for value in values.values():
                value.zero_()  # behind the launch: too late for it
                value.fill_(1)
    tree = profiled(body, hook="triton")
    (measured,) = [node["metrics"] for path, node in tree.walk() if path[-1] == "measured"]
    assert {name: measured[name] for name in values} == {name: 3 for name in values} and measured["count"] == 3, measured
    assert {type(measured[name]) for name in values if "float" in name} == {float}
    assert {type(measured[name]) for name in values if "float" not in name} == {int}
    assert not any(METADATA in path for path, _ in tree.walk())
    assert tree.total() == 3 + 3 * 2 * len(values), tree.counts()


def short_kernels():
    with proton.scope("short"):
        for _ in range(3):
            torch.zeros(1024, device="cuda")
        torch.cuda.synchronize()


@pytest.mark.alone  # another process could be sampling the GPU, and then this one does not
@pytest.mark.only("cupti")
def test_short_kernels_are_sampled_as_often_as_by_triton_s_profiler(tmp_path):
    """The warps of these kernels live for about 300 cycles on an H200, so that only a shorter interval hits nearly all of them."""
    def sampled(profiler, mode="pcsampling"):
        ended(program("fills", tmp_path / profiler, profiler, mode))
        tree = Tree.read(tmp_path / f"{profiler}.hatchet")
        samples = {}  # by scope, if a frame below it has the metric
        for path, node in tree.walk():
            if path[1:] and "num_samples" in node["metrics"]:
                samples[path[1]] = samples.get(path[1], 0) + node["metrics"]["num_samples"]
        return tree.root.get("sampling", {}), samples, sum(n > 0 for n in samples.values())
    _, _, theirs = sampled("triton")
    facts, samples, ours = sampled("goproton")
    _, _, every = sampled("goproton", "pcsampling:interval=256")
    print(f"of 100 fills of 4 KiB, Triton's profiler has samples of {theirs}, this package of {ours} every {facts['period']} cycles and {every} every 256")
    assert (facts["mode"], facts["period"]) == ("serialized", 512)
    assert len(samples) == 100, "a kernel that no sample hits has the metric with 0"
    assert every >= ours >= theirs and every > 90  # 96 and 100 of 100 on an H200


@pytest.mark.alone
@pytest.mark.only("cupti")
def test_a_kernel_that_no_sample_hits_has_zero(profiled):
    tree = profiled(short_kernels, mode="pcsampling:collection=continuous:interval=2147483648")
    kernels = [metrics for path, metrics in tree.rows().items() if path and "count" in metrics]
    assert len(kernels) == 1, tree.rows()
    (fill,) = kernels
    assert fill["count"] == 3 and fill["num_samples"] == 0 and tree.root["metrics"]["num_samples"] == 0, fill


def test_a_timeline_has_the_events_of_triton_s_profiler(profiled, work):
    def body():
        with proton.scope("capture"):
            graph = work.captured(2)
        torch.ones(10, device="cuda").cpu()
        with proton.scope("outer", {"loss (exc)": 0.5}):
            replayed(graph, 3)
            with torch.cuda.stream(torch.cuda.Stream()):
                work.add()
                torch.cuda.synchronize()
    events = profiled(body, data="trace", hook="triton")
    lanes = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    graphs = [tid for tid, name in lanes.items() if name.startswith("Graph: Stream ")]
    assert len(graphs) == 1 and sum(name.startswith("GPU Stream ") for name in lanes.values()) == len(lanes) - 2, lanes
    assert {e.get("cat") for e in events} == {None, "scope", "metric", "flow", "kernel"}
    assert [e["name"] for e in events if e["tid"] == graphs[0] and e["ph"] == "X"] == 3 * ["<captured_at>", "capture", "iter0", "iter1"]
    assert [e["name"] for e in events if e.get("cat") == "metric"] == ["outer: <loss (exc), 0.500000>"]
    scopes = {e["name"] for e in events if e.get("cat") == "scope" and e["tid"] == 0}
    assert scopes == {"capture", "iter0", "iter1", "replay"}, scopes
    kernels = [e for e in events if e.get("cat") == "kernel"]
    replays = [e for e in kernels if e["args"]["call_stack"][:3] == ["ROOT", "outer", "replay"]]
    assert len(replays) == 12 and events[-1] in kernels and all(e["ts"] >= 0 for e in events if "ts" in e)
    # An arrow leaves from the start of the innermost scope, and reaches the start of a kernel.
    starts = {e["ts"] for e in events if e.get("cat") in ("scope", "metric")}
    arrows = [e for e in events if e.get("cat") == "flow"]
    reached = {(e["tid"], e["ts"]) for e in kernels}
    assert all((e["tid"], e["ts"]) in reached for e in arrows if e["ph"] == "f")
    assert sum(e["ph"] == "s" and e["ts"] in starts for e in arrows) >= 4
