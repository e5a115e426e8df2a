"""Scopes in kernels that were not edited: results stay the same to the bit, scopes lie in each other, and the cost is said."""
import json

import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import goproton as proton
from kernels import attention_kernel, layer_norm_kernel, matmul_kernel, softmax_kernel

pytestmark = pytest.mark.only("cupti")
LAUNCHES = 24


def matmul():
    a, b = (torch.randn(2048, 2048, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty_like(a)
    grid = lambda args: (triton.cdiv(2048, args["BM"]), triton.cdiv(2048, args["BN"]))
    return lambda: matmul_kernel[grid](a, b, c, 2048, 2048, 2048, *a.stride(), *b.stride(), *c.stride()), c


def softmax():
    x = torch.randn(4096, 1024, device="cuda")
    y = torch.empty_like(x)
    return lambda: softmax_kernel[(4096,)](y, x, 1024, 1024, BLOCK=1024), y


def layer_norm():
    x = torch.randn(4096, 1000, device="cuda", dtype=torch.float16)
    y, w, b = torch.empty_like(x), torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    mean, rstd = torch.empty(4096, device="cuda"), torch.empty(4096, device="cuda")
    return lambda: layer_norm_kernel[(4096,)](x, y, w, b, mean, rstd, 1000, 1000, 1e-5, BLOCK=1024), y


def attention():
    q, k, v = (torch.randn(32, 2048, 64, device="cuda", dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    return lambda: attention_kernel[(16, 32)](q, k, v, out, q.stride(0), q.stride(1), q.stride(2), 0.125, 2048, BM=128, BN=64, D=64), out


@triton.jit
def divided_kernel(a_desc, b_desc, c_ptr, N, K, B: tl.constexpr):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    total = tl.zeros((B, B), tl.float32)
    for k in tl.range(0, K, B, warp_specialize=True):
        total = tl.dot(a_desc.load([m, k]), b_desc.load([n, k]).T, total)
    rows, cols = m + tl.arange(0, B), n + tl.arange(0, B)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], total.to(tl.float16))


def nodes(file):
    """(path, node) of every frame."""
    with open(file) as text:
        stack = [((), json.load(text)[0])]
    while stack:
        path, node = stack.pop()
        yield path, node
        stack.extend(((*path, child["frame"]["name"]), child) for child in node["children"])


@pytest.mark.parametrize("case", [matmul, softmax, layer_norm, attention])
def test_results_are_the_same_to_the_bit(case, tmp_path, capfd):
    torch.manual_seed(0)
    launch, out = case()
    launch()
    torch.cuda.synchronize()
    wanted = out.clone()
    proton.start(str(tmp_path / "profile"), inside="*")
    different = 0
    for _ in range(LAUNCHES):  # some with scopes, some without
        out.zero_()
        launch()
        different += not torch.equal(out, wanted)
    proton.finalize()
    said = capfd.readouterr().err
    print("".join(line + "\n" for line in said.splitlines() if "cost" in line))
    assert different == 0
    assert "no scopes" not in said and "µs without" in said, said

    found = dict(nodes(tmp_path / "profile.hatchet"))
    kernels = [path for path, node in found.items() if (node.get("inside") or {}).get("kernel")]
    assert kernels
    for kernel in kernels:
        losses = found[kernel]["inside"]["kernel"].get("losses", {})
        assert not {"invalid", "broken", "unknown", "torn"} & losses.keys(), losses
        whole = (*kernel, "kernel")
        names = [path[-1] for path in found if path[:len(whole)] == whole and path != whole]
        print(f"{kernel[-1]}: {', '.join(sorted(names))}; losses {losses}")
        assert any(name.startswith("store ") for name in names) and any(name.startswith("load ") for name in names), names
        if "overwritten" in losses:
            continue  # the oldest records are missing, among them the starts of outer scopes
        inner = sum(found[path]["metrics"]["cycles"] for path in found if path[:-1] == whole)
        assert 0 < inner <= found[whole]["metrics"]["cycles"], (inner, found[whole])


def test_a_loop_that_triton_divides_between_warps(tmp_path, capfd):
    """With blocks of 64 rows; of larger ones Triton 3.6 makes kernels that never end, with scopes or without."""
    torch.manual_seed(0)
    a, b = (torch.randn(1024, 1024, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty_like(a)
    tiles = [TensorDescriptor.from_tensor(t, [64, 64]) for t in (a, b)]
    launch = lambda: divided_kernel[(16, 16)](*tiles, c, 1024, 1024, B=64, num_warps=4, num_stages=3)
    assert "ttg.warp_specialize(" in launch().asm["ttgir"]
    torch.cuda.synchronize()
    wanted = c.clone()
    assert torch.allclose(wanted, a @ b.T, rtol=0.01, atol=0.1)
    proton.start(str(tmp_path / "profile"), inside="divided_kernel")
    different = 0
    for _ in range(LAUNCHES):
        c.zero_()
        launch()
        different += not torch.equal(c, wanted)
    proton.finalize()
    assert different == 0
    found = dict(nodes(tmp_path / "profile.hatchet"))
    partitions = {path[-1]: path for path in found if path and (path[-1] == "default" or path[-1].startswith("partition"))}
    assert len(partitions) >= 2, found.keys()
    for path in partitions.values():
        assert any("wait" in other[-1] and found[other]["metrics"]["cycles"] > 0 for other in found if other[:len(path)] == path), found.keys()
    print(capfd.readouterr().err)
