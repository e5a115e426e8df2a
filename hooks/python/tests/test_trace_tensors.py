"""What tensors hold: statistics and stored data. No GPU and no torch are needed."""

from conftest import run_python
from test_trace_robust import hooked  # noqa: F401, the fixture

BLOBS = """
import os
from goproton._trace import tensors
tensors._saved = lambda tensor: tensor.data
class Tensor:
    def __init__(self, data): self.data = data
    def numel(self): return len(self.data)
    def element_size(self): return 1
class Metadata:
    def __init__(self, hash): self.hash = hash
def blobs(limit=1 << 20, quota=1 << 20, skip=0, most=0):
    return tensors.Blobs("out", limit, quota, skip, most)
def files():
    return sorted(name for _, _, names in os.walk("out") for name in names)
"""


def run_blobs(code, tmp_path):
    return run_python(BLOBS + code, cwd=tmp_path)


def test_blobs_are_stored_once_within_limit_and_quota(tmp_path):
    done = run_blobs("""
b = blobs(limit=100, quota=150)
first, again = b.store(Tensor(b"a" * 100)), b.store(Tensor(b"a" * 100))
assert os.path.getsize(first["blob_path"]) == first["blob_size"] == 100 and "deduplicated" not in first
assert again == {**first, "deduplicated": True} and len(files()) == 1
assert b.store(Tensor(b"b" * 101)) == {"error": "Tensor size 101 bytes exceeds limit 100 bytes", "tensor_hash": None}
assert b.store(Tensor(b"c" * 50))["blob_size"] == 50  # the quota is met, not passed
over = b.store(Tensor(b"d"))
assert over["error"].startswith("Storage quota would be exceeded") and over["tensor_hash"] is None
assert b.store(Tensor(b"a" * 100))["error"] == over["error"]  # nothing is stored from there on
assert len(files()) == 2
""", tmp_path)
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("goproton: trace: tensors are not stored any more: Storage quota")


def test_the_autotuners_benchmarks_are_left_alone(hooked):  # noqa: F811
    found, _ = hooked("""
from goproton._trace import tensors
tensors._statistics = lambda tensor: {"mean": 1.5}
tensors._saved = lambda tensor: b"data"
trace.init("out", compression="none", statistics=True, tensors=True)
x = Tensor((4,), (1,))
namespace = {"launch": launch, "x": x}
exec(compile("def _bench(): launch(x, 1)", "/triton/runtime/autotuner.py", "exec"), namespace)
launch(x, 0)
namespace["_bench"]()
launch(x, 2)
trace.finalize()
""", torch=True, begin="")
    assert [r["extracted_args"]["b"]["value"] for r in found] == [0, 1, 2]
    assert [("mean" in r["extracted_args"]["a"], "tensor_hash" in r["extracted_args"]["a"]) for r in found] == [(True, True), (False, False), (True, True)]


def test_large_blobs_are_packed_and_count_as_packed(tmp_path):
    run_blobs("""
import gzip, random
data = b"x" * (1 << 20)
info = blobs(limit=1 << 21, quota=1 << 16).store(Tensor(data))
assert info["compression"] == "gzip" and info["blob_size"] < 1 << 16 and info["blob_size_uncompressed"] == 1 << 20
assert info["blob_path"].endswith(".bin.gz") and gzip.open(info["blob_path"]).read() == data
data = random.Random(0).randbytes(1 << 20)  # what packing does not make smaller is not packed
info = blobs(limit=1 << 21, quota=1 << 21).store(Tensor(data))
assert info["compression"] == "none" and info["blob_size"] == 1 << 20 and open(info["blob_path"], "rb").read() == data
""", tmp_path)


def test_launches_whose_tensors_are_skipped_and_how_many_are_stored(tmp_path):
    run_blobs("""
def stored(b, hash, n):
    kept = []
    for i in range(n):
        kept.append(b.wanted(Metadata(hash)) and bool(b.store(Tensor(b"%d" % i))))
    return kept
b = blobs(skip=2, most=3)
assert stored(b, "one", 7) == [False, False, True, True, True, False, False]
assert stored(b, "two", 3) == [False, False, True]  # each compilation has its own
assert stored(blobs(skip=1), "one", 3) == [False, True, True]
assert stored(blobs(most=1), "one", 3) == [True, False, False]
""", tmp_path)


def test_blobs_on_a_disk_that_is_full_and_tensors_that_raise(tmp_path):
    done = run_blobs("""
b = blobs()
class Raises(Tensor):
    def numel(self): raise RuntimeError("no size")
assert b.store(Raises(b"")) == {"error": "Failed to save tensor blob: no size", "tensor_hash": None}
assert b.store(Tensor(b"fine"))["blob_size"] == 4
replace = os.replace
def full(*paths): raise OSError(28, "No space left on device")
os.replace = full
assert "No space left" in b.store(Tensor(b"more"))["error"]
os.replace = replace
assert "No space left" in b.store(Tensor(b"and more"))["error"]  # not tried again
assert len(files()) == 1, files()  # no part of one is left
""", tmp_path)
    assert done.stderr.count("\n") == 1


def test_threads_that_store_the_same_tensor(tmp_path):
    done = run_blobs("""
import threading
b, both = blobs(), threading.Barrier(2)
replace = os.replace
def late(*paths):
    both.wait(10)
    replace(*paths)
os.replace = late
said = []
threads = [threading.Thread(target=lambda: said.append(b.store(Tensor(b"same")))) for _ in range(2)]
[one.start() for one in threads]
[one.join() for one in threads]
assert [one["tensor_hash"] is not None for one in said] == [True, True], said
assert len(files()) == 1, files()
""", tmp_path)
    assert done.stderr == ""


def test_operators_of_ours_are_kept_out_of_what_surrounds_the_programs(hooked):  # noqa: F811
    found, _ = hooked("""
from contextlib import contextmanager
around, asked = [], []
def surroundings(name):
    @contextmanager
    def keep():
        around.append(name)
        try:
            yield
        finally:
            around.remove(name)
    return keep
torch.no_grad = surroundings("gradients")
torch._C = types.SimpleNamespace(DisableTorchFunction=surroundings("functions"))
sys.modules["torch.utils._python_dispatch"] = types.SimpleNamespace(_disable_current_modes=surroundings("operators"))
def detached(self):
    asked.append(sorted(around))
    raise ValueError("no values")
Tensor.detach = detached
launch(Tensor((4,), (1,)))
trace.finalize()
assert asked == [["functions", "gradients", "operators"]] * 2 and not around, (asked, around)
""", torch=True, begin="t = trace.init('out', compression='none', statistics=True, tensors=True)\n")
    said = found[0]["extracted_args"]["a"]
    assert said["tensor_capture_error"] == "no values" and said["error"] == "Failed to save tensor blob: no values"
