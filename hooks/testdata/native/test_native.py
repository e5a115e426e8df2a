"""Tests of goproton._native, for any CPython from 3.9: python3 test_native.py path/to/testlib.so

The library is hooks/internal/testlib: the extension module on the real hot path, with control calls that switch
recording on, launch imaginary kernels and read back what was recorded. Only the standard library is needed.
"""

import contextlib, gc, importlib.util, io, json, os, re, subprocess, sys, tempfile, threading, time, traceback, types, warnings
from decimal import Decimal
from fractions import Fraction
from importlib.machinery import ExtensionFileLoader


def load(path):
    loader = ExtensionFileLoader("goproton._native", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("goproton._native", path, loader=loader))
    loader.exec_module(module)
    return module


n = load(sys.argv[1])
METRIC = 13  # HP_METRIC
PYTHON = os.environ.get("TEST_PYTHON", sys.executable)  # a wrapper script's interpreter cannot be started by itself


def call(method, **params):
    return json.loads(n.call(method, json.dumps(params)))


@contextlib.contextmanager
def session(python=False, timeline=False):
    call("finalize")
    call("records")
    call("start", Shadow=True, Python=python, Fresh=True, Timeline=timeline)
    try:
        yield
    finally:
        call("finalize")


def launches(**where):
    """The shadow paths of what was launched since the last look."""
    return ["/".join(r["Shadow"]) for r in call("records")]


def slots(python=False):
    """Metric values by path and name, as (type, value text)."""
    return {("/".join(s["Path"]), s["Name"]): (s["Type"], s["Value"]) for s in call("slots") if s["Python"] == python}


def launch(func=0):
    call("launch", Func=func)


@contextlib.contextmanager
def raises(kind, pattern=""):
    try:
        yield
    except kind as error:
        assert type(error) is kind, f"got {error!r}, want exactly {kind.__name__}"
        assert re.search(pattern, str(error)), f"got message {str(error)!r}, want one matching {pattern!r}"
    else:
        raise AssertionError(f"nothing was raised, want {kind.__name__} {pattern!r}")


def check(got, want):
    assert got == want, f"\n got: {got}\nwant: {want}"


class LazyDict:
    """As Triton 3.6 has it."""

    def __init__(self, data):
        self.data, self.extras = data, []

    def get(self):
        for func, args in self.extras:
            self.data = {**self.data, **func(*args)}
        self.extras.clear()
        return self.data

    def add(self, func, args):
        self.extras.append((func, args))


def lazy(name, metadata=None, **more):
    made = LazyDict({"name": name, "function": more.pop("function", None), "stream": 0, **more})
    if metadata is not None:
        made.add(metadata if callable(metadata) else lambda: metadata, ())
    return made


@contextlib.contextmanager
def stderr_lines():
    """What C code writes to sys.stderr."""
    lines, old = [], sys.stderr
    sys.stderr = io.StringIO()
    try:
        yield lines
    finally:
        lines += sys.stderr.getvalue().splitlines()
        sys.stderr = old


# ---- scopes ----

def test_scopes_nest():
    with session():
        with n.scope("a"):
            launch()
            with n.scope("b"):
                launch()
            launch()
        launch()
        check(launches(), ["a", "a/b", "a", ""])


def test_scope_attributes():
    s = n.scope("a", {"m": 1})
    check((s.name, s.metrics, s.id, repr(s)), ("a", {"m": 1}, None, "<scope 'a'>"))
    s = n.scope(name="b", metrics=None)
    check((s.name, s.metrics), ("b", None))
    with session():
        before = n.record_scope()
        with s as entered:
            assert entered is s
        check(s.id, before + 1)
        s.name = "c"
        with s:
            launch()
        check(launches(), ["c"])
    with raises(TypeError):
        n.scope()
    with raises(TypeError):
        n.scope("a", None, 3)
    with raises(TypeError, "nonsense"):
        n.scope("a", nonsense=1)
    with raises(TypeError, "name"):
        n.scope("a", name="b")


def test_scope_without_session_is_silent():
    call("finalize")
    s = n.scope("a", {"m": object()})
    with s:
        pass
    check(s.id, None)
    assert n.active() is False
    check(n.leaf(), (0, 0, 0))


def test_scope_from_before_start():
    call("finalize")
    s = n.scope("early")
    s.__enter__()
    with session():
        with n.scope("now"):
            s.__exit__(None, None, None)
            launch()
        check(launches(), ["now"])


