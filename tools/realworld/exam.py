"""Runs every command of proton that reads profiles over every file of folders, and compares what it says with sums that are
made without it. Prints one line for each file, then what differs. The exit code is 1 if anything does."""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from pathlib import Path

import files
import stacks
from stacks import Missing
from timeline import Trace

WIDTH = 100
ROOT = Path(__file__).resolve().parents[2]
FORMATS = ["hatchet_msgpack", "pprof", "collapsed", "speedscope.json", "chrome_trace", "perfetto"]
COLUMNS = ("read", "totals", "parents", "trips", "idle", "others")
READS = {"chrome", "perfetto", "hatchet", "msgpack", "pprof", "speedscope", "folded", "tritonparse"}


RUNNER = """
import json, os, sys, threading
for line in sys.stdin:
    args, out, err, limit = json.loads(line)
    pid = os.posix_spawnp(args[0], args, {**os.environ, "PAGER": "cat", "COLUMNS": "100"}, file_actions=[
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", 0, 0), (os.POSIX_SPAWN_OPEN, 1, out, 577, 384), (os.POSIX_SPAWN_OPEN, 2, err, 577, 384)])
    late = threading.Timer(limit, os.kill, (pid, 9))
    late.start()
    _, status, usage = os.wait4(pid, 0)
    late.cancel()
    print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024]), flush=True)
"""


