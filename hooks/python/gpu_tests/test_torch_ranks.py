"""Frames of PyTorch on two GPUs: operators against torch.profiler's, and NCCL's kernels in the modules whose gradients they reduce."""
import collections
import json
import pathlib
import subprocess
import sys

import pytest
import torch

from torch_ranks import WAYS, is_nccl

pytestmark = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*command, pathlib.Path(__file__).parent / "torch_ranks.py", folder, *WAYS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


def share(kernels, chosen):
    return sum(time for path, _, time in kernels if chosen(path)) / sum(time for _, _, time in kernels)


@pytest.mark.alone
@pytest.mark.patience(180)
def test_ranks(results):
    assert sorted(results) == sorted(f"{way}.rank{rank}" for way in WAYS for rank in (0, 1))
    failures = []

    def check(holds, *what):
        if not holds:
            failures.append(what)

    for name, result in results.items():
        shadow, python = (result["kernels"][context] for context in ("shadow", "python"))
        check(result["problem"] is None, name, result["problem"])
        ours = collections.Counter()
        for path, count, _ in shadow:
            if not is_nccl(path[-1]):
                ours[path[-2] if len(path) > 1 else ""] += count
        check(dict(ours) == result["kineto"] or "compiled" in name, name, "kernels of operators",
              {key: (ours.get(key), result["kineto"].get(key)) for key in {*ours, *result["kineto"]} if ours.get(key) != result["kineto"].get(key)})
        check(sum(ours.values()) == sum(result["kineto"].values()), name, "kernels", sum(ours.values()), sum(result["kineto"].values()))
        check(result["flops"][0] == result["flops"][1] > 0, name, "flops, and those of torch", result["flops"])
        nccl = [path for path, _, _ in shadow if is_nccl(path[-1])]
        check(nccl and all(any(frame.startswith("c10d::") for frame in path) for path in nccl), name, "NCCL outside of its operators", nccl)
        check(all(len(path) > 3 for path in nccl), name, "NCCL outside of modules", nccl)
        without = share(python, lambda path: not any("@" in frame for frame in path))
        backward = share(python, lambda path: "<backward>" in path)
        print(f"{name}: {sum(ours.values())} kernels, {len(nccl)} places of NCCL; without a Python path {without:.2%}, below <backward> {backward:.1%}")
        check(without < 0.02 and backward > 0.2, name, "Python paths", without, backward, [path for path, _, _ in python if not any("@" in f for f in path)])
    assert not failures, failures
