"""Copies to the GPU, first before the work and then during it.

    proton run --data timeline overlap.py      writes overlap.chrome_trace

Batches come from the host. On one stream a copy and the work on it take turns; on two the next batch is copied while
the GPU still works on this one. The sums say how long that takes, the timeline why.
"""

import torch

import goproton as proton

BATCHES, ROWS, COLUMNS = 12, 4096, 4096


def work(batch, weights):
    with proton.scope("work"):
        for _ in range(4):
            batch = torch.relu(batch @ weights)
    return batch.sum()


def in_turn(batches, weights, total):
    for host in batches:
        with proton.scope("copy"):
            batch = host.to("cuda", non_blocking=True)
        total += work(batch, weights)


def behind(batches, weights, total):
    copies = torch.cuda.Stream()
    with torch.cuda.stream(copies):
        following = batches[0].to("cuda", non_blocking=True)
    for i in range(len(batches)):
        torch.cuda.current_stream().wait_stream(copies)
        batch = following
        batch.record_stream(torch.cuda.current_stream())  # the next copy must not reuse its memory while this stream reads it
        if i + 1 < len(batches):
            with torch.cuda.stream(copies), proton.scope("copy"):
                following = batches[i + 1].to("cuda", non_blocking=True)
        total += work(batch, weights)


def main():
    weights = torch.randn(COLUMNS, COLUMNS, device="cuda", dtype=torch.float16)
    batches = [torch.randn(ROWS, COLUMNS, dtype=torch.float16).pin_memory() for _ in range(BATCHES)]
    total = torch.zeros((), device="cuda", dtype=torch.float16)
    with proton.scope("warm-up"):
        in_turn(batches[:1], weights, total)
        torch.cuda.synchronize()
    for name, way in (("in turn", in_turn), ("behind", behind)):
        with proton.scope(name):
            way(batches, weights, total)
            with proton.scope("wait"):
                torch.cuda.synchronize()


if __name__ == "__main__":
    main()