class Run:
    """What a command answered, and what it took. A small process starts it: the memory of the one that forks counts for the child."""

    runner = None

    def __init__(self, args, folder, limit=300):
        if not Run.runner:
            Run.runner = subprocess.Popen([sys.executable, "-S", "-c", RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        out, err, began = folder / "stdout", folder / "stderr", time.time()
        Run.runner.stdin.write(json.dumps([[str(a) for a in args], str(out), str(err), limit]) + "\n")
        Run.runner.stdin.flush()
        self.code, self.memory = json.loads(Run.runner.stdout.readline())
        self.seconds, self.out, self.err = time.time() - began, out.read_bytes(), err.read_text("utf-8", "replace").strip()


class Exam:
    """Of one file. Columns of its line are "ok", "DIFF" or "-" for what does not apply."""

    def __init__(self, proton, path, folder, processor, quick):
        self.quick, self.proton, self.path, self.folder, self.processor = quick, proton, str(path), Path(folder), processor
        self.found, self.column = [], {}
        self.memory = self.seconds = 0
        self.raw = Path(path).read_bytes()
        self.data = files.unpack(self.raw)
        self.kind, self.content = files.recognise(self.data)
        self.refused = None

    def run(self, *args, may=(0,)):
        r = Run([self.proton, *args], self.folder)
        self.memory, self.seconds = max(self.memory, r.memory), self.seconds + r.seconds
        if r.code not in may and not (r.code == 1 and r.err.startswith("proton: ")) or "goroutine " in r.err:
            self.say("others", f"proton {' '.join(str(a) for a in args[:4])} ended with {r.code}: {(r.err or 'nothing on stderr')[:300]}")
        return r

    def say(self, column, sentence):
        self.column[column] = "DIFF"
        self.found.append(f"{column}: {sentence}")

    def take(self):
        if self.kind == "tritonparse":
            return self.tritonparse()
        tree = self.convert(self.path, "hatchet")
        if tree is None:
            return
        self.column["read"] = "ok"
        documents = files.documents(tree.read_text("utf-8"))
        self.mine = stacks.tree(documents)
        self.own_cpu = stacks.own_cpu(documents)
        self.compare()
        self.idle()
        if not self.quick:
            self.trips()
            self.commands()

    def convert(self, source, name, column="read"):
        out = self.folder / f"{column}.{name}"
        r = self.run("convert", source, "-o", out, "--force")
        self.lost = r.err
        if r.code == 0:
            return out
        if column == "read":
            self.refused = r.err
        return None

    # What the file says, without proton.

    def theirs(self):
        if self.kind == "chrome":
            self.trace = Trace(self.content)
            return self.trace.sums()
        if self.kind == "hatchet":
            return stacks.tree([self.content[0][0]])
        if self.kind == "speedscope":
            return stacks.speedscope(self.content[0])
        if self.kind == "folded":
            return stacks.folded(self.data)
        if self.kind in ("perfetto", "bad chrome"):
            return self.processor.sums(self.unpacked())
        if self.kind == "pprof":
            return stacks.pprof(self.unpacked())
        return None

    def unpacked(self):
        path = self.folder / "unpacked"
        path.write_bytes(self.data)
        return str(path)

    def compare(self):
        try:
            theirs = self.theirs()
        except Missing:
            return
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, ArithmeticError) as e:
            return self.found.append(f"no second reading: {type(e).__name__}: {str(e)[:200]}")
        if theirs is None:
            return
        self.column["totals"] = "ok"
        mine = {m: c for m, c in self.mine.items() if not m.startswith(("device_", "sync_count")) and (m != "bytes" or self.kind != "perfetto")}
        theirs = {m: c for m, c in theirs.items() if not m.endswith("(inc)")}  # of hatchet: sums over what is below, too
        if self.kind == "pprof":  # go tool pprof says the sums of sample types
            mine = {m.split(" (")[0]: Counter({("", "total"): sum(c.values())}) for m, c in mine.items()}
            mine = {m: mine.get(m, Counter()) for m in theirs}  # others are labels
        for metric in sorted(set(mine) | set(theirs)):
            a, b = by_name(mine.get(metric, {})), by_name(theirs.get(metric, {}))
            for name in getattr(self.processor, "unended", ()):  # trace_processor gives them no end
                a.pop(name, None), b.pop(name, None)
            self.same("totals", metric, a, b)
        if self.kind in ("pprof", "perfetto", "bad chrome"):
            return
        self.column["parents"] = "ok"
        unsure = getattr(getattr(self, "trace", None), "unsure", ())
        for metric in sorted(set(mine) & set(theirs)):
            self.same("parents", metric, *({k: v for k, v in sums[metric].items() if k[1] not in unsure} for sums in (mine, theirs)))

    def same(self, column, metric, mine, theirs, what="the file has"):
        for key in list(mine.keys() | theirs.keys()):
            a, b = mine.get(key, 0), theirs.get(key, 0)
            if abs(float(a) - float(b)) > 1e-9 * abs(float(b)) and abs(a - b) >= 1:
                bad = sum(abs(float(mine.get(k, 0)) - float(theirs.get(k, 0))) > 0.5 for k in mine.keys() | theirs.keys())
                name = " > ".join(key) if isinstance(key, tuple) else key
                return self.say(column, f"{metric} of {name[:120]} is {a}, {what} {b} ({bad} of {len(mine.keys() | theirs.keys())} frames differ)")

    # Idle time.

    def idle(self):
        if self.kind not in ("chrome", "perfetto"):
            return
        r = self.run("viewer", "--idle", "--json", self.path)
        if r.code != 0 or self.kind != "chrome" or not hasattr(self, "trace"):
            return
        self.column["idle"] = "ok"
        mine, theirs = sorted(d["busy_ns"] for d in json.loads(r.out)["devices"]), self.trace.busy()
        if mine != theirs:
            self.say("idle", f"busy times of GPUs are {mine[:8]}, the union of their work is {theirs[:8]}")

    # There and back again.

    def trips(self):
        self.column["trips"] = "ok"
        for name in FORMATS:
            out = self.convert(self.path, name, "trip")
            lost = self.lost
            if out is None:
                if name not in ("chrome_trace", "perfetto") or self.kind in ("chrome", "perfetto"):
                    self.say("trips", f"convert refuses to write {name}")
                continue
            back = self.convert(out, "hatchet", "back")
            if back is None:
                self.say("trips", f"proton does not read the {name} that it wrote")
                continue
            self.lost = lost
            self.returned(name, stacks.tree(files.documents(back.read_text("utf-8"))))
            try:
                self.elsewhere(name, str(out))
            except Missing:
                pass
            except (ValueError, KeyError) as e:
                self.say("trips", f"{name}: {e}")

    def returned(self, name, back):
        for metric, sums in self.mine.items():
            if name == "collapsed" or name == "speedscope.json" and metric not in ("time (ns)", "count"):
                continue
            if metric == "cpu_time (ns)" and "values of cpu_time below" in self.lost:
                continue  # convert says that stacks cannot hold them
            if name in ("chrome_trace", "perfetto") and self.kind not in ("chrome", "perfetto"):
                continue
            if name in ("pprof", "speedscope.json"):  # frames have other names: file:line@function
                self.same("trips", f"{metric} by way of {name}", total(back.get(metric, {})), total(sums), "before it was")
            else:
                self.same("trips", f"{metric} by way of {name}", back.get(metric, {}), sums, "before it was")

    def elsewhere(self, name, path):
        """Another program reads what was written."""
        time_ = sum(self.mine.get("time (ns)", {}).values())
        cpu = sum(self.mine.get("cpu_time (ns)", {}).values())
        if name == "pprof":
            sums = stacks.pprof(path)
            for metric, total_ in (("time", time_), ("cpu_time", self.own_cpu)):
                if metric == "cpu_time" and "values of cpu_time below" in self.lost:
                    continue
                if metric in sums and sum(sums[metric].values()) != total_ and total_ < 2**53:
                    self.say("trips", f"go tool pprof finds {metric} {sum(sums[metric].values())} in our file, not {total_}")
        elif name == "collapsed":
            lines = Path(path).read_text("utf-8", "surrogateescape").split("\n")
            written = sum(int(l.rsplit(" ", 1)[1]) for l in lines if l)
            if time_ and written != time_ and all(v >= 0 and v == int(v) for v in self.mine["time (ns)"].values()):
                self.say("trips", f"our folded stacks add up to {written}, not {time_}")
        elif name in ("chrome_trace", "perfetto"):
            _, lost = self.processor.slices(path)
            gpu = Trace(files.documents(Path(path).read_text("utf-8"))).sums() if name == "chrome_trace" else self.processor.sums(path, ours=True)
            for metric, total_ in (("time (ns)", time_), ("cpu_time (ns)", cpu)):
                if sum(gpu.get(metric, {}).values()) != total_:
                    self.say("trips", f"{metric} in our {name} is {sum(gpu.get(metric, {}).values())}, not {total_}")
            if lost:
                self.say("trips", f"trace_processor on our {name}: {lost[:3]}")

    # The other commands end as they should.

    def commands(self):
        self.column.setdefault("others", "ok")
        f, page = self.path, self.folder / "page.html"
        sums = [m for m in self.mine if not m.startswith("device_")]
        metric = next((m for m in ("time (ns)", *sums) if any(self.mine.get(m, {}).values())), None)
        for args in (["viewer", f], ["viewer", "--flat", f], ["viewer", "--top", "5", f], ["viewer", "--bottom-up", f], ["viewer", "--view", "csv", f],
                     ["viewer", "-l", f], ["pprof", "-top", f], ["query", "-m", metric or "time", f], ["report", f, "-o", page, "--force"]):
            r = self.run(*args)
            if r.code != 0 and metric and not self.quiet(r.err):
                self.say("others", f"proton {args[0]} {args[1] if args[1] != f else ''}: {r.err[:200]}")
        r = self.run("diff", "-t", "0", "--view", "json", f, f)
        if r.code == 0 and any(c for row in json.loads(r.out)["rows"] for list_ in row["change"] for c in list_):
            self.say("others", "diff finds that the file differs from itself")
        if self.run("gate", "--baseline", f, "--", f, may=(0, 3)).code not in (0, 3):
            self.say("others", "gate finds that the file is slower than itself")
        twice = self.folder / "twice.hatchet"
        r = self.run("merge", f, f, "-o", twice, "--force")
        if r.code == 0:
            merged = stacks.tree(files.documents(twice.read_text("utf-8")))
            for metric in ("time (ns)", "count"):
                self.same("others", f"{metric} of merge", total(merged.get(metric, {})), Counter({k: 2 * v for k, v in total(self.mine.get(metric, {})).items()}), "twice it is")

    @staticmethod
    def quiet(err):
        """Refusals that are right: the profile has nothing of what was asked for."""
        return re.search(r"no metric|has no |have no |nothing to|no samples|no (value|time)|not have", err)

    def tritonparse(self):
        r = self.run("trace", "info", "--json", self.path)
        if r.code != 0:
            self.refused = r.err
            return
        self.column["read"] = self.column["totals"] = self.column["others"] = "ok"
        mine, counts = json.loads(r.out), Counter(d["event_type"] for d in self.content)
        if dict(counts) != mine["records"]:
            self.say("totals", f"records are {mine['records']}, the file has {dict(counts)}")
        theirs = Counter()
        for d in self.content:
            payload = d.get("payload", d)
            if d["event_type"] == "compilation":
                theirs[(payload.get("metadata") or {}).get("name")] += 1
        kernels = {k["name"]: k["compilations"] for k in mine["kernels"] if k["compilations"]}
        if kernels != dict(theirs):
            self.say("totals", f"compilations are {kernels}, the file has {dict(theirs)}")
        for args in (["cat"], ["info", "--compilations"], ["info", "--kinds"], ["validate"]):
            self.run("trace", *args, self.path, may=(0, 1))

    def line(self):
        cells = [self.column.get(c, "-") for c in COLUMNS]
        return f"{self.kind:11s}" + "".join(f"{c:>8s}" for c in cells) + f"{self.memory / 1e6:6.0f}M{self.seconds:6.1f}s"


def by_name(sums):
    names = Counter()
    for (_, name), value in sums.items():
        names[name] += value
    return names


def total(sums):
    return Counter({"all": sum(sums.values())})


def examine(args):
    proton, path, quick = args
    with tempfile.TemporaryDirectory(prefix="realworld.") as folder:
        exam = Exam(proton, path, folder, stacks.Processor(ROOT), quick)
        try:
            exam.take()
        except RecursionError:
            exam.found.append("nested deeper than Python reads: not compared further")
        for large in ("raw", "data", "content", "trace", "mine"):
            exam.__dict__.pop(large, None)
        return exam


def wrapped(text, indent="    "):
    return "\n".join(textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_long_words=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--proton", default=ROOT / "build/proton")
    parser.add_argument("--strict", action="store_true", help="a profile that is refused is a failure")
    parser.add_argument("--quick", action="store_true", help="reads and compares, without conversions and other commands")
    parser.add_argument("-j", type=int, default=2)
    args = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")
    paths = [(f, p) for f in args.folders for p in ([f] if f.is_file() else sorted(f.rglob("*"))) if p.is_file()]
    print(f"{'file':27s}{'kind':11s}" + "".join(f"{c:>8s}" for c in COLUMNS) + f"{'RSS':>7s}{'time':>7s}")
    count, refused, differing = Counter(), Counter(), 0
    with concurrent.futures.ProcessPoolExecutor(args.j) as pool:
        for (folder, path), exam in zip(paths, pool.map(examine, [(args.proton, p, args.quick) for _, p in paths])):
            name = str(path.relative_to(folder)) if path != folder else path.name
            ours = exam.kind in READS
            count["profiles" if ours else "other files"] += 1
            if exam.refused is not None and not ours:
                refused[exam.kind] += 1
                if exam.kind not in ("bad chrome", "TOO DEEP"):
                    continue
            print(f"{name if len(name) < 27 else '…' + name[-25:]:27s}" + exam.line())
            if exam.refused is not None:
                count["profiles refused"] += ours
                print(wrapped("refused: " + exam.refused.replace(str(path), "FILE").replace("proton: ", "")))
            elif not ours:
                count["other files read"] += 1
            for sentence in exam.found:
                print(wrapped(sentence.replace(str(path), "FILE")))
            differing += "DIFF" in exam.column.values()
            sys.stdout.flush()
    if not stacks.Processor(ROOT).there:
        print(wrapped("trace_processor or node is not there (tools/oracles.sh says why): what it reads was not compared", ""))
    for kind, n in sorted(refused.items()):
        count[f"refused, {kind}"] = n
    print(wrapped(", ".join(f"{n} {what}" for what, n in count.items()) + f"; {differing} files differ", ""))
    sys.exit(1 if differing or args.strict and count["profiles refused"] else 0)


if __name__ == "__main__":
    main()
