"""Sessions with a budget: what they cost a program, next to none, to a session without a budget and to torch.profiler.

Budgets are promised to half a percent (docs/always-on.md). What CUPTI itself takes for the record of a launch is in no budget, so
the comparison of a launch-bound loop is with a session that only times kernels. A loop's pace drifts by more than a budget, and on
some machines has two levels: neighbours are compared, and the median of their differences has its error.
"""
import time

import pytest
import torch

import goproton as proton
from goproton import _library
from medians import middle

pytestmark = [pytest.mark.alone, pytest.mark.only("cupti")]

LEARNING, PAIRS, ROUNDS, SLOT, SLACK = 11.0, 24, 4, 0.25, 0.005


def spend(body, seconds):
    """Calls of body in a second, to the end of a slot of the budget, which are aligned to the clock."""
    torch.cuda.synchronize()
    began, n = time.time(), 0
    end = (began + seconds) // SLOT * SLOT
    while time.time() < end:
        for _ in range(20):
            body()
        torch.cuda.synchronize()
        n += 20
    return n / (time.time() - began)


def deep(body, frames=40):
    return body() if not frames else deep(body, frames - 1)


def surely(share, error, most):
    """Fails if a share is above a limit by more than chance, and where the machine is too noisy to tell."""
    assert error < 0.005, f"the standard error is {error:.3%}: other programs use the machine"
    assert share < most + 2 * error, f"{share:.2%} ± {error:.2%} are lost, and {most:.2%} are allowed"


def lost_while_active(body, session):
    """The share of its pace that a loop loses while a session is active, by half seconds."""
    def pair():
        proton.deactivate(session)
        without = spend(body, 0.5)
        proton.activate(session)
        return 1 - spend(body, 0.5) / without
    return [pair() for _ in range(PAIRS)]


WORK = {
    "launch-bound": lambda work: work.mul,
    "deep": lambda work: lambda: deep(work.mul),
    "GPU-bound": lambda work: work.stream,
}


@pytest.mark.parametrize("name", ["launch-bound", "deep"])
def test_budget_of_call_paths(sessions, work, name):
    """Nothing samples, and a session that is not active costs nothing."""
    body, lost = WORK[name](work), {}
    spend(body, 2.0)
    lost["timed"] = lost_while_active(body, sessions.start("timed"))
    proton.finalize()
    session = sessions.start("budget", context="python" if name == "deep" else "shadow", budget="1%")
    spend(body, LEARNING)
    lost["1%"] = lost_while_active(body, session)
    budget = _library.call("status")["budget"]
    proton.finalize()
    lost["torch.profiler"] = []
    for _ in range(PAIRS // 2):
        without = spend(body, 0.5)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
            lost["torch.profiler"].append(1 - spend(body, 0.5) / without)
    say(name, lost, [budget])
    (timed, error), (kept, more) = middle(lost["timed"]), middle(lost["1%"])
    surely(kept - timed, (error**2 + more**2) ** 0.5, 0.01 + SLACK)


@pytest.mark.parametrize("name", ["launch-bound", "GPU-bound"])
def test_budget_of_sampling(sessions, work, name):
    """A session with a budget between two that time kernels."""
    body, lost, budgets = WORK[name](work), {"1%": []}, []
    spend(body, 2.0)

    def timed():
        sessions.start("timed")
        pace = spend(body, 1.5)
        proton.finalize()
        return pace
    for _ in range(ROUNDS):
        before = timed()
        sessions.start("budget", mode="pcsampling", budget="1%")
        spend(body, LEARNING)
        kept = spend(body, 4.0)
        budgets.append(_library.call("status")["budget"])
        proton.finalize()
        lost["1%"].append(1 - 2 * kept / (before + timed()))
    say(f"{name}, sampled, next to timed", lost, budgets)
    kept, error = middle(lost["1%"])
    surely(kept, error, 0.01 + SLACK)
    assert all(0 < b["sampled"] < 1 and b["kernels_sampled"] and b["kernels_not_sampled"] for b in budgets)
    # The process's own account, of the whole time: learning what sampling costs is part of the budget.
    assert all(b["achieved"] < max(0.01, b["callbacks"] + b["hooks"]) + SLACK for b in budgets)


def say(name, lost, budgets):
    print(f"{name}: lost", ", ".join("{} {:.2f} ± {:.2f} %".format(who, *(100 * x for x in middle(shares))) for who, shares in lost.items()))
    for b in budgets:
        print({key: round(value, 5) if isinstance(value, float) else value for key, value in b.items() if key != "summary"})