def test_scope_from_an_older_run():
    old = n.scope("old")
    with session():
        old.__enter__()
    with session():
        with n.scope("new"):
            old.__exit__(None, None, None)
            launch()
        check(launches(), ["new"])


def test_scope_object_is_reusable_and_reentrant():
    with session():
        s = n.scope("s")
        with s:
            with s:
                with s:
                    launch()
                launch()
        for _ in range(2):
            with s:
                launch()
        check(launches(), ["s/s/s", "s/s", "s", "s"])


def test_one_scope_object_on_several_threads():
    with session():
        s, inside, leave = n.scope("s"), threading.Barrier(3), threading.Barrier(3)
        errors = []

        def work(name):
            try:
                with n.scope(name):
                    with s:
                        inside.wait()
                        launch()
                        leave.wait()
                    launch()
            except BaseException as error:
                errors.append(error)
                inside.abort()
                leave.abort()

        threads = [threading.Thread(target=work, args=(name,)) for name in "xyz"]
        [t.start() for t in threads]
        [t.join() for t in threads]
        check(errors, [])
        check(sorted(launches()), ["x", "x/s", "y", "y/s", "z", "z/s"])


def test_exceptions_pass_through():
    with session():
        with raises(KeyError, "mine"):
            with n.scope("a"):
                n.enter_scope("left open")
                raise KeyError("mine")
        launch()
        check(launches(), [""])


def test_unbalanced_scopes():
    with session():
        a, b = n.scope("a"), n.scope("b")
        a.__enter__()
        b.__enter__()
        with raises(RuntimeError, "leave scope 'a'.*inside it"):
            a.__exit__(None, None, None)
        launch()
        check(launches(), [""])
        with raises(RuntimeError, "leave scope 'b'.*no longer open"):
            b.__exit__(None, None, None)
        a.__exit__(None, None, None)  # never entered again: nothing to do


def test_decorator():
    with session():
        @n.scope("f")
        def f(depth, *, more=0):
            "doc"
            launch()
            return depth + more if depth == 0 else f(depth - 1, more=more)

        check(f(1, more=5), 5)
        check((f.__name__, f.__doc__), ("f", "doc"))
        check(launches(), ["f", "f/f"])
        with raises(TypeError, "decorator"):
            n.scope("f")(3)


def test_subclasses():
    class mine(n.scope):
        def __init__(self, name):
            super().__init__(name + "!")
            self.extra = 1

    with session():
        with mine("m") as m:
            launch()
        check((launches(), m.extra, m.name), (["m!"], 1, "m!"))
    assert issubclass(n.cpu_timed_scope, n.scope)


def test_names():
    with session():
        for name in ("", "ünï", "名前", "😀", "lone \udc80 surrogate", "x" * 5000, "with \0 in it"):
            with n.scope(name):
                launch()
        check(launches(), ["", "ünï", "名前", "😀", "lone \\udc80 surrogate", "x" * 5000, "with \0 in it"])
        with raises(TypeError, "enter scope 3"):
            with n.scope(3):
                pass
        for i in range(3000):  # more than the name cache holds, each a new object
            with n.scope(f"n{i}"):
                launch()
        check(launches(), [f"n{i}" for i in range(3000)])


def test_functions():
    with session():
        node = n.enter_scope("a")
        assert node > 0 and n.leaf()[0] == node
        launch()
        n.exit_scope()
        with raises(RuntimeError, "none is open"):
            n.exit_scope()
        check(launches(), ["a"])
        with raises(TypeError):
            n.enter_scope(None)


def test_threads_inherit_scopes():
    with session():
        with n.scope("main"):
            t = threading.Thread(target=launch)
            t.start()
            t.join()
        check(launches(), ["main"])


# ---- states and ops ----

def test_states_nest_and_restore():
    with session():
        with n.scope("a"):
            n.enter_state("s")
            launch()
            with n.scope("b"):
                launch()
            n.enter_state("t")
            launch()
            n.exit_state()
            launch()
            n.exit_state()
            launch()
        n.exit_state()  # nothing to leave: silent
        check(launches(), ["a/s", "a/b/s", "a/t", "a/s", "a"])


def test_ops():
    with session():
        first = n.enter_op("op")
        launch()
        launch()
        n.exit_op()
        launch()
        second = n.enter_op("once", 77)
        launch(5)
        launch(77)
        launch(77)
        assert second == first + 1
        check(n.last_op(), (second, "once"))
        check(launches(), ["op", "op", "", "once", "once", ""])
        with raises(TypeError):
            n.enter_op(3)
        got = []
        t = threading.Thread(target=lambda: got.append(n.last_op()))
        t.start()
        t.join()
        check(got, [(0, None)])


