"""Tests of the trace hook of goproton._native, for any CPython from 3.9: python3 test_trace.py path/to/testlib.so

The ring is memory of ours, and helpers do what the test wants of them: raise, answer nonsense, end the trace. Under the
address sanitizer this shows what is used after it was freed.
"""

import ctypes, gc, sys, threading, time

from test_native import call, check, main, n, raises, session

CAPACITY = 1 << 20


class Ring:
    def __init__(self):
        self.memory = ctypes.create_string_buffer(4096 + CAPACITY + 8)
        self.address = (ctypes.addressof(self.memory) + 7) // 8 * 8
        self.set(8, CAPACITY)

    def word(self, at):
        return ctypes.c_uint64.from_address(self.address + at)

    def set(self, at, value):
        self.word(at).value = value

    def taken(self):
        """Counts the records since the last time, and makes room."""
        position, end, found = self.word(24).value, self.word(16).value, 0
        while position < end:
            at = position % CAPACITY
            size = ctypes.c_uint32.from_address(self.address + 4096 + at).value
            if size == 0xFFFFFFFF:
                position += CAPACITY - at
                continue
            assert at + 4 + size <= CAPACITY, (at, size)
            position += (4 + size + 7) // 8 * 8
            found += 1
        check(position, end)
        self.set(24, end)
        return found


class Carrier:
    pass


class Tensor:
    """Enough of torch's."""
    dtype, device, is_cuda, shape = "float32", "cuda:0", True, (4, 4)

    def stride(self): return 4, 1
    def storage_offset(self): return 0
    def data_ptr(self): return 4096
    def get_device(self): return 0


class Descriptor:
    def __init__(self):
        self.base, self.shape, self.strides, self.block_shape, self.padding = Tensor(), [4, 4], [4, 1], [2, 2], "zero"


class Helpers:
    """What trace_open takes, by default as the package's helpers answer."""

    def __init__(self, **others):
        self.others = others

    def classify(self, type_): return {Tensor: 1, Descriptor: 2, str: 3}.get(type_, 4)
    def describe(self, value): return 1
    def inlined(self, value): return '{"repr":"%s"}' % value
    def handle(self, value): return 2
    def grid(self, value): return "[1]"
    def dtype(self, value): return 3
    def define(self, value): return 4
    def template(self, metadata, name, arguments, carrier): return 5
    def rank(self): pass
    def more(self, tensor): return '"min":1'
    def prepare(self, metadata): pass

    NAMES = "classify", "describe", "inlined", "handle", "grid", "dtype", "define", "template", "rank", "more", "prepare"

    def open(self, ring):
        n.trace_open(ring.address, 1, Carrier, *(self.others.get(name) or getattr(self, name) for name in self.NAMES))


class Lazy:
    def __init__(self, data, extras): self.data, self.extras = data, extras


class Metadata:
    hash = "h"


carrier, metadata, ring = Carrier(), Metadata(), Ring()


def launch(*values, function=7, name="k", grid=(1, 2), metadata=metadata):
    arguments = dict(zip("abcdefghij", values))
    n.trace_launch(Lazy({"name": name, "function": function, "stream": 0}, [(carrier, (grid, metadata, arguments))]))


class Raises:
    def __init__(self, error=ValueError): self.error = error
    def __str__(self): raise self.error("on purpose")


def test_arguments_leave_no_references():
    Helpers().open(ring)
    odd = [Tensor(), Descriptor(), "".join(["te", "xt"]), (1, 2), float("1.5"), 2**70, Raises(), [Tensor()], True, None]
    def count(): return [sys.getrefcount(o) for o in odd[:-2]], sys.getrefcount(metadata), sys.getrefcount(Tensor.shape)
    def round():
        for _ in range(300): launch(*odd)
    round()
    gc.collect()
    before = count()
    round()
    gc.collect()
    check(count(), before)
    check(ring.taken(), 600)
    n.trace_close()


def test_helpers_that_answer_nonsense():
    """The launch goes on, whatever becomes of its record."""
    def raises_error(*_): raise ValueError("on purpose")
    for name in Helpers.NAMES:
        for helper in (raises_error, lambda *_: None, lambda *_: "\udc80", lambda *_: -1, lambda *_: 2**90, lambda *_: object()):
            Helpers(**{name: helper}).open(ring)
            for _ in range(3):
                launch(Tensor(), Descriptor(), "text", (1, 2), 2**70, function="handle", grid="grid")
            assert ring.taken() <= 3
            n.trace_close()


