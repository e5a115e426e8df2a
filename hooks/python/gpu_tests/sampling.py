"""Sampled sessions and what their trees say."""
import subprocess
import time

import torch

import goproton as proton
import kernels

HOT_LINE = 1 + next(i for i, line in enumerate(open(kernels.__file__)) if "# the hot line" in line)


class Sampled:
    """with Sampled(sessions, "interval=4096") as p: …; p.tree is the tree afterwards."""

    def __init__(self, sessions, options=""):
        self.sessions, self.mode = sessions, "pcsampling" + (":" + options if options else "")

    def __enter__(self):
        self.sessions.count += 1
        self.name = f"sampled{self.sessions.count}"
        self.sessions.start(self.name, mode=self.mode)
        return self

    def __exit__(self, *error):
        torch.cuda.synchronize()
        began = time.perf_counter()
        proton.finalize()
        self.finalize = time.perf_counter() - began
        self.tree = self.sessions.tree(self.name)
        self.facts = self.tree.root["sampling"]

    def lines(self, kernel="chain_kernel", scope=None):
        return lines(self.tree, kernel, scope)

    def expect_hot_line(self):
        """Of the samples of chain_kernel most are at its hot line; returns them in words."""
        of = self.lines()
        assert max(of, key=of.get).endswith(f":{HOT_LINE}"), of
        return f"{sum(of.values())} samples at {len(of)} lines, finalize {self.finalize:.3f} s"

    def expect_shares(self, a, b, within):
        """Two scopes have samples in the ratio of their times."""
        ratio = self.tree.samples(a) / max(1, self.tree.samples(b))
        times = self.tree.nanos(a) / self.tree.nanos(b)
        print(f"{self.mode}: {ratio:.3f} times the samples in {times:.3f} times the time")
        assert abs(ratio / times - 1) < within

    def rates(self, *scopes):
        """Samples of scopes, as parts of what their kernels' time and the period predict."""
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        per_nano = sms * 1e-9 * clock_hz("max.") / self.facts["period"]
        rates = {scope: round(self.tree.samples(scope) / self.tree.nanos(scope) / per_nano, 3) for scope in scopes}
        print(f"samples / expected: {rates}")
        return list(rates.values())


def lines(tree, kernel, scope=None):
    """Samples of a kernel by file and line."""
    out = {}
    for path, node in tree.walk():
        if kernel in path and scope in (None, *path) and (n := node["metrics"].get("num_samples")):
            line = path[-1].split("@")[0]
            out[line] = out.get(line, 0) + n
    return out


def distance(p, q):
    """Total-variation distance of two distributions given by counts."""
    sp, sq = sum(p.values()), sum(q.values())
    return sum(abs(p.get(k, 0) / sp - q.get(k, 0) / sq) for k in set(p) | set(q)) / 2


def clock_hz(which=""):
    r = subprocess.run(["nvidia-smi", f"--query-gpu=clocks.{which}sm", "--format=csv,noheader,nounits"], capture_output=True, text=True)
    return float(r.stdout.split()[0]) * 1e6
