"""One rank of a training run, to be started by a launcher: ranks.py ddp|fsdp STEPS. The last rank is slow: a kernel of about 10 ms
runs before each step, longer than the processor needs for a step, and the other ranks wait for it."""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

SPIN = 20_000_000  # cycles


def sharded(model):
    from torch.distributed.fsdp import fully_shard
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    fully_shard(model)
    return model


def main(way, steps):
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    torch.manual_seed(0)
    model = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(2048, 2048), nn.ReLU())]).to(device)
    model = sharded(model) if way == "fsdp" else nn.parallel.DistributedDataParallel(model, device_ids=[device.index], bucket_cap_mb=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    slow = dist.get_rank() == dist.get_world_size() - 1
    for _ in range(steps):
        if slow:
            torch.cuda._sleep(SPIN)
        model(torch.randn(1024, 2048, device=device)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
