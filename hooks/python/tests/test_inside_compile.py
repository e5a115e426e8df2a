"""Scopes by machine in kernels that real Tritons compile, without a GPU: for an H100 (sm_90) and an MI300X (gfx942)."""

import json
import os
import re
import subprocess
import sys

import pytest

from conftest import ALL, ORACLES, PACKAGE, PATIENCE, TESTS

SOURCE = (TESTS / "inside_kernels.py").read_text().splitlines()

# Scopes of each kernel, outer ones first, as "kind pointer @ text of the line", for NVIDIA's GPUs.
EXPECTED = {
    "loop": ["kernel", "loop @ for i in range(0, n)", "load x_ptr @ x = tl.load(x_ptr + offsets + i", "store out_ptr @ tl.store(out_ptr + offsets, total)"],
    "matmul": ["kernel", "loop @ for k in range(0, tl.cdiv", "load a_ptr @ a = tl.load(a_ptrs)", "shared write @ a = tl.load(a_ptrs)",
               "load b_ptr @ b = tl.load(b_ptrs)", "shared write @ b = tl.load(b_ptrs)", "dot @ total = tl.dot(a, b, total)",
               "wait @ total = tl.dot(a, b, total)", "store c_ptr @ tl.store(c_ptr"],
    "softmax": ["kernel", "load in_ptr @ x = tl.load(in_ptr", "reduce @ tl.max(x, axis=0)", "reduce @ tl.sum(e, axis=0)", "store out_ptr @ tl.sum(e, axis=0)"],
    "histogram": ["kernel", "load x_ptr @ mask=offsets < n, other=0)", "atomic bins_ptr @ tl.atomic_add", "atomic lock_ptr @ tl.atomic_cas"],
    "nested": ["kernel", "loop @ for i in range(0, rows)", "loop @ for j in range(0, cols)", "load x_ptr @ total += tl.load(x_ptr + (i",
               "store out_ptr @ tl.store(out_ptr + i * BLOCK"],
    "early": ["load x_ptr @ x = tl.load(x_ptr + offsets)", "store out_ptr @ tl.store(out_ptr + offsets, x)", "store out_ptr @ tl.store(out_ptr + offsets, x + 1)"],
    "inlined": ["kernel", "load x_ptr @ first = tl.load", "load x_ptr @ return first + tl.load", "load y_ptr @ first = tl.load",
                "load y_ptr @ return first + tl.load", "store out_ptr @ tl.store(out_ptr + offsets, twice"],
    "while": ["kernel", "loop @ while i < n", "load x_ptr @ x = tl.load(x_ptr + i)", "load x_ptr @ total += tl.load(x_ptr + i + 1)",
              "store out_ptr @ tl.store(out_ptr + i, total)", "store out_ptr @ tl.store(out_ptr, total)"],
    "specialised": ["kernel", "barrier", "default", "partition0", "wait a_desc,b_desc", "load a_desc", "load b_desc",
                    "loop @ for k in tl.range(0, K, BK, warp_specialize=True)", "dot @ total = tl.dot(a, b.T, total)",
                    "store c_ptr @ tl.store(c_ptr + rows"],
}
KERNELS = ["loop", "matmul", "pipelined", "softmax", "layer_norm", "attention", "specialised", "histogram", "nested", "early", "unrolled",
           "long", "inlined", "calling", "scan", "while", "pointless"]
WITHOUT = {"calling", "pointless"}  # kernels that get no scopes


