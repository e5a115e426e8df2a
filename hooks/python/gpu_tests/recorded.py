"""The program whose launches test_reproduce.py reproduces; it runs in a folder that is gone by then."""
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from kernels import (add_kernel, attention_kernel, descriptor_kernel, gather_kernel, given_kernel, in_place_kernel, layer_norm_kernel, matmul_kernel,
                     nested, softmax_kernel, tripled)

DEVICE = "cuda"


def main(given=True):
    """Launches each kernel twice on the same tensors, so that a trace with the tensors' contents has what the first launch wrote. Without
    given, none has a function among its arguments, for which Triton 3.6 raises when tritonparse listens to its compiler."""
    torch.manual_seed(0)
    rand = lambda *size, dtype=torch.float32: torch.randn(size, device=DEVICE, dtype=dtype)
    x, y = rand(100_000), rand(100_000)
    out = torch.empty_like(x)
    launches = [lambda: add_kernel[(triton.cdiv(100_000, 1024),)](x, y, out, 100_000, BLOCK=1024)]

    M, N, K = 512, 384, 256
    a, b, c = rand(M, K, dtype=torch.float16), rand(N, K, dtype=torch.float16).t(), torch.empty((M, N), device=DEVICE, dtype=torch.float16)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
    matmul = lambda: matmul_kernel[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1))
    matmul()  # the autotuner's choice
    c.zero_()
    launches.append(matmul)

    s, so = rand(64, 1000)[:, 100:900], torch.empty((64, 800), device=DEVICE)
    launches.append(lambda: softmax_kernel[(64,)](so, s, s.stride(0), 800, BLOCK=1024))

    ln, lo, w, bias, mean, rstd = rand(32, 500), rand(32, 500), rand(500), rand(500), rand(32), rand(32)
    launches.append(lambda: layer_norm_kernel[(32,)](ln, lo, w, bias, mean, rstd, 500, 500, 1e-5, BLOCK=512, num_warps=8))

    qkv = rand(3, 4, 256, 64, dtype=torch.float16)
    o = torch.empty_like(qkv[0])
    launches.append(lambda: attention_kernel[(4, 4)](qkv[0], qkv[1], qkv[2], o, qkv.stride(1), qkv.stride(2), 1, 0.125, 256, BM=64, BN=64, D=64))

    d, do = rand(128, 128, dtype=torch.float16), torch.empty((128, 128), device=DEVICE, dtype=torch.float16)
    launches.append(lambda: descriptor_kernel[(2, 2)](TensorDescriptor.from_tensor(d, [64, 64]), TensorDescriptor.from_tensor(do, [64, 64]), BM=64, BN=64))

    table, index, picked = rand(1000), torch.randint(0, 1000, (5000,), device=DEVICE), torch.empty(5000, device=DEVICE, dtype=torch.float16)
    launches.append(lambda: gather_kernel[(5,)](table, index, picked, 5000, tl.float16, BLOCK=1024))

    z = torch.arange(64, device=DEVICE, dtype=torch.float32)
    launches.append(lambda: in_place_kernel[(1,)](z[0:], z[1:], 31, BLOCK=32))

    n, no, kernel = rand(64), rand(64), nested()
    launches.append(lambda: kernel[(1,)](n, no, BLOCK=64))

    g, go = rand(64), rand(64)
    if given:
        launches.append(lambda: given_kernel[(1,)](g, go, tripled, BLOCK=64))

    for launch in launches:
        launch()
        launch()

    compiled = torch.compile(lambda x, w: torch.nn.functional.gelu(x * w).softmax(-1))
    p, q = rand(256, 512), rand(512)
    for _ in range(3):
        compiled(p, q)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
