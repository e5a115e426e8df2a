"""The programs of an exam, and what they share."""

import torch

cases = {}


def case(name, want, metrics=None, kind="samples"):
    """Adds a program. want: the classes of its cause, with | between several; without one it is healthy. kind: samples, timeline, or cold for samples of
    a first run, with what is compiled in it."""

    def add(run):
        cases[name] = want, metrics, kind, run

    return add


def random(*shape, **kind):
    return torch.randn(*shape, device="cuda", **kind)


def halves(*shape, dtype=torch.float16):
    return random(*shape, dtype=dtype) * 0.1
