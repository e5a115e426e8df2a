#!/usr/bin/env python3
"""A training job of two ranks that is always on, and what arrives of it: counters in Prometheus, windows behind an OpenTelemetry collector.

    tutorials/always_on/always_on.py                               # fetches and starts both (minutes, the first time)
    tutorials/always_on/always_on.py --without prometheus,collector    # neither: the script takes their places
    tutorials/always_on/always_on.py --pyroscope https://HOST:4040     # windows go to a Pyroscope of yours

No GPU is needed: the ranks replay what an H200 did. The exit code is 1 if a number that arrived differs from the local profile's.
"""

import argparse
import collections
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "go.mod").exists())
CAPTURES = ("matmul", "dynamic_net")  # what rank 0 and rank 1 replay
PATIENCE = 120  # seconds until something has started, or arrived
QUERIES = {
    "GPU time": "sum by (rank) (max_over_time(goproton_gpu_time_seconds_total[1h]))",
    "launches": "sum by (rank) (max_over_time(goproton_launches_total[1h]))",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without", default="", metavar="PARTS", help="parts that are not started: prometheus, collector")
    parser.add_argument("--pyroscope", metavar="URL", help="push windows there, and start no collector")
    options = parser.parse_args()
    without = set(filter(None, options.without.split(","))) | ({"collector"} if options.pyroscope else set())
    prepare(without, options.pyroscope)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        metrics = free_ports(2, 9464)
        arrived, push = {}, options.pyroscope
        if push is None:
            url, arrived = start_server(stack)
            push = "otlp+" + (url if "collector" in without else start_collector(stack, folder, url))
        prometheus = None if "prometheus" in without else start_prometheus(stack, folder, metrics)
        pages = run_ranks(stack, folder, push, metrics, read=prometheus is None)
        local = {str(rank): sums(folder / f"always_on.rank{rank}.hatchet") for rank in range(2)}
        same = show("what the local profiles have", local)
        if prometheus:
            got = wait_until(local, lambda: ask_prometheus(prometheus))
            print(f"\n$ promtool query instant {prometheus} '{QUERIES['GPU time']}'")
            same &= show("what Prometheus has", got, local)
        else:
            same &= show("what was read from /metrics", {rank: counters(page) for rank, page in pages.items()}, local)
        if not options.pyroscope:
            got = wait_until(local, lambda: {rank: dict(values) for rank, values in list(arrived.items())})
            same &= show("what arrived behind the collector" if "collector" not in without else "what the server got", got, local)
        else:
            print(f"windows are at {options.pyroscope}: choose the service training; tools/push_check.py compares what it has with a profile")
    sys.exit(0 if same else 1)


def prepare(without, pyroscope):
    """Builds and fetches what is not there yet."""
    def sure(path, *command):
        if not (ROOT / path).exists():
            print(f"preparing {path} …", file=sys.stderr)
            subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
            if not (ROOT / path).exists():
                sys.exit(f"always_on: {' '.join(command)} did not make {path}: leave it out with --without, see --help")
    sure("build/proton", "make", "build")
    if not pyroscope:
        sure("build/tools/pushserver", "bash", "-c", ". tools/steps.sh; install_tools")
        if "collector" not in without:
            sure("build/collector/otelcol", "tools/collector.sh")
    if "prometheus" not in without:
        sure(".venv/oracles/prometheus/usr/bin/prometheus", "tools/prometheus.sh")


def free_ports(n, wish):
    """The first of n ports in a row that no program listens at, from a wished one on."""
    for first in range(wish, 60000, 7):
        try:
            with contextlib.ExitStack() as stack:
                for port in range(first, first + n):
                    one = stack.enter_context(socket.socket())
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    one.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    sys.exit("always_on: no port is free")


def started(stack, command, **options):
    """A process that ends with this one."""
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, **options)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return process


