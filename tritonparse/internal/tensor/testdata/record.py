"""Writes cases.ndjson.gz: pairs of tensors as torch.save writes them, what torch says their elements are, and by how much they
differ as tritonparse's diff says.

    python3 record.py cases.ndjson.gz       with torch 2.11 and tritonparse 0.6.0; no GPU
"""

import base64
import gzip
import hashlib
import io
import json
import math
import os
import sys
import tempfile
import warnings

import torch
from tritonparse.diff.core.tensor_value_analyzer import analyze_tensor_values

warnings.simplefilter("ignore")
torch.manual_seed(0)
EIGHT_BITS = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu]
WHOLE = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint64, torch.uint32, torch.uint16, torch.uint8, torch.bool]


def saved(tensor):
    out = io.BytesIO()
    torch.save(tensor, out)
    return out.getvalue()


def plain(number):
    if isinstance(number, float) and not math.isfinite(number):
        return str(number)
    return number


def upstream(folder, a, b):
    """What tritonparse says of two launches with these tensors."""
    launches = []
    for tensor in (a, b):
        data = saved(tensor)
        path = os.path.join(folder, hashlib.blake2b(data).hexdigest() + ".bin")
        with open(path, "wb") as file:
            file.write(data)
        told = {"type": "tensor", "shape": list(tensor.shape), "dtype": str(tensor.dtype), "blob_path": path}
        launches.append({"extracted_args": {"x": told}})
    try:
        result = analyze_tensor_values(*launches).per_arg["x"]
    except Exception as error:
        return {"error": str(error).splitlines()[0]}
    return {"status": result.status, **{k: plain(v) for k, v in result.metrics.items()}}


def halves():
    """Of each exponent the least and the greatest, both signs, and what is not a number."""
    bits = [sign | exponent << 10 | rest for sign in (0, 0x8000) for exponent in range(32) for rest in (0, 1, 0x3FF)]
    return torch.tensor(bits, dtype=torch.int32).to(torch.uint16).view(torch.float16)


def brains():
    bits = [sign | exponent << 7 | rest for sign in (0, 0x8000) for exponent in range(0, 256, 5) for rest in (0, 1, 0x7F)]
    return torch.tensor(bits, dtype=torch.int32).to(torch.uint16).view(torch.bfloat16)


def types():
    x = torch.randn(40)
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        yield str(dtype), x.to(dtype), (x + 1e-4 * torch.arange(40)).to(dtype)
    yield "every float16", halves(), halves()
    yield "every bfloat16", brains(), brains()
    for dtype in EIGHT_BITS:
        every = torch.arange(256, dtype=torch.int32).to(torch.uint8)
        yield str(dtype), every.view(dtype), every.flip(0).view(dtype)
    for dtype in WHOLE:
        a = torch.tensor([0, 1, 2, 100, 77])
        yield str(dtype), a.to(dtype), a.flip(0).to(dtype)
    yield "negative", torch.tensor([-1, -128, 127], dtype=torch.int8), torch.tensor([-1, -127, 127], dtype=torch.int8)
    yield "beyond 2^53", torch.tensor([2**60, 2**60 + 1]), torch.tensor([2**60, 2**60])
    yield "extremes", torch.tensor([-(2**63), 2**63 - 1]), torch.tensor([2**63 - 1, -(2**63)])
    yield "complex64", torch.tensor([1 + 2j, 3 - 1j]), torch.tensor([1 + 2j, 3 + 3j])
    yield "complex128", torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128), torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128)
    packed = torch.arange(6, dtype=torch.uint8)
    yield "float4_e2m1fn_x2", packed.view(torch.float4_e2m1fn_x2), packed.flip(0).view(torch.float4_e2m1fn_x2)


