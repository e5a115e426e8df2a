"""Tensors as metrics in CUDA graphs: their values at every replay, exactly."""
import gc
import threading
import time

import pytest
import torch
import triton

import goproton as proton
from kernels import add_kernel
from trees import Tree

METADATA = "__proton_launch_metadata"
pytestmark = pytest.mark.only("cupti")


def owner_metadata(grid, kernel, args):
    x = args["x_ptr"]
    return {"name": "owner", "flops": x.sum(), "bytes": 12 * args["n"]}


owner = triton.jit(launch_metadata=owner_metadata)(add_kernel.fn)


def captured(body, stream=None):
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    gc.collect()
    with torch.cuda.graph(graph, stream=stream):
        body()
    return graph


def replayed(graph, n=1, scope="replay"):
    with proton.scope(scope):
        for _ in range(n):
            graph.replay()


@pytest.fixture
def vectors():
    x, y = torch.full((4,), 2.0, device="cuda"), torch.ones(4, device="cuda")
    z = torch.empty_like(x)
    owner[(1,)](x, y, z, 4, BLOCK=4)
    return x, y, z


def test_values_of_every_replay(profiled):
    """A counter that the graph itself advances: the sum over the replays says that each was read, once, at its time."""
    steps = {t: torch.zeros(1, device="cuda", dtype=t) for t in (torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64)}
    vector = torch.zeros(100, device="cuda", dtype=torch.int64)

    def body():
        for tensor in steps.values():
            tensor.add_(1)
        vector.add_(torch.arange(100, device="cuda"))
        with proton.scope("s", {str(t).split(".")[1]: tensor for t, tensor in steps.items()} | {"vector": vector, "strided": vector[::3]}):
            steps[torch.int64].add_(0)

    def run():
        graph = captured(body)
        for tensor in steps.values():
            tensor.zero_()
        vector.zero_()
        replayed(graph, 100)
    rows = profiled(run).rows()
    s = rows["replay/<captured_at>/s"]
    want = 100 * 101 // 2
    assert {str(t).split(".")[1]: s[str(t).split(".")[1]] for t in steps} == {str(t).split(".")[1]: want for t in steps}
    assert s["vector"] == [want * i for i in range(100)] and s["strided"] == s["vector"][::3]
    assert rows[f"replay/<captured_at>/s/{METADATA}/<metric>"]["count"] == 100 * 10
    assert not any(path.startswith("s") for path in rows), rows.keys()


def test_a_launch_hook(profiled, vectors):
    x, y, z = vectors

    def run():
        graph = captured(lambda: [owner[(1,)](x, y, z, 4, BLOCK=4) for _ in range(10)])
        replayed(graph, 3)
    rows = profiled(run, hook="triton").rows()
    row = rows["replay/<captured_at>/owner"]
    assert (row["flops"], row["bytes"], row["count"]) == (8.0 * 30, 48 * 30, 30), row
    assert rows[f"replay/<captured_at>/{METADATA}/add_kernel/<metric>"]["count"] == 30, rows.keys()


def test_scopes_of_a_capture_count_at_every_replay(profiled):
    x = torch.ones(4, device="cuda")

    def run():
        def body():
            with proton.scope("a", {"bytes": 16}):
                x.add_(1)
            with proton.scope("last", {"tokens": 3}):
                pass
        replayed(captured(body), 5)
    rows = profiled(run).rows()
    assert rows["replay/<captured_at>/a"]["bytes"] == 80 and rows["replay/<captured_at>/last"]["tokens"] == 15, rows


def test_inactive_replays(sessions):
    step = torch.zeros(1, device="cuda", dtype=torch.int64)
    s = sessions.start("s")

    def body():
        step.add_(1)
        with proton.scope("s", {"step": step}):
            step.add_(0)
    graph = captured(body)
    step.zero_()
    proton.deactivate(s)
    for _ in range(7):
        graph.replay()          # 1 … 7: not this session's
    proton.activate(s)
    replayed(graph, 3)          # 8, 9, 10
    proton.deactivate(s)
    for _ in range(10):
        graph.replay()          # … 20
    proton.activate(s)
    replayed(graph, 2, "again")  # 21, 22
    proton.finalize()
    rows = sessions.tree("s").rows()
    assert rows["replay/<captured_at>/s"]["step"] == 27 and rows["again/<captured_at>/s"]["step"] == 43, rows


