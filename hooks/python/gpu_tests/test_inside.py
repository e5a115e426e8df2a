"""Scopes inside kernels on a GPU: their cycles, what breaks Triton's own profiler, results, graphs, and the cost of a launch."""
import json
import statistics
import struct
import threading
import time

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import globaltimer

import goproton as proton
import goproton.language as pl
from goproton import _library
from goproton.hooks import InstrumentationHook
from medians import middle

pytestmark = pytest.mark.only("cupti")
pl.enable_semantic("triton")


@triton.jit
def loop(x, y, n, B: tl.constexpr):
    with pl.scope("whole"):
        i = tl.program_id(0) * B + tl.arange(0, B)
        acc = tl.zeros((B,), tl.float32)
        for k in range(n):
            with pl.scope("load"):
                v = tl.load(x + i + k)
            with pl.scope("math"):
                acc += v * v
        with pl.scope("store"):
            tl.store(y + i, acc)


@triton.jit
def spin(parts, nanos):
    with pl.scope("whole"):
        for _ in range(parts):
            with pl.scope("part"):
                now = globaltimer()
                end = now + nanos
                while now < end:
                    now = globaltimer()


@triton.jit
def plain(x, y, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) + 1)


@triton.jit
def product(a, b, c, N, K, B: tl.constexpr):
    m, n = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    k = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for at in range(0, K, B):
        with pl.scope("load"):
            x = tl.load(a + m[:, None] * K + at + k[None, :])
            y = tl.load(b + (at + k)[:, None] * N + n[None, :])
        with pl.scope("dot"):
            acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


class Vectors:
    def __init__(self):
        self.x, self.y = torch.randn((1 << 20) + 64, device="cuda"), torch.zeros(1 << 20, device="cuda")

    def loop(self, blocks=64, n=3):
        loop[(blocks,)](self.x, self.y, n, B=1024)

    def plain(self, blocks=64):
        plain[(blocks,)](self.x, self.y, B=1024)


@pytest.fixture
def on():
    return Vectors()


@pytest.fixture
def inside(tmp_path):
    """Runs work in a session with scopes; returns cycles by path, and the kernels' counts. Nothing may be lost, except for what is named (None: anything)."""

    def go(body, mode=None, lost=(), **options):
        proton.start(str(tmp_path / "inside"), backend="instrumentation", mode=mode, **options)
        body()
        torch.cuda.synchronize()
        proton.deactivate(flushing=True)
        said = _library.call("status")["problems"]
        proton.finalize()
        assert lost is None or len(said) == len(lost) and all(word in sentence for word, sentence in zip(lost, said)), said
        from trees import Tree
        rows = Tree.read(tmp_path / "inside.hatchet").rows()
        return {path: row["cycles"] for path, row in rows.items() if "cycles" in row}, {path: row["count"] for path, row in rows.items() if path and "count" in row}

    return go


def test_cycles_of_scopes(inside, on):
    cycles, counts = inside(lambda: [on.loop() for _ in range(10)])
    assert set(cycles) == {"loop/whole", "loop/whole/load", "loop/whole/math", "loop/whole/store"} and counts["loop"] == 10
    parts = cycles["loop/whole/load"] + cycles["loop/whole/math"] + cycles["loop/whole/store"]
    assert 0 < parts < cycles["loop/whole"]


@pytest.mark.parametrize("mode", ["default:granularity=warp", "default:optimizations=clock32", "default:optimizations=clock32,sched_stores", "mma",
                                  "default:buffer_type=global", "default:sampling_strategy=selective:sampling_options=2,0", "default:buffer_size=4096"])
def test_modes(inside, on, mode):
    cycles, _ = inside(lambda: [on.loop(1024) for _ in range(3)], mode)
    assert all(cycles.values()) and len(cycles) == 4, cycles


def test_results_are_equal(inside):
    a, b = torch.randn(512, 512, device="cuda", dtype=torch.float16), torch.randn(512, 512, device="cuda", dtype=torch.float16)
    without, with_scopes = torch.zeros(512, 512, device="cuda"), torch.zeros(512, 512, device="cuda")
    vectors = Vectors()
    vectors.loop(1024)
    expected = vectors.y.clone()
    product[(8, 8)](a, b, without, 512, 512, B=64)

    def body():
        vectors.y.zero_()
        vectors.loop(1024)
        product[(8, 8)](a, b, with_scopes, 512, 512, B=64)

    cycles, _ = inside(body)
    assert torch.equal(vectors.y, expected) and torch.equal(without, with_scopes)
    assert {"product/load", "product/dot"} <= set(cycles)


def test_raw_slots(inside, on):
    InstrumentationHook.enable_host_buffer = True
    kept = []
    try:
        inside(lambda: (on.loop(200), kept.append(InstrumentationHook.host_buffer), on.plain(), kept.append(InstrumentationHook.host_buffer)))
    finally:
        InstrumentationHook.enable_host_buffer = False
    raw = bytes(kept[0].numpy())
    words = struct.unpack_from("<10I", raw)
    assert words[0] == 1 and words[5:8] == (1, 200, 4)
    slot, first = words[8], words[3]
    for n in range(200):
        mark, program, _, _, began, ended, _, *counts = struct.unpack_from("<4I3Q4I", raw, first + n * slot)
        assert (mark, program, counts) == (0xdeadbeef, n, [32] * 4) and began < ended
    assert struct.unpack("<10I", bytes(kept[1].numpy()))[6] == 0  # of a kernel without scopes there are no blocks


