"""Counters that programs push, with and without a server that takes them, and which sessions have them."""

import json
import re
import subprocess
import sys
import urllib.request

import pytest
from conftest import LIBRARY, PATIENCE, TESTS, companions
from test_push import BUILD, STUB, count, folder, senders, server, wait_for  # noqa: F401  fixtures among them
from trees import load

COLLECTOR = BUILD / "tools" / "pushserver"

pytestmark = pytest.mark.skipif(not (LIBRARY.exists() and (BUILD / "proton").exists() and STUB.exists()), reason="needs build/: run make build")


# How the programs begin.
FAKE = f"""
import os, sys, time
sys.path.append({str(TESTS)!r})
import fake_gpu as gpu
import goproton as proton
gpu.init()
"""


def ended(url):
    """Waits until nothing is sent to a URL any more."""
    wait_for("the end of the sender", lambda: not senders(url))


# Two sessions, each of a service of its own. Its counters are sent, and those of both are served. Nothing ends after them.
COUNTED = FAKE + """
kernel = gpu.function("kernel")
for launches, name in (5, "first"), (7, "second"):
    proton.start(name, push=proton.Push(sys.argv[1], every=3600, wait=float(sys.argv[2]), service=name, metrics=True, labels=dict(team="vision")), metrics="0")
    for _ in range(launches):
        with proton.scope("step"):
            gpu.launch(kernel)
    proton.finalize()
print("finalized", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def counted(folder):
    """Starts a program whose counters are sent to a URL, and returns it when it has finalized its sessions."""
    (folder / "counted.py").write_text(COUNTED)
    processes = []

    def start(url, wait):
        process = subprocess.Popen([sys.executable, "counted.py", url, str(wait)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout.readline() == "finalized\n", process.communicate()[1]
        return process

    yield start
    for process in processes:
        process.communicate()


def test_counters_for_a_collector(counted):
    """When finalize returns, a server by OpenTelemetry's schema has the sums of the profiles, by service; and the page for Prometheus has them too."""
    if not COLLECTOR.exists():
        pytest.skip("needs build/tools/pushserver, which make test builds")
    with subprocess.Popen([COLLECTOR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as collector:
        url = "otlp+" + collector.stdout.readline().strip()
        process = counted(url, PATIENCE)
        with urllib.request.urlopen(process.stderr.readline().split()[-1], timeout=PATIENCE) as page:
            assert re.findall(r"^goproton_launches_total{.*} (\d+)$", page.read().decode(), re.MULTILINE) == ["12"]
        assert "warning" not in process.communicate()[1]
        ended(url)
        collector.stdin.close()
        lines = [json.loads(line) for line in collector.stdout]
    arrived = {}
    for point in lines:
        if point["protocol"] == "otlp metrics" and point["value"]:
            resource, of = point["resource"], point["attributes"]
            assert resource["team"] == "vision" and (of["scope"], of["work"], of["process"]) == ("step", "kernel", "0") and point["counter"]
            arrived[resource["service.name"], point["name"]] = point["value"]
    for service, launches in ("first", 5), ("second", 7):
        profile = load(f"{service}.hatchet")
        assert arrived.pop((service, "goproton.launches")) == count(profile, "count") == launches
        assert arrived.pop((service, "goproton.gpu.time")) == pytest.approx(count(profile, "time (ns)") / 1e9)
    assert not arrived


def test_a_collector_that_does_not_take_counters(server, counted):
    """finalize waits no longer than it may, and says why they are not sent."""
    server.away = True
    said = counted(server.url.replace("pyroscope", "otlp"), 0.3).communicate()[1]
    assert said.count("warning: the last counters are not sent to otlp+http") == 2, said
    assert "503" in said


def test_counters_need_a_collector(folder):
    program = "import goproton\ntry: goproton.start('x', push=goproton.Push('http://localhost:4040', metrics=True))\nexcept ValueError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert "counters are pushed over otlp only" in done.stdout, done


# Launches one kernel in each of five sessions, whose names differ, and says how long each finalize took.
EPOCHS = FAKE + """
kernel = gpu.function("kernel")
for epoch in range(5):
    proton.start(f"epoch{epoch}", push=proton.Push(sys.argv[1], every=3600, wait=float(sys.argv[2]), metrics=True, labels=eval(sys.argv[3])))
    gpu.launch(kernel)
    began = time.monotonic()
    proton.finalize()
    print(time.monotonic() - began, flush=True)
sys.stdin.read()
"""


def epochs(url, wait, labels):
    """How long each finalize took, how many senders the program had, and what it said."""
    process = subprocess.Popen([sys.executable, "-c", EPOCHS, url, str(wait), repr(labels)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    took = [float(process.stdout.readline() or process.communicate()[1]) for _ in range(5)]
    children = companions(process.pid)
    return took, len(children), process.communicate(timeout=PATIENCE)[1]


def test_sessions_of_any_name_have_one_sender_and_one_service(folder):
    """Labels win over what GoProton says itself. In one service the counters of all sessions add up."""
    if not COLLECTOR.exists():
        pytest.skip("needs build/tools/pushserver, which make test builds")
    for labels, service, job in ({}, "epoch0", None), ({"service_name": "chosen", "job": "night"}, "chosen", "night"):
        with subprocess.Popen([COLLECTOR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as collector:
            url = "otlp+" + collector.stdout.readline().strip()
            _, children, said = epochs(url, PATIENCE, labels)
            ended(url)
            collector.stdin.close()
            lines = [json.loads(line) for line in collector.stdout]
        assert children == 1 and "warning" not in said, said
        points = [point for point in lines if point["protocol"] == "otlp metrics" and point["name"] == "goproton.launches"]
        assert {(point["resource"]["service.name"], point["resource"].get("job")) for point in points} == {(service, job)}
        assert points[-1]["value"] == 5


def test_a_collector_that_refuses_counters(server, folder):  # noqa: F811
    """finalize does not wait for what is refused for good, here by a server that has no such page."""
    server.answers["/v1/metrics"] = 404
    server.keep = lambda body: None  # profiles of OpenTelemetry
    url = server.url.replace("pyroscope", "otlp")
    took, _, said = epochs(url, 1e6, {})
    ended(url)
    assert len(took) == 5 and "404" in said and said.count("the last counters are not sent") == 5, said


# Starts what is refused, then a session that is counted, then another one that would be.
REFUSED = FAKE + """
def start(name, labels=None, **wrong):
    try:
        proton.start(name, push=proton.Push(sys.argv[1], wait=0, labels=labels), **wrong)
    except ValueError as error:
        print(error, flush=True)
for wrong in {"budget": "bad"}, {"data": "trace"}, {"context": "bad"}, {"mode": "bad"}, {"activities": "bad"}, {"budget": "1%", "mode": "pcsampling:collection=serialized"}, {"metrics": "a:b:c"}:
    start("x", **{"metrics": "0", **wrong})
start("x", labels={"rank": "1"}, metrics="0")
print("refused", flush=True)
sys.stdin.readline()
proton.start("counted", metrics="0")
start("x", metrics="1")
"""


def test_what_is_refused_starts_nothing(server, folder):
    """No sender, no server, and no line that says where counters are."""
    (folder / "refused.py").write_text(REFUSED)
    process = subprocess.Popen([sys.executable, "refused.py", server.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = list(iter(process.stdout.readline, "refused\n"))
    assert len(said) == 8 and "the budget 'bad'" in said[0].replace('"', "'"), said
    assert not companions(process.pid)
    out, err = process.communicate("go on\n", timeout=PATIENCE)
    assert process.returncode == 0 and "counted is counted already" in out, (out, err)
    assert err.count("counters at") == 1 and not senders(server.url), err


# What living sessions are started with again, and a session of which the environment alone asks for counters.
AGAIN = FAKE + """
def start(name, **wanted):
    try:
        print(name, proton.start(name, **wanted), flush=True)
    except ValueError as error:
        print(name, error, flush=True)
push = proton.Push(sys.argv[1], wait=0, service="one")
start("plain")
start("plain", push=push)
start("plain", metrics="0")
start("pushed", push=push)
start("pushed", push=push)
start("pushed", push=proton.Push(sys.argv[1], wait=0, service="two"))
os.environ["PROTON_PUSH_METRICS"] = "1"
start("counted", push=proton.Push(sys.argv[1], wait=0))
start("second", push=proton.Push(sys.argv[1], wait=0))
start("third", push=proton.Push(sys.argv[1], wait=0, metrics=True))
if not os.fork():
    start("child", push=push, metrics="0")
    os._exit(0)
os.wait()
"""


def test_what_sessions_are_started_with_again(server, folder):  # noqa: F811
    """Nothing is asked for in vain: a living session keeps its readers, and a second one that would be counted says so."""
    done = subprocess.run([sys.executable, "-c", AGAIN, server.url.replace("pyroscope", "otlp")], capture_output=True, text=True, timeout=PATIENCE)
    said = done.stdout.splitlines()
    assert said[0] == "plain 0" and "push: the session plain lives, and was started without this" in said[1] and "prometheus: the session plain lives" in said[2], done
    assert said[3:5] == ["pushed 1"] * 2 and "push: the session pushed lives" in said[5], done
    assert said[6:8] == ["counted 2", "second 3"] and "PROTON_PUSH_METRICS is set, and the counters of second are not pushed: prometheus: the session counted is counted already" in done.stderr, done
    assert said[8].startswith("third ") and "the session counted is counted already: leave prometheus out, and counters of push too" in said[8] and said[9:] == ["child None"], done
    assert done.stderr.count("profiling is off: this process was forked") == 1 and "counters at" not in done.stderr, done
