"""Fixtures: sessions and runs whose profiles are read back, work to profile, and torch.profiler's counts to compare with."""
import functools
import json
import pathlib

import pytest
import torch
import triton

import goproton as proton
from launches import Hot, Work
from running import Run
from sampling import Sampled
from trees import Tree

pytest_plugins = ["isolation"]


def pytest_addoption(parser):
    parser.addoption("--backend", help="the backend that is checked; by default what fits the machine")
    parser.addoption("--soak", type=int, default=20, help="seconds of sampling while code comes and goes (20)")
    parser.addoption("--tritonparse", help="a folder with tritonparse and what it needs (pip install --target), to compare with")


def pytest_runtest_setup(item):
    wanted = item.config.getoption("--backend") or "cupti"
    for mark in item.iter_markers("only"):
        if wanted not in mark.args:
            pytest.skip(f"needs --backend {' or '.join(mark.args)}: it is about that backend alone")


@pytest.fixture
def backend(request):
    """The backend that is checked, None for the machine's own."""
    return request.config.getoption("--backend")


class Sessions:
    """The sessions of a check. Their profiles lie in its folder, and are read when the sessions have ended."""

    def __init__(self, folder, backend):
        self.folder, self.backend, self.count = folder, backend, 0

    def start(self, name, **options):
        return proton.start(str(self.folder / name), backend=self.backend, **options)

    def tree(self, name):
        return Tree.read(self.folder / f"{name}.hatchet")

    def events(self, name):
        with open(self.folder / f"{name}.chrome_trace") as file:
            return json.load(file)["traceEvents"]

    def profiled(self, body, **options):
        """Runs body in a session and returns its tree, or the events of its timeline."""
        self.count += 1
        name = f"profile{self.count}"
        self.start(name, **options)
        body()
        proton.finalize()
        return self.events(name) if options.get("data") == "trace" else self.tree(name)


@pytest.fixture
def sessions(tmp_path, backend):
    return Sessions(tmp_path, backend)


@pytest.fixture
def profiled(sessions):
    return sessions.profiled


@pytest.fixture
def sampled(sessions):
    return functools.partial(Sampled, sessions)


@pytest.fixture
def run(tmp_path, backend):
    """run(program, argument…, flags=…): a program of programs.py below `proton run`."""
    def one(name, *arguments, flags=(), profile=None, **options):
        flags = [*(["--backend", backend] if backend else []), *flags]
        return Run(tmp_path / f"{profile or name}-profile", flags, name, *arguments, **options)
    return one


@pytest.fixture
def traced(run, tmp_path):
    """As run, with a TritonParse trace."""
    def one(name, *arguments, trace=None, **options):
        return run(name, *arguments, trace=trace or tmp_path / f"{name}-trace", **options)
    return one


@pytest.fixture
def work():
    return Work()


@pytest.fixture
def hot():
    return Hot()


@pytest.fixture(params=["", *(pathlib.Path(triton.__file__).parent / "backends/nvidia/lib").glob("cupti*/libcupti.so.1*")],
                ids=lambda path: path.name if path else "found")
def any_libcupti(request, monkeypatch, backend):
    """The libcupti that is found, and Triton's own (CUDA 12.8) while torch's is installed, chosen by PROTON_CUPTI_PATH."""
    if request.param:
        if backend not in (None, "cupti"):
            pytest.skip("needs --backend cupti: it chooses a libcupti")
        monkeypatch.setenv("PROTON_CUPTI_PATH", str(request.param))


@pytest.fixture
def kineto():
    """kineto(body): the name and time in ns of all that ran on the GPU, from torch.profiler."""
    from torch.profiler import ProfilerActivity, profile

    def one(body):
        with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as p:
            body()
            torch.cuda.synchronize()
        return [(e.name, e.time_range.elapsed_us() * 1000) for e in p.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    return one
