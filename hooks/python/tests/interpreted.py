"""Kernels and programs that tests of the interpreter run, in a process of their own: python interpreted.py NAME."""

import sys

import numpy as np
import triton
import triton.language as tl

import goproton


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)  # the sum


def vectors(n=1000):
    random = np.random.default_rng(0)
    return random.random(n, np.float32), random.random(n, np.float32), np.zeros(n, np.float32)


def one_call():
    x, y, out = vectors()
    goproton.interpret(add_kernel)[(4,)](x, y, out, len(x), BLOCK=256)
    assert (out == x + y).all()


def with_statement():
    x, y, out = vectors()
    with goproton.interpreting("add_*", order="reverse") as run:
        add_kernel[lambda meta: (triton.cdiv(len(x), meta["BLOCK"]),)](x, y, out, len(x), BLOCK=256)
    assert (out == x + y).all() and run.findings == [] and [(k["name"], k["programs"]) for k in run.counts] == [("add_kernel", 4)]
    try:
        add_kernel[(4,)](x, y, out, len(x), BLOCK=256)
    except RuntimeError as error:
        assert "active drivers" in str(error), error  # there is no GPU, and the kernel is not interpreted any more
    else:
        raise AssertionError("the kernel ran")


def finding():
    x, y, out = vectors()
    try:
        goproton.interpret(add_kernel)[(4,)](x, y, out, len(x) + 1, BLOCK=256)
    except goproton.Finding as error:
        line = next(i for i, text in enumerate(open(__file__), 1) if "# the sum" in text)
        assert (error.file, error.line, error.program, error.lane, error.kernel) == (__file__, line, (3, 0, 0), 1000 - 768, "add_kernel"), vars(error)
        assert "x_ptr: element 1000 of 1000" in str(error)
    else:
        raise AssertionError("nothing was found")


def script():
    """For proton interpret: nothing of goproton is used."""
    x, y, out = vectors()
    add_kernel[(4,)](x, y, out, len(x) + int(sys.argv[2]), BLOCK=256)
    print("sum", float(out.sum()) == float((x + y).sum()))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
