import importlib.util
import inspect
import sys

import triton


def _unwrapped(kernel):
    """The kernel without autotuner and heuristics around it: the recorded arguments hold what they had chosen."""
    while hasattr(getattr(kernel, "fn", None), "__getitem__"):
        kernel = kernel.fn
    return kernel


def _compilable(kernel, **options):
    """The kernel, also if the name in its file is that of the plain function."""
    return triton.jit(kernel, **options) if inspect.isfunction(kernel) else kernel