def test_kernel_without_scopes_behind_one_with_scopes(inside, on):
    cycles, counts = inside(lambda: (on.loop(), on.plain(), on.loop(), on.plain()))
    assert counts == {"loop": 2, "plain": 2} and cycles


def test_clock_past_its_wrap(inside):
    """A scope of more than 2^32 cycles, with 32-bit clocks. Its parts are shorter, so the wrap lies between two records of the ring."""
    parts, nanos = 13, 200_000_000
    cycles, _ = inside(lambda: spin[(1,)](parts, nanos), "default:optimizations=clock32", lost=["may be too short by a multiple of 2^32 cycles"])
    whole, inner = cycles["spin/whole"] / 4, cycles["spin/whole/part"] / 4  # of a warp
    assert whole > 1 << 32 and 1.0 < whole / (parts * nanos) < 2.5, whole
    assert 0.999 * whole < inner < whole, (inner, whole)


def test_full_ring_has_lost_the_outer_scope(inside, on):
    """What is left is right, and what is missing is said: one warp has room for 256 records and writes 4 for each turn of the loop."""
    cycles, _ = inside(lambda: on.loop(1, 100_000), lost=["found no room in 4 rings"])
    assert set(cycles) == {"loop/whole/load", "loop/whole/math", "loop/whole/store"} and 0 < max(cycles.values()) < 1 << 25, cycles


def test_graph_replays(inside, on):
    """Each replay has its records, below the kernel's node, at the place where the graph was launched."""
    on.loop()
    torch.cuda.synchronize()

    def body():
        with proton.scope("eager"):
            on.loop()
        graph = torch.cuda.CUDAGraph()
        with proton.scope("captured"), torch.cuda.graph(graph):
            on.loop(64, 3)
            on.loop(64, 2)
        torch.cuda.synchronize()
        with proton.scope("replay"):
            for _ in range(20):
                graph.replay()
        torch.cuda.synchronize()

    cycles, counts = inside(body)
    below = "replay/<captured_at>/captured/loop"
    assert counts[below] == 40 and {path for path in cycles if "replay" in path or path.startswith("captured")} == {
        below + path for path in ("/whole", "/whole/load", "/whole/math", "/whole/store")}, (counts, cycles)
    alone, _ = inside(lambda: [on.loop() for _ in range(10)])
    each = alone["loop/whole/load"] / 10
    assert 20 * each * 1.2 < cycles[below + "/whole/load"] < 60 * each * 3, (cycles, each)


def test_memory_of_graphs_comes_back(inside, on):
    """60 graphs after one another, each with a launch of 8 MiB: the host has room for the records of 30."""
    on.loop(1024)

    def body():
        on.loop(1024)
        for _ in range(60):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                on.loop(1024)
            graph.replay()
            torch.cuda.synchronize()
            graph.reset()
            del graph
            time.sleep(0.02)

    _, counts = inside(body)
    assert counts["loop"] == 1 and counts["<captured_at>/loop"] == 60, counts


def test_threads_and_streams(inside, on):
    def body():
        on.loop()
        def work():
            with torch.cuda.stream(torch.cuda.Stream()):
                mine = Vectors()
                for n in range(50):
                    mine.loop(1 + n % 16)
            torch.cuda.synchronize()
        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads], [t.join() for t in threads]

    _, counts = inside(body)
    assert sum(count for path, count in counts.items() if path.endswith("loop")) == 201