def test_a_session_that_is_switched_during_the_capture(sessions):
    one, other = torch.ones(1, device="cuda"), torch.ones(1, device="cuda")
    s = sessions.start("s")

    def body():
        for _ in range(10):
            proton.deactivate(s)
            with proton.scope("off", {"x": one, "n": 4}):
                one.add_(0)
            proton.activate(s)
            with proton.scope("on", {"x": other, "n": 4}):
                other.add_(0)
    graph = captured(body)
    replayed(graph, 5)
    proton.finalize()
    rows = sessions.tree("s").rows()
    assert rows["replay/<captured_at>/on"] == {"x": 50.0, "n": 200}, rows
    assert not any("off" in path for path in rows), rows.keys()


def test_two_gpus(profiled):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")

    def run():
        for i in range(2):
            with torch.cuda.device(i):
                x = torch.full((1,), i + 1.0, device="cuda")

                def body():
                    with proton.scope(f"gpu {i}", {"x": x}):
                        x.add_(0)
                replayed(captured(body, torch.cuda.Stream()), 10)  # torch's own stream for captures is one of the first GPU
    rows = profiled(run).rows()
    assert [rows[f"replay/<captured_at>/gpu {i}"]["x"] for i in range(2)] == [10.0, 20.0]


def test_sessions_and_streams_at_once(sessions):
    first, second = sessions.start("first"), sessions.start("second")
    steps = [torch.zeros(1, device="cuda", dtype=torch.int64) for _ in range(3)]
    streams = [torch.cuda.Stream() for _ in steps]

    def body(step):
        step.add_(1)
        with proton.scope("s", {"step": step}):
            step.add_(0)
    graphs = [captured(lambda step=step: body(step), stream) for step, stream in zip(steps, streams)]
    for step in steps:
        step.zero_()
    torch.cuda.synchronize()

    def replay(i, n):
        with torch.cuda.stream(streams[i]), proton.scope(f"stream{i}"):
            for _ in range(n):
                graphs[i].replay()
    threads = [threading.Thread(target=replay, args=(i, 200)) for i in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    torch.cuda.synchronize()
    proton.deactivate(second)
    replay(0, 10)
    proton.finalize()
    once, more = 200 * 201 // 2, 210 * 211 // 2
    for name, want in (("first", (more, once, once)), ("second", (once, once, once))):
        rows = sessions.tree(name).rows()
        assert tuple(rows[f"stream{i}/<captured_at>/s"]["step"] for i in range(3)) == want, name


def test_forked_streams_of_one_graph(profiled):
    side = torch.cuda.Stream()
    a, b = torch.zeros(1, device="cuda"), torch.zeros(1, device="cuda", dtype=torch.int32)

    def body():
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        for tensor, stream, name in ((a, main, "a"), (b, side, "b")):
            with torch.cuda.stream(stream):
                tensor.add_(1)
                with proton.scope(name, {"value": tensor}):
                    tensor.add_(0)
        main.wait_stream(side)

    def run():
        graph = captured(body)
        a.zero_(), b.zero_()
        replayed(graph, 50)
    rows = profiled(run).rows()
    assert [rows[f"replay/<captured_at>/{name}"]["value"] for name in "ab"] == [1275, 1275]


def test_periodic_flushing(tmp_path, backend, vectors):
    x, y, z = vectors
    s = proton.start(str(tmp_path / "p"), backend=backend, hook="triton", mode="periodic_flushing:format=hatchet")
    graph = captured(lambda: owner[(1,)](x, y, z, 4, BLOCK=4))
    for phase in range(10):
        if phase:
            proton.data.advance_phase(s)
        replayed(graph, 50)
    proton.finalize()
    for phase in range(10):
        row = Tree.read(tmp_path / f"p.part_{phase}.hatchet").rows()["replay/<captured_at>/owner"]
        assert (row["flops"], row["bytes"], row["count"]) == (400.0, 2400, 50), (phase, row)


def test_a_trace(profiled):
    step = torch.zeros(1, device="cuda", dtype=torch.int64)

    def run():
        def body():
            step.add_(1)
            with proton.scope("s", {"step": step}):
                step.add_(0)
        graph = captured(body)
        step.zero_()
        replayed(graph, 5)
    events = [e for e in profiled(run, data="trace") if e.get("cat") == "kernel" and e["name"] == "<metric>"]
    assert [e["args"]["call_stack"][-4:] for e in events] == [["<captured_at>", "s", METADATA, "<metric>"]] * 5
    assert [e["args"]["metrics"] for e in sorted(events, key=lambda e: e["ts"])] == [{"step": n} for n in range(1, 6)], events[0]


def metered(metrics, scopes=100):
    """A graph of nothing but metrics."""
    def body():
        for i in range(scopes):
            with proton.scope(f"s{i}", metrics):
                pass
    return captured(body)


def test_many_replays(profiled):
    one = torch.ones(1, device="cuda")
    rows = profiled(lambda: replayed(metered({"one": one}), 1000)).rows()
    assert [rows[f"replay/<captured_at>/s{i}"]["one"] for i in range(100)] == [1000.0] * 100


def test_a_buffer_that_is_too_small(profiled, monkeypatch, capfd):
    """What is lost is said, and the rest is right."""
    monkeypatch.setenv("TRITON_PROFILE_METRIC_BUFFER_SIZE", "65536")
    one = torch.ones(1, device="cuda", dtype=torch.int64)
    tree = profiled(lambda: replayed(metered({"one": one}), 1000))
    (said,) = [line for line in capfd.readouterr().err.splitlines() if "values of tensor metrics in graphs are lost" in line]
    lost = int(said.split()[1])
    print(f"lost {lost} of 100000 values")
    assert lost > 0 and tree.total("<captured_at>", metric="one") == 100_000 - lost
    assert tree.total("<metric>") == 100_000


def test_graphs_that_are_destroyed(profiled):
    step = torch.zeros(1, device="cuda", dtype=torch.int64)

    def run():
        for i in range(30):
            graph = metered({"step": step.fill_(i)}, scopes=3)
            replayed(graph, 2)
            del graph
            gc.collect()
        torch.cuda.synchronize()
    rows = profiled(run).rows()
    assert [rows[f"replay/<captured_at>/s{i}"]["step"] for i in range(3)] == [2 * sum(range(30))] * 3


@pytest.mark.parametrize("options", [{"context": "python"}, {"mode": "pcsampling"}], ids=lambda options: next(iter(options)))
def test_other_sessions(profiled, vectors, options):
    x, y, z = vectors

    def run():
        replayed(captured(lambda: owner[(1,)](x, y, z, 4, BLOCK=4)), 20)
    tree = profiled(run, hook="triton", **options)
    assert tree.total("<captured_at>", metric="flops") == 160.0 and tree.total("<metric>") == 20, tree.rows()


def test_idle_seconds(sessions):
    """The clocks of values and of activities drift apart while nothing runs."""
    step = torch.zeros(1, device="cuda", dtype=torch.int64)
    s = sessions.start("s")

    def body():
        step.add_(1)
        with proton.scope("s", {"step": step}):
            step.add_(0)
    graph = captured(body)
    step.zero_()
    want = 0
    for i, seconds in enumerate((0, 0.5, 3, 8)):
        time.sleep(seconds)
        replayed(graph, 20)
        proton.deactivate(s)
        for _ in range(10):
            graph.replay()
        proton.activate(s)
        want += sum(range(30 * i + 1, 30 * i + 21))
    torch.cuda.synchronize()
    proton.finalize()
    assert sessions.tree("s").rows()["replay/<captured_at>/s"]["step"] == want