# ---- metrics ----

class Float32:
    """What matters of numpy.float32: a number only through __float__."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value

    def __int__(self):
        raise AssertionError("a float was truncated")


class Int16:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value

    def __float__(self):
        raise AssertionError("an integer went through a float")


class NumpyBool:
    def __index__(self):
        raise TypeError("no")

    def __float__(self):
        return 1.0


class ZeroDimensions(Float32):
    def __len__(self):
        raise TypeError("len() of unsized object")

    def __getitem__(self, i):
        raise IndexError


class Vector:
    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class MyInt(int):
    pass


class MyFloat(float):
    pass


VALUES = [
    (True, ("int", "1")), (7, ("int", "7")), (-7, ("int", "-7")), (2**63 - 1, ("int", str(2**63 - 1))),
    (-2**63, ("int", str(-2**63))), (2**63, ("double", "9.223372036854776e+18")), (10**400, ("double", "+Inf")),
    (1.5, ("double", "1.5")), (float("nan"), ("double", "NaN")), (Float32(1.5), ("double", "1.5")), (Int16(3), ("int", "3")),
    (NumpyBool(), ("double", "1")), (ZeroDimensions(2.5), ("double", "2.5")), (Fraction(3, 2), ("double", "1.5")),
    (Decimal("0.25"), ("double", "0.25")), (MyInt(4), ("int", "4")), (MyFloat(0.5), ("double", "0.5")),
]


def test_metric_values():
    with session():
        for i, (value, want) in enumerate(VALUES):
            with n.scope(f"v{i}", {"m": value}):
                pass
            check(slots()[(f"v{i}", "m")], want)


def test_metrics_add_up():
    with session():
        for _ in range(3):
            with n.scope("a", {"i": 2, "d (ns)(exc)": 0.5, "p (pty)": 9}):
                n.add_metrics({"i": 1})
        check(slots(), {("a", "i"): ("int", "9"), ("a", "d (ns)(exc)"): ("double", "1.5"), ("a", "p (pty)"): ("int", "9")})


def test_roofline_metrics_have_one_type():
    with session():
        with n.scope("a", {"flops": 1, "flops8": 2, "flops16 (exc)": 3, "flops32": 4, "flops64": 5, "bytes": 4096.7, "flopsy": 1}):
            n.add_metrics({"flops": 1.5, "bytes": 1})
        check(slots(), {("a", "flops"): ("double", "2.5"), ("a", "flops8"): ("double", "2"), ("a", "flops16 (exc)"): ("double", "3"),
                        ("a", "flops32"): ("double", "4"), ("a", "flops64"): ("double", "5"), ("a", "bytes"): ("int", "4098"),
                        ("a", "flopsy"): ("int", "1")})


def test_flops_of_every_type_are_doubles():
    # As ints they wrap at 9.2e18, which is 2.6 hours at 1 Pflop/s.
    names = os.environ["FLOPS_NAMES"].split()
    with session():
        for value in (1 << 62, 1 << 62, 1 << 62):
            n.launch_enter({"name": "k", "function": 3, **{name: value for name in names}})
            launch(3)
        check(slots(), {("k", name): ("double", repr(3.0 * (1 << 62))) for name in names})


def test_metric_vectors():
    with session():
        with n.scope("a"):
            at = dict(zip(("node", "pynode", "set"), n.leaf()))
            n.add_metrics({"i": [1, 2, True], "f": (1, 2.5), "r": range(3), "e": [], "v": Vector(1, 2), 'q"\\\n': [1],
                           "flops": [1], "bytes": [1.0], "n": [float("nan"), 1.0]})
        got = {v.pop("name"): v for v in call("vectors")}
        for v in got.values():
            check({k: v.pop(k) for k in at}, at)
        check(got, {"i": {"ints": [1, 2, 1]}, "f": {"floats": [1.0, 2.5]}, "r": {"ints": [0, 1, 2]}, "e": {"ints": []},
                    "v": {"ints": [1, 2]}, 'q"\\\n': {"ints": [1]}, "flops": {"floats": [1]}, "bytes": {"ints": [1]},
                    "n": {"floats": [None, 1.0]}})


def test_what_is_no_metric():
    with session():
        for value in ("text", b"bytes", None, 1j, {}, {1}, object(), [[1]], ["x"], [None]):
            with raises(TypeError, "add metric 'm'"):
                with n.scope("a", {"m": value}):
                    raise AssertionError("the scope was entered")
        with raises(TypeError, "name of a metric"):
            n.add_metrics({3: 1})
        with raises(TypeError):
            n.add_metrics(3)
        with raises(ZeroDivisionError):
            n.add_metrics({"m": type("Bad", (), {"__float__": lambda s: 1 / 0})()})
        launch()
        check(launches(), [""])
        n.add_metrics(types.MappingProxyType({"m": 1}))
        check(slots()[("", "m")], ("int", "1"))


def test_metric_type_change():
    with session():
        with n.scope("a", {"m": 1.5}):
            pass
        with raises(ValueError, r"^Metric value type mismatch for valueId 0 \(m\): current=double, new=int64_t$"):
            with n.scope("a", {"m": 1}):
                raise AssertionError("the scope was entered")
        with raises(ValueError, "current=int64_t, new=double"):
            n.add_metrics({"k": 1})
            n.add_metrics({"k": 1.0})
        launch()
        check(launches(), [""])


def test_metrics_at_a_remembered_leaf():
    with session():
        with n.scope("a"):
            leaf = n.leaf()
        n.add_metrics_at(leaf, {"m": 2})
        check(slots(), {("a", "m"): ("int", "2")})
        for wrong in ((1, 2), [1, 2, 3], ("a", 1, 2)):
            with raises(TypeError):
                n.add_metrics_at(wrong, {"m": 2})


def test_metrics_that_change_while_they_are_read():
    with session():
        class Evil:
            def __float__(self):
                metrics.clear()
                gc.collect()
                return 1.0

        for _ in range(50):
            metrics = {"a": Evil(), **{f"m{i}": float(i) for i in range(20)}}
            with n.scope("s", metrics):
                pass


def test_cpu_timed_scope():
    with session():
        before = time.monotonic_ns()
        with n.cpu_timed_scope("t", {"m": 1}):
            time.sleep(0.02)
        most = time.monotonic_ns() - before
        kind, value = slots()[("t", "cpu_time (ns)(exc)")]
        check((kind, 20_000_000 <= int(value) <= most), ("int", True))
        check(slots()[("t", "m")], ("int", "1"))
        with n.scope("u"):
            pass
        assert ("u", "cpu_time (ns)(exc)") not in slots()
    with raises(ValueError, "^The metric name 'cpu_time' is reserved.$"):
        n.cpu_timed_scope("t", {"cpu_time": 1})
    n.scope("t", {"cpu_time": 1})

    @n.cpu_timed_scope("dec")
    def f():
        return 3

    with session():
        check(f(), 3)
        assert ("dec", "cpu_time (ns)(exc)") in slots()


class Tensor:
    def __init__(self, value=0):
        self.value = value

    def data_ptr(self):
        return 0

    def __float__(self):
        raise AssertionError("the tensor was read on the launching thread")


def test_tensors_go_to_the_handler():
    got = []
    with session():
        with raises(TypeError, "Tensor"):
            n.add_metrics({"m": Tensor()})
        n.set_tensor_handler(lambda *args: got.append(args))
        try:
            t = Tensor()
            with n.scope("a", {"m": t, "k": 1}):
                check(got, [("m", t, n.leaf())])
            got.clear()

            def handler(key, tensor, leaf):
                got.append((key, tensor, call("path", Node=leaf[0])))
                launch(9)

            n.set_tensor_handler(handler)
            n.launch_enter({"name": "k", "function": 5, "flops": t, "n": 1})
            launch(5)
            check(got, [("flops", t, ["k"])])
            check(launches(), ["__proton_launch_metadata:k", "k"])
            check(slots()[("k", "n")], ("int", "1"))
        finally:
            n.set_tensor_handler(None)


# ---- launches ----

def test_launch_names_and_metrics():
    with session():
        with n.scope("s"):
            n.launch_enter(lazy("k", {"name": "k<1>", "flops32": 10, "bytes": 6.0, "tokens": 3, "list": [1], "text": "x",
                                      "none": None, "complex": 1j}, function=7))
            launch(7)
            launch(7)
            n.launch_enter(lazy("plain", function=8))
            launch(8)
            n.launch_enter({"name": "dict", "x": Float32(0.5)})
            launch(1)
            n.launch_exit({})
            launch(1)
            n.launch_enter(None)
            launch(1)
            n.launch_exit(None)
        check(launches(), ["s/k<1>", "s", "s/plain", "s/dict", "s", "s"])
        check(slots(), {("s/k<1>", "flops32"): ("double", "10"), ("s/k<1>", "bytes"): ("int", "6"),
                        ("s/k<1>", "tokens"): ("int", "3"), ("s/dict", "x"): ("double", "0.5")})


def test_launch_metrics_in_timelines():
    # Metrics of an op stand at its kernel, also where Triton gives no function handle.
    for metrics in {"flops": 1}, {"flops": 1, "bytes": 2}:
        with session(timeline=True):
            n.launch_enter({"name": "k", "function": None, **metrics})
            launch(3)
            n.launch_exit({})
            check([r["InOp"] for r in call("records") if r["Type"] == METRIC], [True] * len(metrics))


def test_launch_metadata_with_many_keys():
    with session():
        n.launch_enter({"name": "k", "function": 3, **{f"m{i}": i for i in range(100)}})
        launch(3)
        check({name: value for (_, name), (_, value) in slots().items()}, {f"m{i}": str(i) for i in range(100)})


def test_launch_metadata_that_fail():
    def bad():
        raise ZeroDivisionError("user's own")

    with session():
        with stderr_lines() as lines:
            for _ in range(3):
                n.launch_enter(lazy("bad", bad, function=4))
                launch(4)
            n.launch_enter(lazy("worse", {"name": Exploding(), "flops": 1}, function=4))
            launch(4)
            n.launch_enter(lazy("sick", {"flops": type("Bad", (), {"__float__": lambda s: 1 / 0})(), "fine": 1}, function=4))
            launch(4)
        check(launches(), ["bad"] * 3 + ["worse", "sick"])
        check(len(lines), 3)
        assert re.match(r"goproton: .* of kernel bad: ZeroDivisionError: user's own; ", lines[0]), lines[0]
        check(slots()[("sick", "fine")], ("int", "1"))
        n.launch_enter(object())  # not metadata at all
        launch()
        check(launches(), [""])


class Exploding:
    def __str__(self):
        raise ValueError("no name")


def test_keyboard_interrupt_is_not_swallowed():
    def interrupted():
        raise KeyboardInterrupt

    with session():
        with raises(KeyboardInterrupt):
            n.launch_enter(lazy("k", interrupted, function=4))
        launch(4)
        n.launch_enter(lazy("k", function=4))
        launch(4)
        check(launches(), ["", "k"])


def test_launch_type_changes_convert():
    with session():
        n.launch_enter({"name": "k", "function": 1, "m": 1, "d": 0.5})
        launch(1)
        n.launch_enter({"name": "k", "function": 1, "m": 1.6, "d": 1})
        launch(1)
        check(slots(), {("k", "m"): ("int", "3"), ("k", "d"): ("double", "1.5")})


def test_launches_inside_metadata():
    with session():
        def metadata():
            inner = lazy("inner", {"flops": 1}, function=2)
            n.launch_enter(inner)
            launch(2)
            n.launch_exit(inner)
            return {"name": "outer!", "flops": 5}

        with n.scope("s"):
            n.enter_state("st")
            n.launch_enter(lazy("outer", metadata, function=1))
            launch(1)
            n.exit_state()
        check(launches(), ["s/__proton_launch_metadata:outer", "s/st/outer!"])
        check(slots(), {("s/st/outer!", "flops"): ("double", "5")})


def test_metadata_of_another_make():
    """No list of queued functions to look into: get() is asked every time."""
    class Metadata:
        data = {"name": "raw"}

        def get(self):
            return {"name": "cooked", "function": 1, "m": 1}

    with session():
        n.launch_enter(Metadata())
        launch(1)
        Metadata.get = lambda self: None
        with stderr_lines() as lines:
            n.launch_enter(Metadata())
            launch()
        n.launch_exit(None)
        check((launches(), len(lines)), (["cooked", "raw"], 1))


def test_launch_names_of_other_types():
    with session():
        for name in (3, None, "ü"):
            n.launch_enter(lazy("compiled", {"name": name}, function=1))
            launch(1)
        check(launches(), ["3", "compiled", "ü"])


def test_launch_filter():
    asked = []

    def chosen(name):
        asked.append(name)
        return name != "no"

    def fails():
        raise AssertionError("evaluated")

    n.set_launch_filter(chosen)
    try:
        with session():
            n.launch_enter(lazy("no", fails, function=1))
            launch(1)
            n.launch_enter(lazy("yes", {"name": "no"}, function=1))
            launch(1)
            n.launch_enter(lazy("yes", {"name": "yes 2"}, function=1))
            launch(1)
            n.launch_enter({"name": "no", "function": 1})
            launch(1)
            check(launches(), ["", "", "yes 2", ""])
            check(asked, ["no", "yes", "no", "yes", "yes 2", "no"])
            n.set_launch_filter(lambda name: 1 / 0)
            with stderr_lines() as lines:
                n.launch_enter(lazy("filtered", function=1))
                launch(1)
            check((launches(), len(lines)), (["filtered"], 1))
    finally:
        n.set_launch_filter(None)
    with raises(TypeError):
        n.set_launch_filter(3)


# ---- control calls ----

def test_control_errors():
    for kind in (ValueError, IndexError, RuntimeError, NotImplementedError, OSError, TypeError, KeyError):
        with raises(kind, "text 100% ü"):
            call("fail", Kind=kind.__name__, Text="text 100% ü")
    with raises(RuntimeError, "x"):
        call("fail", Kind="SystemExit", Text="x")
    with raises(RuntimeError, "BUG: .*on purpose"):
        call("panic")
    with raises(NotImplementedError):
        call("no such call")
    with raises(TypeError):
        n.call("one")
    with raises(TypeError):
        n.call(1, 2)


def test_control_calls_release_the_gil():
    with session():
        done = threading.Event()
        threads = [threading.Thread(target=lambda: [launch() for _ in range(200)]) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        check(launches(), [""] * 800)


def test_forked_child_is_silent():
    with session():
        with n.scope("a"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # 3.12 dislikes forks of processes with threads
                pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    assert n.call("start", "{}") == "{}" and n.active() is False
                    with n.scope("b", {"m": object()}):
                        n.launch_enter(lazy("k", {"flops": 1}))
                        n.launch_exit(None)
                    n.add_metrics({"x": [1]})
                    status = 0
                finally:
                    os._exit(status)
            deadline = time.monotonic() + 600
            while True:
                got, status = os.waitpid(pid, os.WNOHANG)
                if got:
                    break
                assert time.monotonic() < deadline, "the child hangs"
                time.sleep(0.01)
            check(status, 0)
            launch()
        check(launches(), ["a"])


# ---- Python call paths ----

def expected_stack(skip=1):
    """What the walker should find: every frame of this thread as file:line@function, root first."""
    frame, frames = sys._getframe(skip), []
    while frame is not None:
        frames.append(f"{frame.f_code.co_filename}:{frame.f_lineno}@{frame.f_code.co_name}")
        frame = frame.f_back
    return frames[::-1]


def both():
    """The caller's stack as walked and as expected."""
    return call("path", Node=n.leaf()[1])[:-1], expected_stack(2)


