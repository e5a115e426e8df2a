"""Writes two traces whose launches say what is in their tensors, a.ndjson and b.ndjson, the contents in saved_tensors, and what
tritonparse's diff says of them, tritonparse.json. The records are made by hand; the tensors are torch's.

    python3 record.py        in this folder, with torch 2.11 and tritonparse 0.6.0; no GPU
"""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile

import torch

torch.manual_seed(0)
x = torch.randn(6, 50)
ELSEWHERE = "/recorded/elsewhere"


def contents(tensor, packed=False):
    out = io.BytesIO()
    torch.save(tensor, out)
    data = out.getvalue()
    name = hashlib.blake2b(data).hexdigest()
    path = f"saved_tensors/{name[:2]}/{name}.bin" + (".gz" if packed else "")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(gzip.compress(data, mtime=0) if packed else data)
    return {"tensor_hash": name, "blob_path": f"{ELSEWHERE}/{path}", "blob_size": os.path.getsize(path)}


def statistics(tensor):
    t = tensor.double()
    return {"min": t.min().item(), "max": t.max().item(), "mean": t.mean().item(), "std": t.std().item()}


def told(tensor, *more):
    every = {"shape": list(tensor.shape), "dtype": str(tensor.dtype), "device": "cuda:0", "stride": list(tensor.stride()), "element_size": tensor.element_size()}
    for m in more:
        every |= m
    return {"type": "tensor", **every}


def kept(tensor, **options):
    return told(tensor, contents(tensor, **options))


def descriptor(tensor):
    base = kept(tensor)
    del base["type"]
    return {"type": "TensorDescriptor", "base": base, "shape": list(tensor.shape), "strides": list(tensor.stride()), "block_shape": [2, 10], "padding": "zero"}


def spoiled(tensor, value):
    tensor = tensor.clone()
    tensor[3, 7] = value
    return tensor


lost = {"tensor_hash": "ee" * 64, "blob_path": f"{ELSEWHERE}/saved_tensors/ee/{'ee' * 64}.bin"}
not_kept = {"error": "Tensor storage quota exceeded", "tensor_hash": None}
PAIRS = {
    "same": (kept(x), kept(x)),
    "same_in_columns": (kept(x), kept(x.t().contiguous().t())),
    "close": (kept(x), kept(x * 1.0001)),
    "far": (kept(x.bfloat16()), kept(spoiled(x, 9.0).bfloat16())),
    "packed": (kept(x, packed=True), kept(spoiled(x, 0.0), packed=True)),
    "nan_in_b": (kept(x), kept(spoiled(x, float("nan")))),
    "whole": (kept(torch.arange(300)), kept(torch.arange(300) + (torch.arange(300) == 250))),
    "described": (descriptor(x), descriptor(spoiled(x, 1.0))),
    "other_type": (kept(x), kept(x.half())),
    "other_shape": (kept(x), kept(x.reshape(50, 6))),
    "only_statistics": (told(x, statistics(x)), told(x, statistics(spoiled(x, 9.0)))),
    "same_statistics": (told(x, statistics(x)), told(x, statistics(x))),
    "one_not_kept": (kept(x), told(x, not_kept)),
    "nothing": (told(x), told(x)),
    "lost": (kept(x), told(x, lost)),
    "lost_but_statistics": (told(x, contents(x), statistics(x)), told(x, lost, statistics(x * 1.0001))),
}
EIGHT_BITS = {"scaled": (kept(x.to(torch.float8_e4m3fn)), kept((x * 1.3).to(torch.float8_e4m3fn)))}


def trace(side, folder):
    for number, (kernel, pairs) in enumerate({"k": PAIRS, "eight_bits": EIGHT_BITS}.items()):
        hash = f"{side}{number}" * 32
        source = {"file_path": "/gone.py", "start_line": 1, "code": f"@triton.jit\ndef {kernel}():\n    pass\n"}
        metadata = {"hash": hash, "name": kernel, "num_warps": 4}
        yield {"event_type": "compilation", "pid": 1, "payload": {"metadata": metadata, "file_path": {}, "file_content": {}, "python_source": source}}
        args = {name: pair["ab".index(side)] for name, pair in pairs.items()}
        yield {"event_type": "launch", "pid": 1, "name": kernel, "grid": [1], "compilation_metadata": {"hash": hash}, "extracted_args": {"n": {"type": "int", "value": 6}, **args}}


def write(path, side, folder):
    with open(path, "w") as file:
        file.writelines(json.dumps(r).replace(ELSEWHERE, folder) + "\n" for r in trace(side, folder))


def upstream():
    """tritonparse looks for contents where they were recorded only."""
    with tempfile.TemporaryDirectory() as folder:
        for side in "ab":
            write(f"{folder}/{side}.ndjson", side, os.getcwd())
        arguments = ["diff", f"{folder}/a.ndjson", f"{folder}/b.ndjson", "--kernel", "k", "--events", "0,0", "--tensor-values", "-o", f"{folder}/diff.ndjson"]
        subprocess.run([sys.executable, "-m", "tritonparse", *arguments], check=True, stdout=subprocess.DEVNULL)
        with open(f"{folder}/diff.ndjson") as file:
            return json.loads(file.read().splitlines()[-1])["tensor_value_diff"]


for side in "ab":
    write(f"{side}.ndjson", side, ELSEWHERE)
result = upstream()
for arg in result["per_arg"].values():
    del arg["metadata_a"], arg["metadata_b"]  # what the traces have
with open("tritonparse.json", "w") as file:
    json.dump(result, file, indent=1)
    file.write("\n")
