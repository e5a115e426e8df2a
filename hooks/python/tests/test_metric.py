"""Metric values and modes: pure Python."""

import sys
from decimal import Decimal
from fractions import Fraction

import pytest

from goproton import metric, mode, specs


class Tensor:
    def __init__(self, value, device="cpu", floating=False):
        self.value, self.floating = value, floating
        self.device = type("device", (), {"type": device})

    def data_ptr(self):
        return 64

    def numel(self):
        return len(self.value) if isinstance(self.value, list) else 1

    def tolist(self):
        return self.value

    def is_floating_point(self):
        return self.floating

    def double(self):
        return self

    long = double


def test_roofline_scalar_metric_types():
    given = {"flops": 1, "flops16": Tensor(2), "bytes": 3.0, "flops32": [1, 2], "other": 4, "bytes ": 1.5}
    host, device = metric.transform_tensor_metrics(given)
    assert device == {}
    assert host == {"flops": 1.0, "flops16": 2.0, "bytes": 3, "flops32": [1.0, 2.0], "other": 4, "bytes ": 1.5}
    types = {name: type(value[0] if isinstance(value, list) else value).__name__ for name, value in host.items()}
    assert " ".join(types.values()) == "float float int float int float"


def test_device_tensors_are_tensor_metrics():
    host, device = metric.transform_tensor_metrics({
        "x": Tensor([1.0, 2.0], "cuda", True), "n": Tensor(1, "cuda"), "flops": Tensor(1, "cuda"),
        "bytes": Tensor([1, 2], "cuda", True)})
    assert host == {}
    assert {name: (m.index, m.size, m.ptr) for name, m in device.items()} == {
        "x": (metric.VECTOR_DOUBLE, 2, 64), "n": (metric.INT64, 1, 64), "flops": (metric.DOUBLE, 1, 64),
        "bytes": (metric.VECTOR_INT64, 2, 64)}


@pytest.mark.parametrize("value, plain", [
    (1, 1), (True, 1), (1.5, 1.5), (1 << 63, float(1 << 63)), (Fraction(3, 2), 1.5), (Decimal("0.5"), 0.5),
    ([1, 2.5], [1.0, 2.5]), ((1, 2), [1, 2]), (range(3), [0, 1, 2]), ([], []), (Tensor([7]), 7), (Tensor(1.25), 1.25),
])
def test_plain(value, plain):
    got = metric.plain("m", value)
    assert got == plain and type(got) is type(plain)


def test_plain_texts():
    assert metric.plain("m (pty)", "text") == "text" and metric.plain("(exc) m", "") == ""


@pytest.mark.parametrize("value", ["text", None, 1j, [[1]], b"x", object(), {}])
def test_plain_refuses(value):
    with pytest.raises(TypeError, match="metric 'm'"):
        metric.plain("m", value)


def test_modes_print_as_upstream_s():
    assert str(mode.PCSampling(interval=5)) == "pcsampling:interval=5"
    assert str(mode.PCSampling()) == "pcsampling"
    assert (str(mode.PCSampling(kernels="a:b", collection="serialized", buffer=1 << 26, cubins="drop", sources="drop"))
            == "pcsampling:collection=serialized:buffer=67108864:cubins=drop:sources=drop:kernels=a:b")
    assert str(mode.PCSampling(collection="continuous")) == "pcsampling:collection=continuous"
    assert str(mode.BaseMode("x")) == "x"
    text = ("default:metric_type=METRIC_TYPE.CYCLE:sampling_strategy=SAMPLING_STRATEGY.SELECTIVE:sampling_options=0,1:"
            "granularity=GRANULARITY.WARP_2:buffer_strategy=BUFFER_STRATEGY.CIRCULAR:buffer_type=BUFFER_TYPE.GLOBAL:"
            "buffer_size=4096:optimizations=time_shift,clock32")
    assert text == str(mode.Default(sampling_strategy="selective", sampling_options="0,1", granularity="warp_2",
                                    buffer_type="global", buffer_size=4096, optimizations="time_shift, clock32"))
    assert str(mode.MMA()).startswith("mma:") and mode.MMA() == mode.MMA()


@pytest.mark.parametrize("make, text", [
    (lambda: mode.PCSampling(interval=0), "Interval must be a positive integer."),
    (lambda: mode.PCSampling(collection="often"), "Unknown collection: often"),
    (lambda: mode.Default(granularity="block"), "Unknown granularity: block"),
    (lambda: mode.Default(optimizations="faster"), "Unknown optimization: faster"),
])
def test_modes_refuse(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_peaks():
    near = pytest.approx
    assert specs.max_flops("CUDA", "90", 16, 132, 1980000) == near(0.988e15, rel=1e-3)
    assert specs.max_flops("CUDA", "100", 8, 148, 1860000) == near(4.51e15, rel=1e-3)
    assert specs.max_flops("CUDA", "80", 16, 108, 1410000) == 312e12
    assert specs.max_flops("CUDA", "89", 8, 128, 2520000) == near(330.3e12)
    assert specs.max_flops("CUDA", "86", 16, 84, 1740000) == near(149.7e12, rel=1e-2)
    assert specs.max_flops("HIP", "gfx942:sramecc+", 8, 304, 2100000) == near(2614.9e12, rel=1e-3)
    assert specs.max_bps("CUDA", "90", 6016, 3201000) == near(4.814e12, rel=1e-3)
    assert specs.max_bps("CUDA", "121", 0, 0) == 273e9 and specs.max_bps("HIP", "gfx950", 0, 0) == 8e12
    for wrong in (lambda: specs.max_flops("CUDA", "35", 8, 1, 1), lambda: specs.max_flops("XPU", "x", 8, 1, 1),
                  lambda: specs.max_flops("CUDA", "90", 4, 1, 1), lambda: specs.max_bps("HIP", "gfx1100", 1, 1)):
        with pytest.raises(ValueError, match="Unsupported"):
            wrong()


def test_peaks_agree_with_the_go_table():
    # The figures and their sources are in gpu/peaks.
    import re
    from conftest import REPOSITORY
    source = REPOSITORY / "internal" / "peaks" / "nvidia.go"
    if not source.exists():
        pytest.skip("needs gpu/peaks/nvidia.go of a checkout")
    _, _, table = source.read_text().partition("var perClock = ")
    rows = re.findall(r'"(\d+)": +\{(\d+), (\d+), (\d+), (\d+)\}', table.partition("\n}")[0])
    assert {arch: tuple(map(int, rates)) for arch, *rates in rows} == specs._PER_CLOCK
    shared = re.findall(r'"(\d+)": +([\d.]+e9)', source.read_text())
    assert {arch: float(rate) for arch, rate in shared} == specs._SHARED_MEMORY


def test_nothing_heavy_was_imported():
    assert "torch" not in sys.modules and "triton" not in sys.modules
