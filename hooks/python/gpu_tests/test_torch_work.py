"""Flops of PyTorch's operators against torch.utils.flop_counter, and its memory against the allocator's own statistics."""
import collections
import functools

import pytest
import torch
import torch.utils.checkpoint
from torch.utils.flop_counter import FlopCounterMode

import goproton as proton
from torch_models import MODELS, warmed


@pytest.fixture(params=MODELS)
def step(request):
    return warmed(request.param)


@pytest.fixture
def words():
    yield proton.torch.install
    proton.torch.uninstall()
    proton.torch.record_memory(False)


def flops_by_torch(work):
    with FlopCounterMode(display=False) as counter:
        work()
    return {str(op).replace("aten.", "aten::"): flops for op, flops in counter.get_flop_counts()["Global"].items()}


def flops_by_operator(tree, known):
    """Flops below the outermost operator that torch counts."""
    found = collections.Counter()
    for path, node in tree.walk():
        flops = sum(node["metrics"].get(f"flops{width}", 0) for width in (8, 16, 32, 64))
        if flops:
            found[next((name for name in path if name in known), path[-1])] += flops
    return dict(found)


@pytest.mark.alone
def test_flops_match_flop_counter(profiled, words, step):
    theirs = flops_by_torch(step)
    words(modules=False, flops=True)
    tree = profiled(lambda: (step(), torch.cuda.synchronize()))
    assert proton.torch.problem() is None
    ours = flops_by_operator(tree, theirs)
    more = {name: flops for name, flops in ours.items() if name not in theirs}
    print(f"{sum(theirs.values()):.4g} flops by torch; in addition here:", more)
    assert {name: ours.get(name) for name in theirs} == theirs
    assert all("rnn" in name for name in more), more


def perceptron():
    return torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 64)).cuda()


def checkpointed(model, batch):
    return torch.utils.checkpoint.checkpoint(model, batch.requires_grad_(), use_reentrant=False)


def compiled(model, batch):
    return torch.compile(model)(batch)


@pytest.mark.parametrize("run", [compiled, checkpointed])
def test_flops_of_what_ran(profiled, words, run):
    """Inductor leaves products to cuBLAS, some as `aten::mm` where a sum behind them is fused with what follows; a checkpoint stops
    the last operator of the pass that it recomputes.
    """
    model, batch = perceptron(), torch.randn(128, 256, device="cuda")

    def step():
        run(model, batch).sum().backward()
        torch.cuda.synchronize()
    step()
    theirs = flops_by_torch(lambda: (model if run is compiled else functools.partial(checkpointed, model))(batch).sum().backward())
    words(modules=False, flops=True)
    ours = flops_by_operator(profiled(step), theirs)
    print(ours)
    assert sum(ours.values()) == sum(theirs.values()) if run is compiled else ours == theirs


def test_a_large_product_runs_near_the_peak(profiled, words):
    words(flops=True)
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)

    def work():
        for _ in range(10):
            a @ a
        torch.cuda.synchronize()
    work()
    kernels = [node["metrics"] for path, node in profiled(work).walk() if not node["children"] and "aten::mm" in path]
    flops, nanos = (sum(m.get(name, 0) for m in kernels) for name in ("flops16", "time (ns)"))
    print(f"{flops / nanos / 1000:.0f} Tflop/s")
    assert flops == 10 * 2 * 8192**3


@pytest.mark.alone
@pytest.mark.parametrize("context", ["shadow", "python"])
def test_memory_matches_the_allocator(profiled, words, step, context):
    proton.torch.record_memory()
    keep = []

    def work():
        torch.cuda.reset_peak_memory_stats()
        keep.append(torch.cuda.memory_stats())
        step()
        torch.cuda.synchronize()
        keep.append(torch.cuda.memory_stats())
    tree = profiled(work, context=context)
    assert proton.torch.problem() is None
    sums = {name: sum(node["metrics"].get(name, 0) for _, node in tree.walk() if _) for name in ("peak_bytes", "alloc_bytes", "allocs")}
    before, after = keep
    theirs = {"peak_bytes": after["allocated_bytes.all.peak"]}
    for ours, name in ("alloc_bytes", "allocated_bytes.all.allocated"), ("allocs", "allocation.all.allocated"):
        theirs[ours] = after[name] - before[name]
    print(sums)
    assert sums == theirs
