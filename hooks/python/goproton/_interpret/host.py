"""What Triton asks of a driver, answered for a machine without a GPU."""

from __future__ import annotations

import functools
import inspect
import math
import sys
import threading
import types
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

here = threading.local()  # here.run is the run that has the launch of this thread, else None
here.run = None


def current() -> Any:
    """The run that has the launch of this thread; None for none."""
    return getattr(here, "run", None)


class Target(GPUTarget):
    """What interpreted kernels are compiled for. Triton's cache of compiled kernels has one entry for each key."""


def target_of(text: str) -> Target:
    """The target of a setting, as in cuda:90 or hip:gfx942."""
    backend, _, arch = (text or "cuda:90").partition(":")
    if backend == "cuda" and arch.isdigit():
        return Target("cuda", int(arch), 32)
    if backend == "hip" and arch.startswith("gfx"):
        return Target("hip", arch, 64 if arch.startswith("gfx9") else 32)
    raise ValueError(f"the target {text!r} is not known: use one as cuda:90 or hip:gfx942")


PROPERTIES = {"max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": 32, "sm_clock_rate": 1_000_000, "mem_clock_rate": 1_000_000, "mem_bus_width": 1024}


class Host(DriverBase):
    """The driver while a kernel is launched on the CPU, and of programs on a machine without another driver."""

    launcher_cls = None

    def __init__(self) -> None:
        self.utils = types.SimpleNamespace(get_device_properties=lambda device: dict(PROPERTIES))
        self.target = target_of("")

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> GPUTarget:
        run = current()
        return self.target if run is None else run.target

    def get_current_device(self) -> Any:
        """0, but during a launch the key under which Triton keeps what it has compiled for the launch's run."""
        run = current()
        return 0 if run is None else run.key

    def set_current_device(self, device: Any) -> None:
        pass

    def get_current_stream(self, device: Any = None) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        import torch
        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        import torch
        return torch.cpu

    def get_benchmarker(self) -> Any:
        import triton.testing
        return triton.testing.do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        import torch
        return torch.empty(1)

    def clear_cache(self, cache: Any) -> None:
        pass


HOST = Host()

_said = False


def unknown_time() -> float:
    """The time that something takes on a GPU."""
    global _said
    if not _said:
        _said = True
        print("proton: kernels on the CPU have no times of a GPU: benchmarks are not run, and measured times are nan", file=sys.stderr)
    return math.nan


def untimed(bench: Any) -> Any:
    """A function of triton.testing that times a call, and does so only with a driver of a GPU."""
    takes = inspect.signature(bench)

    @functools.wraps(bench)
    def timed(*args: Any, **named: Any) -> Any:
        from triton.runtime.driver import driver
        if driver.active is not HOST:
            return bench(*args, **named)
        asked = takes.bind(*args, **named).arguments
        times = [unknown_time()] * len(asked.get("quantiles") or [0])
        return times if len(times) > 1 or asked.get("return_mode") == "all" else times[0]

    return timed

