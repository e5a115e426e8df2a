"""What the checks launch, on tensors that are made in the process of a check."""
import torch

import goproton as proton
from kernels import (add_kernel, attention_kernel, chain_kernel, described_add_kernel, layer_norm_kernel, matmul_kernel, softmax_kernel,
                     strided_kernel, turned_kernel)

DEVICE = "cuda"  # also torch's name of AMD's GPUs


class Work:
    """Small kernels of Triton and torch, and some that are bound by the GPU."""

    def __init__(self):
        self.x, self.y = torch.randn(4096, device=DEVICE), torch.randn(4096, device=DEVICE)
        self.z = torch.empty_like(self.x)
        self.matrix = torch.randn(2048, 2048, device=DEVICE, dtype=torch.float16)
        self.big = torch.randn(1 << 25, device=DEVICE), torch.empty(1 << 25, device=DEVICE)

    def add(self, kernel=described_add_kernel):
        kernel[(4,)](self.x, self.y, self.z, 4096, BLOCK=1024)

    def mul(self):
        torch.mul(self.x, self.y, out=self.z)

    def stream(self):
        torch.add(self.big[0], 1.0, out=self.big[1])

    def steps(self):
        """Work by the name of the scope that the main comparisons put it in."""
        return {
            "mm": lambda: [torch.mm(self.matrix, self.matrix) for _ in range(20)],
            "stream": lambda: [self.stream() for _ in range(20)],
            "triton": lambda: [self.add() for _ in range(50)],
            "mixed": lambda: [(self.add(), self.mul(), torch.softmax(self.x, 0)) for _ in range(25)],
        }

    def captured(self, n=3):
        """A graph of two kernels in each of n scopes."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(torch.cuda.Stream()):
            self.add(), self.mul()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            for i in range(n):
                with proton.scope(f"iter{i}"):
                    self.add()
                    self.mul()
        return graph

    def copies(self):
        """Every kind of copy and fill that a program makes, on two streams."""
        host, pinned, t = torch.ones(1 << 16), torch.ones(1 << 16).pin_memory(), torch.empty(1 << 16, device=DEVICE)
        other = torch.cuda.Stream()
        with proton.scope("copies"):
            for _ in range(5):
                t.copy_(host)
                t.copy_(pinned, non_blocking=True)
                pinned.copy_(t, non_blocking=True)
                t.cpu()
                t.clone()
            with torch.cuda.stream(other):
                for _ in range(5):
                    t.copy_(pinned, non_blocking=True)
                    torch.zeros(1 << 20, device=DEVICE, dtype=torch.uint8)
                    torch.cuda.current_stream().synchronize()
            torch.cuda.synchronize()


class Hot:
    """Kernels that keep the whole GPU busy, to be sampled. Each method launches one and returns what Triton compiled."""

    N = 1 << 25

    def __init__(self):
        self.sms = torch.cuda.get_device_properties(0).multi_processor_count
        self.x, self.y, self.z = (torch.randn(self.N, device=DEVICE) for _ in range(3))
        self.rows = [torch.randn(8192, device=DEVICE) for _ in range(4)]
        self.matrices = [torch.randn(4096, 4096, device=DEVICE, dtype=torch.float16) for _ in range(3)]

    def add(self):
        return add_kernel[(self.N // 1024,)](self.x, self.y, self.z, self.N, BLOCK=1024)

    def layer_norm(self):
        return layer_norm_kernel[(8192,)](self.x, self.z, *self.rows, 4096, 4096, 1e-5, BLOCK=4096, num_warps=8)

    def matmul(self):
        a, b, c = self.matrices
        return matmul_kernel.fn[(32, 32)](a, b, c, 4096, 4096, 4096, 4096, 1, 4096, 1, 4096, 1, BM=128, BN=128, BK=64, num_warps=8)

    def chain(self, steps, C=1.0, blocks=None):
        return chain_kernel[(blocks or self.sms * 8,)](self.x, steps, C=C)

    def scoped(self, scope, steps, C=1.0, n=20):
        with proton.scope(scope):
            for _ in range(n):
                self.chain(steps, C)

    def softmax(self):
        return softmax_kernel[(1024,)](self.z, self.x, 4096, 4096, BLOCK=4096)

    def attention(self):
        q = torch.randn(4096, 64, device=DEVICE, dtype=torch.float16)
        return attention_kernel[(32, 1)](q, q, q, torch.empty_like(q), q.numel(), 64, 1, 0.125, 4096, BM=128, BN=64, D=64, num_warps=4)

    def kernels(self):
        return {"add_kernel": self.add, "layer_norm_kernel": self.layer_norm, "matmul_kernel": self.matmul}

    def repeat(self, n):
        for launch in self.kernels().values():
            for _ in range(n):
                launch()


class Counted:
    """Nine kernels whose hardware counters are compared with those that ncu counts."""

    SIDE = 2048
    LABELS = ("addition", "strided copy", "softmax", "matmul", "cuBLAS", "layer norm", "attention", "transposition", "large addition")

    def __init__(self):
        side = self.SIDE
        self.hot = Hot()
        self.x, self.y, self.z = (torch.randn(side, side, device=DEVICE) for _ in range(3))
        self.a, self.b, self.c = (torch.randn(side, side, device=DEVICE, dtype=torch.float16) for _ in range(3))
        self.large = [torch.randn(200_000_000, device=DEVICE) for _ in range(3)]  # 2.4 GB, far more than a cache holds

    def launches(self):
        side, n = self.SIDE, self.SIDE**2
        return dict(zip(self.LABELS, (
            lambda: add_kernel[(n // 1024,)](self.x, self.y, self.z, n, BLOCK=1024),
            lambda: strided_kernel[(n // 1024,)](self.x, self.z, side, BLOCK=1024),
            lambda: softmax_kernel[(side,)](self.z, self.x, side, side, BLOCK=side),
            lambda: matmul_kernel.fn[(side // 128, side // 128)](
                self.a, self.b, self.c, side, side, side, side, 1, side, 1, side, 1, BM=128, BN=128, BK=64, num_warps=8),
            lambda: torch.mm(self.a, self.b, out=self.c),
            self.hot.layer_norm,
            self.attention,
            lambda: turned_kernel[(side // 64, side // 64)](self.x, self.z, side, BLOCK=64),
            lambda: torch.add(self.large[0], self.large[1], out=self.large[2]),
        )))

    def attention(self):
        q, out = self.a.view(-1)[:4096 * 64], self.c.view(-1)[:4096 * 64]
        attention_kernel[(32, 1)](q, q, q, out, q.numel(), 64, 1, 0.125, 4096, BM=128, BN=64, D=64, num_warps=4)