def same():
    got, want = call("path", Node=n.leaf()[1]), expected_stack()
    check(got, want)


def test_walker_kind():
    kind = n.python_walker()
    if os.environ.get("PROTON_PYTHON_WALKER") == "public":
        check(kind, "public: PROTON_PYTHON_WALKER asks for it")
    elif sys.version_info < (3, 15):
        check(kind, "internal")
    else:
        assert kind.startswith("public: "), kind


def nested(depth, f):
    return f() if depth == 0 else nested(depth - 1, f)


def numbers():
    yield same()
    yield from [same() for _ in range(2)]
    yield nested(3, same)


class Callable:
    def __call__(self):
        return nested(1, self.method)

    @staticmethod
    def method():
        same()


def grüße_名():
    same()


def test_walker_follows_the_stack():
    with session(python=True):
        for _ in range(3):
            for depth in (0, 1, 5, 30, 29, 100, 3, 3):
                nested(depth, same)
            list(numbers())
            Callable()()
            grüße_名()
            (lambda: same())()
            sorted([2, 1], key=lambda _: same() or 0)
            with contextlib.ExitStack() as stack:
                stack.callback(same)
            eval(compile("same()", "<evaluated ✓>", "eval"))
            same(); same()
            same(
            )


def test_walker_on_other_threads():
    errors = []

    def work(seed):
        try:
            for i in range(200):
                nested((i * seed) % 37, same)
        except BaseException as error:
            errors.append(error)

    with session(python=True):
        for _ in range(3):
            threads = [threading.Thread(target=work, args=(seed,)) for seed in (3, 5, 7)]
            [t.start() for t in threads]
            [t.join() for t in threads]
    check(errors, [])


