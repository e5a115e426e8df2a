#!/usr/bin/env python3
"""Ends many programs whose daemon threads are inside goproton._native: tools/stress-exit.py [--runs N] [--jobs N] [python…]

Each run must end with the program's own exit code and without output on standard error. All entries run in one program,
each in its own thread. After a signal, Python's fault handler names the entry, and gdb, if installed, reads the core.
The script builds the library of the tests unless --library names one. The interpreters are the arguments, or python3 of
PATH.

CPython 3.10 has a fault of its own: a daemon thread that waits for the GIL while the interpreter is freed reads it afterwards
(take_gil, RESET_GIL_DROP_REQUEST). --alone shows it: a program without goproton, whose C exit handlers take 20 ms, ends by
signal 11 in 75 of 300 runs with 3.10.13, and in none of 40 with 3.9.18, 3.11.7, 3.12.1 and 3.13.0. With goproton those are
3 of 1,000 runs on a machine with ten times more work than cores. Where gdb finds that stack, the run counts apart.
"""

import argparse
import collections
import concurrent.futures
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

OWN_FAULT = re.compile(r"#0 .*COMPUTE_EVAL_BREAKER.*\n#1 .*RESET_GIL_DROP_REQUEST.*\n#2 .*take_gil .*\n#3 .*eval_frame_handle_pending")
ALONE = """
import ctypes, random, sys, threading, time
libc = ctypes.CDLL(None)
libc.__cxa_atexit(libc.usleep, ctypes.c_void_p(20000), None)

def inner(): pass

def forever():
    while True: inner()

sys.setswitchinterval(1e-5)
for _ in range(13): threading.Thread(target=forever, daemon=True).start()
time.sleep(random.random() * 0.02)
sys.exit(7)
"""
PYTHONS_OWN = "signal 11 in take_gil, CPython's own"
NATIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hooks", "testdata", "native")


def build(folder):
    library = os.path.join(folder, "testlib.so")
    subprocess.run(["go", "build", "-buildmode=c-shared", "-o", library, "../../internal/testlib"], cwd=NATIVE, check=True)
    return library


def end(python, library, entries, malloc):
    command = [python, "-X", "faulthandler", *([os.path.join(NATIVE, "ending.py"), library, *entries] if library else ["-c", ALONE])]
    env = {**os.environ, "PYTHONMALLOC": malloc}
    with tempfile.TemporaryDirectory() as folder:  # where core_pattern leaves the core
        try:
            done = subprocess.run(command, env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            return "hangs"
        if (done.returncode, done.stdout) == (7, ""):
            return None
        where = stacks(python, folder)
        if done.returncode == -signal.SIGSEGV and OWN_FAULT.search(where):
            return PYTHONS_OWN
        return f"exit code {done.returncode}, PYTHONMALLOC={malloc}: {done.stdout[:20_000]}{where}"


def stacks(python, folder):
    """The stacks of a core. The first goes first: it is the thread that had the signal."""
    if not (cores := glob.glob(folder + "/core*")) or not shutil.which("gdb"):
        return ""
    done = subprocess.run(["gdb", "-batch", "-ex", "bt", "-ex", "x/3i $pc", "-ex", "info registers", "-ex", "thread apply all bt", os.path.realpath(python), cores[0]],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="runs of each interpreter; every other one with Python's debugging allocator")
    parser.add_argument("--jobs", type=int, default=4, help="programs at a time")
    parser.add_argument("--alone", action="store_true", help="a program without goproton: what Python does by itself")
    parser.add_argument("--library", help="the library of the tests, as built before")
    parser.add_argument("--entry", action="append", default=[], help="only this entry, by its name in ending.py; may be repeated")
    parser.add_argument("python", nargs="*", help="interpreters (python3)")
    asked = parser.parse_args()
    failed = 0
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        library = None if asked.alone else os.path.abspath(asked.library) if asked.library else build(folder)
        for python in asked.python or ["python3"]:
            ways = [pool.submit(end, python, library, asked.entry, ("debug", "default")[i % 2]) for i in range(asked.runs)]
            bad = [why for why in (way.result() for way in ways) if why]
            own = bad.count(PYTHONS_OWN)
            bad = [why for why in bad if why != PYTHONS_OWN]
            what = "Python alone" if asked.alone else ", ".join(asked.entry) or "all entries"
            print(f"{python}: {asked.runs} runs of {what}, {len(bad)} failed, {own} times {PYTHONS_OWN}", flush=True)
            for why, times in collections.Counter(bad).most_common(3):
                print(f"  {times} times: {why}")
            failed += len(bad)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
