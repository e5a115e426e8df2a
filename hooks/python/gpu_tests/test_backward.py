"""Scopes of PyTorch's backward passes, whose kernels are launched by threads of autograd's."""
import functools
import threading

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import goproton as proton


def model():
    return torch.nn.Sequential(*[m for _ in range(3) for m in (torch.nn.Linear(128, 128), torch.nn.GELU())]).cuda()


def batch():
    return torch.randn(32, 128, device="cuda")


def step(net, x, name="step", wrap=lambda net, x: net(x)):
    with proton.scope(name):
        with proton.scope("forward"):
            loss = wrap(net, x).square().mean()
        with proton.scope("backward"):
            loss.backward()


def compiled():
    net, x = torch.compile(model()), batch()
    step(net, x)
    return lambda: step(net, x)


def twice(net, x, reentrant):
    return checkpoint(net, net(x), use_reentrant=reentrant)


WAYS = {
    "plain": lambda: functools.partial(step, model(), batch()),
    "checkpoint": lambda: functools.partial(step, model(), batch(), wrap=lambda n, x: twice(n, x, False)),
    "reentrant checkpoint": lambda: functools.partial(step, model(), batch(), wrap=lambda n, x: twice(n, x, True)),
    "compiled": compiled,
}


def by_scope(tree, *names):
    """Kernels by the scopes of these names that they stand below."""
    found = {}
    for path, node in tree.walk():
        if node["metrics"].get("count"):
            scopes = "/".join(frame for frame in path if frame in names)
            found[scopes] = found.get(scopes, 0) + node["metrics"]["count"]
    return found


@pytest.mark.parametrize("way", WAYS)
def test_of_a_step(profiled, way):
    body, other, x = WAYS[way](), model(), batch()
    body()

    def two():  # autograd's thread meets the session in a scope that has ended
        with proton.scope("before"):
            other(x).sum().backward()
        body()
        body()
    found = by_scope(profiled(two), "before", "step", "forward", "backward")
    print(way, found)
    assert set(found) <= {"before", "step/forward", "step/backward"}  # a copy of a loss may be a kernel of its own
    assert found["step/backward"] > found["step/forward"] and found["step/backward"] % 2 == 0


def test_threads_that_call_backward_at_once(profiled):
    nets = {name: (model(), batch()) for name in "ab"}
    torch.cuda.synchronize()

    def train(name):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(10):
                step(*nets[name], name)

    def both():
        threads = [threading.Thread(target=train, args=[name]) for name in nets]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    found = by_scope(profiled(both), "a", "b", "forward", "backward")
    assert set(found) == {"a/forward", "a/backward", "b/forward", "b/backward"}, found
    assert found["a/backward"] == found["b/backward"] and found["a/forward"] == found["b/forward"], found


def test_a_captured_graph(profiled):
    net, x = model(), batch()

    def replayed():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            net(x).square().mean().backward()
        torch.cuda.current_stream().wait_stream(side)
        net.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            with proton.scope("forward"):
                loss = net(x).square().mean()
            with proton.scope("backward"):
                loss.backward()
        for _ in range(3):
            with proton.scope("replay"):
                graph.replay()
    found = {scopes: n for scopes, n in by_scope(profiled(replayed), "replay", "forward", "backward").items() if scopes.startswith("replay")}
    assert set(found) == {"replay/forward", "replay/backward"}, found
    assert found["replay/backward"] > found["replay/forward"]
