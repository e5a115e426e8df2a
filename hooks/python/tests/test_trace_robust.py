"""TritonParse traces where programs are odd: what breaks in us must not break them. No Triton and no torch are needed."""

import pytest
from conftest import run_python
from test_tritonparse import FAKE_TORCH, of, records

HOOK = """
import sys, threading, types
from goproton import trace, _library
from goproton._trace_events import Carrier

class Lazy:
    def __init__(self, data, extras): self.data, self.extras = data, extras

class Metadata:
    hash = "abc"
    def _asdict(self): return {"hash": self.hash, "name": "k"}

carrier, metadata = Carrier(), Metadata()

def launch(*values, name="k", metadata=metadata, function=7):
    arguments = dict(zip("abcdefgh", values))
    _library.native.trace_launch(Lazy({"name": name, "function": function, "stream": 0}, [(carrier, ((1, 2), metadata, arguments))]))
"""


@pytest.fixture
def hooked(library, tmp_path):
    """Runs code that launches through the hook; returns the launches of the folder "out", and how the program ended."""

    def go(code, torch=False, check=True, begin="t = trace.init('out', compression='none')\n"):
        text = HOOK + (FAKE_TORCH if torch else "") + begin + code
        done = run_python(text, env={"PROTON_LIB": library, "USER": "me"}, cwd=tmp_path, check=check)
        return of(records(tmp_path / "out"), "launch"), done

    go.folder = tmp_path
    return go


def test_arguments_that_are_odd(hooked):
    found, done = hooked("""
class Raises:
    def __repr__(self): raise ValueError("no")
class Text(Tensor):
    def data_ptr(self): return "nowhere"
class Shapeless(Tensor):
    shape = property(lambda self: 1 / 0)
    def __init__(self): pass
x = Tensor((4, 4), (4, 1))
for value in Raises(), Text((4,), (1,)), Shapeless(), 10**5000, 2**70, "\\udc80", (x, (1, x)), FakeTensor((4,), (1,)):
    launch(value, 5)
    assert sys.exc_info()[0] is None
print(trace.finalize()["launches"])
""", torch=True)
    assert done.stdout == "8\n" and done.stderr == ""
    assert [r["extracted_args"]["b"]["value"] for r in found] == [5] * 8
    values = [r["extracted_args"]["a"] for r in found]
    unknown = {"type": "?", "repr": ""}
    assert values[0] == unknown and values[2] == unknown and values[3] == unknown
    assert values[1]["shape"] == values[7]["shape"] == [4] and "data_ptr" not in values[1]
    assert values[4] == {"type": "int", "value": 2**70}
    assert values[5] == {"type": "str", "value": "\udc80", "length": 1}
    one = "Tensor(shape=(4, 4), dtype=torch.float16, device='cuda:1')"
    assert values[6] == {"type": "tuple", "repr": f"({one}, (1, {one}))"}


@pytest.mark.parametrize("where", ["an argument", "the handle", "the metadata"])
def test_an_interrupt_reaches_the_program(hooked, where):
    found, done = hooked("""
class Interrupted:
    def __repr__(self): raise KeyboardInterrupt
class Told(Metadata):
    hash = property(lambda self: Interrupted.__repr__(self))
try:
    {"an argument": lambda: launch(Interrupted()), "the handle": lambda: launch(1, function=Interrupted()),
     "the metadata": lambda: launch(1, metadata=Told())}[%r]()
except KeyboardInterrupt:
    print("interrupted")
launch(2)
trace.finalize()
""" % where)
    assert done.stdout == "interrupted\n" and [r["extracted_args"]["a"]["value"] for r in found] == [2]


def test_kernels_whose_metadata_cannot_be_described_are_said_once(hooked):
    found, done = hooked("""
class List(list):
    def _asdict(self): raise ValueError("none")
bad = List()
for i in range(3): launch(i, metadata=bad)
launch(9)
trace.finalize()
""")
    assert len(found) == 1
    assert done.stderr == "goproton: trace: launches of k are missing: ValueError('none'); please report this\n"


def test_a_closed_standard_error_breaks_nothing(hooked):
    found, done = hooked("""
class List(list):
    def _asdict(self): raise ValueError("none")
sys.stderr.close()
launch(1, metadata=List())
launch(2)
trace.finalize()
""")
    assert len(found) == 1


def test_names_made_anew_are_one_kernel(hooked):
    _, done = hooked("""
asked = 0
def count(name):
    global asked
    asked += 1
    return True
t._allowed = count
for i in range(1000):
    _library.native.trace_launch({"name": "".join(["k", str(i % 3)]), "function": 7, "stream": 0})
print(asked, trace.finalize()["launches"])
""")
    assert done.stdout == "3 1000\n"


def test_kernels_without_end_are_let_go(hooked):
    _, done = hooked("""
class Counted(Metadata):
    alive = 0
    def __init__(self): Counted.alive += 1
    def __del__(self): Counted.alive -= 1
made = [Counted() for _ in range(70000)]
for one in made: launch(metadata=one)
del made, one
assert 0 < Counted.alive <= 65 * 1024, Counted.alive
trace.finalize()
assert Counted.alive == 0
""")


