#!/usr/bin/env python3
"""Ends many programs whose daemon threads are inside goproton._native: tools/stress-exit.py [--runs N] [--jobs N] [python…]

Each run must end with the program's own exit code and without a word on standard error. Builds the library of the tests.
The interpreters are those given, or python3 of PATH.
"""

import argparse
import collections
import concurrent.futures
import os
import subprocess
import sys
import tempfile

NATIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hooks", "testdata", "native")


def build(folder):
    library = os.path.join(folder, "testlib.so")
    subprocess.run(["go", "build", "-buildmode=c-shared", "-o", library, "../../internal/testlib"], cwd=NATIVE, check=True)
    return library


def end(python, library, entries, malloc):
    command = [python, os.path.join(NATIVE, "ending.py"), library, *entries]
    env = {**os.environ, "PYTHONMALLOC": malloc, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return "hangs"
    return None if (done.returncode, done.stdout) == (7, "") else f"exit code {done.returncode}: {done.stdout[:2000]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="runs of each interpreter; every other one with Python's debugging allocator")
    parser.add_argument("--jobs", type=int, default=4, help="programs at a time")
    parser.add_argument("--entry", action="append", default=[], help="only this entry, by its name in ending.py; may be repeated")
    parser.add_argument("python", nargs="*", help="interpreters (python3)")
    asked = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        library = build(folder)
        for python in asked.python or ["python3"]:
            ways = [pool.submit(end, python, library, asked.entry, ("debug", "default")[i % 2]) for i in range(asked.runs)]
            bad = [why for why in (way.result() for way in ways) if why]
            print(f"{python}: {asked.runs} runs, {len(bad)} failed")
            for why, times in collections.Counter(bad).most_common(3):
                print(f"  {times} times: {why}")
            failed += len(bad)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