def layouts():
    x = torch.arange(120.0)
    cube = x.reshape(4, 5, 6)
    for name, a in {
        "transposed": x.reshape(10, 12).t(), "permuted": cube.permute(2, 0, 1), "rows of a matrix": x.reshape(10, 12)[2:9, 3:7],
        "every third": x[1::3], "offset": x[7:], "expanded": x[:5, None].expand(5, 6), "overlapping": x.as_strided((8, 5), (2, 3), 4),
        "one element": x[3], "one long": cube[:, 2:3, :], "inner expanded": x[:6].expand(3, 6),
    }.items():
        b = a.contiguous().clone()
        b.view(-1)[-1] += 0.5
        yield name, a, b
    yield "equal in another layout", x.reshape(10, 12).t(), x.reshape(10, 12).t().contiguous()
    yield "parameter", torch.nn.Parameter(x[:3]), torch.nn.Parameter(x[1:4])
    yield "nothing", x[:0], x[:0]
    many = (torch.arange(90000) % 251).to(torch.uint8)
    yield "many", many, many + (torch.arange(90000) == 77777)
    yield "many transposed", many.reshape(300, 300).t(), many.reshape(300, 300).t() + torch.ones(300, 300, dtype=torch.uint8).tril()


def values():
    nan, inf = math.nan, math.inf
    for name, a, b in (
        ("equal", [1, 2, 3], [1, 2, 3]), ("zeros", [0, 0], [0, 0]), ("close", [1, 2, 3], [1.0005, 2, 3]), ("far", [1, 2, 3], [1, 2.5, 3]),
        ("from zero", [1e-6, 1], [0, 1]), ("signs of zero", [-0.0, 0.0], [0.0, 0.0]), ("nan in both", [nan, 1], [nan, 1]),
        ("nan in one", [nan, 1, 2], [1, nan, 2]), ("same infinity", [inf, -inf], [inf, -inf]), ("other infinity", [inf, 1], [-inf, 1]),
        ("infinity in one", [3, 1], [inf, 1]), ("greatest", [3e38, 1], [-3e38, 1]), ("least", [1e-45, 1], [2e-45, 1]),
    ):
        yield name, torch.tensor(a, dtype=torch.float32), torch.tensor(b, dtype=torch.float32)
    yield "greatest of 64 bits", torch.tensor([1e308, 1], dtype=torch.float64), torch.tensor([-1e308, 1], dtype=torch.float64)
    yield "other shape", torch.zeros(2, 3), torch.zeros(3, 2)
    yield "other type", torch.tensor([1.0, 2.0, 3.3]), torch.tensor([1.0, 2.0, 3.3]).to(torch.bfloat16)
    yield "whole and not", torch.tensor([1, 2, 3]), torch.tensor([1.0, 2.5, 3.0])


def others():
    """What no dense tensor is."""
    yield "conjugated", torch.tensor([1 + 2j]).conj(), torch.tensor([1 + 2j])
    yield "sparse", torch.eye(3).to_sparse(), torch.eye(3)
    yield "a dictionary", {"x": torch.zeros(2)}, torch.zeros(2)
    yield "a number", 7, torch.zeros(2)
    yield "quantized", torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), torch.zeros(3)


def numbers(tensor):
    if tensor.dtype == torch.float4_e2m1fn_x2:
        return None
    return [plain(abs(v) if isinstance(v, complex) else float(v)) for v in tensor.detach().to(torch.float64 if not tensor.is_complex() else tensor.dtype).flatten().tolist()]


def main(path):
    with tempfile.TemporaryDirectory() as folder, gzip.GzipFile(path, "wb", mtime=0) as out:
        for section in (types, layouts, values, others):
            for name, a, b in section():
                case = {"name": name, **{k: base64.b64encode(saved(t)).decode() for k, t in (("a", a), ("b", b))}}
                if section is not others:
                    case["tritonparse"] = upstream(folder, a, b)
                    if a.numel() < 1000:
                        case["numbers"] = numbers(a)
                out.write(json.dumps(case).encode() + b"\n")


main(sys.argv[1])
