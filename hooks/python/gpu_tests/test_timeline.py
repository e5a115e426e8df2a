"""Profiles as timelines: what a timeline counts against torch.profiler, its clocks, arrows, lanes and graphs."""
import collections

import pytest
import torch

import goproton as proton
from running import KILLED


def of(events, *categories):
    return [e for e in events if e["ph"] == "X" and e.get("cat") in categories]


def end(event):
    return event["ts"] + event["dur"]


def kind(name):
    return " ".join(name.split()[:2]) if name.startswith(("Memcpy", "Memset")) else "kernel"


def test_trace_counts_match_torch_profiler(profiled, work, kineto):
    def body():
        work.copies()
        for step in work.steps().values():
            step()
        torch.cuda.synchronize()
    body()
    events = profiled(body, data="trace")
    copied = of(events, "memcpy", "memset")
    got = collections.Counter("kernel" for _ in of(events, "kernel"))
    got += collections.Counter("Memset (Device)" if e["cat"] == "memset" else "Memcpy " + e["name"].strip("<>").split()[1] for e in copied)
    want = collections.Counter(kind(name) for name, _ in kineto(body))
    unattributed = sum("<unattributed>" in e["args"].get("call_stack", ()) for e in of(events, "kernel", "copy", "fill"))
    print(f"ours {dict(got)}, torch.profiler {dict(want)}; unattributed: {unattributed}")
    assert got == want
    lost = [e["name"] for e in copied if "copies" not in e["args"]["call_stack"]]
    assert not lost, f"copies without their scope: {lost}"
    assert all(e["args"]["bytes"] > 0 for e in copied)
    print(f"calls: {sorted({e['name'] for e in of(events, 'launch', 'sync')})}")


@pytest.mark.alone
def test_trace_clocks_and_arrows(profiled, work):
    def body():
        for i in range(200):
            with proton.scope(f"step{i % 3}"):
                work.add()
                work.mul()
            torch.cuda.synchronize()
    work.add()
    events = profiled(body, data="trace")
    calls = {e["args"]["correlation"]: e for e in of(events, "launch")}
    kernels = of(events, "kernel")
    assert len(kernels) == 400
    after_call = sorted(k["ts"] - calls[k["args"]["correlation"]]["ts"] for k in kernels)
    # The kernel that a wait was for ended before the wait did: the other side of the skew.
    waits = sorted({end(wait) for wait in of(events, "sync")})
    late = sorted(wait - max(before) for wait in waits if (before := [end(k) for k in kernels if k["ts"] < wait]))
    print(f"kernel start after the start of its call: min {after_call[0]:.2f}, median {after_call[200]:.2f} us; "
          f"end of the wait after the end of the kernel: min {late[0]:.2f}, median {late[len(late) // 2]:.2f} us")
    assert after_call[0] >= 0, f"{sum(d < 0 for d in after_call)} kernels start before their launch"
    assert late[0] > -5, "a wait ends before what it waited for"
    arrows_join(events, calls.values(), kernels)
    for tid in {e["tid"] for e in of(events, "scope")}:
        lie_in_each_other([e for e in of(events, "scope", "metric", "launch", "sync") if e["tid"] == tid])


def arrows_join(events, calls, kernels):
    """Each kernel has one arrow from its call."""
    heads, tails = ({e["id"]: (e["tid"], e["ts"]) for e in events if e["ph"] == ph} for ph in "sf")
    assert (len(heads), len(tails)) == (len(kernels), len(kernels))
    assert set(heads.values()) <= {(c["tid"], c["ts"]) for c in calls} and set(tails.values()) <= {(k["tid"], k["ts"]) for k in kernels}


def lie_in_each_other(slices):
    """Of two slices of a thread one lies in the other, or they lie apart."""
    stack = []
    for e in sorted(slices, key=lambda e: (e["ts"], -e["dur"])):
        while stack and stack[-1] <= e["ts"] + 1e-4:
            stack.pop()
        assert not stack or end(e) <= stack[-1] + 1e-3, e
        stack.append(end(e))


def test_trace_of_a_graph(profiled, work):
    def body():
        with proton.scope("capture"):
            g = torch.cuda.CUDAGraph()
            t, u = torch.ones(1 << 16, device="cuda"), torch.empty(1 << 16, device="cuda")
            with torch.cuda.graph(g):
                for i in range(2):
                    with proton.scope(f"iter{i}"):
                        work.add()
                        u.copy_(t)
        for _ in range(4):
            with proton.scope("replay"):
                g.replay()
        torch.cuda.synchronize()
    work.add()
    events = profiled(body, data="trace")
    replayed = [e for e in of(events, "kernel", "memcpy") if "<captured_at>" in e["args"]["call_stack"]]
    print(f"{len(replayed)} replayed: {sorted({e['args']['call_stack'][-1][:30] for e in replayed})}")
    assert len(replayed) == 16
    lanes = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    scopes = collections.Counter(e["name"] for e in of(events, "scope") if lanes[e["tid"]].startswith("Graph"))
    assert (scopes["<captured_at>"], scopes["iter0"], scopes["iter1"]) == (4, 4, 4)
    assert len({e["args"]["correlation"] for e in of(events, "launch") if "GraphLaunch" in e["name"]}) == 4


def test_trace_of_a_killed_program(run):
    killed = run("killed_later", flags=["-d", "trace"], codes=KILLED)
    kernels = of(killed.events(), "kernel")
    print(f"{killed.done.stderr.strip().splitlines()[-1]}: {len(kernels)} kernels")
    assert len(kernels) >= 3000
