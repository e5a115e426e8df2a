#!/usr/bin/env python3
"""push_check.py URL [CAPTURE]: pushes a replay to a running Pyroscope or Parca, asks it for the sums, and prints what differs.

URL is that of `proton run --push`, and so are the variables for tokens. The server must be one that accepts test data: the service is
goproton-push-check, and each run has a label of its own. Needs build/, from `make build`. Exit code 0 means that the server has every value
of the local profile, by call path and type.
"""

import base64
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROTON = ROOT / "build/proton"
TYPES = {"time (ns)": ("gpu_time", "nanoseconds"), "count": ("launches", "count"), "bytes": ("bytes", "bytes")}
PATIENCE = 60  # seconds until what was pushed can be asked for


def main(url, capture=ROOT / "testdata/captures/attention.capture.gz"):
    protocol, plus, address = url.partition("+")
    if not plus:
        address, port = url, urllib.parse.urlsplit(url).port
        protocol = {7070: "parca"}.get(port, "pyroscope")
    ask = {"pyroscope": pyroscope, "parca": parca}.get(protocol)
    if ask is None:
        sys.exit(f"push_check: {protocol} cannot be asked: give the URL of a Pyroscope or Parca")
    run = f"check{time.time_ns()}"
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PROTON_PUSH_SPOOL": folder + "/spool"}
        subprocess.run([PROTON, "run", "--name", folder + "/local", "--push", f"{url}:wait={PATIENCE}:service=goproton-push-check:label=run={run}",
                        "--backend", "replay", capture], env=environment, check=True)
        left = [str(path) for path in Path(folder).glob("spool/*/*.window*")]
        if left:
            sys.exit(f"push_check: {len(left)} windows were not sent")
        local = sums(read(folder + "/local.hatchet"))
        differences = compare(local, lambda kind: ask(address.rstrip("/"), kind, run, folder))
    for line in differences:
        print(line)
    print(f"{len(differences)} of {sum(map(len, local.values()))} values differ")
    return 1 if differences else 0


def read(path):
    return json.loads(Path(path).read_text())[0]


def sums(root):
    """The values of a tree by metric and call path. Frames have pprof's names: a Python frame that of its function."""
    found = {}

    def walk(node, path):
        for metric, value in node["metrics"].items():
            if metric in TYPES and value:
                at = found.setdefault(metric, {})
                at[path] = at.get(path, 0) + int(value)
        for child in node["children"]:
            walk(child, path + (child["frame"]["name"].rpartition("@")[2],))

    walk(root, ())
    return found


def compare(local, ask):
    """Sentences on what differs. What was pushed shows after some seconds."""
    differences, end = [], time.monotonic() + PATIENCE
    for metric, want in local.items():
        while True:
            got = ask(TYPES[metric])
            wrong = [f"{TYPES[metric][0]} {'/'.join(path) or '(no call path)'}: the server has {got.get(path, 0)}, the profile {want.get(path, 0)}"
                     for path in sorted({*got, *want}) if got.get(path, 0) != want.get(path, 0)]
            if not wrong or time.monotonic() > end:
                break
            time.sleep(1)
        differences += wrong
    return differences


def post(url, body):
    headers = {"Content-Type": "application/json"}
    if os.environ.get("PROTON_PUSH_TENANT"):
        headers["X-Scope-OrgID"] = os.environ["PROTON_PUSH_TENANT"]
    token = os.environ.get("PROTON_PUSH_TOKEN") or os.environ.get("PROTON_PUSH_TOKEN_FILE") and Path(os.environ["PROTON_PUSH_TOKEN_FILE"]).read_text().strip()
    user = os.environ.get("PROTON_PUSH_USER")
    if user:
        headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()
    elif token:
        headers["Authorization"] = "Bearer " + token
    request = urllib.request.Request(url, data=None if body is None else json.dumps(body).encode(), headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def pyroscope(address, kind, run, _):
    """The values of a run by call path: those of the flame graph, whose levels have offset, total, self and name of each frame."""
    now = int(time.time() * 1000)
    answer = post(address + "/querier.v1.QuerierService/SelectMergeStacktraces", {
        "start": now - 3_600_000, "end": now + 60_000, "profileTypeID": f"goproton:{kind[0]}:{kind[1]}:gpu_time:nanoseconds",
        "labelSelector": f'{{service_name="goproton-push-check",run="{run}"}}', "maxNodes": 100_000})
    graph = answer.get("flamegraph") or {}
    names, found, above = graph.get("names", []), {}, []
    for depth, level in enumerate(graph.get("levels", [])):
        values, at, here = [int(v) for v in level["values"]], 0, []
        for offset, total, own, name in zip(*[iter(values)] * 4):
            at += offset
            parent = next((path for begin, end, path in above if begin <= at < end), ())
            path = parent + (names[name],) if depth else ()
            here.append((at, at + total, path))
            if own:
                found[path] = found.get(path, 0) + own
            at += total
        above = here
    return found


def parca(address, kind, run, folder):
    """The values of a run by call path: those of the merged profile."""
    now = time.time()

    def moment(seconds):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))

    query = urllib.parse.urlencode({
        "mode": "MODE_MERGE", "report_type": "REPORT_TYPE_PPROF", "merge.start": moment(now - 3600), "merge.end": moment(now + 60),
        "merge.query": f'goproton:{kind[0]}:{kind[1]}:gpu_time:nanoseconds:delta{{run="{run}"}}'})
    raw = base64.b64decode(post(f"{address}/api/profiles/query?{query}", None).get("pprof", ""))
    path = Path(folder) / "answer.pb.gz"
    path.write_bytes(raw if raw[:2] == b"\x1f\x8b" else gzip.compress(raw))
    subprocess.run([PROTON, "convert", path, "-o", folder + "/answer.hatchet"], check=True, capture_output=True)
    found = {}

    def walk(node, path):
        values = [int(value) for value in node["metrics"].values() if isinstance(value, (int, float))]
        if any(values):
            found[path] = found.get(path, 0) + values[0]
        for child in node["children"]:
            walk(child, path + (child["frame"]["name"].rpartition("@")[2],))

    walk(read(folder + "/answer.hatchet"), ())
    return found


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