def test_walker_coroutines():
    import asyncio

    async def leaf(depth):
        await asyncio.sleep(0)
        same()
        if depth:
            await leaf(depth - 1)
        same()

    async def main():
        await asyncio.gather(*(leaf(i) for i in range(5)))

    with session(python=True):
        asyncio.run(main())


def test_walker_code_that_comes_and_goes():
    """Code objects are freed and their addresses come back with other code: names, files and lines must follow."""
    addresses, reused = set(), 0
    with session(python=True):
        for i in range(1500):
            name, file = f"f{i % 7}", f"<made {i % 11:04d} {'ü' if i % 3 == 0 else ''}>"
            source = "\n" * (i % 5) + f"def {name}():\n" + "\n" * (i % 3) + "  return check_stack()\n"
            space = {"check_stack": same}
            exec(compile(source, file, "exec"), space)
            code = id(space[name].__code__)
            reused += code in addresses
            addresses.add(code)
            space[name]()
            del space
    assert reused > 50 or "PYTHONMALLOC" in os.environ, f"only {reused} code objects came back at an old address: the test proves nothing"


def test_walker_without_the_gil():
    """A launch through call() is recorded while the GIL is released."""
    with session(python=True):
        def f():
            launch(); want = expected_stack()
            return want

        want = nested(4, f)
        got = call("records")[-1]["Python"]
        check(got[:len(want)], want)
        assert [g.rpartition("@")[2] for g in got[len(want):]] == ["launch", "call"], got


