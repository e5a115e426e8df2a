"""The same as interpreted.py with tensors of torch on the CPU: python interpreted_torch.py NAME."""

import sys

import torch
import triton
import triton.language as tl
from interpreted import add_kernel, copy_tile, increase

import goproton


def views():
    """A view's storage is its buffer, also if torch has it from numpy, and bf16 is bf16."""
    whole = torch.zeros(4, 8, dtype=torch.bfloat16)
    with goproton.interpreting():
        increase[(1,)](whole[1:].t()[:, 1:], 8, BLOCK=8)
        assert whole[2].eq(1).all() and whole.sum() == 8, whole
        try:
            increase[(1,)](whole[3, 4:], 5, BLOCK=8)
        except goproton.Finding as error:
            assert "element 32 of 32" in str(error), error
        else:
            raise AssertionError("the storage ends before")
        numbers = torch.arange(6, dtype=torch.int32).numpy()
        increase[(1,)](torch.from_numpy(numbers)[2:], 4, BLOCK=8)
        assert numbers.tolist() == [0, 1, 3, 4, 5, 6]
        # out of one storage into another part of it
        line = torch.arange(10.0)
        add_kernel[(1,)](line[:5], line[:5], line[5:], 5, BLOCK=8)
        assert line.tolist() == [0, 1, 2, 3, 4, 0, 2, 4, 6, 8]


def freed():
    x = torch.ones(8)
    x.untyped_storage().resize_(0)
    try:
        goproton.interpret(increase)[(1,)](x, 8, BLOCK=8)
    except RuntimeError as error:
        assert "whose storage was freed" in str(error), error
    else:
        raise AssertionError("it ran")
    try:
        goproton.interpret(increase)[(1,)](torch.ones(8, device="meta"), 8, BLOCK=8)
    except RuntimeError as error:
        assert "the device meta, which has no memory" in str(error), error
    else:
        raise AssertionError("it ran")


@triton.jit
def gather(addresses, out_ptr, n, BLOCK: tl.constexpr):
    x_ptr = tl.load(addresses + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.program_id(0) * n + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def as_on_a_gpu():
    """Tensors that count as those of a GPU are copied once for each storage, and copied back, also after a finding."""
    from goproton._interpret import storages
    storages.on_cpu = lambda tensor: False  # a stand-in: there is no GPU here
    copies = []
    to = torch.Tensor.to
    torch.Tensor.to = lambda self, *args, **named: (copies.append(1), to(self, *args, **named))[1]
    whole, other = torch.zeros(3, 8), torch.ones(8)
    with goproton.interpreting() as run:
        add_kernel[(1,)](whole[1], other, whole[2], 8, BLOCK=8)
        assert whole[2].eq(1).all() and whole.sum() == 8 and len(copies) == 2, (whole, copies)
        try:
            add_kernel[(2,)](whole[0], other, whole[1], 16, BLOCK=8)  # the first program instance is right, the second is not
        except goproton.Finding:
            pass
        assert whole[1].eq(1).all() and whole[2].eq(1).all() and len(run.findings) == 1, whole
        addresses, out = torch.tensor([whole[2].data_ptr(), other.data_ptr()]), torch.zeros(2, 8)
        gather[(2,)](addresses, out, 8, BLOCK=8)
        assert out.eq(1).all(), out


def more():
    """reset_to_zero of autotune, descriptors made of tensors, reinterpret, and bool and f8 tensors."""
    from triton.tools.tensor_descriptor import TensorDescriptor
    x, y, out = torch.rand(1000), torch.rand(1000), torch.full((1000,), 7.0)
    kernel = triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"], reset_to_zero=["out_ptr"], restore_value=["y_ptr"])(add_kernel)
    m = torch.arange(24.0 * 16).reshape(24, 16)
    tiles = torch.zeros(32, 16)
    eighths, bits = torch.rand(16).to(torch.float8_e5m2), torch.zeros(16, dtype=torch.int8)
    with goproton.interpreting():
        kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000)
        copy_tile[(2,)](TensorDescriptor.from_tensor(m, [16, 16]), tiles, B=16)
        add_kernel[(1,)](eighths, torch.zeros(16), x, 16, BLOCK=16)
        add_kernel[(1,)](triton.reinterpret(bits, tl.float8e5), torch.zeros(16), y, 16, BLOCK=16)
    assert torch.equal(out[16:], (x + y)[16:]) and torch.equal(tiles[:24], m) and torch.equal(x[:16], eighths.float()) and y[:16].eq(0).all()


def compiled():
    """For proton interpret: torch.compile."""
    @torch.compile
    def fused(x, y):
        return (torch.nn.functional.gelu(x) * y).sum(-1), torch.softmax(x, -1)

    torch.manual_seed(0)
    x, y = torch.randn(16, 300), torch.randn(16, 300)
    for got, want in zip(fused(x, y), ((torch.nn.functional.gelu(x) * y).sum(-1), torch.softmax(x, -1))):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-4)
    print("compiled")


def devices():
    """For proton interpret --device cpu: a program that names cuda."""
    torch.manual_seed(0)
    x = torch.rand(100, device="cuda")
    y = torch.ones(100).to("cuda:0") + torch.ones(100).cuda()
    out = torch.empty_like(x)
    add_kernel[(1,)](x, y, out, 100, BLOCK=128)
    net = torch.nn.Linear(4, 4).cuda().to(torch.device("cuda"))
    torch.cuda.synchronize()
    assert torch.equal(out, x + 2) and net(torch.ones(4, device="cuda", dtype=torch.float32)).device.type == "cpu" and torch.cuda.current_device() == 0
    assert x.is_cuda and net.weight.is_cuda and not torch.ones(1, device="meta").is_cuda
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.device(x.device), torch.cuda.stream(torch.cuda.Stream()):
        start.record()
        end.record(torch.cuda.current_stream())
        end.synchronize()
    properties, target = torch.cuda.get_device_properties("cuda"), triton.runtime.driver.active.get_current_target()
    assert (properties.major, properties.minor) == torch.cuda.get_device_capability(0) and properties.multi_processor_count > 0
    getattr(torch, triton.runtime.driver.active.get_active_torch_device().type).set_stream(torch.cuda.current_stream())
    a, b, c = torch.rand(8, 4), torch.rand(6, 4), torch.zeros(8, 6)
    triton._C.libtriton.nvidia.cublas.CublasLt(torch.empty(8, device="cuda")).matmul(a, b, c)
    torch.testing.assert_close(c, a @ b.T)
    for name in "CUDAGraph", "graph":
        try:
            getattr(torch.cuda, name)()
        except RuntimeError as error:
            assert "graphs cannot be captured with --device cpu" in str(error), error
        else:
            raise AssertionError("there is a graph")
    import torch._dynamo.trace_rules as rules
    rules.get_torch_obj_rule_map()  # of torch.compile and torch.library, which refuses an object with two names
    print("devices", torch.cuda.get_device_capability(), target.backend, target.arch, start.elapsed_time(end))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
