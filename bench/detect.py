#!/usr/bin/env python3
"""What proton reproduce --detect 1% finds on this machine's GPU: a kernel next to itself, and next to itself with 1 % more rounds,
alone and with another process that uses the GPU in bursts.

    bench/detect.py [--seconds 90] [--proton build/proton]

It needs torch and Triton, ends within the seconds that are given, and prints a table: what the change is by construction, what was found, and in how many
seconds of measuring. Pairs are repeated in turn as long as there is time for one more.
"""
import argparse
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROUNDS = 40_000
PROGRAM = """
import sys, torch, triton, triton.language as tl

@triton.jit
def rounds_kernel(x_ptr, rounds, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    for _ in range(rounds):
        x = x * 0.999 + 0.5
    tl.store(x_ptr + at, x)

x = torch.ones(528 * 1024, device="cuda")
rounds_kernel[(528,)](x, int(sys.argv[1]), BLOCK=1024)
torch.cuda.synchronize()
"""
PAIRS = {"slower": ROUNDS * 101 // 100, "equal": ROUNDS}  # multiples of 16, so that both are compiled the same way
TURNS = [("slower", False), ("equal", False), ("slower", True), ("equal", True)]  # and whether another process is there
NEIGHBOUR = """
import random, time, torch

x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
print("begun", flush=True)
while True:
    for _ in range(random.randrange(1, 20)):
        x @ x
    torch.cuda.synchronize()
    time.sleep(random.random() * 0.05)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--proton", default=str(pathlib.Path(__file__).resolve().parent.parent / "build/proton"))
    options = parser.parse_args()
    end, longest, seen = time.monotonic() + options.seconds, 0, []
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "rounds.py")
        program.write_text(PROGRAM)
        record(options.proton, folder, program, {"base": ROUNDS, **PAIRS})
        while True:
            name, shared = TURNS[len(seen) % len(TURNS)]
            began = time.monotonic()
            if began + 1.2 * longest > end - 2:
                break
            limit = max(5, min(30, end - began - 25))
            try:
                with neighbour() if shared else contextlib.nullcontext():
                    seen.append((name, shared, detect(options.proton, folder, name, limit, end - time.monotonic())))
            except subprocess.TimeoutExpired:
                break
            longest = max(longest, time.monotonic() - began)
    table(seen)


def record(proton, folder, program, sides):
    running = [subprocess.Popen([proton, "run", "--python", sys.executable, "--name", f"{folder}/{name}", "--trace", f"{folder}/{name}", program, str(rounds)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for name, rounds in sides.items()]
    for each in running:
        said = each.communicate()[1]
        if each.returncode:
            sys.exit(f"detect: the kernel was not recorded:\n{said}")


@contextlib.contextmanager
def neighbour():
    with subprocess.Popen([sys.executable, "-c", NEIGHBOUR], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def detect(proton, folder, name, seconds, patience):
    command = [proton, "reproduce", f"{folder}/base", "--compare", f"{folder}/{name}", "--detect", "1%", "--seconds", f"{seconds:.0f}", "--json",
               "--python", sys.executable, "-o", f"{folder}/scripts"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=max(patience, 10))
    if done.returncode not in (0, 1, 3) or not done.stdout:
        sys.exit(f"detect: {done.stderr}")
    return json.loads(done.stdout)


def table(seen):
    if not seen:
        sys.exit("detect: no pair was measured in this time; give more --seconds")
    a = seen[0][2]["a"]["Runs"][0]
    print(f"{a['device']}, torch {a['torch']}, Triton {a['triton']}; {a['kernel']} of {a['median_ms'] * 1e3:.1f} us ({a['method']})")
    print(f"{'change':>7} {'GPU':<6} {'found':>8}  {'95 % range':<18} {'p':>7}  {'outcome':<11} {'blocks':>6} {'warm-up':>7} {'s':>5}  SM MHz      throttled")
    for name, shared, d in seen:
        low, high = (100 * share for share in d["change_95"])
        clocks = "-".join(map(str, d.get("sm_mhz", ["unknown"])))
        print(f"{name:>7} {'shared' if shared else 'alone':<6} {100 * d['change']:>+7.2f}%  {f'{low:+.2f}% to {high:+.2f}%':<18} {d['p_slower']:>7.4f}  {d['outcome']:<11} {len(d['blocks']):>6} {d['warm_up_blocks']:>7} "
              f"{d['seconds']:>5.1f}  {clocks:<11} {d['throttled_batches']}")


if __name__ == "__main__":
    main()
