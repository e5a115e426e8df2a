"""TritonParse traces where programs are odd: what breaks in us must not break them. No Triton and no torch are needed."""

import pytest
from conftest import run_python
from test_tritonparse import FAKE_TORCH, of, records

HOOK = """
import sys, threading, types
from goproton import trace, _library
from goproton._trace.events import Carrier

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
x = Tensor((4, 4), (1, 8))
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
    assert values[5] == {"type": "str", "value": r"\udc80", "length": 1}  # most readers of JSON reject lone surrogates
    one = "Tensor(shape=(4, 4), dtype=torch.float16, device='cuda:1', stride=(1, 8))"
    assert values[6]["repr"] == f"({one}, (1, {one}))"
    first, (number, second) = values[6]["items"][0], values[6]["items"][1]["items"]
    assert first == second and first["stride"] == [1, 8] and first["data_ptr"] == "0x7f0000000000" and number == {"type": "int", "value": 1}


def test_handles_that_are_not_numbers(hooked):
    """Some backends have others; a schema wants a number, a text or null, and a binary does not belong into each record."""
    found, done = hooked("""
import enum
class Handle(enum.IntEnum): ONE = 2**40
class Object:
    def __str__(self): return "handle"
for function in "text", b"abc", bytes(1000), bytearray(200), "x" * 300, True, Handle.ONE, Object(), "", None:
    launch("text", function=function)
trace.finalize()
""")
    assert done.stderr == ""
    assert [r["function"] for r in found] == ["text", "b'abc'", "<bytes: 1000 bytes omitted>", "<bytearray: 200 bytes omitted>",
                                              "<str: 300 chars omitted>", "True", 2**40, "handle", "", None]
    assert {r["extracted_args"]["a"]["value"] for r in found} == {"text"}


def test_one_text_in_several_places(hooked):
    """The padding of a descriptor, a handle and an argument, which are one object since Python interns them."""
    found, done = hooked("""
Descriptor = type("TensorDescriptor", (), {"__module__": "triton.tools.tensor_descriptor"})
descriptor = Descriptor()
descriptor.base, descriptor.shape, descriptor.strides, descriptor.block_shape = Tensor((4, 4), (4, 1)), [4, 4], [4, 1], [2, 2]
descriptor.padding = "zero"
for arguments in (descriptor, "zero"), ("zero", descriptor):
    launch(*arguments, function="zero")
trace.finalize()
""", torch=True)
    assert done.stderr == "" and [r["function"] for r in found] == ["zero", "zero"]
    for record, (a, b) in zip(found, ("ab", "ba")):
        assert record["extracted_args"][a]["padding"] == "zero"
        assert record["extracted_args"][b] == {"type": "str", "value": "zero", "length": 4}


def test_more_dimensions_than_there_are(hooked):
    found, done = hooked("""
launch(Tensor((1,) * 300, (1,) * 300), 5)
trace.finalize()
""", torch=True)
    (record,) = found
    assert done.stderr == "" and record["extracted_args"]["b"]["value"] == 5 and len(record["extracted_args"]["a"]["shape"]) == 300


def test_files_with_odd_names(hooked):
    """The name of a file need not be text; what a trace says of it is JSON that every reader takes."""
    found, done = hooked("""
exec(compile("launch(1, 5)", "od\\udc80d.py", "exec"))
trace.finalize()
""")
    (record,) = found
    assert record["extracted_args"]["b"]["value"] == 5
    assert r"od\udc80d.py" in [frame["filename"] for frame in record["stack"]]
    files = [p for p in (hooked.folder / "out").iterdir() if p.is_file()]
    assert files and not any(rb'"od\ud' in p.read_bytes() for p in files)


def test_objects_that_hold_tensors_are_not_printed(hooked):
    found, done = hooked("""
from collections import namedtuple
from dataclasses import dataclass
class Unprintable(Tensor):
    def __repr__(self): raise AssertionError("this would wait for the GPU")
Pair = namedtuple("Pair", "x n")
@dataclass
class Box:
    x: object
    n: int
wrapper = type("TensorWrapper", (), {"__module__": "triton.runtime.jit", "__str__": lambda self: repr(self.base)})()
x = Unprintable((4,), (1,))
wrapper.base, wrapper.dtype = x, "fp8e5"
deep = x
for _ in range(50): deep = [deep]
for value in Pair(x, 1), Box(x, 2), {"x": x}, wrapper, (Pair(x, (x,)),), Pair("text", 3), deep:
    launch(value)
