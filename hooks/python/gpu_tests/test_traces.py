"""TritonParse traces in addition to a profile: tensors and their statistics, launches and their kinds, samples by specialisation."""
import json
import os
import re
import subprocess

import pytest
import torch

from records import close, is_clean, numbers, records, same, tensor_of
from running import KILLED, PROGRAMS, PROTON, ended, environment, program

pytestmark = pytest.mark.patience(90)


def test_statistics_and_tensors_with_a_profile(traced, tmp_path):
    run = traced("tensors", tmp_path, flags=["--trace-statistics", "--trace-tensors"])
    said, kept = json.loads((tmp_path / "said.json").read_text()), torch.load(tmp_path / "tensors.pt")
    launches = records(run.trace, "launch", "read_kernel")
    assert len(launches) == len(said)
    worst, by_name = 0, {}
    for launch, one in zip(launches, said):
        x = by_name[one["name"]] = launch["extracted_args"]["x"]
        if one["figures"] is None:
            assert "tensor_capture_error" in x, x
        else:
            got = [x[name] for name in ("min", "max", "mean", "std")]
            assert all(map(close, got, one["figures"])), f"{one['name']}: {got}, torch says {one['figures']}"
            worst = max([worst] + [abs(g - w) for g, w in zip(got, one["figures"]) if not isinstance(g, str)])
        assert x.get("tensor_hash"), f"{one['name']}: {x.get('error')}"
        assert same(tensor_of(x, tmp_path), kept[one["name"]]), f"{one['name']}: the file holds another tensor"
    assert by_name["again"].get("deduplicated") is True
    assert [by_name[name]["compression"] for name in ("large", "zeros")] == ["none", "gzip"]
    tuned = [bool(launch["extracted_args"]["x"].get("tensor_hash")) for launch in records(run.trace, "launch", "tuned_kernel")]
    assert tuned.count(True) == 1 and tuned[-1], "launches of an autotuned kernel, of which the last has tensors"
    hashes = {a["tensor_hash"] for r in records(run.trace, "launch") for a in r["extracted_args"].values() if a.get("tensor_hash")}
    files = list((run.trace / "saved_tensors").glob("*/*"))
    assert len(files) == len(hashes)
    tree = run.tree()
    assert tree.total("read_kernel") == len(said)
    ours = tree.total("__proton_launch_metadata")
    print(f"{len(said)} forms of tensors, figures differ by {worst:g} at most; {len(files)} files; {len(tuned)} launches of an autotuner; "
          f"{ours} kernels of the statistics under their own frame; {is_clean(run.trace)}")
    assert ours > 0
    assert not any("read_kernel" in p and any("reduce" in f for f in p) for p, _ in tree.walk()), "kernels of the statistics stand at the program's"


def test_limit_and_quota_of_tensors(traced):
    limit, most = 150 << 10, 350 << 10
    run = traced("quota", limit, flags=["--trace-tensors", "--trace-tensor-limit", limit, "--trace-tensor-quota", most])
    arguments = [r["extracted_args"]["x"] for r in records(run.trace, "launch", "read_kernel")]
    stored = [bool(a["tensor_hash"]) for a in arguments]
    size = sum(f.stat().st_size for f in (run.trace / "saved_tensors").glob("*/*"))
    print(f"{arguments[0]['error']}; {stored.count(True)} of 10 stored, {size} of {most} bytes; {run.said}")
    assert "exceeds limit" in arguments[0]["error"] and "quota" in arguments[-1]["error"]
    assert stored == [False] + [True] * 3 + [False] * 7
    assert size <= most and len(run.said) == 1
    is_clean(run.trace)


# ---- ends of programs ----

@pytest.mark.parametrize("below", [False, True], ids=["alone", "below proton run"])
def test_a_killed_program(traced, tmp_path, below):
    """All launches up to the one that had returned are in the trace, once each, in order."""
    folder, progress = tmp_path / "trace", tmp_path / "progress"
    progress.write_bytes(bytes(8))
    if below:
        done = traced("killed", progress, trace=folder, flags=["--trace-compression", "zstd"], codes=KILLED).done
        assert not list(folder.glob(".*")), "the spool is gone"
    else:
        ended(program("killed", progress, folder), *KILLED)
        done = ended([PROTON, "trace", "info", folder])
        assert "completed the traces of 1 process" in done.stderr, done.stderr
    reached, found = int.from_bytes(progress.read_bytes(), "little"), numbers(folder)
    assert reached <= len(found) <= reached + 1, f"{len(found)} launches, the program had made {reached}"
    assert found == list(range(len(found)))
    compiled = records(folder, "compilation")
    assert compiled and compiled[0]["payload"]["metadata"]["name"] == "step_kernel"
    print(f"{len(found)} launches, {reached} had returned; {done.stderr.strip().splitlines()[-1]}; {is_clean(folder)}")


