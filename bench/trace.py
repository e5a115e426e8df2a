"""Time of `proton trace parse` compared with tritonparse 0.6.0, on the same trace, in one run.

    python3 bench/trace.py [--proton build/proton] [--peer .venv/bin/python] [--rounds 3] [--cores 0,1] [--keep FOLDER] [COPIES ...]
    python3 bench/trace.py --kernels 20000 --compiled 2000 [COPIES ...]
    python3 bench/trace.py --numbers 2000000

The trace is the complex sample of tritonparse's own tests, repeated COPIES times, each copy with its own hashes, times and
script name; 25 copies, the default, are 191 MB, 125 compilations and 38,925 launches. --vary also gives every launch
different addresses, like a program that allocates. --integers gives 30 % of the launches' integers a random value, and
--sites one line of each launch's stack one of 9,999 numbers, in one script, like a program with very many call sites; most
of these are sites of the autotuner.

With --kernels the trace is that of a program with this many compilations, which launches all of them in turn COPIES times,
5 by default, as training steps do. Each has its own hash, name, function handle, script and addresses. --compiled limits
the number of kernels with a compilation record. 20,000 kernels, 2,000 of them with a record, are 521 MB.

With --numbers the trace has this many launches, each with a different number, such as a seed or a step. They alternate
between a kernel whose work does not depend on the number, one whose loops do, and one that an autotuner launches.

Each cell is the median over rounds of a process's wall time and of its processor time, and its peak resident memory as the
system counts it (wait4). Both sides run with their defaults on the same cores; tritonparse runs --peer-rounds times, and
not at all above --peer-limit copies. With --check the events of both are compared: hashes, sessions, differences and, with
--compat, maps. tools/oracles.sh downloads tritonparse and Triton, whose FileCheck tritonparse uses. The machine should be
otherwise idle.
"""
import argparse, glob, gzip, json, os, random, re, shutil, statistics, subprocess, sys, tempfile

from viewer import ROOT, machine, measure, megabytes

PREFIX = "dedicated_log_triton_trace_"
SAMPLE = os.path.join(ROOT, "tritonparse/testdata", PREFIX + "complex_.ndjson.gz")
HASHES = [b"72d67842", b"e3f91167", b"e648e0ca", b"707cff48", b"b04777ad"]  # how the five hashes of the sample begin
SCRIPT = b"test_complex_kernels.py"
NAMES = [b"matmul_kernel", b"fused_op_kernel"]
CALLS = [129, 155]  # lines of SCRIPT that call them
ADDRESS = re.compile(rb'"data_ptr":"0x([0-9a-f]+)"')
INTEGER = re.compile(rb'"type":"int","value":[0-9]+')
SITE = re.compile(rb'"line":[0-9]+,"name":"test_complex_kernels"')
PEER = """
import sys
sys.path.insert(0, sys.argv[1])
from tritonparse.parse.utils import unified_parse
unified_parse(sys.argv[2], out=sys.argv[3], overwrite=True)
"""


