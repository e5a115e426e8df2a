"""Kernels with a fault, and next to each one that is right and nearly the same, for the checks of proton interpret: python checked.py NAME.

The line that a finding must name ends with "# found"; without such a line, nothing must be found."""

import inspect
import sys

import numpy as np
import triton
import triton.language as tl

import goproton

n = 1000


@triton.jit
def neighbours(x, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at + 1, mask=at < n - 1, other=0.0)  # found
    tl.store(x + at, v, mask=at < n)


@triton.jit
def own_elements(x, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + at, tl.load(x + at, mask=at < n, other=0.0) + 1, mask=at < n)


@triton.jit
def sum_without_lock(x, total, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.sum(tl.load(x + at, mask=at < n, other=0.0), 0)
    tl.store(total, tl.load(total) + s)  # found


@triton.jit
def sum_with_lock(x, total, lock, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.sum(tl.load(x + at, mask=at < n, other=0.0), 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + s)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def last_one_reads(x, parts, total, count, n, B: tl.constexpr, P: tl.constexpr, SEM: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * B + tl.arange(0, B)
    tl.store(parts + pid, tl.sum(tl.load(x + at, mask=at < n, other=0.0), 0))
    if tl.atomic_add(count, 1, sem=SEM) == tl.num_programs(0) - 1:
        i = tl.arange(0, P)
        tl.store(total, tl.sum(tl.load(parts + i, mask=i < tl.num_programs(0), other=0.0), 0))


@triton.jit
def waits_for_later(flags, z):
    pid = tl.program_id(0)
    if pid < tl.num_programs(0) - 1:
        while tl.atomic_add(flags + pid + 1, 0, sem="acquire") == 0:  # found
            pass
        tl.store(z + pid, tl.load(z + pid + 1) + 1)
    tl.atomic_xchg(flags + pid, 1, sem="release")


@triton.jit
def sum_of_part(x, total, n, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at, mask=at < n)
    tl.store(total, tl.sum(v, 0))  # found


@triton.jit
def sum_of_chosen(x, total, n, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at, mask=at < n)
    tl.store(total, tl.sum(tl.where(at < n, v, 0.0), 0))


@triton.jit
def product(a, b, c, K, M: tl.constexpr, BK: tl.constexpr):
    m, k = tl.arange(0, M), tl.arange(0, BK)
    x = tl.load(a + m[:, None] * K + k[None, :], mask=k[None, :] < K)
    y = tl.load(b + k[:, None] * M + m[None, :], mask=k[:, None] < K, other=0.0)
    tl.store(c + m[:, None] * M + m[None, :], tl.dot(x, y))  # found


@triton.jit
def product_of_rows(a, b, c, R, K: tl.constexpr, M: tl.constexpr):
    m, k = tl.arange(0, M), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :], mask=m[:, None] < R)
    y = tl.load(b + k[:, None] * M + m[None, :])
    tl.store(c + m[:, None] * M + m[None, :], tl.dot(x, y), mask=m[:, None] < R)


@triton.jit
def copy(x, z, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(z + at, tl.load(x + at, mask=at < n), mask=at < n)  # found


@triton.jit
def wraps_around(x, z, n, B: tl.constexpr):
    at = (tl.program_id(0) * B + tl.arange(0, B)) % n  # found
    at = tl.max_contiguous(tl.multiple_of(at, B), B)
    tl.store(z + at, tl.load(x + at))


@triton.jit
def scatter(x, z, B: tl.constexpr, DIVISOR: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(z + at // DIVISOR, tl.load(x + at))  # found


@triton.jit
def far(z, stride, B: tl.constexpr):
    row = tl.program_id(0) * stride
    tl.store(z + row + tl.arange(0, B), 1.0)  # found


@triton.jit
def softmax(x, z, n, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))  # found
    tl.store(z + at, e / tl.sum(e, 0), mask=at < n)


def run(kernel, grid, *args, found=None, check="all", order="serial", **named):
    lines, first = inspect.getsourcelines(kernel.fn)
    marked = [first + i for i, line in enumerate(lines) if line.endswith("# found\n")]
    with goproton.interpreting(check=check, keep_going=True, order=order) as r:
        kernel[grid](*args, **named)
    places = [(f["kind"], f["frames"][0]["line"]) for f in r.findings]
    others = [o["frames"][0]["line"] for f in r.findings for o in f.get("others", ())]
    if found is None:
        assert places == [], r.findings
    else:
        kinds = {kind for kind, _ in places}
        assert kinds == {found}, r.findings
        assert not marked or any(line in marked for line in [line for _, line in places] + others), (marked, r.findings)
    return r


def floats(*values, size=1024):
    x = np.zeros(size, np.float32)
    x[:] = np.arange(size) % 7
    x[:len(values)] = values
    return x


def races():
    for order in "serial", "reverse", "shuffle", "parallel", "cooperative":
        run(neighbours, (8,), floats(), n, B=128, found="race", order=order)
        run(own_elements, (8,), floats(), n, B=128, order=order)
        run(sum_without_lock, (8,), floats(), floats(0), n, B=128, found="race", order=order)
        total = np.zeros(4, np.float32)
        run(sum_with_lock, (8,), floats(), total, np.zeros(4, np.int32), n, B=128, order=order)
        assert total[0] == floats()[:n].sum()
        for sem, found in ("acq_rel", None), ("relaxed", "race"):
            total = np.zeros(4, np.float32)
            run(last_one_reads, (8,), floats(), np.zeros(8, np.float32), total, np.zeros(4, np.int32), n, B=128, P=8, SEM=sem, found=found, order=order)
            assert order == "parallel" and found or total[0] == floats()[:n].sum()


def waiting():
    flags, z = np.zeros(33, np.int32), np.zeros(33, np.int32)
    run(waits_for_later, (33,), flags, z, order="cooperative")
    assert (z == np.arange(33)[::-1]).all()
    try:
        with goproton.interpreting():
            waits_for_later[(33,)](np.zeros(33, np.int32), z)
    except goproton.Finding as error:
        assert error.kind == "deadlock" and "--order cooperative" in str(error), error
    else:
        raise AssertionError("the kernel ended")
    with goproton.interpreting(order="cooperative", keep_going=True, programs=[(i, 0, 0) for i in range(32)]) as r:
        waits_for_later[(33,)](np.zeros(33, np.int32), z)  # without the last one, which sets the first flag
    assert [(f["kind"], f["access"]) for f in r.findings] == [("deadlock", "atomic operation")] and "32 program instances wait" in r.findings[0]["text"], r.findings


def uninitialised():
    x = floats()
    run(sum_of_part, (1,), x, floats(0), n, B=1024, found="uninitialised")
    run(sum_of_part, (1,), x, floats(0), 1024, B=1024)
    run(sum_of_chosen, (1,), x, floats(0), n, B=1024)
    a, b, c = floats().astype(np.float16), floats().astype(np.float16), np.zeros((16, 16), np.float32)
    run(product, (1,), a, b, c, 20, M=16, BK=32, found="uninitialised")
    run(product, (1,), a, b, c, 32, M=16, BK=32)
    run(product_of_rows, (1,), a, b, c, 9, K=32, M=16)


def memory():
    with goproton.interpreting(check=["uninit"], keep_going=True) as r:
        x, z = np.empty(1024, np.float32), np.empty(1024, np.float32)
        x[:n] = 1
        copy[(8,)](x, z, n, B=128)
        assert r.findings == [], r.findings
        copy[(8,)](z, x, n, B=128)  # which the kernel has written
        assert r.findings == [], r.findings
        copy[(8,)](x, z, n + 8, B=128)
        assert [f["kind"] for f in r.findings] == ["uninitialised"] and "never written" in r.findings[0]["others"][0]["access"], r.findings
    assert np.empty.__module__ == "numpy"


def hints():
    run(wraps_around, (8,), floats(), floats(), 1024, B=128, check="hint")
    run(wraps_around, (8,), floats(), floats(), n, B=128, found="wrong hint", check="hint")


def duplicates():
    run(scatter, (1,), floats(), floats(), B=128, DIVISOR=2, found="duplicate addresses")
    run(scatter, (1,), floats(), floats(), B=128, DIVISOR=1)


def overflow():
    with goproton.interpreting(check=["overflow"], keep_going=True) as r:
        far[(3,)](floats(), 1 << 30, B=16)
    assert {f["kind"] for f in r.findings} == {"out of bounds", "overflow"}, r.findings
    run(far, (3,), floats(), 100, B=16)


@triton.jit
def means(sums, counts, out, B: tl.constexpr):
    i = tl.arange(0, B)
    count = tl.load(counts + i)
    mean = tl.load(sums + i) // count  # found
    tl.store(out + i, mean)


@triton.jit
def means_of_some(sums, counts, out, B: tl.constexpr):
    i = tl.arange(0, B)
    count = tl.load(counts + i)
    mean = tl.load(sums + i) // count
    tl.store(out + i, tl.where(count > 0, mean, 0))


def divisions():
    counts = np.arange(16, dtype=np.int32)
    run(means, (1,), counts * 7, counts, np.zeros_like(counts), B=16, found="division by zero")
    run(means, (1,), counts * 7, counts + 1, np.zeros_like(counts), B=16)
    run(means_of_some, (1,), counts * 7, counts, np.zeros_like(counts), B=16)


def births():
    run(softmax, (1,), floats(), floats(), n, B=1024)
    run(softmax, (1,), np.full(1024, -np.inf, np.float32), floats(), n, B=1024, found="NaN")


if __name__ == "__main__":
    for name in sys.argv[1].split("+"):
        globals()[name]()