def test_walker_deep_stacks():
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    threading.stack_size(256 << 20)
    got = []

    def deep():
        nested(3000, lambda: got.append(both()))
        nested(900, lambda: got.append(both()))

    try:
        with session(python=True):
            t = threading.Thread(target=deep)
            t.start()
            t.join()
    finally:
        sys.setrecursionlimit(old)
        threading.stack_size(0)
    (path, want), (shallow, shallow_want) = got
    check((path[0], len(path)), ("<truncated>", 1024))
    check(path[1:], want[-1023:])
    check(shallow, shallow_want)


def test_walker_after_a_new_run():
    """Call paths are forgotten between runs; the same stack must be named anew."""
    for _ in range(3):
        with session(python=True):
            for i in range(3):
                with n.scope(f"other {i}"):
                    nested(5, lambda: check(*both_without_scope()))


def both_without_scope():
    path = call("path", Node=n.leaf()[1])
    return [p for p in path if not p.startswith("other")][:-1], expected_stack(2)


def test_metrics_and_launch_meet_on_one_path():
    """Triton calls the hook from HookChain.__call__ in knobs.py, which is not on the stack at the launch."""
    with tempfile.TemporaryDirectory() as folder, session(python=True):
        os.mkdir(os.path.join(folder, "triton"))
        path = os.path.join(folder, "triton", "knobs.py")
        space = {}
        exec(compile("class HookChain:\n  def __init__(self, f):\n    self.f = f\n  def __call__(self, *args):\n    self.f(*args)\n", path, "exec"), space)
        chain = space["HookChain"](n.launch_enter)
        params = json.dumps({"Func": 6})
        for _ in range(2):
            chain({"name": "k", "function": 6, "flops": 1, "m": 2}); n.call("launch", params)
        paths = {tuple(r["Python"]) for r in call("records")}
        check(len(paths), 1)
        check({tuple(s["Path"]) for s in call("slots") if s["Python"]}, paths)
        got = paths.pop()
        check((got[-1], got[-2]), ("k", expected_stack()[-1].replace(f":{sys._getframe().f_lineno}@", f":{got[-2].rpartition('@')[0].rpartition(':')[2]}@")))
        check({v for (_, name), v in slots(python=True).items() if name == "m"}, {("int", "4")})


