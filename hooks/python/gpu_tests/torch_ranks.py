"""One rank of a model that is trained on several GPUs, profiled by GoProton and then by torch.profiler.

    torchrun --standalone --nproc-per-node 2 torch_ranks.py FOLDER WAY…

Writes FOLDER/WAY.rank0.json: the kernels of each operator as both count them, and what the check asks about call paths.
"""
import json
import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.flop_counter import FlopCounterMode

import goproton as proton
from test_torch import by_operator, by_operator_of_kineto, is_kernel
from torch_models import Attention, trained
from trees import Tree


def ddp(model):
    return DistributedDataParallel(model, bucket_cap_mb=1)  # several buckets


def compiled_ddp(model):
    return torch.compile(ddp(model))


def fsdp(model):
    return FullyShardedDataParallel(model, auto_wrap_policy=lambda module, recurse, **_: recurse or isinstance(module, Attention), use_orig_params=True)


def sharded(model):
    for layer in model:
        fully_shard(layer)
    return fully_shard(model)


WAYS = {way.__name__: way for way in (ddp, compiled_ddp, fsdp, sharded)}


def steps_of(way):
    torch.manual_seed(0)
    batch = torch.randn(4, 64, 256, device="cuda")
    step = trained(WAYS[way](torch.nn.Sequential(*[Attention(256, 4) for _ in range(3)]).cuda()), batch, lambda y: (y - batch).square().mean())

    def three():
        for _ in range(3):
            step()
        torch.cuda.synchronize()
    three()
    return three


def kernels_of(tree):
    return [(path, node["metrics"]["count"], node["metrics"]["time (ns)"]) for path, node in tree.walk()
            if not node["children"] and "count" in node["metrics"] and is_kernel(path[-1])]


def is_nccl(name):
    return "ncclDevKernel" in name or "ncclKernel" in name


def ours(three, base):
    found = {}
    for context in ("shadow", "python"):
        name = f"{base}.{context}"
        proton.start(name, context=context)
        three()
        proton.finalize()
        found[context] = kernels_of(Tree.read(pathlib.Path(f"{name}.hatchet")))
    return found


def our_flops(three, base):
    proton.torch.install(flops=True)
    proton.start(f"{base}.flops")
    three()
    proton.finalize()
    proton.torch.uninstall()
    nodes = Tree.read(pathlib.Path(f"{base}.flops.hatchet")).walk()
    return sum(node["metrics"].get(f"flops{width}", 0) for _, node in nodes for width in (16, 32))


def flops_by_torch(three):
    with FlopCounterMode(display=False) as counter:
        three()
    return counter.get_total_flops()


def main(folder, *ways):
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    steps = {way: steps_of(way) for way in ways}
    proton.torch.install()
    found = {way: ours(three, f"{folder}/{way}.rank{rank}") for way, three in steps.items()}
    problem = proton.torch.problem()
    proton.torch.uninstall()
    flops = {way: our_flops(three, f"{folder}/{way}.rank{rank}") for way, three in steps.items()}
    eager = {way: flops_by_torch(steps["ddp" if way == "compiled_ddp" else way]) for way in ways}  # torch does not see into compiled regions
    for way, three in steps.items():  # torch.profiler keeps CUPTI to itself from here on
        kineto = {name: count for name, (count, _) in by_operator_of_kineto(three, lambda kernel: not is_nccl(kernel)).items()}
        result = dict(problem=problem, kernels=found[way], kineto=kineto, flops=[flops[way], eager[way]])
        pathlib.Path(folder, f"{way}.rank{rank}.json").write_text(json.dumps(result))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