def write(path, copies, vary, integers, sites):
    """Writes copies of the sample."""
    with gzip.open(SAMPLE) as f:
        text = f.read()
    launch, chance = 0, random.Random(1)

    def move(found):
        return b'"data_ptr":"0x%x"' % (int(found[1], 16) + launch * 4096)

    def integer(found):
        return found[0] if chance.random() > 0.3 else b'"type":"int","value":%d' % chance.randrange(1, 1 << 20)

    def site(found):
        return b'"line":%d,"name":"test_complex_kernels"' % chance.randrange(1, 10000)

    with open(path, "wb") as out:
        for i in range(copies):
            copy = text
            for h in HASHES:
                copy = copy.replace(h, b"%04x" % i + h[4:])
            copy = copy.replace(b"T01:15:", b"T%02d:%02d:" % (i // 60 % 24, i % 60))
            if not sites:
                copy = copy.replace(SCRIPT, b"test_complex_%04d.py" % i)
            for line in copy.splitlines(keepends=True):
                launch += 1
                for wanted, pattern, other in (vary, ADDRESS, move), (integers, INTEGER, integer), (sites, SITE, site):
                    if wanted and b'"launch"' in line[:40]:
                        line = pattern.sub(other, line)
                out.write(line)


def write_kernels(path, kernels, compiled, rounds, vary):
    """Writes a trace of many kernels, each launched once per round."""
    with gzip.open(SAMPLE) as f:
        lines = f.read().splitlines(keepends=True)
    compilations = [next(x for x in lines if b'"compilation"' in x[:40] and h in x) for h in HASHES]
    launches = [next(x for x in lines if b'"launch"' in x[:40] and h in x and b'"_bench"' not in x) for h in HASHES]

    def own(record, kernel, moved):
        """A record of the sample with the kernel's names."""
        h = HASHES[kernel % len(HASHES)]
        record = record.replace(h, b"%08x" % (kernel * 2654435761 % 2**32)).replace(SCRIPT, b"model_%05d.py" % (kernel // 50))
        for name in NAMES:
            record = record.replace(name, name + b"_%05d" % kernel)
        for line in CALLS:
            record = record.replace(b'"line":%d,' % line, b'"line":%d,' % (line + kernel % 50))
        record = record.replace(b'"function":null', b'"function":%d' % (94000000000000 + 4096 * kernel), 1)
        return ADDRESS.sub(lambda found: b'"data_ptr":"0x%x"' % (int(found[1], 16) + 4096 * moved), record)

    stamp = re.compile(rb'T01:15:[0-9.]+')
    with open(path, "wb") as out:
        for step in range(rounds):
            for kernel in range(kernels):
                sample = kernel % len(HASHES)
                if step == 0 and kernel < compiled:
                    out.write(own(compilations[sample], kernel, 0))
                launch = own(launches[sample], kernel, step * kernels + kernel if vary else kernel)
                out.write(stamp.sub(b"T01:%02d:%02d.%06d" % (step % 60, kernel // 1000 % 60, kernel), launch))


def write_numbers(path, launches):
    """Writes a trace in which each launch has a different number as an argument."""
    with gzip.open(SAMPLE) as f:
        lines = f.read().splitlines(keepends=True)
    first = {h: next(x for x in lines if b'"launch"' in x[:40] and h in x and b'"_bench"' not in x) for h in HASHES}
    plain, tuned = first[b"707cff48"], first[b"e3f91167"]
    looped = tuned.replace(b"e3f91167", b"72d67842").replace(b"triton/runtime/autotuner.py", b"triton/runtime/launcher.py").replace(b'"function":9', b'"function":1')
    seed, k = b'"BLOCK_SIZE', b'"K":{"type":"int","value":16'
    with open(path, "wb") as out:
        out.writelines(x for x in lines if b'"compilation"' in x[:40])
        for i in range(launches):
            if i % 3 == 1:
                out.write(looped.replace(k, b'"K":{"type":"int","value":%d' % (16 * i)))
            else:
                out.write((tuned if i % 3 else plain).replace(seed, b'"seed":{"type":"int","value":%d},%s' % (i, seed), 1))


def repeat(rounds, command, environment):
    """Runs a command whose last argument is its output folder; returns medians of wall and processor time, and peak memory."""
    runs = []
    for _ in range(rounds):
        shutil.rmtree(command[-1], ignore_errors=True)
        before = os.times()
        wall, memory = measure(command, environment)
        after = os.times()
        runs.append((wall, after.children_user + after.children_system - before.children_user - before.children_system, memory))
    walls, processors, memories = zip(*runs)
    return statistics.median(walls), statistics.median(processors), max(memories)


def events(folder):
    """Yields the events of a parsed trace."""
    for path in sorted(glob.glob(os.path.join(folder, "*.gz"))):
        with gzip.open(path) as f:
            for line in f:
                event = json.loads(line)
                if event["event_type"] == "ir_analysis":
                    event["ir_analysis"].pop("procedure_checks", None)  # FileCheck's messages, with names of temporary files
                yield event


def compare(ours, theirs):
    """Counts the events that are equal; ends the program at the first that is not."""
    counts = {}
    a, b = events(ours), events(theirs)
    while True:
        x, y = next(a, None), next(b, None)
        if x != y:
            sys.exit(f"the events differ:\n{json.dumps(x)[:2000]}\n{json.dumps(y)[:2000]}")
        if x is None:
            return counts
        counts[x["event_type"]] = counts.get(x["event_type"], 0) + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("copies", metavar="COPIES", nargs="*", type=int)
    parser.add_argument("--proton", default=os.path.join(ROOT, "build/proton"))
    parser.add_argument("--peer", default=os.path.join(ROOT, ".venv/bin/python"), help="interpreter for tritonparse")
    parser.add_argument("--oracle", default=os.path.join(ROOT, ".venv/oracles/tritonparse-0.6.0"))
    parser.add_argument("--triton", default=os.path.join(ROOT, ".venv/oracles/triton-3.6.0"), help="wheel with the FileCheck for tritonparse")
    parser.add_argument("--peer-limit", type=int, default=50, help="run tritonparse for at most this many copies")
    parser.add_argument("--peer-rounds", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", default="0,1")
    parser.add_argument("--vary", action="store_true")
    parser.add_argument("--integers", action="store_true")
    parser.add_argument("--sites", action="store_true")
    parser.add_argument("--kernels", type=int, help="write a trace of this many kernels, each launched COPIES times")
    parser.add_argument("--compiled", type=int, help="number of these kernels that have a compilation record")
    parser.add_argument("--numbers", type=int, metavar="LAUNCHES", help="write a trace of this many launches, each with a different number")
    parser.add_argument("--check", action="store_true", help="compare both outputs")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the traces in this folder, and reuse existing ones")
    o = parser.parse_args()
    os.sched_setaffinity(0, {int(c) for c in o.cores.split(",")})
    folder = o.keep or tempfile.mkdtemp(prefix="bench-trace-")
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", TRITONPARSE_ANALYSIS="all")
    filecheck = os.path.join(o.triton, "triton/FileCheck")
    if os.path.exists(filecheck):
        environment["FILECHECK_PATH"] = filecheck
    there = os.path.exists(o.peer) and os.path.isdir(o.oracle)
    if not there:
        print(f"no {o.peer} or no {o.oracle}: only proton is measured; run tools/oracles.sh", file=sys.stderr)
    try:
        print(machine())
        print("| trace | proton trace parse | tritonparse 0.6.0 | wall | processor | memory | written |\n|---|---|---|---|---|---|---|")
        for copies in o.copies or [5 if o.kernels else 1 if o.numbers else 25]:
            compiled = o.kernels if o.compiled is None else o.compiled
            many = f"-{o.kernels}-{compiled}" if o.kernels else f"-{o.numbers}" if o.numbers else ""
            raw = os.path.join(folder, f"{'varied' if o.vary else 'same'}{'-integers' * o.integers}{'-sites' * o.sites}{many}-{copies}")
            file = os.path.join(raw, PREFIX + "big_.ndjson")
            if not os.path.exists(file):
                os.makedirs(raw, exist_ok=True)
                if o.kernels:
                    write_kernels(file, o.kernels, compiled, copies, o.vary)
                elif o.numbers:
                    write_numbers(file, o.numbers)
                else:
                    write(file, copies, o.vary, o.integers, o.sites)
            row(o, raw, file, environment, there and copies <= o.peer_limit)
    finally:
        if not o.keep:
            shutil.rmtree(folder)


def row(o, raw, file, environment, both):
    outputs = tempfile.mkdtemp(prefix="bench-trace-out-")
    try:
        ours, theirs = os.path.join(outputs, "ours"), os.path.join(outputs, "theirs")
        wall, processor, memory = repeat(o.rounds, [o.proton, "trace", "parse", raw, "-o", ours], environment)
        cells = [megabytes(os.path.getsize(file)), f"{wall:.2f} s, {processor:.2f} s, {megabytes(memory)}", "not run", "", "", "", megabytes(size(ours))]
        if both:
            their_wall, their_processor, their_memory = repeat(o.peer_rounds, [o.peer, "-c", PEER, o.oracle, raw, theirs], environment)
            cells[2:] = [f"{their_wall:.1f} s, {their_processor:.1f} s, {megabytes(their_memory)}", f"1 : {their_wall / wall:.1f}",
                         f"1 : {their_processor / processor:.1f}", f"1 : {their_memory / memory:.1f}", f"{megabytes(size(ours))}, theirs {megabytes(size(theirs))}"]
        print("| " + " | ".join(cells) + " |", flush=True)
        if both and o.check:
            subprocess.run([o.proton, "trace", "parse", raw, "-o", ours, "--force", "--compat", "tritonparse"], check=True, stdout=subprocess.DEVNULL)
            print(f"equal events: {compare(ours, theirs)}", flush=True)
    finally:
        shutil.rmtree(outputs)


def size(folder):
    return sum(os.path.getsize(f) for f in glob.glob(os.path.join(folder, "*")))


if __name__ == "__main__":
    main()
