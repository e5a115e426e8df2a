"""What windows that leave a program cost its launches: percentiles of the time of a launch, in microseconds.

    PYTHONPATH=build/python python3 bench/push_latency.py [--rounds 3] [--launches 200000]

A Triton kernel is launched without a profiler, in a session, and in a session whose windows go every second to a server that
answers, to one that accepts a connection and never reads, and to none. Each is measured in a process of its own, and rounds
alternate. A line has the median over the rounds of the percentiles of all launches of a process, and of the slowest launch.
Needs torch and a GPU.
"""
import argparse
import http.server
import multiprocessing
import os
import socket
import statistics
import tempfile
import threading
import time

import triton
import triton.language as tl

from forked import in_a_process

WAYS = {
    "no profiler": None,
    "a session": {},
    "pushed, the server answers": {"push": "answers"},
    "pushed, the server never reads": {"push": "never reads"},
    "pushed, there is no server": {"push": "none"},
}
SHARES = (0.5, 0.99, 0.999, 1)


@triton.jit
def add_kernel(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


class Answers(http.server.BaseHTTPRequestHandler):
    taken = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/proto")  # as Pyroscope does: without it the sender takes no answer for a yes
        self.end_headers()
        Answers.taken += 1

    def log_message(self, *_):
        pass


def serve(answer):
    """Ports of a server that answers, of one that never reads, and of none; then the number of windows that arrived, when asked."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    silent = socket.create_server(("127.0.0.1", 0), backlog=16)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    answer.send({"answers": server.server_port, "never reads": silent.getsockname()[1], "none": port})
    answer.recv()
    answer.send(Answers.taken)


def measure(way, ports, launches):
    import torch

    import goproton
    x, y, out = (torch.zeros(1024, device="cuda") for _ in range(3))
    options = WAYS[way]
    if options is not None:
        os.environ["PROTON_PUSH_SPOOL"] = tempfile.mkdtemp()
        given = {"push": goproton.Push(f"http://127.0.0.1:{ports[options['push']]}", every=1, wait=1)} if options else {}
        goproton.start(os.path.join(tempfile.mkdtemp(), "profile"), **given)
    times = []
    for n in range(launches + 1000):
        began = time.perf_counter_ns()
        add_kernel[(1,)](x, y, out, 1024, B=1024)
        times.append(time.perf_counter_ns() - began)
        if n % 1000 == 0:
            torch.cuda.synchronize()
    if options is not None:
        goproton.finalize()
    if options and options["push"] == "answers":
        from goproton import pushing
        assert not any(sender.waiting() for sender in pushing._senders.values()), "windows wait, although the server answers"
    times = sorted(times[1000:])
    return [times[min(int(len(times) * share), len(times) - 1)] / 1000 for share in SHARES]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--launches", type=int, default=200_000)
    arguments = parser.parse_args()
    here, there = multiprocessing.Pipe()
    multiprocessing.get_context("fork").Process(target=serve, args=(there,), daemon=True).start()
    ports = here.recv()
    rounds = [{way: in_a_process(measure, way, ports, arguments.launches) for way in WAYS} for _ in range(arguments.rounds)]
    assert all(all(one.values()) for one in rounds), "a process ended with an error"
    print("| | 50 % | 99 % | 99.9 % | slowest |\n|---|---|---|---|---|")
    for way in WAYS:
        print(f"| {way} |", " | ".join(f"{statistics.median(column):.1f}" for column in zip(*(one[way] for one in rounds))), "|")
    here.send(None)
    print(here.recv(), "windows arrived at the server that answers")


if __name__ == "__main__":
    main()