def test_python_metrics_of_a_scope():
    with session(python=True):
        with n.scope("s", {"m": 1}):
            pass
        (path,) = [s["Path"] for s in call("slots") if s["Python"]]
        check((path[-1], path[-2].rpartition("@")[2]), ("s", "test_python_metrics_of_a_scope"))


def test_package_frames_are_hidden():
    """A fresh process, because the package's folder is looked up once."""
    code = """if True:
        import sys, types
        package = sys.modules["goproton"] = types.ModuleType("goproton")
        package.__file__ = "/somewhere/goproton/__init__.py"
        import importlib.util, json
        from importlib.machinery import ExtensionFileLoader
        spec = importlib.util.spec_from_loader("goproton._native", ExtensionFileLoader("goproton._native", sys.argv[1]))
        n = importlib.util.module_from_spec(spec)
        n.call("start", '{"Python": true}')
        space = {"n": n}
        exec(compile("def inside(): return n.leaf()[1]", "/somewhere/goproton/scope.py", "exec"), space)
        def outside(): return space["inside"]()
        print(n.call("path", json.dumps({"Node": outside()})))
    """
    got = json.loads(subprocess.run([PYTHON, "-c", code, sys.argv[1]], check=True, stdout=subprocess.PIPE).stdout)
    check([g.rpartition("@")[2] for g in got], ["<module>", "outside"])


