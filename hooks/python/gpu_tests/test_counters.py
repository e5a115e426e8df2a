"""Hardware counters of nine kernels, against Nsight Compute."""
import csv
import shutil
import time

import pytest

from launches import Counted
from running import ended, program
from trees import Tree

pytestmark = [pytest.mark.alone, pytest.mark.only("cupti"), pytest.mark.patience(200)]

COPIES = "dram_write can be too high"  # what a profile says whose libcupti does not reset the L2 cache between passes
# Counts that a kernel's code and inputs decide, so that two runs agree.
EXACT = ("inst_executed", "branch_targets", "sass_data_bytes_mem_global", "sectors_mem_global_op_ld", "sectors_pipe_lsu_mem_global", "ops_path")  # in names of sums
LEFT = 4e6  # bytes: what ncu's own reset of the caches leaves to be written


def ours(folder):
    """The counters of each kernel by scope, and what the profile says about them."""
    profile = folder / "counted.hatchet"
    ended(program("counted", profile.with_suffix(""), "counters:set=agent+memory+compute+roofline:first=1"))
    tree, counts = Tree.read(profile), {}
    for label in Counted.LABELS:
        kernels = [node["metrics"] for path, node in tree.walk() if label in path and node["metrics"].get("counted_launches")]
        assert len(kernels) == 1, f"{label}: {len(kernels)} kernels were counted, not 1"
        counts[label] = {name: value for name, value in kernels[0].items() if "__" in name and not name.startswith("launch__")}
    return counts, tree.root.get("info", {}).get("counters", "")


def ncus(metrics, cache):
    """What ncu counts for the same launches, which it lists in their order."""
    answer = ended(["ncu", "--profile-from-start", "off", "--cache-control", cache, "--clock-control", "none", "--metrics", ",".join(metrics),
                    "--csv", "--page", "raw", "--print-units", "base", *program("counted")])
    rows = list(csv.reader(line for line in answer.stdout.splitlines() if line.startswith('"')))
    names, _units, *kernels = rows
    assert len(kernels) == len(Counted.LABELS), answer.stdout[-2000:]
    return {label: {name: float(value.replace(",", "")) for name, value in zip(names, row) if name in metrics and value}
            for label, row in zip(Counted.LABELS, kernels)}


def test_counts_equal_ncus(tmp_path):
    if not shutil.which("ncu"):
        pytest.skip("needs ncu")
    began = time.monotonic()
    mine, said = ours(tmp_path)
    took = time.monotonic() - began
    whole = COPIES not in said
    theirs = ncus(sorted(set().union(*mine.values())), "all" if whole else "none")
    print(f"{took:.1f} s, and with ncu {time.monotonic() - began - took:.1f} s, each with the start of Python and Triton's compilation")
    differ = {}
    for label in Counted.LABELS:
        for name in mine[label].keys() & theirs[label].keys():
            a, b = mine[label][name], theirs[label][name]
            if abs(a - b) > 0.02 * max(abs(a), abs(b)):
                differ.setdefault(name, []).append(f"{label} {a:.6g} {b:.6g}")
    compared = sorted(set().union(*(mine[label].keys() & theirs[label].keys() for label in Counted.LABELS)))
    for name in compared:
        print(f"{9 - len(differ.get(name, []))} of 9 within 2 %: {name}: {'; '.join(differ.get(name, []))}")
    print(said)
    missing = sorted(set().union(*mine.values()) - set(compared))
    print("not compared:", missing)
    assert not missing
    assert not [name for name in differ if name.endswith(".sum") and any(part in name for part in EXACT)]
    if whole:
        assert "dram__bytes_read.sum" not in differ
        for label in Counted.LABELS:
            a, b = (counts[label]["dram__bytes_write.sum"] for counts in (mine, theirs))
            assert abs(a - b) <= 0.02 * b + LEFT, f"{label}: {a:.0f} bytes are written, and ncu counts {b:.0f}"
