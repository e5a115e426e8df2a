"""goproton.viewer and Triton's own, over the same llnl-hatchet: the same text for the same flags."""

import json
import subprocess
from importlib.util import find_spec

import pytest
from conftest import LIBRARY, ORACLES, run_python


def node(name, *children, **metrics):
    return {"frame": {"name": name, "type": "function"}, "metrics": metrics, "children": list(children)}


def kernel(name, device, time, count=1, **metrics):
    return node(name, **{"time (ns)": time, "count": count, "device_id": device, "device_type": "CUDA", **metrics})


PROFILE = [
    node("ROOT",
         node("/src/a.py:10@main",
              kernel("gemm", "0", 204800, 2, flops8=1e11, flops16=2e10, bytes=100_000_000),
              kernel("copy", "1", 102400, 4, flops8=0.0, bytes=900_000_000),
              node("__proton_launch_metadata", kernel("sum", "0", 1000)),
              node("__proton_launch_metadata:gemm", node("sum", kernel("sum", "0", 1000)))),
         node("scope", kernel("gemm", "2", 50000, flops8=2e10, bytes=1_000_000), node("empty"),
              **{"cpu_time (ns)": 400000, "tokens": 7}),
         **{"time (ns)": 0, "count": 0, "flops8": 0, "flops16": 0, "bytes": 0}),
    {"CUDA": {
        "0": {"arch": "89", "bus_width": 384, "clock_rate": 1700000, "memory_clock_rate": 10501000, "num_sms": 128},
        "1": {"arch": "90", "bus_width": 6016, "clock_rate": 1980000, "memory_clock_rate": 3201000, "num_sms": 132},
        "2": {"arch": "100", "bus_width": 8192, "clock_rate": 1700000, "memory_clock_rate": 4000000, "num_sms": 148},
    }},
]