# ---- the house ----

def test_nothing_leaks():
    """Objects and references: many rounds of everything leave as many as before."""
    key, value, text, metrics = "some metric", 12345.5, "some scope", {}
    metrics[key] = value

    def round_():
        with n.scope(text, metrics):
            n.add_metrics(metrics)
            n.enter_state(text)
            n.exit_state()
        with n.cpu_timed_scope(text):
            pass
        n.launch_enter(lazy(text, metrics, function=3))
        n.launch_enter(metrics)
        n.launch_exit(None)
        n.leaf(), n.last_op(), n.record_scope(), n.active()
        for bad in (lambda: n.scope(), lambda: n.add_metrics({"m": None}), lambda: n.scope(1).__enter__(), lambda: n.call("fail", '{"Kind":"ValueError"}')):
            try:
                bad()
            except (TypeError, ValueError):
                pass

    with session(python=True):
        for _ in range(200):
            round_()
        gc.collect()
        before = [sys.getrefcount(o) for o in (None, key, value, text, metrics, n.scope, n.cpu_timed_scope)], sys.getallocatedblocks()
        for _ in range(2000):
            round_()
        gc.collect()
        after = [sys.getrefcount(o) for o in (None, key, value, text, metrics, n.scope, n.cpu_timed_scope)], sys.getallocatedblocks()
    apart = [b - a for a, b in zip(before[0], after[0])]
    assert all(abs(d) < 1000 for d in apart), f"references changed by {apart} in 2000 rounds"
    assert after[1] - before[1] < 1000, f"{after[1] - before[1]} blocks more"


def test_process_ends_well():
    """Open scopes, a live session and running daemon threads at exit do no harm."""
    code = """if True:
        import sys, threading, importlib.util
        from importlib.machinery import ExtensionFileLoader
        spec = importlib.util.spec_from_loader("goproton._native", ExtensionFileLoader("goproton._native", sys.argv[1]))
        n = importlib.util.module_from_spec(spec)
        n.call("start", '{"Python": true, "Shadow": true}')
        s = n.scope("open", {"m": 1}); s.__enter__()
        n.launch_enter({"name": "k"})
        def work():
            while True:
                with n.scope("x", {"m": 1}): n.call("launch", "{}")
        for _ in range(3): threading.Thread(target=work, daemon=True).start()
        import time; time.sleep(0.2)
    """
    done = subprocess.run([PYTHON, "-c", code, sys.argv[1]], stderr=subprocess.PIPE)
    check((done.returncode, done.stderr), (0, b""))


ENDING = """if True:
    import sys, threading, time, importlib.util
    from importlib.machinery import ExtensionFileLoader
    spec = importlib.util.spec_from_loader("goproton._native", ExtensionFileLoader("goproton._native", sys.argv[1]))
    n = importlib.util.module_from_spec(spec)
    n.call("start", '{"Python": true, "Shadow": true}')
    threading.Thread(target=lambda: WORK, daemon=True).start()
    while n.call("held", "{}") == "0": time.sleep(0.001)
"""


def at_the_end(work):
    """How a program ends whose daemon thread is in the middle of this. What Python frees is overwritten."""
    env = {"PYTHONMALLOC": "debug", **os.environ}
    done = subprocess.run([PYTHON, "-c", ENDING.replace("WORK", work), sys.argv[1]], stderr=subprocess.PIPE, env=env)
    return done.returncode, done.stderr


def test_python_ends_while_a_thread_walks_its_stack():
    """The walk holds no GIL, and what it reads is freed when Python ends."""
    check(at_the_end('(n.call("hold_walk", "{}"), n.call("launch", "{}"))'), (0, b""))


def test_python_ends_while_a_thread_is_in_a_call():
    """The thread stays where it is: its stack may have frames that must not be unwound."""
    check(at_the_end('n.call("hold_call", "{}")'), (0, b""))


def main(tests):
    failed = 0
    wanted = sys.argv[2:]
    for name, test in [(k, v) for k, v in tests.items() if k.startswith("test_")]:
        if wanted and name not in wanted:
            continue
        try:
            test()
        except BaseException:
            failed += 1
            print(f"--- FAIL {name}")
            traceback.print_exc(file=sys.stdout)
    print(f"{'FAIL' if failed else 'ok'} {sys.version.split()[0]} walker {n.python_walker()}, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main(globals())
