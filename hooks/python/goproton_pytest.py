"""GoProton in pytest: limits of GPU time, and a profile of each test.

    @pytest.mark.gpu_time(limit="2ms")
    def test_matmul(): ...

    pytest --proton                 # keeps the profile of each test that used a GPU, in the folder proton_profiles

It stands next to the package, because pytest loads it in every environment that has the wheel: it imports the package for a test that is
profiled, and not before.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile

import pytest

UNITS = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
PROFILE, TIME = "proton_profile", "gpu_time_ns"  # properties of a test's report, which JUnit's XML has too


def pytest_addoption(parser):
    group = parser.getgroup("proton", "GPU profiles, by GoProton")
    group.addoption("--proton", action="store_true", help="keep the profile of each test that used a GPU")
    group.addoption("--proton-dir", metavar="DIR", default="proton_profiles", help="the folder of these profiles (default: proton_profiles)")


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu_time(limit): fail if the kernels of the test take longer than limit, such as '2ms', on the GPU")


def pytest_collection_modifyitems(items):
    for item in items:
        _limit(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if _limit(item) is not None and not _gpu_is_there():
        pytest.skip("gpu_time: this machine has no GPU, so there is no time to compare with the limit")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    limit, keep = _limit(item), item.config.getoption("proton")
    if limit is None and not keep:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        if keep:
            folder = os.path.abspath(item.config.getoption("proton_dir"))
            os.makedirs(folder, exist_ok=True)
        session = _Session(os.path.join(folder, _file_name(item.nodeid)))
        outcome = yield
        tree = session.end()
        if tree is None or not tree.kernels:
            session.remove()
        elif keep:
            item.user_properties.append((PROFILE, session.path))
        if tree is not None and tree.kernels:
            item.user_properties.append((TIME, tree.time))
        if limit is None or outcome.excinfo is not None:
            return
        if session.problem:
            item.warn(pytest.PytestWarning(f"gpu_time of {item.nodeid} is not checked: {session.problem}"))
            return
        said = _verdict(tree, limit, session.path if keep else None)
        if said:
            outcome.force_exception(pytest.fail.Exception(said, pytrace=False))


def pytest_terminal_summary(terminalreporter, config):
    if not config.getoption("proton"):
        return
    kept = [dict(report.user_properties) for reports in terminalreporter.stats.values() for report in reports
            if getattr(report, "when", None) == "call" and PROFILE in dict(report.user_properties)]
    terminalreporter.section("proton")
    if not kept:
        terminalreporter.line("no test used a GPU, so no profile was kept")
        return
    kept.sort(key=lambda test: -test[TIME])
    for test in kept[:10]:
        terminalreporter.line(f"{_text(test[TIME]):>10}  {os.path.relpath(test[PROFILE])}")
    if len(kept) > 10:
        terminalreporter.line(f"and {len(kept) - 10} more in {config.getoption('proton_dir')}")
    terminalreporter.line(f"to read one: proton viewer {os.path.relpath(kept[0][PROFILE])}")


def _limit(item):
    """The limit of a test in ns; None without the mark."""
    mark = item.get_closest_marker("gpu_time")
    if mark is None:
        return None
    given = mark.kwargs.get("limit", mark.args[0] if mark.args else None)
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e-?[0-9]+)?)\s*(ns|us|µs|ms|s)\s*", given) if isinstance(given, str) else None
    if found is None or len(mark.args) + len(mark.kwargs) != 1 or float(found[1]) <= 0:
        raise pytest.UsageError(f"{item.nodeid}: read gpu_time({', '.join([*map(repr, mark.args), *(f'{k}={v!r}' for k, v in mark.kwargs.items())])}): "
                                "write a limit with its unit, as in @pytest.mark.gpu_time(limit=\"2ms\")")
    return float(found[1]) * UNITS[found[2]]


def _gpu_is_there():
    """Whether the machine has the driver of a GPU. It is not asked anything: a process that has used CUDA must not fork."""
    if any(map(os.path.exists, DRIVERS)):
        return True
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return re.search(r"/lib(cuda|amdhip64)\.so", maps.read()) is not None
    except OSError:
        return False


class _Session:
    """The session of one test. A program must not fail because of it: what goes wrong is `problem`."""

    def __init__(self, name):
        self.path, self.problem = name + ".hatchet", None
        import goproton
        from goproton import _library
        from goproton.flags import flags
        try:
            self.id = goproton.start(name, hook="triton")
        except Exception as error:
            self.id, self.problem = None, str(error)
        if self.id is None and not self.problem:
            self.problem = "proton run profiles the whole of pytest" if flags.command_line else _library.problem or "profiling is turned off"

    def end(self):
        """Ends the session and returns what ran; None if it was not recorded."""
        if self.id is None:
            return None
        import goproton
        torch = sys.modules.get("torch")
        try:
            if torch is not None and hasattr(torch, "cuda") and torch.cuda.is_initialized():
                torch.cuda.synchronize()
            goproton.finalize(self.id)
            with open(self.path, encoding="utf-8") as file:
                return _Tree(json.load(file)[0])
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"
            return None

    def remove(self):
        if os.path.exists(self.path):
            os.remove(self.path)


class _Tree:
    """The kernels of a profile: names with their times in ns and launches."""

    def __init__(self, root):
        self.kernels = {}
        open_nodes = [root]
        while open_nodes:
            node = open_nodes.pop()
            open_nodes.extend(node["children"])
            metrics = node["metrics"]
            if metrics.get("count") and "time (ns)" in metrics:
                time, count = self.kernels.get(node["frame"]["name"], (0, 0))
                self.kernels[node["frame"]["name"]] = time + metrics["time (ns)"], count + metrics["count"]
        self.time = sum(time for time, _ in self.kernels.values())


def _verdict(tree, limit, kept):
    """Why a test fails; None if it is within its limit."""
    if not tree.kernels:
        return "gpu_time: the test ran no kernel on the GPU, so there is no time to compare with the limit; remove the mark, or let the test use the GPU"
    if tree.time <= limit:
        return None
    lines = [f"gpu_time: the kernels of the test took {_text(tree.time)}, more than the limit of {_text(limit)}"]
    slowest = sorted(tree.kernels.items(), key=lambda one: -one[1][0])
    lines += [f"  {_text(time):>10}  {name} ({count} launch{'es' if count != 1 else ''})" for name, (time, count) in slowest[:5]]
    if len(slowest) > 5:
        lines.append(f"  and {len(slowest) - 5} more kernels")
    lines.append(f"the profile: proton viewer {os.path.relpath(kept)}" if kept else "pytest --proton keeps the profile")
    return "\n".join(lines)


def _text(ns):
    unit = next((unit for unit in ("s", "ms", "us") if ns >= UNITS[unit]), "ns")
    return f"{ns / UNITS[unit]:.4g} {unit}"


def _file_name(nodeid):
    """A test's name as that of a file; what is cut off or replaced is kept apart by a hash."""
    name = re.sub(r"[^\w.=,+-]+", "_", nodeid).strip("_")
    if len(name) > 150 or re.sub(r"::|/", "_", nodeid) != name:
        import zlib
        name = f"{name[:150]}.{zlib.crc32(nodeid.encode('utf-8', 'surrogatepass')):08x}"
    return name
