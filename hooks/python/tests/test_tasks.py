"""Scopes of asyncio's tasks: a task keeps its own over await, whatever other tasks of its thread hold meanwhile."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LIBRARY, PATIENCE, REPOSITORY, TESTS, other_python, run_python
from trees import load

STUB = REPOSITORY / "build" / "stub"

pytestmark = pytest.mark.skipif(not (LIBRARY.exists() and (STUB / "libcupti.so").exists()), reason="needs build/: run make build")

# The model: a context variable of the test's own has the names that should be open.
BEGIN = """
import asyncio, collections, contextlib, contextvars, json, random, sys, threading
import goproton as proton, fake_gpu as gpu
open_scopes = contextvars.ContextVar("open_scopes", default=())
open_states = contextvars.ContextVar("open_states", default=())
expected = collections.Counter()
gpu.init()
kernel = gpu.function("kernel")
def launch():
    gpu.launch(kernel)
    expected["/".join([*open_scopes.get(), *open_states.get()[-1:], "kernel"])] += 1
@contextlib.contextmanager
def held(variable, name):
    token = variable.set(variable.get() + (name,))
    try:
        yield
    finally:
        variable.reset(token)
@contextlib.contextmanager
def scope(name, kind=proton.scope):
    with kind(name), held(open_scopes, name):
        yield
@contextlib.contextmanager
def by_function(name):
    proton.enter_scope(name)
    try:
        with held(open_scopes, name):
            yield
    finally:
        proton.exit_scope(name)
@contextlib.contextmanager
def state(name):
    with proton.state(name), held(open_states, name):
        yield
def end():
    gpu.synchronize()
    proton.finalize()
    print(json.dumps(expected))
"""


def environment():
    return {"PROTON_LIB": str(LIBRARY), "LD_LIBRARY_PATH": str(STUB), "PROTON_CUPTI_PATH": str(STUB / "libcupti.so")}


def check(tmp_path, code, python=sys.executable, path=()):
    """Runs a program of tasks, and compares its profile with the model."""
    done = run_python(BEGIN + code, cwd=tmp_path, env=environment(), python=python, path=path)
    assert done.stderr == ""
    counts = {}

    def walk(node, names):
        names = [*names, node["frame"]["name"]]
        if node["metrics"].get("count"):
            counts["/".join(names[1:])] = node["metrics"]["count"]
        for child in node["children"]:
            walk(child, names)

    walk(load(tmp_path / "w.hatchet"), [])
    assert counts == json.loads(done.stdout)
    return counts


def test_tasks_take_turns(tmp_path):
    counts = check(tmp_path, """
proton.start("w")
async def task(n):
    with scope(f"t{n}"):
        for i in range(5):
            launch()
            await asyncio.sleep(0)
async def main():
    await asyncio.gather(*map(task, range(8)))
asyncio.run(main())
launch()
end()
""")
    assert counts == {**{f"t{n}/kernel": 5 for n in range(8)}, "kernel": 1}


# Tasks that do what tasks may do, at random.
RANDOM = """
shared = proton.scope("shared")
@contextlib.contextmanager
def of_all():
    with shared, held(open_scopes, "shared"):
        yield
async def generator(r):
    with scope("generator"):
        for i in range(r.randint(1, 4)):
            launch()
            await asyncio.sleep(0)
            yield i
async def waits():
    with scope("cancelled"), state("waits"):
        launch()
        try:
            await asyncio.sleep(100)
        finally:
            launch()
async def task(r, depth):
    for _ in range(r.randint(1, 5)):
        what = r.randrange(12)
        if what < 3:
            await asyncio.sleep(r.choice([0, 0, 0.001]))
            launch()
        elif what < 7 and depth < 6:
            kinds = [lambda: scope(f"s{r.randrange(4)}"), lambda: scope("timed", proton.cpu_timed_scope), lambda: by_function(f"f{r.randrange(3)}"),
                     lambda: state(f"state{r.randrange(3)}"), of_all]
            with r.choice(kinds)():
                await task(r, depth + 1)
            launch()
        elif what == 7:
            inner = [asyncio.ensure_future(task(random.Random(r.random()), depth + 1)) for _ in range(r.randint(1, 3)) if depth < 4]
            launch()
            await asyncio.gather(*inner)
        elif what == 8:
            async for _ in generator(r):
                launch()
                await asyncio.sleep(0)
        elif what == 9:
            with contextlib.suppress(KeyError), scope("fails"):
                await asyncio.sleep(0)
                launch()
                raise KeyError
        elif what == 10:
            cancelled = asyncio.ensure_future(waits())
            await asyncio.sleep(r.choice([0, 0.001]))
            cancelled.cancel()
            launch()
            with contextlib.suppress(asyncio.CancelledError):
                await cancelled
        else:
            with scope("before a callback"):
                asyncio.get_running_loop().call_soon(launch)
            launch()
