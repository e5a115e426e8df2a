"""Sessions with a budget: what they cost a program, next to none, to a session without a budget and to torch.profiler.

Budgets are promised to half a percent (docs/always-on.md). What CUPTI itself takes for the record of a launch is in no budget, so
the comparison of a launch-bound loop is with a session that only times kernels.
"""
import statistics
import time

import pytest
import torch

import goproton as proton
from goproton import _library

pytestmark = [pytest.mark.alone, pytest.mark.only("cupti")]

LEARNING, ROUNDS, SLACK = 12.0, 5, 0.005


def spend(body, seconds):
    """Calls of body in a second."""
    torch.cuda.synchronize()
    began, n = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        for _ in range(20):
            body()
        torch.cuda.synchronize()
        n += 20
    return n / (time.perf_counter() - began)


def deep(body, frames=40):
    return body() if not frames else deep(body, frames - 1)


WORK = {
    "launch-bound": lambda work: work.mul,
    "deep": lambda work: lambda: deep(work.mul),
    "GPU-bound": lambda work: work.stream,
}


@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("mode", ["", "pcsampling"], ids=["times", "sampled"])
def test_budget_is_kept(sessions, work, name, mode):
    """The pace of a loop without a session, with kernels timed, with a budget, and in torch.profiler, in turns."""
    body, context = WORK[name](work), "python" if name == "deep" else "shadow"
    spend(body, 1.0)
    paces = {"none": [], "timed": [], "1%": [], "torch.profiler": []}
    budgets = []
    for _ in range(ROUNDS):
        paces["none"].append(spend(body, 2.0))
        sessions.start("timed")
        paces["timed"].append(spend(body, 2.0))
        proton.finalize()
        sessions.start("budget", context=context, mode=mode or None, budget="1%")
        spend(body, LEARNING)
        paces["1%"].append(spend(body, 8.0))
        budgets.append(_library.call("status")["budget"])
        proton.finalize()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
            paces["torch.profiler"].append(spend(body, 2.0))
    middle = {who: statistics.median(list_) for who, list_ in paces.items()}
    lost = {who: 1 - middle[who] / middle["none"] for who in middle}
    print(f"{name}, {mode or 'times'}: lost {', '.join(f'{who} {100 * share:.2f} %' for who, share in lost.items())}")
    for b in budgets:
        print({key: round(value, 5) if isinstance(value, float) else value for key, value in b.items() if key != "summary"})
    # What remains of the difference to a session that times kernels is what the budget is about.
    assert 1 - middle["1%"] / middle["timed"] < 0.01 + SLACK
    if mode:
        assert all(0 < b["sampled"] < 1 and b["kernels_sampled"] and b["kernels_not_sampled"] for b in budgets)