def test_arguments_leave_no_references(hooked):
    hooked("""
x, text, odd = Tensor((4, 4), (4, 1)), "".join(["some ", "text"]), (1, 2)
def count(): return [sys.getrefcount(o) for o in (x, text, odd, metadata, carrier, x.shape)]
for i in range(3000): launch(x, text, odd, i, 1.5, None)
before = count()
for i in range(3000): launch(x, text, odd, i, 1.5, None)
assert count() == before, (count(), before)
assert trace.finalize()["launches"] == 6000
""", torch=True)


def test_a_trace_that_ends_while_a_launch_is_recorded(hooked):
    found, _ = hooked("""
class Ends:
    def __repr__(self):
        trace.finalize()
        trace.init("other", compression="none")
        return "ends"
launch(1)
for i in range(100):
    launch(Ends(), function=Ends())
    launch(i)
print(trace.finalize())
""")
    assert [r["extracted_args"]["a"] for r in found] == [{"type": "int", "value": 1}]
    assert [r["extracted_args"]["a"]["value"] for r in of(records(hooked.folder / "other"), "launch")] == list(range(100))


def test_many_threads_launch_begin_and_end(hooked):
    _, done = hooked("""
stop = threading.Event()
def launches():
    i = 0
    while not stop.is_set():
        launch(i, (i,), name=f"k{i % 5}")
        i += 1
def begins(said):
    for _ in range(30):
        try:
            trace.init("out", compression="none")
        except RuntimeError as error:
            said.add(str(error))
        trace.finalize()
said = set()
threads = [threading.Thread(target=launches) for _ in range(3)] + [threading.Thread(target=begins, args=(said,)) for _ in range(2)]
[one.start() for one in threads]
[one.join() for one in threads[3:]]
stop.set()
[one.join() for one in threads]
trace.finalize()
assert all("already" in one or "no trace was begun" in one for one in said), said
""")
    assert done.stderr == ""


def test_a_trace_that_cannot_begin_leaves_room_for_another(hooked):
    found, done = hooked("""
listen = trace.Trace._listen
def fails(self): raise ValueError("no")
trace.Trace._listen = fails
try:
    trace.init("out")
except ValueError as error:
    print(error)
trace.Trace._listen = listen
trace.init("out", compression="none")
launch(1)
print(trace.finalize()["launches"])
""", begin="_library.load()\n")
    assert done.stdout == "no\n1\n" and len(found) == 1


def test_a_forked_child_is_told(hooked):
    found, done = hooked("""
import os
if not os.fork():
    launch(1)
    assert trace.finalize() == {}
    try:
        trace.init("out")
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
launch(2)
trace.finalize()
""")
    assert "forked" in done.stdout and done.stderr == "" and len(found) == 1


def test_a_folder_that_goes_away(hooked):
    found, done = hooked("""
import shutil
shutil.rmtree("out")
for i in range(10): launch(i)
counts = trace.finalize()
assert counts["launches"] == 0 and counts["lost"] == 10, counts
""")
    assert not found and done.stderr.count("\n") == 1 and "are lost" in done.stderr


def test_a_slot_that_the_program_sets_is_said(hooked):
    _, done = hooked("""
from goproton._trace_slots import Slot
class Chain:
    def __init__(self): self.calls = []
    def remove(self, one): self.calls.remove(one)
knobs = types.SimpleNamespace(launch_enter_hook=Chain(), listener=None)
t._add(knobs, "launch_enter_hook", print)
t._add(knobs, "listener", print)
knobs.launch_enter_hook = Chain()
trace.finalize()
assert knobs.listener is None
""")
    assert done.stderr.count("\n") == 1 and "set triton.knobs' launch_enter_hook while" in done.stderr


BLOBS = """
import os
from goproton import _trace_tensors as tensors
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


def test_the_autotuners_benchmarks_are_left_alone(hooked):
    found, _ = hooked("""
from goproton import _trace_tensors as tensors
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
import gzip
data = b"x" * (1 << 20)
info = blobs(limit=1 << 21, quota=1 << 16).store(Tensor(data))
assert info["compression"] == "gzip" and info["blob_size"] < 1 << 16 and info["blob_size_uncompressed"] == 1 << 20
assert info["blob_path"].endswith(".bin.gz") and gzip.open(info["blob_path"]).read() == data
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


def test_patterns_of_kernels():
    from goproton._trace_events import Allowed
    for patterns, name, want in (
        (None, "k", True), ("", "k", True), (" , ", None, True), ("mat*", "matmul", True), ("mat*", "Matmul", False),
        ("a, b*", "bc", True), ("[", "[", True), ("[", "k", False), ("[!a]*", "b", True), ("***", "k", True), ("k", None, False),
    ):
        assert Allowed(patterns)(name) is want, (patterns, name)