async def main(seed):
    r = random.Random(seed)
    await asyncio.gather(*[task(random.Random(r.random()), 0) for _ in range(6)])
"""


@pytest.mark.parametrize("version", [None, "3.9", "3.10", "3.12", "3.13"])
def test_tasks_at_random(version, tmp_path):
    python = other_python(version) if version else sys.executable
    check(tmp_path, RANDOM + """
proton.start("w")
for seed in range(30):
    with scope("around the loop"):
        asyncio.run(main(seed))
        launch()
launch()
end()
""", python=python)


def test_loops_of_several_threads(tmp_path):
    """They have nothing to do with each other, and threads without a loop have none of it."""
    check(tmp_path, RANDOM + """
proton.start("w")
lock = threading.Lock()
plain = launch
def launch():
    with lock:
        plain()
def loops():
    for seed in range(5):
        asyncio.run(main(seed))
def scopes():
    for _ in range(300):
        with scope("thread"):
            launch()
threads = [threading.Thread(target=target) for target in (loops, scopes, loops)]
for thread in threads: thread.start()
for thread in threads: thread.join()
async def elsewhere():
    loop, one = asyncio.get_running_loop(), ThreadPoolExecutor(1)  # the loop's own may take another thread each time
    await loop.run_in_executor(one, launch)  # a new thread begins with the scopes of the main thread
    with scope("task"):
        await loop.run_in_executor(one, lambda: [launch() for _ in range(3)])
        launch()
from concurrent.futures import ThreadPoolExecutor
asyncio.run(elsewhere())
end()
""")


def test_sessions_pause_between_steps(tmp_path):
    check(tmp_path, """
proton.start("w")
async def task():
    with scope("task"):
        launch()
        proton.deactivate()
        await asyncio.sleep(0.01)
        gpu.launch(kernel)
        proton.activate()
        launch()
        await asyncio.sleep(0.01)
        launch()
async def other():
    with scope("other"):
        await asyncio.sleep(0.03)
        launch()
async def main():
    await asyncio.gather(other(), task())
asyncio.run(main())
end()
""")


def test_sessions_end_between_steps(tmp_path):
    """Scopes that a task entered in an earlier session are not open in a later one."""
    counts = check(tmp_path, """
async def again():
    with scope("left open"):
        await asyncio.sleep(0)
        proton.finalize()
        expected.clear()
        proton.start("w")
        await asyncio.sleep(0)
        open_scopes.set(())
        launch()
        with scope("of it"):
            await asyncio.sleep(0)
            launch()
proton.start("first")
asyncio.run(again())
end()
""")
    assert counts == {"kernel": 1, "of it/kernel": 1}


def test_an_asynchronous_function_is_decorated(tmp_path):
    counts = check(tmp_path, """
@proton.scope("early")
async def early(n):
    with held(open_scopes, "early"):
        await asyncio.sleep(0)
        launch()
    return n
proton.start("w")
@proton.scope("step")
async def step(n):
    with held(open_scopes, "step"):
        for _ in range(3):
            await asyncio.sleep(0)
            launch()
    return n
@proton.state("phase")
async def phase():
    with held(open_states, "phase"):
        await asyncio.sleep(0)
        launch()
async def main():
    assert await asyncio.gather(*map(step, range(4)), *map(early, range(2))) == [0, 1, 2, 3, 0, 1]
    await asyncio.gather(phase(), step(1))
asyncio.run(main())
assert asyncio.iscoroutinefunction(step) and asyncio.iscoroutinefunction(early)
end()
""")
    assert counts == {"step/kernel": 15, "early/kernel": 2, "phase/kernel": 1}


def test_uvloop(tmp_path):
    uvloop = pytest.importorskip("uvloop")
    check(tmp_path, RANDOM + """
import uvloop
proton.start("w")
for seed in range(20):
    uvloop.run(main(seed))
end()
""", path=[Path(uvloop.__file__).parent.parent])


def test_run(tmp_path):
    """Under proton run, with a timeline: the slices of a task are those of its steps."""
    (tmp_path / "program.py").write_text(BEGIN + """
async def task(n):
    with scope(f"t{n}"):
        for i in range(3):
            launch()
            await asyncio.sleep(0)
async def main():
    await asyncio.gather(task(0), task(1))
asyncio.run(main())
""")
    environ = {**os.environ, **environment(), "PYTHONPATH": str(TESTS)}
    subprocess.run([REPOSITORY / "build" / "proton", "run", "-d", "trace", "-n", "t", "--python", sys.executable, "program.py"],
                   cwd=tmp_path, env=environ, check=True, capture_output=True, timeout=PATIENCE)
    events = json.loads((tmp_path / "t.chrome_trace").read_text())["traceEvents"]
    slices = [event["name"] for event in sorted((e for e in events if e.get("ph") == "X" and e["name"] in ("t0", "t1")), key=lambda e: e["ts"])]
    assert slices[:6] == ["t0", "t1"] * 3, slices
