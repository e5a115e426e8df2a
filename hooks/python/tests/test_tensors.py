"""Device tensors as metrics, over a torch whose copies arrive when the test says so: nothing may wait for the GPU."""

from conftest import run_python

PRELUDE = """
import sys, fake_torch
from fake_torch import Tensor
fake_torch.make()
import goproton as proton
session = proton.start("p")
def metrics(name):
    root = proton.data.get(session)[0]
    return next((c["metrics"] for c in root["children"] if c["frame"]["name"] == name), {})
"""


def run(code, library, tmp_path):
    return run_python(PRELUDE + code, env={"PROTON_LIB": library}, cwd=tmp_path)


def test_values_come_at_the_flush(library, tmp_path):
    run("""
for i in range(3):
    with proton.scope("s", {"x": Tensor(1.5), "n": Tensor(2, dtype="int64"), "v": Tensor(1, 2, 3)}):
        pass
assert metrics("s") == {} and not fake_torch.synchronized
proton.deactivate(session, flushing=True)
assert metrics("s") == {"x": 4.5, "n": 6, "v": [3, 6, 9]}, metrics("s")
proton.finalize()
""", library, tmp_path)


def test_values_belong_to_the_scope_that_was_open(library, tmp_path):
    run("""
with proton.scope("a", {"x": Tensor(1.0)}):
    pass
proton.deactivate(session)
with proton.scope("b", {"x": Tensor(10.0)}):
    pass
proton.activate(session)
with proton.scope("c", {"x": Tensor(100.0)}):
    proton.deactivate(session, flushing=True)
assert (metrics("a"), metrics("b"), metrics("c")) == ({"x": 1.0}, {}, {"x": 100.0})
""", library, tmp_path)


def test_a_long_run_reads_without_waiting_and_reuses_its_memory(library, tmp_path):
    run("""
from goproton._torch import tensors
for i in range(5000):
    with proton.scope("s", {"x": Tensor(1.0)}):
        pass
    fake_torch.land()
    if i % 100 == 0:
        fake_torch.streams.clear()
assert not fake_torch.synchronized
assert metrics("s")["x"] >= 5000 - 2 * tensors._SLOTS
chunks = sum(map(len, tensors._free.values())) + len(tensors._open) + len(tensors._full)
assert chunks <= 3, chunks
proton.deactivate(session, flushing=True)
assert metrics("s") == {"x": 5000.0}
""", library, tmp_path)


def test_a_blocked_stream_cannot_fill_memory(library, tmp_path):
    run("""
from goproton._torch import tensors
tensors._WAITING = 2
for i in range(5 * tensors._SLOTS):
    with proton.scope("s", {"x": Tensor(1.0), "v": Tensor(1, 2)}):
        pass
assert fake_torch.synchronized and len(tensors._full) <= 2 and len(tensors._vectors) <= 2
proton.deactivate(session, flushing=True)
assert metrics("s") == {"x": 5.0 * tensors._SLOTS, "v": [5 * tensors._SLOTS, 10 * tensors._SLOTS]}
""", library, tmp_path)


def test_streams_do_not_wait_for_each_other(library, tmp_path):
    run("""
from goproton._torch import tensors
for i in range(2 * tensors._SLOTS):
    fake_torch.current[0] = i % 2 + 1
    with proton.scope(f"stream {i % 2}", {"x": Tensor(1.0)}):
        pass
fake_torch.land(1); fake_torch.land(2)
proton.finalize()
assert len(fake_torch.synchronized) == 2
""", library, tmp_path)


def test_during_a_capture_it_is_left_out_and_said_once(library, tmp_path):
    done = run("""
fake_torch.capturing[0] = True
for _ in range(3):
    with proton.scope("s", {"x": Tensor(1.0), "y": 1}):
        pass
fake_torch.capturing[0] = False
proton.deactivate(session, flushing=True)
assert metrics("s") == {"y": 3}
""", library, tmp_path)
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("goproton: metric 'x' was left out of a CUDA graph"), done.stderr


def test_roofline_types(library, tmp_path):
    run("""
with proton.scope("s", {"flops16": Tensor(3, dtype="int64"), "bytes": Tensor(4.0)}):
    pass
proton.deactivate(session, flushing=True)
got = metrics("s")
assert got == {"flops16": 3.0, "bytes": 4} and isinstance(got["flops16"], float) and isinstance(got["bytes"], int)
""", library, tmp_path)


def test_a_forked_child_leaves_them_alone(library, tmp_path):
    run("""
import os
from goproton._torch import tensors
with proton.scope("s", {"x": Tensor(1.0)}):
    pass
pid = os.fork()
if pid == 0:
    tensors.flush()
    os._exit(1 if fake_torch.synchronized or tensors._open else 0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
proton.deactivate(session, flushing=True)
assert metrics("s") == {"x": 1.0}
""", library, tmp_path)


def test_a_program_that_never_finalizes(library, tmp_path):
    from trees import at, load
    run("""
fake_torch.answers[0] = True
with proton.scope("s", {"x": Tensor(1.0), "v": Tensor(1, 2)}):
    pass
""", library, tmp_path)
    assert at(load(tmp_path / "p.hatchet"), "s")["metrics"] == {"x": 1.0, "v": [1, 2]}


def test_a_program_that_ends_on_a_gpu_that_hangs(library, tmp_path):
    from trees import at, load
    done = run_python(PRELUDE + """
with proton.scope("s", {"x": Tensor(1.0), "m": 2}):
    pass
""", env={"PROTON_LIB": library, "PROTON_EXIT_PATIENCE": "5"}, cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert "unread tensor metrics are missing" in line and "set PROTON_EXIT_PATIENCE to more" in line
    assert at(load(tmp_path / "p.hatchet"), "s")["metrics"] == {"m": 2}
