"""Sessions with a budget: what they cost a program.

Budgets are promised to half a percent (docs/always-on.md), and what a session reports is what the loop loses, to half a percent. A loop's
pace drifts by more than a budget, and on some machines it has two levels, which last for a tenth of a second to ten seconds: the processor's
core is shared. So hundreds of short stretches are compared with their neighbours, and what is left of the noise is an error.
"""
import statistics
import time

import pytest
import torch

import goproton as proton
from goproton import _library
from medians import middle

pytestmark = [pytest.mark.alone, pytest.mark.only("cupti")]

LEARNING, ROUNDS, SLOT, SLACK = 11.0, 4, 0.25, 0.005
STRETCH, LONGEST, LEAVING = 0.3, 1.0, 0.5  # seconds: of a stretch, of one that a window does not let end, until CUPTI is left
ENOUGH, PATIENCE = 0.0025, 150  # the error with which stretches end, and the seconds after which they do; --soak 400 gives them more


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


def paced(body, seconds):
    """Calls of body, and the seconds that they took."""
    began, n = time.perf_counter(), 0
    while (took := time.perf_counter() - began) < seconds:
        for _ in range(20):
            body()
        torch.cuda.synchronize()
        n += 20
    return n, took


def budget_now():
    return _library.call("status")["budget"]


def active(body):
    """The same while the session is active. The stretch does not end in a window or shortly after it, where it can: leaving is a part of it."""
    calls, seconds, last = 0, 0, None
    while True:
        n, took = paced(body, STRETCH / 3)
        calls, seconds = calls + n, seconds + took
        now = budget_now()
        now = now["timing"], now.get("windows")
        if seconds >= STRETCH and (now == last and not now[0] or seconds > LONGEST):
            return calls, seconds
        last = now


def without(body, session):
    """Calls in a second while nothing is attached. CUPTI is there for a while if the session is deactivated in a window."""
    timing = budget_now()["timing"]
    proton.deactivate(session)
    if timing:
        paced(body, LEAVING)
    calls, seconds = paced(body, STRETCH)
    return calls / seconds


def lost_while_active(body, session, most):
    """The share of its pace that a loop loses while a session is active, with its error: each stretch is compared with those before and after
    it, in which the session is deactivated. The ratio of sums counts windows as often as they come: the loss is in few stretches."""
    got, fair, error = [], [], 1
    ends = time.perf_counter() + most
    before = without(body, session)
    while time.perf_counter() < ends and (len(got) < 20 or error > ENOUGH):
        proton.activate(session)
        calls, seconds = active(body)
        after = without(body, session)
        got.append(calls)
        fair.append(seconds * (before + after) / 2)
        before = after
        ratio = sum(got) / sum(fair)
        error = (len(got) * statistics.pvariance(g - ratio * f for g, f in zip(got, fair))) ** 0.5 / sum(fair)
    proton.activate(session)
    return 1 - ratio, error, len(got)


WORK = {
    "launch-bound": lambda work: work.mul,
    "deep": lambda work: lambda: deep(work.mul),
    "GPU-bound": lambda work: work.stream,
}


@pytest.mark.patience(PATIENCE + 60)
@pytest.mark.parametrize("name", WORK)
def test_budget_of_call_paths(sessions, work, name, pytestconfig):
    """Nothing samples: kernels are timed in windows."""
    body = WORK[name](work)
    spend(body, 2.0)
    session = sessions.start("budget", context="python" if name == "deep" else "shadow", budget="1%")
    spend(body, LEARNING)
    lost, error, n = lost_while_active(body, session, max(PATIENCE, pytestconfig.getoption("soak")))
    budget = budget_now()
    proton.finalize()
    print(f"{name}: lost {lost:.2%} ± {error:.2%} in {n} stretches, reported {budget['achieved']:.2%} ± {budget.get('error', 0):.2%}, {budget}")
    surely(lost, error, 0.01 + SLACK)
    assert abs(lost - budget["achieved"]) < SLACK + 2 * (error**2 + budget.get("error", 0) ** 2) ** 0.5
    assert name == "GPU-bound" or budget["timed"] < 1 and budget["windows"] > 5


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