def compiled_with(triton, cache, kind, pattern, *names):
    """What inside_compile.py prints, by kernel."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [triton, PACKAGE, TESTS])), "TRITON_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, TESTS / "inside_compile.py", kind, pattern, *names], env=env, capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stderr[-2000:]
    return {result["kernel"]: result for result in map(json.loads, done.stdout.splitlines())}


@pytest.fixture(scope="module", params=[("3.6.0", "cuda"), ("3.9.0", "cuda"), ("3.6.0", "hip"), ("3.9.0", "hip")], ids="-".join)
def compiled(request, tmp_path_factory):
    version, kind = request.param
    triton = ORACLES / f"triton-{version}"
    if not triton.exists():
        pytest.skip(f"{triton} is not there; make oracles")
    if version != "3.9.0" and not ALL:
        pytest.skip("every kernel with an older Triton is compiled in make check")
    return kind, compiled_with(triton, tmp_path_factory.mktemp("cache"), kind, "*", *KERNELS)


def test_every_kernel_is_compiled_with_scopes(compiled):
    _, kernels = compiled
    for name, kernel in kernels.items():
        assert bool(kernel["ids"]) == (name not in WITHOUT), name
        assert (kernel["scratch"] > 0) == bool(kernel["ids"]), name
        assert kernel["same binary"] == (name in WITHOUT), name
        assert bool(kernel["done"]["problem"]) == (name in WITHOUT), kernel["done"]
    assert "not inlined" in kernels["calling"]["done"]["problem"]


def test_without_its_records_a_kernel_is_what_it_was(compiled):
    _, kernels = compiled
    assert all(kernel["same without records"] for kernel in kernels.values())


def test_what_they_are_compared_with_is_the_kernel_of_a_program_without_a_session(compiled):
    _, kernels = compiled
    assert [name for name, kernel in kernels.items() if not kernel["compared with the same"]] == []


def test_scopes_are_those_of_the_source(compiled):
    kind, kernels = compiled
    for name, wanted in EXPECTED.items():
        if kind == "hip" and name in ("matmul", "specialised"):
            continue  # other instructions
        got = list(kernels[name]["ids"].values())
        for scope in wanted:
            assert in_source(scope, kernels[name]["name"]) in got, (name, scope, got)
        if name != "specialised":
            assert len(got) == len(wanted), name


def in_source(scope, kernel):
    """Replaces "@ text" by the number of the line with this text: in the kernel, or else in the whole file."""
    word, _, text = scope.partition(" @ ")
    if not text:
        return word
    start = next(number for number, line in enumerate(SOURCE) if line.startswith(f"def {kernel}("))
    lines = [number for number in [*range(start, len(SOURCE)), *range(start)] if text in SOURCE[number]]
    return f"{word}:{lines[0] + 1}"


def test_ids_and_parents_are_those_that_triton_reads(compiled):
    """Triton numbers pairs in the order of their starts, and finds parents by dominance; here both come from the text."""
    _, kernels = compiled
    for name, kernel in kernels.items():
        open_scopes, names, parents = [], {}, {}
        for word, scope in re.findall(r'^\s*proton\.record (start|end) "([^"]*)"', kernel["ttgir"], re.M):
            if word == "start":
                number = str(len(names))
                names[number] = scope
                if open_scopes:
                    parents[number] = int(open_scopes[-1])
                open_scopes.append(number)
            else:
                assert names[open_scopes.pop()] == scope, (name, scope)
        assert not open_scopes
        assert kernel["ids"] == names, name
        assert {id: parent for id, parent in kernel["parents"].items() if parent >= 0 and parent != int(id)} == parents, name


def test_every_record_reads_the_clock(compiled):
    kind, kernels = compiled
    for name, kernel in kernels.items():
        records = 2 * len(kernel["ids"])
        if kind == "hip":  # the body of a loop may be there twice
            assert kernel["clocks"] >= records, name
        elif name == "while":  # the ends of scopes on both branches are merged into one behind them
            assert kernel["clocks"] == records - 1
        else:
            assert kernel["clocks"] == records, name


def test_lines_without_an_id_are_named(compiled):
    _, kernels = compiled
    done = kernels["long"]["done"]
    barrier = in_source("barrier @ tl.debug_barrier()", "unrolled_kernel")
    assert done["left_out"] == {barrier: 110}
    assert done["scopes"] == len(kernels["long"]["ids"]) == 112
    assert kernels["unrolled"]["done"]["left_out"] == {}


def test_other_kernels_stay_byte_for_byte(triton, tmp_path):
    kernels = compiled_with(triton, tmp_path, "cuda", "matmul_*", "softmax", "layer_norm", "calling", "limited", "matmul")
    assert [name for name, kernel in kernels.items() if not kernel["same binary"]] == ["matmul"]
    assert [kernel["done"] for name, kernel in kernels.items() if name != "matmul"] == [None] * 4