def test_daemon_threads_launch_at_the_end(traced):
    bare = subprocess.run(list(map(str, program("daemons"))), capture_output=True, env=environment())
    if bare.returncode:
        pytest.skip(f"needs a Python that ends well with daemon threads: without GoProton this one ends with {bare.returncode}")
    run = traced("daemons")
    per_thread = numbers(run.trace)[1:]
    print(f"{len(per_thread)} launches; {run.closing[0]}; {is_clean(run.trace)}")
    assert run.done.stdout == "done\n"
    most = max(per_thread)
    assert all(per_thread.count(n) <= 4 for n in (0, most // 2, most))
    assert not run.said, run.said


@pytest.fixture
def small_disk(tmp_path):
    """A folder with room for 24 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"needs to mount a file system: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(traced, small_disk):
    """Full before the 16 MB in which launches wait have been written."""
    lost_some(traced("full", 0, codes=(7,), trace=small_disk / "trace"))


def test_a_limit_on_the_size_of_files(traced):
    """From 24 MB of trace on."""
    lost_some(traced("full", 24 << 20, codes=(7,)))


def lost_some(run):
    """The program has its results and its exit code, the trace what came before, and one message says how much is lost."""
    found = numbers(run.trace)
    print(f"{len(found)} of 40000 launches; {run.said}; {run.closing}")
    assert run.done.stdout == "computed 40000\n"
    assert 1000 < len(found) < 40_000
    assert found == list(range(len(found)))
    assert len(run.said) == 1, run.said
    assert " lost" in run.said[0] and f"{40_000 - len(found)} lost" in run.closing[0]
    assert run.tree().total("step_kernel") == 40_000


# ---- launches ----

def test_replays_of_a_graph_by_kind(traced):
    replays_by_kind(traced("graph"))


def test_kinds_on_a_timeline(traced):
    run = traced("graph", flags=["-d", "trace"])
    replays_by_kind(run)
    kernels = [e for e in run.events() if e.get("cat") == "kernel"]
    ours = [e for e in kernels if e["name"] in ("scale_kernel", "read_kernel")]
    kinds = {(e["name"], e["args"].get("launch"), e["args"].get("compile_hash")) for e in ours}
    print(f"{len(ours)} kernels of {len(kernels)}, of {len(kinds)} kinds")
    hashes = {r["payload"]["metadata"]["hash"] for r in records(run.trace, "compilation")}
    assert all(kind and hash in hashes for _, kind, hash in kinds), kinds


def replays_by_kind(run):
    got = {}
    for kernel in "scale_kernel", "read_kernel":
        (found,) = run.viewed("--source", kernel, "--json")["kernels"]
        for group in launch_groups(found):
            got.setdefault((kernel, tuple(group["grid"])), []).append(group.get("launches", 0))
    got = {key: sorted(counts) for key, counts in got.items()}
    rows = run.viewed("--launches", "--view", "json", "-m", "count")["rows"]
    leaves = sorted((row["name"], row["own"][0]) for row in rows if "_kernel [" in row["name"])
    print(f"{got}; {leaves}")
    assert got == {("scale_kernel", (4,)): [1, 50], ("scale_kernel", (64,)): [1, 50], ("read_kernel", (64,)): [1, 50]}
    assert sorted(count for _, count in leaves) == [1, 1, 1, 50, 50, 50]


def launch_groups(kernel):
    return [group for special in kernel["specialisations"] for group in special["launch_groups"]]


def test_threads_that_launch(traced):
    count, each = 8, 500
    run = traced("threads", count, each)
    launches = records(run.trace, "launch")
    assert sorted(numbers(run.trace)) == list(range(-1, count * each))
    assert sorted(r["goproton"]["timestamp"]["sequence"] for r in launches) == list(range(1, count * each + 2))
    assert run.tree().total("step_kernel") == count * each + 1
    (found,) = run.viewed("--source", "step_kernel", "--json")["kernels"]
    kinds = [group.get("launches", 0) for group in launch_groups(found)]
    print(f"{len(launches)} launches of {count} threads, {len(kinds)} kinds; {run.closing[0]}; {is_clean(run.trace)}")
    assert kinds == [1] * (count * each + 1), "launches of each kind"


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_with_tritonparse(tmp_path, pytestconfig, first):
    theirs = pytestconfig.getoption("tritonparse")
    if not theirs:
        pytest.skip("needs --tritonparse FOLDER")
    folders = tmp_path / "ours", tmp_path / "theirs"
    done = ended(program("both", first, *folders), PYTHONPATH=os.pathsep.join([environment()["PYTHONPATH"], theirs]))
    assert "please report" not in done.stderr, done.stderr
    ours, others = [([(r["name"], r["grid"], r["extracted_args"]) for r in records(folder, "launch")],
                     {r["payload"]["metadata"]["hash"] for r in records(folder, "compilation")}) for folder in folders]
    # The autotuner runs by time, but both saw the same launches.
    print(f"{len(ours[0])} launches and {len(ours[1])} compilations, {len(others[0])} and {len(others[1])}")
    assert ours == others


def test_odd_arguments_change_nothing(traced, tmp_path, monkeypatch):
    caches = [{"TRITON_CACHE_DIR": str(tmp_path / f"cache{k}"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / f"inductor{k}")} for k in (0, 1)]
    bare = subprocess.Popen(list(map(str, program("odd"))), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**caches[0]))
    for name, folder in caches[1].items():
        monkeypatch.setenv(name, folder)
    run = traced("odd", flags=["--trace-statistics", "--trace-tensors"])
    want, errors = bare.communicate()
    assert bare.returncode == 0, errors
    print(want)
    assert run.done.stdout.splitlines() == want.splitlines()
    arguments = [(r["name"], a) for r in records(run.trace, "launch") for a in r["extracted_args"].values()]
    print(f"types {sorted({a['type'] for _, a in arguments})}; {run.said}; {is_clean(run.trace)}")
    assert not [(name, a) for name, a in arguments if a.get("type") == "?"]


# ---- samples ----

@pytest.mark.alone
@pytest.mark.only("cupti")
def test_noinline_callees(traced):
    run = traced("noinline", flags=["-m", "pcsampling"])
    tree, file = run.tree(), PROGRAMS.with_name("kernels.py")
    text = file.read_text().splitlines()
    cases = {"polished_kernel": ("with a callee", "# the callee's hot line"), "chain_kernel": ("alone", "# the hot line")}
    rates, hot = [], {}
    for kernel, (scope, mark) in cases.items():
        hot[kernel] = 1 + next(i for i, line in enumerate(text) if mark in line)
        total, here = tree.samples(kernel), tree.samples(scope, kernel)
        line = tree.samples(scope, kernel, f"{file.name}:{hot[kernel]}@")
        print(f"{kernel}: {total} samples, {here} in its scope, {line} at line {hot[kernel]}")
        assert total > 1000 and here == total, "samples are elsewhere"
        assert line > 0.8 * total, f"line {hot[kernel]} should have nearly all"
        rates.append(total / tree.nanos(kernel))
    print(f"samples per time, with a callee and without: {rates[0] / rates[1]:.3f}")
    assert abs(rates[0] / rates[1] - 1) < 0.1
    elsewhere = [p for p, node in tree.walk() if node["metrics"].get("num_samples", 0) > 100 and any("polish" in f for f in p) and not any("polished_kernel" in f for f in p)]
    assert not elsewhere, elsewhere
    listed = run.viewed("--source", "polished_kernel", "--json")["source"]["kernels"]
    lines = {line["line"]: line["samples"] for k in listed for file in k["files"] for line in file["lines"]}
    assert max(lines, key=lines.get) == hot["polished_kernel"], lines


@pytest.mark.alone
@pytest.mark.only("cupti")
def test_samples_of_specialisations(traced):
    run = traced("matmul", flags=["-m", "pcsampling", "--trace-statistics"])
    joined = run.viewed("--source", "matmul_kernel", "--json")
    (kernel,), of = joined["kernels"], {}
    for k in joined["source"]["kernels"]:
        of[k["compile_hash"]] = of.get(k["compile_hash"], 0) + k["samples"]
    whole, count = sum(of.values()), run.tree().total("matmul_kernel")
    launches = records(run.trace, "launch", "matmul_kernel")
    specials = kernel["specialisations"]
    for special in specials:
        print(f"{special['label']}: {special['launches']} launches, {special['total_ns'] * 1e-6:.2f} ms, {of.get(special['hash'], 0)} samples")
    print(f"{count} kernels, {len(launches)} launches; {whole} samples of specialisations; {is_clean(run.trace)}")
    assert whole == run.tree().samples("matmul_kernel")
    assert (kernel["launches"], sum(s["launches"] for s in specials), len(launches)) == (count, count, count)
    assert {s["hash"] for s in specials} >= set(of) and len(of) >= 2 and min(of.values()) > 0
    assert sum("mean" in r["extracted_args"]["a_ptr"] for r in launches) == 40, "launches with statistics, which are not the autotuner's"
    nanos = sum(s["total_ns"] for s in specials)
    for special in specials:
        share, time = of[special["hash"]] / whole, special["total_ns"] / nanos
        assert re.fullmatch("[0-9a-f]+", special["hash"]) and abs(share - time) < 0.25, f"{special['label']}: {share:.2f} of the samples, {time:.2f} of the time"
