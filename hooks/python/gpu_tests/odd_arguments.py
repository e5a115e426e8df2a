"""Launches with arguments of many kinds; test_traces.py compares what they do with a trace and without."""
import re
import tempfile

import numpy
import torch
import triton
import triton.language as tl
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from triton.tools.tensor_descriptor import TensorDescriptor

from kernels import descriptor_kernel, pair_kernel, read_kernel, scale_kernel, unwilling_kernel

DEVICE = "cuda"


def main():
    """Prints what became of each launch, which tracing must not change."""
    x, out = torch.arange(64, dtype=torch.float32, device=DEVICE), torch.zeros(64, device=DEVICE)

    def read(tensor, n=64):
        read_kernel[(1,)](tensor, out, n, B=64)

    class Sub(torch.Tensor):
        pass

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            raise NotImplementedError(f"{function} of a wrapper")

    def fake():
        with FakeTensorMode():
            made = torch.empty(64, device=DEVICE)
        read(made, 0)

    def described():
        a, b = torch.randn(64, 64, device=DEVICE), torch.empty(64, 64, device=DEVICE)
        descriptor_kernel[(2, 1)](TensorDescriptor.from_tensor(a, [32, 64]), TensorDescriptor.from_tensor(b, [32, 64]), BM=32, BN=64)
        assert torch.equal(2 * a, b)

    def derivative():
        def f(v):
            read(v, 0)
            return v.sum()
        torch.func.grad(f)(x)

    def mapped():
        def f(v):
            read(v, 0)
            return v * 2
        torch.func.vmap(f)(x.view(8, 8))

    def compiled(dynamic):
        def f(v):
            result = torch.empty_like(v)
            scale_kernel[(1,)](v, result, 2.0, v.shape[0], B=64)
            return torch.nn.functional.gelu(result) + 1
        made = torch.compile(f, dynamic=dynamic)
        for size in (64, 48):
            got = made(x[:size])
            assert torch.allclose(got, torch.nn.functional.gelu(x[:size] * 2) + 1), "compiled"

    def autograd():
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, v):
                result = torch.empty_like(v)
                scale_kernel[(1,)](v, result, 2.0, 64, B=64)
                return result

            @staticmethod
            def backward(ctx, g):
                result = torch.empty_like(g)
                scale_kernel[(1,)](g.contiguous(), result, 2.0, 64, B=64)
                return result
        v = x.clone().requires_grad_()
        Twice.apply(v).sum().backward()
        assert v.grad[0].item() == 2

    def counted():
        class Count(TorchDispatchMode):
            n = 0

            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                self.n += 1
                return function(*args, **(kwargs or {}))
        with Count() as mode:
            read(x)
            torch.add(x, x)
        return f"{mode.n} operators"

    def distributed():
        torch.distributed.init_process_group("gloo", init_method=f"file://{tempfile.mkdtemp()}/store", rank=0, world_size=1)
        mesh = init_device_mesh("cuda", (1,))
        read(DTensor.from_local(x, mesh), 0)

    cases = {
        "plain": lambda: read(x),
        "numpy integer": lambda: read(x, numpy.int64(64)),
        "numpy small integer": lambda: read(x, numpy.int8(64)),
        "numpy truth": lambda: read(x, numpy.bool_(True)),
        "numpy float": lambda: scale_kernel[(1,)](x, out, numpy.float64(2), 64, B=64),
        "numpy half": lambda: scale_kernel[(1,)](x, out, numpy.float16(2), 64, B=64),
        "numpy array": lambda: read(numpy.zeros(64, numpy.float32)),
        "no number": lambda: scale_kernel[(1,)](x, out, float("nan"), 64, B=64),
        "large": lambda: read(x, 2**40),
        "too large": lambda: read(x, 2**70),
        "tensor of one": lambda: read(x, torch.tensor(64)),
        "parameter": lambda: read(torch.nn.Parameter(x)),
        "subclass": lambda: read(x.as_subclass(Sub)),
        "wrapper": lambda: read(Wrapper(x), 0),
        "meta": lambda: read(torch.empty(64, device="meta"), 0),
        "fake": fake,
        "host": lambda: read(torch.zeros(64)),
        "pinned": lambda: read(torch.zeros(64).pin_memory()),
        "none": lambda: read(None, 0),
        "sparse": lambda: read(x.to_sparse(), 0),
        "complex": lambda: read(torch.view_as_real(torch.zeros(32, dtype=torch.complex64, device=DEVICE))),
        "tuple": lambda: pair_kernel[(1,)]((x, out), 64, B=64),
        "reinterpreted": lambda: read(triton.reinterpret(x.view(torch.int32), tl.float32)),
        "descriptor": described,
        "metadata that raise": lambda: unwilling_kernel[(1,)](x, out, 64, B=64),
        "no blocks": lambda: read_kernel[(0,)](x, out, 64, B=64),
        "mode": counted, "grad": derivative, "vmap": mapped, "autograd": autograd,
        "compile": lambda: compiled(False), "compile dynamic": lambda: compiled(True),
        "distributed tensor": distributed,
    }
    for name, case in cases.items():
        try:
            said = case()
            torch.cuda.synchronize()
            result = f"fine, {out.sum().item()}" + (f", {said}" if isinstance(said, str) else "")
        except Exception as error:
            result = f"{type(error).__name__}: {re.sub('[0-9a-fx]{6,}', '#', str(error).splitlines()[0][:80] if str(error) else '')}"
        print(f"{name}: {result}", flush=True)
        out.zero_()


if __name__ == "__main__":
    main()
