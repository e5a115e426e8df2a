"""Frames of PyTorch: kernels by operator against torch.profiler's, and backward passes below the forward operators that caused them."""
import collections

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import goproton as proton
from torch_models import MODELS, warmed


def is_kernel(name):
    return not name.startswith(("Memcpy", "Memset", "<"))


def is_operator(event):
    """Not a call of CUDA's runtime, nor Kineto's own overhead: torch.profiler lists a kernel a second time below one whose number happens
    to be that of the kernel's operator.
    """
    return not event.startswith(("cuda", "Activity Buffer", "Buffer Flush", "Command Buffer", "Lazy Function", "Runtime Triggered"))


def by_operator(tree):
    """Count and time of the kernels directly below each operator."""
    found = collections.defaultdict(lambda: [0, 0])
    for path, node in tree.walk():
        if not node["children"] and "count" in node["metrics"] and is_kernel(path[-1]):
            of = found[path[-2] if len(path) > 1 else ""]
            of[0] += node["metrics"]["count"]
            of[1] += node["metrics"]["time (ns)"]
    return found


def by_operator_of_kineto(body, wanted=is_kernel):
    found = collections.defaultdict(lambda: [0, 0])
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as p:
        body()
        torch.cuda.synchronize()
    for event in filter(lambda event: is_operator(event.name), p.events()):
        for kernel in event.kernels:
            if is_kernel(kernel.name) and wanted(kernel.name):
                of = found[event.name]
                of[0] += 1
                of[1] += kernel.duration * 1000
    return found


@pytest.fixture(params=MODELS)
def body(request):
    step = warmed(request.param)

    def three():
        for _ in range(3):
            step()
        torch.cuda.synchronize()
    return three


@pytest.fixture
def words():
    yield proton.torch.install
    proton.torch.uninstall()


@pytest.mark.alone
def test_operators_match_torch_profiler(profiled, words, body):
    words(modules=False)
    tree = profiled(body)
    assert proton.torch.problem() is None
    ours = by_operator(tree)
    proton.torch.uninstall()
    theirs = by_operator_of_kineto(body)
    counts = [{name: count for name, (count, _) in operators.items()} for operators in (ours, theirs)]
    assert counts[0] == counts[1], {name: [c.get(name) for c in counts] for name in {*ours, *theirs} if counts[0].get(name) != counts[1].get(name)}
    large = {name: ours[name][1] / theirs[name][1] for name in ours if theirs[name][1] > 2e5}
    print(f"{len(ours)} operators, {sum(c for c, _ in ours.values())} kernels; time over torch.profiler's:",
          f"{sum(t for _, t in ours.values()) / sum(t for _, t in theirs.values()):.3f},",
          f"by operator {min(large.values(), default=1):.3f} to {max(large.values(), default=1):.3f}")
    assert all(0.8 < ratio < 1.25 for ratio in large.values()), large


@pytest.mark.alone
def test_modules_have_their_backward_kernels(profiled, words, body):
    words(operators=False)
    tree = profiled(body)
    kernels = [(path, node["metrics"]["count"]) for path, node in tree.walk() if not node["children"] and "count" in node["metrics"]]
    inside, all_ = sum(count for path, count in kernels if len(path) > 2), sum(count for _, count in kernels)
    print(f"{inside} of {all_} kernels belong to a module; the others are losses and the optimizer's")
    assert 0.6 * all_ < inside < all_


@pytest.mark.alone
def test_backward_kernels_have_a_python_path(profiled, body):
    tree = profiled(body, context="python")
    kernels = [(path, node["metrics"]["time (ns)"]) for path, node in tree.walk() if not node["children"] and "count" in node["metrics"]]
    total = sum(nanos for _, nanos in kernels)
    without = sum(nanos for path, nanos in kernels if not any("@" in frame for frame in path))
    backward = sum(nanos for path, nanos in kernels if "<backward>" in path)
    print(f"without a Python path: {without / total:.2%}, below <backward>: {backward / total:.1%}")
    assert without < 0.02 * total and backward > 0.2 * total


def test_backward_in_a_captured_graph(profiled, words):
    words()
    model = torch.nn.Linear(64, 64).cuda()
    batch = torch.randn(8, 64, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        model(batch).sum().backward()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()

    def work():
        with torch.cuda.graph(graph):
            model(batch).sum().backward()
        graph.replay()
        torch.cuda.synchronize()
    paths = ["/".join(path) for path, _ in profiled(work).walk()]
    captured = [path for path in paths if "<captured_at>" in path]
    assert any("Linear/aten::linear/aten::addmm" in path for path in captured), captured
    assert any("Linear/AddmmBackward0/aten::mm" in path for path in captured), captured


def test_compiled_modules(profiled, words):
    words()
    model = torch.compile(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)).cuda())
    batch = torch.randn(8, 64, device="cuda")

    def work():
        model(batch).sum().backward()
        torch.cuda.synchronize()
    work()
    paths = ["/".join(frame for frame in path if not frame.startswith("Torch-Compiled Region")) for path, _ in profiled(work).walk()]
    for expected in ("Sequential/CompiledFunction/aten::addmm", "Sequential/CompiledFunction/aten::addmm+aten::relu/triton_",
                     "CompiledFunctionBackward/aten::mm", "CompiledFunctionBackward/aten::threshold_backward+aten::sum/triton_"):
        assert any(expected in path for path in paths), (expected, paths)


class Lines(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x) * 2


def test_compiled_kernels_have_lines_of_the_program(profiled, words):
    words()
    model, batch = torch.compile(Lines().cuda()), torch.randn(8, 64, device="cuda")

    def work():
        model(batch)
        torch.cuda.synchronize()
    work()
    paths = [path for path, _ in profiled(work).walk() if path[-1].startswith("triton_")]
    assert paths and all(path[-3].startswith(f"{__file__}:") and path[-3].endswith("@forward") for path in paths), paths