def test_autotuned(inside, on):
    tuned = triton.autotune(configs=[triton.Config({"B": b}, num_warps=w) for b, w in ((1024, 4), (512, 2), (256, 8))], key=["n"])(loop)
    cycles, _ = inside(lambda: tuned[lambda meta: ((1 << 16) // meta["B"],)](on.x, on.y, 5), lost=None)  # candidates are launched in quick succession
    assert cycles["loop/whole"] > 0


def test_losses_are_counted(tmp_path, on):
    """Launches of 8 MiB come faster than their records can be read. The launches that were recorded and those that were lost are all of them."""
    launches = 400
    on.loop(1024, 1)
    torch.cuda.synchronize()
    proton.start(str(tmp_path / "losses"), backend="instrumentation")
    for _ in range(launches):
        on.loop(1024, 1)
    torch.cuda.synchronize()
    proton.deactivate(flushing=True)
    said = _library.call("status")["problems"]
    proton.finalize()
    with open(tmp_path / "losses.hatchet") as file:
        (kernel,) = [child for child in json.load(file)[0]["children"] if child["frame"]["name"] == "loop"]
    lost = sum(int(sentence.split(": ")[1].split()[0].replace(",", "")) for sentence in said if "found no memory for records" in sentence)
    recorded = kernel["inside"]["kernel"]["launches"]
    print(f"{recorded} of {launches} launches recorded, {lost} lost")
    assert recorded + lost == kernel["metrics"]["count"] == launches, said
    (whole,) = kernel["children"]
    assert whole["inside"]["scope"]["each"]["count"] == recorded * 1024 * 4


def devices(node, path=()):
    """(path, device) of every scope and kernel."""
    path += (node["frame"]["name"],)
    if "device_id" in node["metrics"]:
        yield "/".join(path[1:]), node["metrics"]["device_id"]
    for child in node["children"]:
        yield from devices(child, path)


def test_two_gpus(tmp_path):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    vectors = []
    for i in range(2):
        with torch.cuda.device(i):
            vectors.append(Vectors())

    def body():
        for i in range(2):
            with torch.cuda.device(i), proton.scope(f"gpu {i}"):
                for _ in range(5 + i):
                    vectors[i].loop(64)
        for i in range(2):
            torch.cuda.synchronize(i)

    proton.start(str(tmp_path / "tree"), backend="instrumentation")
    body()
    proton.deactivate(flushing=True)
    assert not _library.call("status")["problems"]
    proton.finalize()
    with open(tmp_path / "tree.hatchet") as file:
        tree = json.load(file)[0]
    found = dict(devices(tree))
    kernels = {child["frame"]["name"]: child["children"][0] for child in tree["children"] if child["frame"]["name"].startswith("gpu")}
    for i in range(2):
        assert {found[f"gpu {i}/loop{scope}"] for scope in ("", "/whole", "/whole/load", "/whole/math", "/whole/store")} == {str(i)}, found
        kernel = kernels[f"gpu {i}"]
        assert kernel["metrics"]["count"] == kernel["inside"]["kernel"]["launches"] == 5 + i
        rate = kernel["inside"]["kernel"]["cycles"] / kernel["inside"]["kernel"]["warp_ns"]
        assert 0.3 < rate < 2.5, rate

    proton.start(str(tmp_path / "trace"), backend="instrumentation", data="trace")
    body()
    proton.finalize()
    with open(tmp_path / "trace.chrome_trace") as file:
        events = json.load(file)["traceEvents"]
    lanes = {event["tid"]: event["args"].get("device") for event in events if event["name"] == "thread_name"}
    shown = {(event["args"]["call_stack"][1], lanes[event["tid"]]) for event in events if event.get("cat") == "inside"}
    assert shown == {("gpu 0", "0"), ("gpu 1", "1")}, shown


def test_limit(inside, on):
    """600 blocks of 2 MiB are more than 1 GiB."""
    inside(lambda: on.loop(600), "default:buffer_type=global:buffer_size=2097152", lost=["found no memory for records"])


BURST, TURNS = 60, 60  # 60 launches of 1,024 blocks leave 490 MiB of records, which fit into the limit


def median_us(launch, wait):
    """The median launch of a burst, after a pause in which the records of the one before are read."""
    torch.cuda.synchronize()
    time.sleep(0.1)
    times = []
    for i in range(BURST + 5):
        began = time.perf_counter()
        launch()
        wait()
        times.append(time.perf_counter() - began)
    torch.cuda.synchronize()
    return statistics.median(times[5:]) * 1e6


def show(name, bare, other):
    """Prints how a launch compares with its neighbours without a session; returns the factor and its standard error."""
    factors = [2 * us / (before + after) for us, before, after in zip(other, bare, bare[1:])]
    factor, error = middle(factors)
    print(f"{name}: bare {statistics.median(bare):.1f} us, {statistics.median(other):.1f} us, x{factor:.3f} ± {error:.3f}")
    return factor, error


@pytest.mark.alone
@pytest.mark.parametrize("blocks", [4, 264, 1024])
def test_cost_of_a_launch(tmp_path, on, blocks):
    """A launch with scopes costs at most 1.2 times a bare one: bursts with and without sessions in turns, of launches that all have records."""
    launch, waits = lambda: on.loop(blocks), {"launch": lambda: None, "launch and wait": torch.cuda.current_stream().synchronize}
    times = {(name, kind): [] for name in waits for kind in ("bare", "kernels", "scopes")}

    def burst(kind, first=False):
        if kind != "bare":
            proton.start(str(tmp_path / kind), backend="instrumentation" if kind == "scopes" else "cupti")
        for _ in range(5):
            launch()
        for name, wait in waits.items():
            times[name, kind].append(median_us(launch, wait))
        if kind != "bare":
            proton.deactivate(flushing=True)
            said = _library.call("status")["problems"]
            proton.finalize()
            assert first or not said

    burst("scopes", first=True)  # which allocates what copies go to, and may lose records meanwhile
    times = {key: [] for key in times}
    for _ in range(TURNS):
        burst("bare")
        burst("kernels")
        burst("scopes")
    burst("bare")
    print()
    for name in waits:
        show(f"{blocks} blocks, {name}, kernels alone", times[name, "bare"], times[name, "kernels"])
        factor, error = show(f"{blocks} blocks, {name}, scopes", times[name, "bare"], times[name, "scopes"])
    assert error < 0.06, "other programs use the machine"
    assert factor < 1.2 + 2 * error