def test_interrupts_reach_the_program():
    def interrupts(*_): raise KeyboardInterrupt
    for name in Helpers.NAMES:
        if name in ("rank", "describe"):
            continue  # is asked when a process group changes; for a text of its own, below
        Helpers(**{name: interrupts}).open(ring)
        unknown = type("Unknown", (), {})()
        with raises(KeyboardInterrupt):
            launch(Tensor(), Descriptor(), (1, 2), unknown, function="handle", grid="grid")
        n.trace_close()
    Helpers().open(ring)
    with raises(KeyboardInterrupt):
        launch(Raises(KeyboardInterrupt))
    launch(1)
    check(ring.taken(), 1)
    n.trace_close()


def test_arguments_that_change_while_they_are_read():
    arguments = {}

    class Changes:
        def __init__(self, how): self.how = how
        def __str__(self):
            self.how()
            return "changed"

    Helpers().open(ring)
    data = {"name": "k", "function": 7, "stream": 0}
    extras = [(carrier, ((1,), metadata, arguments))]
    for how in (arguments.clear, lambda: arguments.update((str(i), i) for i in range(1000)), extras.clear, data.clear):
        arguments.clear()
        arguments.update(a=1, b=Changes(how), c="".join(["an", "other"]), d=Tensor())
        extras[:] = [(carrier, ((1,), metadata, arguments))]
        data.update(name="".join(["k", "1"]), function=7, stream=0)
        n.trace_launch(Lazy(data, extras))
    ring.taken()
    n.trace_close()


def test_kernels_without_end_are_let_go():
    alive = [0]

    class Counted:
        def __init__(self): alive[0] += 1
        def __del__(self):
            alive[0] -= 1
            launch(1)  # whatever runs then

    Helpers().open(ring)
    for _ in range(70000):
        launch(1, metadata=Counted())
        if ring.word(16).value - ring.word(24).value > CAPACITY // 2: ring.taken()
    assert 0 < alive[0] <= 65 * 1024, alive
    n.trace_close()
    gc.collect()
    check(alive[0], 0)


def test_traces_begin_and_end_while_threads_launch():
    """Helpers of a trace that is over may be running yet, and nobody else holds them."""
    over = threading.Event()

    def slow(method):
        def helper(*arguments):
            time.sleep(0)
            return method(*arguments)
        return helper

    def work():
        i = 0
        while not over.is_set():
            launch(Tensor(), Descriptor(), "".join(["t", str(i % 7)]), (i,), 2**70, function="".join(["h", str(i % 3)]), metadata=Metadata())
            i += 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for one in threads: one.start()
    for _ in range(200):
        plain = Helpers()
        Helpers(**{name: slow(getattr(plain, name)) for name in Helpers.NAMES}).open(ring)
        time.sleep(0.0005)
        ring.taken()
        n.trace_close()
        ring.taken()
    over.set()
    for one in threads: one.join()


def asked(method):
    return call("asked").get(method, 0)


def test_call_paths_and_kinds_are_asked_for_once():
    """To ask again takes longer than all the rest of a launch."""
    Helpers().open(ring)
    space = {"launch": launch}
    for i in range(1000):
        exec(compile(f"def f{i}(): launch({i})", "file.py", "exec"), space)
    with session():
        for _ in range(2):
            before = asked("trace.define"), asked("trace.kind")
            for i in range(1000): space[f"f{i}"]()
            ring.taken()
        again = asked("trace.define") - before[0], asked("trace.kind") - before[1]
    assert max(again) < 20, again
    n.trace_close()


def test_many_call_paths():
    """More than there is room for at once, from threads with stacks of their own."""
    Helpers().open(ring)
    space = {"launch": launch}
    for i in range(6000):
        exec(compile(f"def f{i}(): launch(1)", f"file{i % 40}.py", "exec"), space)
    def work():
        for i in range(6000): space[f"f{i}"]()
    threads = [threading.Thread(target=work) for _ in range(2)]
    for one in threads: one.start()
    while any(one.is_alive() for one in threads):
        ring.taken()
        time.sleep(0.001)
    ring.taken()
    n.trace_close()


if __name__ == "__main__":
    main(globals())
