"""Lines of instructions against those of CUPTI, and samples per line against those of Nsight Compute."""
import csv
import os
import shutil
import subprocess

import pytest
import torch

from running import REPOSITORY, ended, program
from sampling import distance

pytestmark = [pytest.mark.alone, pytest.mark.only("cupti"), pytest.mark.patience(120)]
CUDA = r"""
__device__ __forceinline__ float polynomial(float v) { return v * v * 0.5f + v; }
__device__ __forceinline__ float twice(float v) { return polynomial(polynomial(v)); }
extern "C" __global__ void cuda_kernel(float *x, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  for (int k = 0; k < steps; k++)
    v = twice(v) - sinf(v);
  x[i] = v;
}
"""


def test_lines_match_cupti(sampled, sessions, hot, tmp_path):
    """Each instruction's line by gpu/cubin against cuptiGetSassToSourceCorrelation: kernels that are compiled here, and
    modules of libraries as the profile keeps them."""
    checker = REPOSITORY / "build" / "abicheck.test"
    if not checker.exists():
        pytest.skip("needs go test -c -o build/abicheck.test ./cupti")
    folder = tmp_path / "cubins"
    folder.mkdir()
    for kernel in hot.add(), hot.layer_norm(), hot.matmul(), hot.chain(10), hot.softmax(), hot.attention():
        (folder / f"{kernel.name}.cubin").write_bytes(kernel.asm["cubin"])
    if shutil.which("nvcc"):
        (folder / "cuda.cu").write_text(CUDA)
        major, minor = torch.cuda.get_device_capability()
        ended(["nvcc", "-lineinfo", f"-arch=sm_{major}{minor}", "-cubin", "-o", "cuda.cubin", "cuda.cu"], cwd=folder)
    a, b, c = hot.matrices
    with sampled() as p:
        for _ in range(20):
            torch.mm(a, b, out=c)
            torch.softmax(hot.x.view(-1, 4096), 1)
    for kept in (sessions.folder / f"{p.name}.cubins").iterdir():
        shutil.copy(kept, folder / f"library-{kept.name}")
    cupti = next(line.split()[-1] for line in open("/proc/self/maps") if "libcupti.so" in line)
    done = subprocess.run([checker, "-test.v", "-test.run", "EveryInstructionAgainstCUPTI"], cwd=REPOSITORY / "cupti",
                          capture_output=True, text=True, env={**os.environ, "CUBINS": str(folder), "CUPTI": cupti})
    for line in done.stdout.splitlines():
        print(line.split(".go:", 1)[-1].split(": ", 1)[-1] if "lines_test" in line else line)
    assert done.returncode == 0, done.stderr


def test_lines_match_ncu(sampled, hot):
    """Per line against Nsight Compute's source counters, which sample too, one replayed kernel at a time."""
    if not shutil.which("ncu"):
        pytest.skip("needs ncu")
    answer = ended(["ncu", "--section", "SourceCounters", "--warp-sampling-interval", "1", "--cache-control", "none", "--clock-control", "none",
                    "--kernel-name", f"regex:^({'|'.join(hot.kernels())})", "--page", "source", "--csv", *program("hot")])
    theirs = by_offset(answer.stdout)
    with sampled("interval=4096") as p:
        hot.repeat(300)
    for kernel in hot.kernels():
        number, function = next((i, f) for i, f in enumerate(p.facts["functions"]) if f["name"] == kernel)
        places = dict(zip(function["places"][::2], function["places"][1::2]))  # offset to number of frame, from 1

        def by_line(counts):
            out = {}
            for offset, n in counts.items():
                place = places.get(offset, 0)
                line = p.facts["frames"][4 * place - 3] if place else 0
                out[line] = out.get(line, 0) + n
            return out
        mine = offsets(p.tree, number)
        ours, others = by_line(mine), by_line({k: v for k, v in theirs[kernel].items() if k in places})
        print(f"{kernel}: {sum(ours.values())} and {sum(others.values())} samples, distance {distance(ours, others):.4f} per line, "
              f"{distance(mine, theirs[kernel]):.4f} per instruction")
        assert distance(ours, others) < 0.1


def by_offset(text):
    """Samples by kernel and offset, of ncu's source page."""
    out, of, column, at = {}, None, None, 0
    for row in csv.reader(text.splitlines()):
        if row[:1] == ["Kernel Name"]:
            of, column = out.setdefault(row[1].split("(")[0], {}), None
        elif row[:1] == ["Address"]:
            column, at = row.index("Warp Stall Sampling (All Samples)"), 0
        elif column is not None and len(row) > column:
            of[at] = of.get(at, 0) + int(row[column] or 0)
            at += 16
    return out


def offsets(tree, function):
    """Samples of a function by offset."""
    out = {}
    for _, node in tree.walk():
        for at, *rest in node.get("samples", []):
            while at == function and rest:
                offset, stalls, *rest = rest
                out[offset] = out.get(offset, 0) + sum(rest[1:3 * stalls:3])
                rest = rest[3 * stalls:]
    return out