FLAGS = [
    "-l", "-m time/ms", "-m time/s,time/ns", "-m avg_time/us,count", "-m util", "-m util,tflop8/s", "-m flop16/s",
    "-m gbyte/s,time/%", "-m cpu_time/ms", "-m tokens", "-m tokens/%", "-m TIME", "-m time/ms -i .*gemm.*",
    "-m time/ms -e .*gemm.*", "-m time/us -t 60", "-m time/ms -d 1", "-m time/ms -f function_line",
    "-m time/ms -f file_function", "-m time/ms -f file_function_line --print-sorted", "-m time/ms -diff other.json",
    "-m nonesuch", "-m time/parsec", "-i a -e b -m time/ms", "",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if find_spec("hatchet") is None or not (ORACLES / "triton-3.9.0").exists():
        pytest.skip("llnl-hatchet and Triton 3.9.0 are not there; make oracles")
    folder = tmp_path_factory.mktemp("viewer")
    other = json.loads(json.dumps(PROFILE))
    other[0]["children"][0]["children"][0]["metrics"]["time (ns)"] = 150000
    (folder / "profile.json").write_text(json.dumps(PROFILE))
    (folder / "other.json").write_text(json.dumps(other))
    return folder


# All flag sets in one process: importing pandas and hatchet takes longer than they do.
ALL = """
import contextlib, io, json, sys
from {package} import viewer
answers = []
for flags in json.loads(sys.argv[1]):
    sys.argv = ["viewer", *flags.split(), "profile.json"]
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            viewer.main()
        error = None
    except Exception as e:
        error = [type(e).__name__, str(e)]
    answers.append([out.getvalue(), error])
print(json.dumps(answers))
"""


def test_the_same_text_as_triton_s_viewer(folder):
    path = [ORACLES / "triton-3.9.0"]
    ours, theirs = [
        json.loads(run_python(ALL.format(package=package), json.dumps(FLAGS), path=path, cwd=folder).stdout)
        for package in ("goproton", "triton.profiler")
    ]
    assert len(ours) == len(FLAGS)
    for flags, a, b in zip(FLAGS, ours, theirs):
        assert a == b, f"viewer {flags}"
    assert sum(bool(text) for text, _ in ours) > 15, "most flag sets print a tree"


def test_functions_that_scripts_import(folder):
    run_python("""
import json, math
from goproton import viewer, specs
database = json.load(open("profile.json"))
gf, inclusive, exclusive, devices = viewer.get_raw_metrics(database)
assert "time (ns)" in inclusive and "tokens" in exclusive and list(devices) == ["CUDA"]
names = list(gf.dataframe["name"])
with open("profile.json") as file:  # as in Triton 3.6
    assert list(viewer.get_raw_metrics(file)[0].dataframe["name"]) == names
assert "__proton_launch_metadata" not in names and "empty" not in names and "scope" in names
gf, inclusive, exclusive, devices = viewer.read("profile.json")
df = gf.dataframe
flops = viewer.get_min_time_flops(df, devices)["min_time"]
traffic = viewer.get_min_time_bytes(df, devices)["min_time"]
row = df.index[list(df["name"]).index("copy")]
assert flops[row] == 0 and math.isclose(traffic[row], 9e8 / specs.max_bps("CUDA", "90", 6016, 3201000))
gf, columns = viewer.parse(["time/ms", "util"], "profile.json", include=".*scope.*")
assert columns == ["time/ms (inc)", "util"] and "copy" not in list(gf.dataframe["name"])
assert viewer.match_available_metrics(["Time", "tokens"], inclusive, exclusive) == ["time (ns) (inc)", "tokens"]
""", cwd=folder)


def test_a_missing_hatchet_is_explained(tmp_path):
    (tmp_path / "p.json").write_text("[]")
    code = """
import sys
sys.modules["hatchet"] = None
from goproton import viewer
try:
    viewer.get_raw_metrics([{"frame": {"name": "ROOT"}, "metrics": {"a": 1}, "children": []}])
    raise SystemExit("no error")
except ImportError as error:
    assert "pip install llnl-hatchet" in str(error)
"""
    run_python(code)


AGREED = ["util", "tflop8/s", "gflop16/s", "gbyte/s", "time/us", "avg_time/ns", "time/%"]
DEVICES = {  # whose peaks are the same for Proton and for us
    "CUDA": {"0": {"arch": "90", "bus_width": 6144, "clock_rate": 1980000, "memory_clock_rate": 3201000, "num_sms": 132},
             "1": {"arch": "100", "bus_width": 8192, "clock_rate": 1965000, "memory_clock_rate": 3996000, "num_sms": 148}},
    "HIP": {"0": {"arch": "gfx942", "bus_width": 8192, "clock_rate": 2100000, "memory_clock_rate": 1300000, "num_sms": 304},
            "1": {"arch": "gfx950", "bus_width": 8192, "clock_rate": 2400000, "memory_clock_rate": 2000000, "num_sms": 256}},
}


@pytest.mark.parametrize("vendor", DEVICES)
def test_three_implementations_agree_on_rates_and_utilisation(vendor, tmp_path):
    """Those of `proton viewer`, of its --compat, and of this module, for kernels that are bound by arithmetic and by memory."""
    if find_spec("hatchet") is None:
        pytest.skip("llnl-hatchet is not there; make oracles")
    kernels = [
        kernel("gemm8", "0", 204800, 2, device_type=vendor, flops8=1.5e11, flops16=0, bytes=100_000_000),
        kernel("gemm16", "1", 102400, 4, device_type=vendor, flops8=0, flops16=9e10, bytes=300_000_000),
        kernel("copy", "0", 51200, 8, device_type=vendor, flops8=1e6, flops16=1e6, bytes=120_000_000),
        kernel("copy1", "1", 25600, 1, device_type=vendor, flops8=1e6, flops16=1e6, bytes=150_000_000),
    ]
    root = node("ROOT", *kernels, **{"time (ns)": 0, "count": 0, "flops8": 0, "flops16": 0, "bytes": 0})
    (tmp_path / "p.hatchet").write_text(json.dumps([root, {vendor: DEVICES[vendor]}]))

    def viewer(*flags):
        command = [LIBRARY.parent / "proton", "viewer", *flags, "p.hatchet"]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    table = json.loads(viewer("--view", "json", "-m", ",".join(AGREED)))
    names = [column["name"] for column in table["columns"]]
    own = {row["name"]: dict(zip(names, row["values"])) for row in table["rows"]}
    compat = {}
    for pair in zip(AGREED, AGREED[1:]):
        for line in viewer("--compat", "-m", ",".join(pair)).splitlines():
            words = line.replace("├─", "").replace("└─", "").split()
            if len(words) == 3:
                compat.setdefault(words[2], {}).update(zip(pair, map(float, words)))
    module = json.loads(run_python(f"""
import json
from goproton import viewer
frame, columns = viewer.parse({AGREED}, "p.hatchet")
print(json.dumps({{row["name"]: dict(zip({AGREED}, [row[c] for c in columns])) for _, row in frame.dataframe.iterrows()}}))
""", cwd=tmp_path).stdout)
    for one in kernels:
        name, m = one["frame"]["name"], one["metrics"]
        assert module[name]["tflop8/s"] == pytest.approx(m["flops8"] / m["time (ns)"] / 1e3)  # by hand
        assert module[name]["gbyte/s"] == pytest.approx(m["bytes"] / m["time (ns)"])
        assert 0.05 < module[name]["util"] < 1.3, name
        for metric in AGREED:
            assert compat[name][metric] == pytest.approx(module[name][metric], abs=6e-4), (name, metric)
            assert (own[name][metric] or 0) == pytest.approx(module[name][metric], rel=1e-9), (name, metric)