print(trace.finalize()["launches"])
""", torch=True)
    assert done.stdout == "7\n" and done.stderr == ""
    one = "Tensor(shape=(4,), dtype=torch.float16, device='cuda:1', stride=(1,))"
    assert [r["extracted_args"]["a"]["repr"] for r in found[:6]] == [
        f"Pair(x={one}, n=1)", f"Box(x={one}, n=2)", f"{{'x': {one}}}", f"TensorWrapper[fp8e5]({one})", f"(Pair(x={one}, n=({one},)),)",
        "Pair(x='text', n=3)"]


def test_numpys_numbers(hooked):
    pytest.importorskip("numpy")
    found, done = hooked("""
import numpy
for value in numpy.int64(5), numpy.float64(1.5), numpy.float16(0.5), numpy.bool_(True), numpy.float64("nan"), numpy.arange(3):
    launch(value)
trace.finalize()
""")
    assert done.stderr == ""
    said = [r["extracted_args"]["a"] for r in found]
    assert [one["type"] for one in said] == ["int64", "float64", "float16", "bool" if said[3]["type"] == "bool" else "bool_", "float64", "ndarray"]
    assert [one.get("value", one.get("repr")) for one in said] == ["5", 1.5, "0.5", "True", "nan", "[0 1 2]"]


@pytest.mark.parametrize("where", ["an argument", "the handle", "the metadata", "a signal"])
def test_an_interrupt_reaches_the_program(hooked, where):
    found, done = hooked("""
import signal
class Interrupted:
    def __repr__(self): raise KeyboardInterrupt
class Signalled:
    def __repr__(self):
        signal.raise_signal(signal.SIGINT)
        return "signalled"
class Interrupting(Metadata):
    hash = property(lambda self: Interrupted.__repr__(self))
try:
    {"an argument": lambda: launch(Interrupted()), "the handle": lambda: launch(1, function=Interrupted()),
     "the metadata": lambda: launch(1, metadata=Interrupting()), "a signal": lambda: launch(Signalled())}[%r]()
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


def test_a_forked_child_gets_an_error(hooked):
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
print(trace.finalize()["launches"])
""")
    assert len(found) == 10 and done.stdout == "10\n" and done.stderr == "", "it is made anew: nothing is missing"


def test_a_folder_that_is_replaced_by_a_file(hooked):
    _, done = hooked("""
import shutil
shutil.rmtree("out")
open("out", "w").close()
for i in range(10): launch(i)
counts = trace.finalize()
assert counts["launches"] == 0 and counts["lost"] == 10, counts
""", check=True)
    assert done.stderr.count("\n") == 1 and "are lost" in done.stderr


def test_a_file_system_that_does_not_answer(hooked):
    """Launches wait for room, once; what finds none is counted; the program ends."""
    _, done = hooked("""
import glob, os
(ring,) = glob.glob("out/.goproton_trace_*.ring")
out = ring.replace(".goproton_trace_", "dedicated_log_triton_trace_me_rank_none_").replace(".ring", ".ndjson")
os.mkfifo(out)  # to open it is to wait
arguments = {f"a{i}": 2**62 for i in range(20000)}
for i in range(100):
    _library.native.trace_launch(Lazy({"name": "k", "function": 7, "stream": 0}, [(carrier, ((1,), metadata, arguments))]))
counts = trace.finalize(0)
os.remove(out)
assert counts["launches"] == 0 and 10 < counts["lost"] < 60, counts
""")
    assert done.stderr.count("\n") == 1 and "does not answer: `proton trace info" in done.stderr


def test_a_slot_that_the_program_sets_is_said(hooked):
    _, done = hooked("""
from goproton._trace.slots import Slot
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


def test_patterns_of_kernels():
    from goproton._trace.events import Allowed
    for patterns, name, want in (
        (None, "k", True), ("", "k", True), (" , ", None, True), ("mat*", "matmul", True), ("mat*", "Matmul", False),
        ("a, b*", "bc", True), ("[", "[", True), ("[", "k", False), ("[!a]*", "b", True), ("***", "k", True), ("k", None, False),
    ):
        assert Allowed(patterns)(name) is want, (patterns, name)
