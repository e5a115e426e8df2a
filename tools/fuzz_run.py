#!/usr/bin/env python3
"""Runs the fuzz targets that tools/fuzz.sh has built, in rotation: run.py [--out FOLDER] [--keep FOLDER] SECONDS JOBS

Each target runs for a slice of time with one worker and continues in a later slice. The output ends with a table.
OUT/crashes has the failing inputs, each with the output of its run. OUT/cache.tar.gz has the inputs that the search kept,
for tools/fuzz.sh's SEEDS.
"""

import argparse
import dataclasses
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

LONGEST_SLICE, SHORTEST_SLICE = 60, 5  # seconds
PROGRESS = re.compile(r"execs: (\d+) .*new interesting: (\d+)")
# Temporary files of the targets are in memory if there is enough.
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 1 << 30 else None
MUTATIONS = re.compile(r"(\d+) executions of \d+ seeds")


@dataclasses.dataclass
class Target:
    folder: str  # of its package, in the tree
    name: str
    executions: int = 0
    interesting: int = 0
    seconds: float = 0
    crashes: int = 0
    busy: bool = False


def command(target, seconds, cache):
    if target.name == "TestMutations":
        return [os.path.abspath("cmd/proton/mutate.test"), "-test.run=^TestMutations$", "-test.timeout=0", "-test.v", f"-mutate={seconds}s",
                f"-mutate-seed={random.getrandbits(48)}"]
    # Without a limit the search spends most of its time on shortening interesting inputs.
    return [os.path.abspath(f"{target.folder}/fuzz.test"), "-test.run=^$", f"-test.fuzz=^{target.name}$", f"-test.fuzztime={seconds}s",
            f"-test.fuzzcachedir={cache}/{target.folder}", "-test.fuzzminimizetime=1s", "-test.parallel=1", "-test.timeout=0"]


def run_slice(target, seconds, asked):
    """One slice and its findings."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        began = time.time()
        try:
            done = subprocess.run(command(target, seconds, os.path.abspath(f"{asked.out}/cache")), cwd=target.folder, env={**os.environ, "TMPDIR": folder, "GOMAXPROCS": "2"},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=seconds + 120)
            code, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as stuck:
            code, output = "none, it was stopped", (stuck.stdout or b"").decode(errors="replace")
        target.seconds += time.time() - began
        if counts := PROGRESS.findall(output):
            target.executions += int(counts[-1][0])
            target.interesting += int(counts[-1][1])
        target.executions += sum(int(n) for n in MUTATIONS.findall(output))
        # Go's fuzzer reports this if its time ends at a certain moment.
        in_time = "context deadline exceeded" in output and "Failing input" not in output
        if code != 0 and not in_time:
            target.crashes += 1
            keep(target, folder, f"exit code {code}\n{output[-100_000:]}", asked)


def keep(target, temporary, output, asked):
    """Moves failing inputs out of testdata, because the next slice would begin with them."""
    folder = f"{asked.out}/crashes/{target.folder.replace('/', '_')}.{target.name}.{target.crashes}"
    os.makedirs(folder)
    with open(f"{folder}/output.txt", "w") as file:
        file.write(output)
    for path in re.findall(r"testdata/fuzz/\w+/\w+", output) + glob.glob(f"{temporary}/goproton-mutation-*"):
        source = os.path.join(target.folder, path)
        if not os.path.exists(source):
            continue
        if asked.keep and path.startswith("testdata"):
            os.makedirs(os.path.dirname(f"{asked.keep}/{target.folder}/{path}"), exist_ok=True)
            shutil.copy(source, f"{asked.keep}/{target.folder}/{path}")
        shutil.move(source, folder)
    print(f"{target.folder} {target.name} failed: {folder}", flush=True)


def rotate(targets, lock, end, share, asked):
    """One job: until the end, it runs the idle target that had the least time."""
    while (left := int(end - time.time())) >= min(SHORTEST_SLICE, share):
        with lock:
            free = [t for t in targets if not t.busy]
            if not free:
                return
            target = min(free, key=lambda t: t.seconds)
            target.busy = True
        run_slice(target, min(left, share), asked)
        with lock:
            target.busy = False


def table(targets, asked, began):
    rows = [("target", "executions", "per second", "new interesting", "failures")]
    for t in sorted(targets, key=lambda t: (t.folder, t.name)):
        rows.append((f"{t.folder} {t.name}", f"{t.executions:,}", f"{t.executions / max(t.seconds, 1):,.0f}", str(t.interesting), str(t.crashes)))
    executions, seconds = sum(t.executions for t in targets), sum(t.seconds for t in targets)
    rows.append(("all", f"{executions:,}", f"{executions / max(seconds, 1):,.0f}", str(sum(t.interesting for t in targets)), str(sum(t.crashes for t in targets))))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [" ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, len(row)))]) for row in rows]
    lines.append(f"{time.time() - began:.0f} s, {asked.jobs} jobs, {seconds / 3600:.2f} core hours, {time.strftime('%Y-%m-%d', time.gmtime())}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="found", help="folder for the findings")
    parser.add_argument("--keep", help="a checkout whose testdata gets the failing inputs")
    parser.add_argument("--target", action="append", default=[], help="only this target, PACKAGE.NAME; may be repeated")
    parser.add_argument("seconds", type=int)
    parser.add_argument("jobs", type=int)
    asked = parser.parse_args()
    asked.out = os.path.abspath(asked.out)
    asked.keep = asked.keep and os.path.abspath(asked.keep)
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    if not os.path.exists("targets"):
        os.chdir("../build/fuzz")
    with open("targets") as file:
        targets = [Target(*line.split()) for line in file] + [Target("cmd/proton", "TestMutations")]
    targets = [t for t in targets if not asked.target or f"{t.folder}.{t.name}" in asked.target]
    cache = f"{asked.out}/cache"
    if os.path.isdir("found/cache") and os.path.abspath("found/cache") != cache:
        shutil.copytree("found/cache", cache, dirs_exist_ok=True)
    os.makedirs(cache, exist_ok=True)
    began, lock = time.time(), threading.Lock()
    # At least two slices of each target, so that each runs early.
    share = max(min(asked.seconds * asked.jobs // (2 * len(targets)), LONGEST_SLICE), 1)
    jobs = [threading.Thread(target=rotate, args=(targets, lock, began + asked.seconds, share, asked)) for _ in range(asked.jobs)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    with tarfile.open(f"{asked.out}/cache.tar.gz", "w:gz") as packed:
        packed.add(cache, "cache")
    text = table(targets, asked, began)
    with open(f"{asked.out}/table.txt", "w") as file:
        file.write(text)
    print(text, end="")
    sys.exit(any(t.crashes for t in targets))


if __name__ == "__main__":
    main()
