"""Energy and counters of whole GPUs over time, against NVML's own counter and against the pace of the same loop without them."""
import re
import sys

import pytest

from running import PROTON, ended
from trees import Tree

# The pace of a loop that keeps the GPU busy, and the joules that NVML counts from the first loop to the last.
PROGRAM = """
import ctypes, time, torch
import goproton as proton
nvml = ctypes.CDLL("libnvidia-ml.so.1")
device, counter = ctypes.c_void_p(), ctypes.c_ulonglong()
nvml.nvmlInit_v2()
nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device))
def joules():
    nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(counter))
    return counter.value / 1e3
a = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
x, out = torch.randn(1 << 27, device="cuda"), torch.empty_like(a)
y = torch.empty_like(x)
def loop(n):
    with proton.scope("compute"):
        for _ in range(n): torch.mm(a, a, out=out)
    with proton.scope("memory"):  # not in turns: a sample of 1 ms would mix both
        for _ in range(n): torch.add(x, 1, out=y)
    torch.cuda.synchronize()
loop(20)
time.sleep(1)
torch.cuda.synchronize()
for _ in range(20):
    loop(1)
first, paces = joules(), []
for _ in range(5):
    began = time.perf_counter()
    loop(300)
    paces.append(time.perf_counter() - began)
print("pace", sorted(paces)[2], "joules", joules() - first)
"""


def measured(tmp_path, *command):
    said = ended([*command, tmp_path / "program.py"], cwd=tmp_path)
    found = re.search(r"pace ([\d.]+) joules ([\d.]+)", said.stdout)
    assert found and "warning" not in said.stderr, said.stdout + said.stderr
    return float(found[1]), float(found[2])


@pytest.mark.only("cupti")
@pytest.mark.alone
def test_energy_and_counters(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    run = [PROTON, "run", "--python", sys.executable]
    timed, _ = measured(tmp_path, *run, "-n", "timed")
    pace, joules = measured(tmp_path, *run, "-n", "read", "--energy", "--pm", "1ms")
    tree = Tree.read(tmp_path / "read.hatchet")
    rows = tree.rows()
    ours = {name: tree.total(name, metric="energy (J)") for name in ("compute", "memory")}
    time = {name: tree.total(name, metric="time (ns)") / 1e9 for name in ours}
    active = {metric: {name: tree.total(name, metric=f"{metric}_time (ns)") / 1e9 / time[name] for name in ours}
              for metric in ("gpu_active", "tensor_active", "dram_reading", "dram_writing")}
    print(f"pace ×{pace / timed:.4f}; joules {sum(ours.values()):.1f} of the loops, {joules:.1f} by NVML, {rows['<idle>']['energy (J)']:.1f} idle; {ours} {time} {active}")
    assert sum(ours.values()) == pytest.approx(joules, rel=0.03)
    assert active["tensor_active"]["compute"] > 0.4 > active["tensor_active"]["memory"]
    assert active["dram_reading"]["memory"] + active["dram_writing"]["memory"] > active["dram_reading"]["compute"] + active["dram_writing"]["compute"]
    assert active["gpu_active"]["compute"] > 0.8
    assert pace < 1.05 * timed