def wait_for(process, url, said):
    """Waits until a process answers."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError as error:
            if error.code < 500:
                return None
        except OSError:
            pass
        if process.poll() is not None or time.monotonic() > end:
            sys.exit(f"always_on: {process.args[0]} did not start: {said.read_text()[-2000:]}")
        time.sleep(0.1)


def start_server(stack):
    """A server that prints what it gets, by rank: it stands where a store of profiles would."""
    server = started(stack, [ROOT / "build/tools/pushserver"], stdout=subprocess.PIPE, text=True)
    arrived = collections.defaultdict(lambda: collections.defaultdict(float))

    def take():
        for line in server.stdout:
            one = json.loads(line)
            for path, value in one["totals"].items():
                kind = path.rsplit(" ", 1)[1]
                name, scale = {"gpu_time": ("GPU time", 1e9), "launches": ("launches", 1)}.get(kind, (None, 1))
                if name:
                    arrived[one["labels"]["rank"]][name] += value / scale
    url = server.stdout.readline().strip()
    threading.Thread(target=take, daemon=True).start()
    return url, arrived


def start_collector(stack, folder, backend):
    port = free_ports(1, 4318)
    config = folder / "collector.yaml"
    config.write_text(f"""receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters: {{otlphttp: {{endpoint: "{backend}", compression: none, profiles_endpoint: "{backend}/v1development/profiles"}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines: {{profiles: {{receivers: [otlp], exporters: [otlphttp]}}}}
""")
    said = folder / "collector.txt"
    process = started(stack, [ROOT / "build/collector/otelcol", "--config", f"file:{config}", "--feature-gates=service.profilesSupport"],
                      stdout=said.open("w"), stderr=subprocess.STDOUT)
    wait_for(process, f"http://127.0.0.1:{port}", said)
    return f"http://127.0.0.1:{port}"


def start_prometheus(stack, folder, metrics):
    port = free_ports(1, 9090)
    config = folder / "prometheus.yml"
    config.write_text(f"""global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: goproton
    honor_labels: true # the job is that of the launcher
    static_configs: [{{targets: ["127.0.0.1:{metrics}", "127.0.0.1:{metrics + 1}"]}}]
""")
    said = folder / "prometheus.txt"
    process = started(stack, [ROOT / ".venv/oracles/prometheus/usr/bin/prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/prometheus",
                              f"--web.listen-address=127.0.0.1:{port}"], stdout=said.open("w"), stderr=subprocess.STDOUT)
    wait_for(process, f"http://127.0.0.1:{port}/-/ready", said)
    return f"http://127.0.0.1:{port}"


def run_ranks(stack, folder, push, metrics, read):
    """Runs both ranks, as a launcher does, and returns the last page of each if they are to be read here."""
    processes, pages = [], {}
    for rank, capture in enumerate(CAPTURES):
        command = ["proton", "run", "-n", "always_on", "--push", f"{push}:wait=60:service=training",
                   "--prometheus", f"{metrics}:wait=60", "--backend", "replay", f"testdata/captures/{capture}.capture.gz"]
        print(f"$ RANK={rank} LOCAL_RANK={rank} WORLD_SIZE=2 \\\n    " + " ".join(command[:6]) + " \\\n    " + " ".join(command[6:]), flush=True)
        environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "always_on",
                       "PROTON_PUSH_SPOOL": str(folder / "spool"), "NO_COLOR": "1"}
        command[0], command[-1] = str(ROOT / "build/proton"), str(ROOT / command[-1])
        said = (folder / f"rank{rank}.txt").open("w+")
        processes.append((subprocess.Popen(command, cwd=folder, env=environment, stderr=said), said))
    end = time.monotonic() + PATIENCE
    for rank, (process, said) in enumerate(processes):
        while process.poll() is None and time.monotonic() < end:
            if read:
                with contextlib.suppress(OSError):
                    pages[str(rank)] = urllib.request.urlopen(f"http://127.0.0.1:{metrics + rank}/metrics", timeout=5).read().decode()
            time.sleep(0.05)
        process.kill()
        said.seek(0)
        print(f"rank {rank}:", *("  " + line for line in said.read().splitlines() if "pushed" not in line), sep="\n", flush=True)
        if process.wait() != 0:
            sys.exit(f"always_on: rank {rank} ended with {process.returncode}")
    return pages


def sums(path):
    """The GPU time and the launches of a profile."""
    def total(node, metric):
        return node["metrics"].get(metric, 0) + sum(total(child, metric) for child in node["children"])
    root = json.loads(path.read_text())[0]
    return {"GPU time": total(root, "time (ns)") / 1e9, "launches": total(root, "count")}


def counters(page):
    """The sums of a page of counters."""
    found = collections.Counter()
    for line in page.splitlines():
        for counter, name in (("goproton_gpu_time_seconds_total{", "GPU time"), ("goproton_launches_total{", "launches")):
            if line.startswith(counter):
                found[name] += float(line.rsplit(" ", 1)[1])
    return found


def ask_prometheus(url):
    found = collections.defaultdict(dict)
    for name, query in QUERIES.items():
        with urllib.request.urlopen(url + "/api/v1/query?" + urllib.parse.urlencode({"query": query}), timeout=10) as answer:
            for one in json.load(answer)["data"]["result"]:
                found[one["metric"].get("rank", "")][name] = float(one["value"][1])
    return found


def equal(got, want):
    return got.keys() == want.keys() and all(abs(got[rank].get(name, 0) - value) <= 1e-9 * value for rank in want for name, value in want[rank].items())


def wait_until(want, ask):
    end = time.monotonic() + PATIENCE
    while True:
        got = ask()
        if equal(got, want) or time.monotonic() > end:
            return got
        time.sleep(0.2)


def show(what, got, want=None):
    same = want is None or equal(got, want)
    print(f"\n{what}{'' if want is None else ': equal' if same else ': NOT EQUAL'}")
    for rank in sorted(got):
        print(f"  rank {rank}  GPU time {got[rank].get('GPU time', 0) * 1e3:9.4f} ms  launches {got[rank].get('launches', 0):6.0f}")
    return same


if __name__ == "__main__":
    main()
