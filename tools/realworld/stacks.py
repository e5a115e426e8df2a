"""Sums of files whose call paths are written out: trees, stacks, and what Perfetto's trace_processor and pprof say of theirs.

All functions return: metric -> (frame above, frame) -> sum of what the frame has itself."""
import json
import os
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from decimal import Decimal

from timeline import kind_of


def tree(documents):
    """A .hatchet file, as proton convert writes it. Roots beyond the first are below none, either."""
    sums = defaultdict(Counter)
    nodes = documents[0] if isinstance(documents[0], list) else [documents[0]]
    pending = [("", n) for n in nodes if isinstance(n, dict) and "frame" in n]
    while pending:
        above, node = pending.pop()
        name = node["frame"].get("name", "")
        for metric, value in node.get("metrics", {}).items():
            if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) and value == value:
                sums[metric][above, name] += value
        pending += [(name, child) for child in node.get("children", [])]
    return sums


def own_cpu(documents):
    """The cpu_time of a tree that its scopes have of their own: files of stacks have this."""
    total, pending = 0, [documents[0][0]]
    while pending:
        node = pending.pop()
        of = lambda n: n["metrics"].get("cpu_time (ns)", 0)
        total += max(of(node) - within(node, of), 0) if "cpu_time (ns)" in node["metrics"] else 0
        pending += node["children"]
    return total


def within(node, of):
    total, pending = 0, list(node["children"])
    while pending:
        child = pending.pop()
        if of(child):
            total += of(child)
        else:
            pending += child["children"]
    return total


def folded(data):
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
    lines = [l.rsplit(" ", 1) for l in text.split("\n") if l.strip() and not l.startswith("#")]
    stacks = [(l[0].split(";"), Decimal(l[1].strip())) for l in lines]
    root = {s[0][0] for s in stacks}
    sums = Counter()
    for stack, value in stacks:
        full = stack if len(root) == 1 else ["ROOT"] + stack
        sums["" if len(full) == 1 else full[-2], full[-1]] += value
    return {"samples": sums}


UNITS = {"nanoseconds": 1, "microseconds": 1000, "milliseconds": 10**6, "seconds": 10**9}


def speedscope(document):
    """Sums of all profiles: samples by weight, events by the time for which a frame was the innermost one."""
    frames = [f"{f['file']}:{f['line']}@{f['name']}" if f.get("file") and f.get("line", 0) > 0 else f["name"] for f in document["shared"]["frames"]]
    sums, profiles = defaultdict(Counter), document["profiles"]
    for p in profiles:
        scale = UNITS.get(p["unit"])
        metric = "time (ns)" if scale else "bytes" if p["unit"] == "bytes" else "samples"
        top = ["ROOT"] if len(profiles) == 1 else ["ROOT", p["name"]]
        for stack, weight in sampled(p) if p["type"] == "sampled" else evented(p):
            full = top + [frames[f] for f in stack]
            sums[metric][full[-2] if len(full) > 1 else "", full[-1]] += weight * (scale or 1)
    return sums


def sampled(profile):
    return zip(profile["samples"], profile.get("weights") or [1] * len(profile["samples"]))


def evented(profile):
    stack, last = [], None
    for e in profile["events"]:
        if stack and e["at"] != last:
            yield list(stack), e["at"] - last
        last = e["at"]
        stack.append(e["frame"]) if e["type"] == "O" else stack.pop()


def pprof(path):
    """What go tool pprof -raw prints, by function: the sums of each sample type."""
    out = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-raw", path], capture_output=True, text=True, errors="replace")
    if out.returncode != 0:
        raise ValueError(out.stderr.strip().splitlines()[-1] if out.stderr else "go tool pprof refuses it")
    head, _, rest = out.stdout.partition("\nSamples:\n")
    samples, _, locations = rest.partition("\nLocations\n")
    lines = samples.splitlines()
    types = re.findall(r"(\S.*?)/\S+(?: |$)", lines[0])  # the default one ends in [dflt]
    sums = {t: Counter() for t in types}
    for line in lines[1:]:
        m = re.match(r"((?:\s*-?\d+)+): ([\d ]*)$", line)
        if m:
            for t, value in zip(types, m.group(1).split()):
                sums[t]["", "total"] += int(value)
    return sums


class Missing(Exception):
    """A program to compare with is not on this machine."""


class Processor:
    """Perfetto's trace_processor."""

    def __init__(self, root):
        self.root = root
        self.there = os.path.exists(f"{root}/.venv/oracles/trace-processor") and shutil.which("node") is not None

    def ask(self, path, *queries):
        if not self.there:
            raise Missing
        engine = f"{self.root}/.venv/oracles/trace-processor"
        out = subprocess.run(
            ["node", f"{self.root}/tools/traceprocessor.mjs", engine, path], input="\n".join(queries) + "\n", capture_output=True, text=True
        )
        answers = [json.loads(l) for l in out.stdout.splitlines()]
        for a in answers:
            if "error" in a:
                raise ValueError("trace_processor: " + a["error"].strip().splitlines()[0])
        return [a["rows"] for a in answers[1:]]

    def sums(self, path, ours=False):
        """As of the other formats. What a GPU's slices are below is not in the tables of slices. Scopes on the tracks of GPUs
        are annotations, in our files."""
        (rows,) = self.ask(
            path,
            "select coalesce(s.name, ''), coalesce(s.category, ''), coalesce(p.name, 'ROOT'), s.dur, t.id from slice s"
            " left join slice p on p.id = s.parent_id left join thread_track t on t.id = s.track_id",
        )
        sums = defaultdict(Counter)
        self.unended = {row[0] for row in rows if row[3] < 0}
        for name, category, above, dur, thread in rows:
            kind = kind_of(category.lower(), name)
            if kind == "gpu":
                sums["time (ns)"]["", name] += max(dur, 0)
                sums["count"]["", name] += 1
            elif kind == "wait":
                sums["sync_time (ns)"][above, name] += max(dur, 0)
            elif kind == "host" and (thread is not None or not ours):
                sums["cpu_time (ns)"][above, name] += max(dur, 0)
        return sums

    def slices(self, path):
        """name -> [ns, count] of all slices, and what was lost on the way"""
        rows, lost = self.ask(
            path,
            "select coalesce(name, ''), sum(max(dur, 0)), count(*) from slice group by 1",
            "select name, value from stats where value > 0 and severity != 'info'",
        )
        return {r[0]: r[1:] for r in rows}, lost
