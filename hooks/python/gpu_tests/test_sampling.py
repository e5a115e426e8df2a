"""Instruction sampling: totals, lines, launches and modes."""
import time

import pytest
import torch

import goproton as proton
from sampling import HOT_LINE, clock_hz, distance, lines

pytestmark = [pytest.mark.alone, pytest.mark.only("cupti")]
MODES = pytest.mark.parametrize("options", ["", "collection=serialized"], ids=["continuous", "serialized"])


def test_totals_are_what_the_period_says(sampled, hot):
    """A kernel that keeps every multiprocessor busy has SMs * cycles / period samples."""
    hot.chain(10)
    torch.cuda.synchronize()
    with sampled("interval=32768") as p:
        for _ in range(3):
            hot.chain(300_000)
        hz = clock_hz()  # while it runs
    nanos, got = p.tree.nanos("chain_kernel"), p.tree.samples("chain_kernel")
    want = hot.sms * nanos * 1e-9 * hz / 32768
    print(f"{got} samples, {want:.0f} by {nanos * 1e-6:.1f} ms at {hz * 1e-6:.0f} MHz: ratio {got / want:.4f}")
    assert abs(got / want - 1) < 0.05


@MODES
def test_planted_line_is_the_hottest(sampled, hot, options):
    with sampled(options) as p:
        for _ in range(5):
            hot.chain(20_000)
    of = p.lines()
    share = sum(n for line, n in of.items() if line.endswith(f":{HOT_LINE}")) / sum(of.values())
    print(f"{share:.4f} at line {HOT_LINE}; {p.expect_hot_line()}")
    assert share > 0.95


def test_modes_agree_line_by_line(sampled, hot):
    trees = []
    for options, n in (("interval=4096", 300), ("interval=4096:collection=serialized", 60)):
        with sampled(options) as p:
            hot.repeat(n)
        trees.append(p.tree)
    for kernel in hot.kernels():
        p, q = (lines(tree, kernel) for tree in trees)
        print(f"{kernel}: {sum(p.values())} and {sum(q.values())} samples, distance {distance(p, q):.4f}")
        assert distance(p, q) < 0.05


@MODES
def test_serialized_knows_every_launch(sampled, hot, options):
    """The same function from two call paths, with nine times the work in one: continuous mode shares by time, which is
    right here too; serialized mode knows."""
    with sampled(options) as p:
        for _ in range(10):
            hot.scoped("short", 5_000, n=1)
            hot.scoped("long", 45_000, n=1)
    p.expect_shares("long", "short", within=0.03)


def test_graphs_are_sampled(sampled, hot):
    hot.chain(10)
    torch.cuda.synchronize()
    with sampled() as p:
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g), proton.scope("captured"):
            for _ in range(3):
                hot.chain(10_000, C=2.0)
        for _ in range(20):
            with proton.scope("replay"):
                g.replay()
    print(f"{p.tree.total('chain_kernel')} kernels of a graph, {p.expect_hot_line()}")
    assert p.tree.total("chain_kernel") == 60 and p.tree.samples("chain_kernel") > 1000


def test_counts_do_not_suffer(sampled, hot):
    with sampled("kernels=nothing_has_this_name") as p:
        for _ in range(2000):
            hot.chain(1, blocks=1)
    assert p.tree.total("chain_kernel") == 2000
    assert p.tree.samples() == 0, "a pattern that nothing matches leaves no samples"


@pytest.mark.parametrize("options, fills", [("interval=32:buffer=67108864", True), ("buffer=67108864", False)])
def test_a_full_buffer_is_reported_and_survived(sampled, hot, options, fills):
    """At the highest rate a long kernel fills the GPU's buffer; what comes later is sampled again, and at the usual rate the
    same buffer never fills."""
    with sampled(options) as p:
        for i in range(3):
            for scope, steps, C, n in (f"flood {i}", 200_000, 1.0, 20), (f"after {i}", 2_000, 2.0 + i, 1):
                hot.scoped(scope, steps, C, n)
                torch.cuda.synchronize()
                time.sleep(1)
    after = [p.tree.samples(f"after {i}") for i in range(3)]
    print(f"total {p.facts['total']}, dropped {p.facts['dropped']}, buffer full {p.facts['buffer_full']}; after each flood {after} samples")
    assert bool(p.facts["buffer_full"] or p.facts["dropped"]) == fills and min(after) > 100


def test_sessions_come_again(sampled, hot):
    for _ in range(3):
        with sampled() as p:
            for _ in range(3):
                hot.chain(20_000)
        print(p.expect_hot_line())


def test_code_loaded_before_the_session_has_lines(sampled, hot):
    for C in (1.0, 2.0):
        hot.chain(16, C=C)  # a multiple of 16, as the launches below have: Triton compiles other numbers of steps separately
    torch.relu(hot.x)
    torch.cuda.synchronize()
    with sampled() as p:
        for _ in range(20):
            hot.scoped("variant 1", 20_000, 1.0, n=1)
            hot.scoped("variant 2", 40_000, 2.0, n=1)
            torch.relu(hot.x)
    print(p.expect_hot_line())
    p.expect_shares("variant 2", "variant 1", within=0.05)


def test_code_of_one_checksum_is_exact_or_unattributed(sampled, hot):
    """CUPTI names code that was loaded before the session by a checksum, which two variants can have in common. Their samples are
    unattributed then, and with different checksums exact."""
    for C in (1.0, 4.0):
        hot.chain(16, C=C)
    torch.cuda.synchronize()
    for _ in range(2):
        with sampled() as p:
            for _ in range(20):
                hot.scoped("one", 20_000, 1.0, n=1)
                hot.scoped("four", 40_000, 4.0, n=1)
        if lost := p.tree.samples("<unattributed>"):
            print(f"one checksum: {lost} of {p.facts['total']} samples are unattributed")
            assert lost > 0.9 * p.facts["total"] and not p.tree.samples("one") and not p.tree.samples("four")
        else:
            p.expect_shares("four", "one", within=0.02)


def test_short_intervals_lose_nothing_at_the_end(sampled, hot):
    """CUPTI decodes more slowly than an H200 samples every 4096 cycles: what it has not decoded yet must not be left there."""
    hot.repeat(1)
    torch.cuda.synchronize()
    taken = {}
    for interval in (65536, 4096):
        with sampled(f"interval={interval}") as p:
            hot.repeat(300)
        taken[interval] = {k: interval * p.tree.samples(k) / p.tree.nanos(k) for k in hot.kernels()}
        print(f"every {interval} cycles: {p.facts['total']} samples, {p.facts['dropped']} dropped, full {p.facts['buffer_full']}, finalize {p.finalize:.3f} s; "
              f"cycles per ns {', '.join(f'{k} {v:.1f}' for k, v in taken[interval].items())}")
    for k in hot.kernels():
        assert abs(taken[4096][k] / taken[65536][k] - 1) < 0.1, k
