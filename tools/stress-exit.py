#!/usr/bin/env python3
"""Ends many programs whose daemon threads are inside goproton._native: tools/stress-exit.py [--runs N] [--jobs N] [python…]

Each run must end with the program's own exit code and without a word on standard error. All entries run in one program,
each in its thread; after a signal Python's fault handler says in which entry it came, and gdb, where there is one, reads the
core. Builds the library of the tests unless --library names one. The interpreters are those given, or python3 of PATH.
"""

import argparse
import collections
import concurrent.futures
import glob
import os
import resource
import shutil
import subprocess
import sys
import tempfile

NATIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hooks", "testdata", "native")


def build(folder):
    library = os.path.join(folder, "testlib.so")
    subprocess.run(["go", "build", "-buildmode=c-shared", "-o", library, "../../internal/testlib"], cwd=NATIVE, check=True)
    return library


def end(python, library, entries, malloc):
    command = [python, "-X", "faulthandler", os.path.join(NATIVE, "ending.py"), library, *entries]
    env = {**os.environ, "PYTHONMALLOC": malloc}
    with tempfile.TemporaryDirectory() as folder:  # where core_pattern leaves the core
        try:
            done = subprocess.run(command, env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            return "hangs"
        if (done.returncode, done.stdout) == (7, ""):
            return None
        return f"exit code {done.returncode}, PYTHONMALLOC={malloc}: {done.stdout[:20_000]}{stacks(python, folder)}"


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
    parser.add_argument("--library", help="the library of the tests, as built before")
    parser.add_argument("--entry", action="append", default=[], help="only this entry, by its name in ending.py; may be repeated")
    parser.add_argument("python", nargs="*", help="interpreters (python3)")
    asked = parser.parse_args()
    failed = 0
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        library = os.path.abspath(asked.library) if asked.library else build(folder)
        for python in asked.python or ["python3"]:
            ways = [pool.submit(end, python, library, asked.entry, ("debug", "default")[i % 2]) for i in range(asked.runs)]
            bad = [why for why in (way.result() for way in ways) if why]
            print(f"{python}: {asked.runs} runs of {', '.join(asked.entry) or 'all entries'}, {len(bad)} failed", flush=True)
            for why, times in collections.Counter(bad).most_common(3):
                print(f"  {times} times: {why}")
            failed += len(bad)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
