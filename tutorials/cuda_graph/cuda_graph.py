"""A CUDA graph that is captured once and replayed many times, attributed to both call paths.

    proton run cuda_graph.py                                            one time per kernel
    proton run --graph graph -n cuda_graph.whole cuda_graph.py          one time per replay
"""

import torch
import triton
import triton.language as tl

import goproton as proton

WIDTH, BATCH, LAYERS = 1024, 256, 4
REPLAYS = 50


def launch_metadata(grid, metadata, args):
    return {"name": f"bias_relu_<grid:{grid[0]}>", "bytes": 2 * args["n"] * args["x_ptr"].element_size()}


@triton.jit(launch_metadata=launch_metadata)
def bias_relu(x_ptr, bias_ptr, n, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside) + tl.load(bias_ptr + at % WIDTH, mask=inside)
    tl.store(x_ptr + at, tl.maximum(x, 0), mask=inside)


class Net:
    def __init__(self):
        self.weights = [torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.float16) / WIDTH**0.5 for _ in range(LAYERS)]
        self.biases = [torch.randn(WIDTH, device="cuda", dtype=torch.float16) for _ in range(LAYERS)]
        self.outputs = [torch.empty(BATCH, WIDTH, device="cuda", dtype=torch.float16) for _ in range(LAYERS)]

    def __call__(self, x):
        for i, (weight, bias, out) in enumerate(zip(self.weights, self.biases, self.outputs)):
            with proton.scope(f"layer {i}"):
                torch.mm(x, weight, out=out)
                bias_relu[(triton.cdiv(out.numel(), 1024),)](out, bias, out.numel(), WIDTH=WIDTH, BLOCK=1024)
            x = out
        return x


def capture(net, x):
    """Captures the launches of one call. They do not run, so they are not counted."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), proton.scope("warm-up"):
        net(x)  # compiles and allocates, which is not allowed in a capture
    torch.cuda.current_stream().wait_stream(side)

    graph = torch.cuda.CUDAGraph()
    with proton.scope("capture"), torch.cuda.graph(graph):
        net(x)
    return graph


def main():
    torch.manual_seed(0)
    proton.start("cuda_graph", hook="triton")  # before the capture, which records call paths

    with proton.scope("inputs"):
        net = Net()
        x = torch.randn(BATCH, WIDTH, device="cuda", dtype=torch.float16)
    graph = capture(net, x)

    # The same graph from two call paths: each replay counts at the one that launched it.
    for _ in range(REPLAYS):
        with proton.scope("replay"):
            graph.replay()
    with proton.scope("last replay"):
        graph.replay()
    replayed = net.outputs[-1].cpu()
    with proton.scope("without a graph"):
        eager = net(x)

    torch.testing.assert_close(replayed, eager.cpu(), atol=1e-2, rtol=1e-2)
    proton.finalize()


if __name__ == "__main__":
    main()
