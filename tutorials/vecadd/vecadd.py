"""Vector addition in Triton, and how a program describes it to the profiler.

    python vecadd.py            writes vecadd.hatchet
"""

import torch
import triton
import triton.language as tl

import goproton as proton

ELEMENT = 4  # bytes of a float32


@triton.jit
def add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(a_ptr + at, mask=inside)
    b = tl.load(b_ptr + at, mask=inside)
    tl.store(c_ptr + at, a + b, mask=inside)


def run(n):
    """One addition of two random vectors. Returns them with their sum."""
    # Each of the three kernels in this scope writes one vector.
    with proton.scope("initialization", metrics={"bytes": 3 * n * ELEMENT}):
        a = torch.randn(n, device="cuda")
        b = torch.randn(n, device="cuda")
        c = torch.zeros(n, device="cuda")
    # The kernel reads two vectors and writes one.
    with proton.scope("add", metrics={"bytes": 3 * n * ELEMENT}):
        add_kernel[(triton.cdiv(n, 1024),)](a, b, c, n, BLOCK=1024)
    return a, b, c


def main():
    session = proton.start("vecadd")

    # Compiling the kernel takes a second of CPU time and almost no GPU time.
    with proton.cpu_timed_scope("compile and first run"):
        run(1 << 20)
        torch.cuda.synchronize()

    for _ in range(10):
        run(1 << 24)

    # A state adds one frame below all scopes: the same scopes, distinguished by size.
    with proton.scope("sizes"):
        for n in (1 << 16, 1 << 20, 1 << 24):
            with proton.state(f"n={n}"):
                a, b, c = run(n)

    # The kernels that check the result are not recorded.
    proton.deactivate(session)
    torch.testing.assert_close(c, a + b)
    proton.activate(session)

    with proton.scope("after the check"):
        run(1 << 24)

    proton.finalize()


if __name__ == "__main__":
    main()
