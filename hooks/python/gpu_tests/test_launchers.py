"""Ranks of torchrun with NCCL: names of their profiles, one clock, and the table of communication. They need two GPUs."""
import json
import sys

import pytest
import torch

from running import HERE, PROTON, ended
from trees import Tree

STEPS = 50
RANKS = 2

pytestmark = pytest.mark.skipif(torch.cuda.device_count() < RANKS, reason=f"needs {RANKS} GPUs, for NCCL between them")


def torchrun(*target):
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", RANKS, *target]


def around(folder, way, *flags):
    return ended([PROTON, "run", *flags, "-n", folder / "w", "--", *torchrun(HERE / "ranks.py", way, STEPS)])


def below(folder, way, *flags):
    return ended(torchrun("--no-python", PROTON, "run", *flags, "-n", folder / "w", "--", sys.executable, HERE / "ranks.py", way, STEPS))


@pytest.mark.parametrize("where", [around, below])
@pytest.mark.parametrize("way", ["ddp", "fsdp"])
def test_a_profile_per_rank(tmp_path, where, way):
    where(tmp_path, way)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w.rank0.hatchet", "w.rank1.hatchet"]
    trees = [Tree.read(tmp_path / f"w.rank{rank}.hatchet") for rank in range(RANKS)]
    collectives = [sum(node["metrics"].get("count", 0) for path, node in tree.walk() if "nccl" in path[-1].lower()) for tree in trees]
    assert collectives[0] == collectives[1] >= STEPS
    merged = ended([PROTON, "merge", tmp_path / "w", "-o", tmp_path / "all.hatchet"])
    assert merged.stderr == ""


@pytest.mark.parametrize("way", ["ddp", "fsdp"])
def test_waiting_for_the_slow_rank(tmp_path, way):
    around(tmp_path, way, "-d", "trace")
    said = ended([PROTON, "merge", "--timeline", "--json", tmp_path / "w", "-o", tmp_path / "all.chrome_trace"]).stdout
    table = json.loads(said)
    print(said)
    fast, slow = table["ranks"]
    spins = [e["dur"] * 1000 for e in json.loads((tmp_path / "w.rank1.chrome_trace").read_text())["traceEvents"] if "spin" in e.get("name", "") and "dur" in e and e.get("cat") == "kernel"]
    assert len(spins) == STEPS
    assert fast["waiting_ns"] > 0.6 * sum(spins), (fast, sum(spins))
    assert slow["waiting_ns"] < 0.4 * fast["waiting_ns"]
    # The end of single collectives is late by 100 us and more, where a kernel of the rank holds it up.
    assert table["clock"]["median_ns"] < 20_000
