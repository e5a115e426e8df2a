#!/usr/bin/env python3
"""Runs programs whose slowness has a known cause, and healthy ones, on a GPU: record.py FOLDER first|second|third [PROGRAM…].

Needs torch, Triton and goproton, the first exam also CuPy. FOLDER gets a profile of each, the trace of all Triton kernels, and wants.tsv: name and
classes of the cause, of which the first finding of `proton explain` must have one, in a line with the comment "fault" if it is a line of the exam's
kernels; without a class no finding may be more than a hint.
"""

import importlib
import sys
import time
import traceback

import torch

import goproton as proton
from cases import cases
from goproton import trace

OUT, EXAM, *NAMED = sys.argv[1:]
torch.manual_seed(0)
importlib.import_module(EXAM)


def record(name, metrics, kind, run):
    if kind != "cold":
        run()
        run()
    torch.cuda.synchronize()
    if kind == "timeline":
        proton.start(f"{OUT}/{name}", data="trace", hook="triton")
    else:
        proton.start(f"{OUT}/{name}", hook="triton", mode="pcsampling")
    begun, times = time.perf_counter(), 0
    while times < 2 or time.perf_counter() - begun < (0.02 if kind == "timeline" else 0.12) and times < 100:
        with proton.scope(name, metrics=metrics):
            run()
        times += 1
        torch.cuda.synchronize() if kind != "timeline" else None
    torch.cuda.synchronize()
    proton.finalize()


trace.init(f"{OUT}/traces")
for name, (_, metrics, kind, run) in cases.items():
    if NAMED and name not in NAMED:
        continue
    try:
        record(name, metrics, kind, run)
    except Exception:  # the others are recorded all the same
        traceback.print_exc()
        print(f"{name} was not recorded", file=sys.stderr)
trace.finalize()
with open(f"{OUT}/wants.tsv", "w") as file:
    file.writelines(f"{name}\t{want}\n" for name, (want, *_) in cases.items())
