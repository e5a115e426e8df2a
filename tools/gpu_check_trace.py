"""Traces on a real GPU: what gpu_check_trace_programs.py does below `proton run --trace`, and what the trace says of it. Run by
tools/gpu-check.sh with build/python on PYTHONPATH; each check is a process of its own and prints what it found. With
TRITONPARSE=FOLDER, one with tritonparse and what it needs, both trace one process.

    [TRITONPARSE=FOLDER] python3 tools/gpu_check_trace.py [NAME ...]
"""
import gzip, json, os, pathlib, re, signal, subprocess, sys, tempfile

import torch

from gpu_runner import Checks
from gpu_tree import total, walk

HERE = pathlib.Path(__file__).resolve().parent
PROTON = HERE.parent / "build" / "proton"
PROGRAMS = HERE / "gpu_check_trace_programs.py"
PREFIX = "dedicated_log_triton_trace_"
# A GPU is sampled by one process at a time.
check = Checks(__file__, patience=90, what="traces", together=6, alone={"noinline_callees", "samples_of_specialisations"})

TMP = pathlib.Path(tempfile.mkdtemp(prefix="gpu-trace-"))


def environment(**more):
    python = [str(HERE.parent / "build" / "python"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, python)), **more}


def program(name, *arguments):
    return [sys.executable, str(PROGRAMS), name, *map(str, arguments)]


def ended(command, code=0, **options):
    """Runs a command to its end, which must be that one; returns what it said."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment(**options))
    assert done.returncode == code, f"{command}: ended with {done.returncode}, not {code}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done


class Run:
    """A program below `proton run --trace`."""

    def __init__(self, name, *arguments, flags=(), code=0, compression="none", trace=None, profile=None):
        self.trace, self.profile = trace or TMP / f"{name}-trace", TMP / f"{profile or name}-profile"
        self.done = ended([PROTON, "run", "--python", sys.executable, "-n", self.profile, "--trace", self.trace,
                           "--trace-compression", compression, *flags, "--", *program(name, *arguments)], code)
        said = self.done.stderr.splitlines()
        self.closing = [line for line in said if line.startswith("proton: traced")]
        self.said = [line for line in said if line.startswith(("goproton: ", "proton: warning: trace: "))]
        assert "please report this" not in self.done.stderr and "BUG:" not in self.done.stderr, self.done.stderr

    def root(self):
        with open(f"{self.profile}.hatchet") as file:
            return json.load(file)[0]

    def viewed(self, *flags):
        """The viewer's answer, which joins profile and trace."""
        file = next(f for f in (f"{self.profile}.hatchet", f"{self.profile}.chrome_trace") if os.path.exists(f))
        return json.loads(ended([PROTON, "viewer", "--trace", self.trace, file, *flags]).stdout)


def records(folder, kind=None, kernel=None):
    """The records of a trace, in order."""
    text = ended([PROTON, "trace", "cat", folder, "--no-ir"]).stdout
    all = [json.loads(line) for line in text.splitlines()]
    return [r for r in all if kind in (None, r["event_type"]) and kernel in (None, r.get("name"))]


def is_clean(folder):
    """Nothing is wrong with a trace, and it can be parsed."""
    ended([PROTON, "trace", "validate", folder])
    parsed = pathlib.Path(tempfile.mkdtemp(dir=TMP)) / "parsed"
    return "parsed: " + ended([PROTON, "trace", "parse", folder, "-o", parsed, "--strict", "--analysis", "none"]).stdout.splitlines()[-1]


def equal(got, want, what=""):
    assert got == want, f"{what}: got {got}, want {want}"


def close(got, want):
    """Two figures of a tensor: numbers, or the texts of what JSON has no number for."""
    return got == want or not isinstance(got, str) and not isinstance(want, str) and abs(got - want) <= 1e-6 * max(1, abs(want))


# ---- tensors ----

def blob(argument):
    """The tensor that an argument's file holds."""
    with open(argument["blob_path"], "rb") as file:
        data = file.read()
    equal(len(data), argument["blob_size"], "size of the file")
    path = TMP / "blob.pt"
    path.write_bytes(gzip.decompress(data) if argument["compression"] == "gzip" else data)
    return torch.load(path, weights_only=True)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.contiguous().view(torch.uint8) if a.numel() else a, b.contiguous().view(torch.uint8) if b.numel() else b)


@check
def statistics_and_tensors_beside_a_profile():
    run = Run("tensors", TMP, flags=["--trace-statistics", "--trace-tensors"])
    said = json.loads((TMP / "said.json").read_text())
    kept = torch.load(TMP / "tensors.pt")
    launches = records(run.trace, "launch", "read_kernel")
    equal(len(launches), len(said), "launches")
    worst = 0
    for launch, one in zip(launches, said):
        x = launch["extracted_args"]["x"]
        if one["figures"] is not None:
            got = [x[name] for name in ("min", "max", "mean", "std")]
            assert all(map(close, got, one["figures"])), f"{one['name']}: {got}, torch says {one['figures']}"
            worst = max([worst] + [abs(g - w) for g, w in zip(got, one["figures"]) if not isinstance(g, str)])
        else:
            assert "tensor_capture_error" in x, x
        assert x.get("tensor_hash"), f"{one['name']}: {x.get('error')}"
        assert same(blob(x), kept[one["name"]]), f"{one['name']}: the file holds another tensor"
    by_name = {one["name"]: launch["extracted_args"]["x"] for launch, one in zip(launches, said)}
    equal(by_name["again"].get("deduplicated"), True, "the same tensor again")
    equal([by_name[name]["compression"] for name in ("large", "zeros")], ["none", "gzip"], "large ones")
    tuned = records(run.trace, "launch", "tuned_kernel")
    stored = [bool(launch["extracted_args"]["x"].get("tensor_hash")) for launch in tuned]
    equal(stored.count(True), 1, f"of {len(tuned)} launches of an autotuned kernel, those with tensors")
    assert stored[-1]
    hashes = {a["tensor_hash"] for r in records(run.trace, "launch") for a in r["extracted_args"].values() if a.get("tensor_hash")}
    files = list((run.trace / "saved_tensors").glob("*/*"))
    equal(len(files), len(hashes), "files of tensors")
    root = run.root()
    equal(total(root, "read_kernel"), len(said), "kernels in the profile")
    ours = total(root, "__proton_launch_metadata")
    print(f"    {len(said)} forms of tensors, figures differ by {worst:g} at most; {len(files)} files; {len(tuned)} launches of an autotuner; "
          f"{ours} kernels of the statistics under their own frame; {is_clean(run.trace)}")
    assert ours > 0
    assert not any("read_kernel" in p and any("reduce" in f for f in p) for p, _ in walk(root)), "kernels of the statistics stand at the program's"


@check
def limit_and_quota_of_tensors():
    limit, most = 150 << 10, 350 << 10
    run = Run("quota", limit, flags=["--trace-tensors", "--trace-tensor-limit", limit, "--trace-tensor-quota", most])
    arguments = [r["extracted_args"]["x"] for r in records(run.trace, "launch", "read_kernel")]
    stored = [bool(a["tensor_hash"]) for a in arguments]
    size = sum(f.stat().st_size for f in (run.trace / "saved_tensors").glob("*/*"))
    print(f"    {arguments[0]['error']}; {stored.count(True)} of 10 stored, {size} of {most} bytes; {run.said}")
    assert "exceeds limit" in arguments[0]["error"] and "quota" in arguments[-1]["error"]
    equal(stored, [False] + [True] * 3 + [False] * 7)
    assert size <= most and len(run.said) == 1
    is_clean(run.trace)


# ---- ends of programs ----

def arguments_in_order(folder, reached):
    """All launches up to the one that had returned are there, once each, in order."""
    numbers = [r["extracted_args"]["n"]["value"] for r in records(folder, "launch")]
    assert reached <= len(numbers) <= reached + 1, f"{len(numbers)} launches, the program had made {reached}"
    equal(numbers, list(range(len(numbers))), "arguments")
    compiled = records(folder, "compilation")
    assert compiled and compiled[0]["payload"]["metadata"]["name"] == "step_kernel"
    return len(numbers)


def killed(folder, command):
    progress = TMP / "progress"
    progress.write_bytes(bytes(8))
    done = subprocess.run(list(map(str, command(progress))), capture_output=True, text=True, env=environment())
    assert done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), f"{done.returncode}\n{done.stderr}"
    return int.from_bytes(progress.read_bytes(), "little"), done.stderr


@check
def a_killed_program():
    folder = TMP / "killed"
    reached, _ = killed(folder, lambda progress: program("killed", progress, folder))
    info = ended([PROTON, "trace", "info", folder])
    assert "completed the traces of 1 process" in info.stderr, info.stderr
    print(f"    {arguments_in_order(folder, reached)} launches, {reached} had returned; {info.stderr.strip()}; {is_clean(folder)}")


@check
def a_killed_program_below_proton_run():
    folder = TMP / "killed"
    reached, said = killed(folder, lambda progress: [PROTON, "run", "--python", sys.executable, "-n", TMP / "killed-profile", "--trace", folder,
                                                     "--", *program("killed", progress)])
    assert not list(folder.glob(".*")), "the spool is gone"
    print(f"    {arguments_in_order(folder, reached)} launches, {reached} had returned; {said.strip().splitlines()[-1]}; {is_clean(folder)}")


@check
def daemon_threads_launch_at_the_end():
    bare = subprocess.run(program("daemons"), capture_output=True, text=True, env=environment())
    if bare.returncode:
        print(f"    skipped: without us it ends with {bare.returncode}")
        return
    run = Run("daemons")
    per_thread = [r["extracted_args"]["n"]["value"] for r in records(run.trace, "launch")][1:]
    print(f"    {len(per_thread)} launches; {run.closing[0]}; {is_clean(run.trace)}")
    equal(run.done.stdout, "done\n")
    most = max(per_thread)
    assert all(per_thread.count(n) <= 4 for n in (0, most // 2, most))
    assert not run.said, run.said


@check
def a_full_disk():
    """A limit on the size of files, from 24 MB of trace on, and from before the 16 MB in which launches wait."""
    for limit in 24 << 20, 0:
        folder = None
        if not limit:
            folder = TMP / "small"
            folder.mkdir()
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)], capture_output=True, text=True)
            if mounted.returncode:
                print(f"    a small disk: skipped: {mounted.stderr.strip()}")
                continue
        try:
            run = Run("full", limit, code=7, trace=folder and folder / "trace")
            equal(run.done.stdout, "computed 40000\n")
            numbers = [r["extracted_args"]["n"]["value"] for r in records(run.trace, "launch")]
            print(f"    {limit >> 20 or 24} MB of {'file' if limit else 'disk'}: {len(numbers)} of 40000 launches; {run.said}; {run.closing}")
            assert 1000 < len(numbers) < 40_000
            equal(numbers, list(range(len(numbers))), "what came before")
            equal(len(run.said), 1, run.said)
            assert " lost" in run.said[0] and f"{40_000 - len(numbers)} lost" in run.closing[0]
            equal(total(run.root(), "step_kernel"), 40_000, "kernels in the profile")
        finally:
            if folder is not None:
                subprocess.run(["umount", str(folder)], check=True)


# ---- launches ----

@check
def replays_of_a_graph_by_kind():
    replays_by_kind(Run("graph"))


@check
def kinds_on_a_timeline():
    run = Run("graph", flags=["-d", "trace"], trace=TMP / "timeline-trace", profile="timeline")
    replays_by_kind(run)
    with open(f"{run.profile}.chrome_trace") as file:
        kernels = [e for e in json.load(file)["traceEvents"] if e.get("cat") == "kernel"]
    ours = [e for e in kernels if e["name"] in ("scale_kernel", "negate_kernel")]
    told = {(e["name"], e["args"].get("launch"), e["args"].get("compile_hash")) for e in ours}
    print(f"    {len(ours)} kernels of {len(kernels)}, of {len(told)} kinds")
    hashes = {r["payload"]["metadata"]["hash"] for r in records(run.trace, "compilation")}
    assert all(kind and hash in hashes for _, kind, hash in told), told


def replays_by_kind(run):
    got = {}
    for kernel in "scale_kernel", "negate_kernel":
        (found,) = run.viewed("--source", kernel, "--json")["kernels"]
        for special in found["specialisations"]:
            for group in special["launch_groups"]:
                key = kernel, tuple(group["grid"])
                got.setdefault(key, []).append(group.get("launches", 0))
    got = {key: sorted(counts) for key, counts in got.items()}
    rows = run.viewed("--launches", "--view", "json", "-m", "count")["rows"]
    leaves = sorted((row["name"], row["own"][0]) for row in rows if "_kernel [" in row["name"])
    print(f"    {got}; {leaves}")
    equal(got, {("scale_kernel", (4,)): [1, 50], ("scale_kernel", (64,)): [1, 50], ("negate_kernel", (64,)): [1, 50]})
    equal(sorted(count for _, count in leaves), [1, 1, 1, 50, 50, 50])


@check
def threads_that_launch():
    count, each = 8, 500
    run = Run("threads", count, each)
    launches = records(run.trace, "launch")
    equal(sorted(r["extracted_args"]["n"]["value"] for r in launches), list(range(-1, count * each)), "arguments")
    equal(sorted(r["goproton"]["timestamp"]["sequence"] for r in launches), list(range(1, count * each + 2)), "numbers of launches")
    equal(total(run.root(), "step_kernel"), count * each + 1, "kernels in the profile")
    (found,) = run.viewed("--source", "step_kernel", "--json")["kernels"]
    kinds = [group.get("launches", 0) for special in found["specialisations"] for group in special["launch_groups"]]
    print(f"    {len(launches)} launches of {count} threads, {len(kinds)} kinds; {run.closing[0]}; {is_clean(run.trace)}")
    equal(kinds, [1] * (count * each + 1), "launches of each kind")


@check
def beside_tritonparse():
    theirs = os.environ.get("TRITONPARSE")
    if not theirs:
        print("    skipped: set TRITONPARSE to a folder with tritonparse")
        return
    for first in "ours", "theirs":
        folders = TMP / f"{first}-ours", TMP / f"{first}-theirs"
        python = os.pathsep.join([environment()["PYTHONPATH"], theirs])
        done = subprocess.run(program("both", first, *folders), capture_output=True, text=True, env=environment(PYTHONPATH=python))
        assert done.returncode == 0 and "please report" not in done.stderr, done.stderr
        compared = []
        for folder in folders:
            launches = [(r["name"], r["grid"], r["extracted_args"]) for r in records(folder, "launch")]
            hashes = [r["payload"]["metadata"]["hash"] for r in records(folder, "compilation")]
            compared.append((launches, sorted(set(hashes))))
        # The autotuner runs by time, but both saw the same launches.
        print(f"    {first} first: {len(compared[0][0])} launches and {len(compared[0][1])} compilations, {len(compared[1][0])} and {len(compared[1][1])}")
        assert compared[0] == compared[1]


@check
def odd_arguments_change_nothing():
    caches = [{"TRITON_CACHE_DIR": str(TMP / f"cache{k}"), "TORCHINDUCTOR_CACHE_DIR": str(TMP / f"inductor{k}")} for k in (0, 1)]
    bare = subprocess.Popen(program("odd"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**caches[0]))
    os.environ.update(caches[1])
    run = Run("odd", flags=["--trace-statistics", "--trace-tensors"])
    want, errors = bare.communicate()
    assert bare.returncode == 0, errors
    for line in want.splitlines():
        print(f"    {line}")
    equal(run.done.stdout.splitlines(), want.splitlines(), "what the program printed")
    launches = records(run.trace, "launch")
    unknown = [(r["name"], a) for r in launches for a in r["extracted_args"].values() if a.get("type") == "?"]
    print(f"    {len(launches)} launches, types {sorted({a['type'] for r in launches for a in r['extracted_args'].values()})}; {run.said}; {is_clean(run.trace)}")
    assert not unknown, unknown


# ---- samples ----

@check
def noinline_callees():
    run = Run("noinline", flags=["-m", "pcsampling"])
    root = run.root()
    text = PROGRAMS.read_text().splitlines()
    hot = {name: 1 + next(i for i, line in enumerate(text) if mark in line) for name, mark in (("polished_kernel", "# the callee's hot line"), ("alone_kernel", "# the other kernel's hot line"))}
    scopes = {"polished_kernel": "with a callee", "alone_kernel": "alone"}
    for kernel, scope in scopes.items():
        all, here = total(root, kernel, metric="num_samples"), total(root, scope, kernel, metric="num_samples")
        line = total(root, scope, kernel, f"{PROGRAMS.name}:{hot[kernel]}@", metric="num_samples")
        print(f"    {kernel}: {all} samples, {here} in its scope, {line} at line {hot[kernel]}")
        assert all > 1000 and here == all, "samples are elsewhere"
        assert line > 0.8 * all, f"line {hot[kernel]} should have nearly all"
    ratio = [total(root, k, metric="num_samples") / total(root, k, metric="time (ns)") for k in scopes]
    print(f"    samples per time, with a callee and without: {ratio[0] / ratio[1]:.3f}")
    assert abs(ratio[0] / ratio[1] - 1) < 0.1
    strays = [p for p, m in walk(root) if m.get("num_samples", 0) > 100 and any("polish" in f for f in p) and not any("polished_kernel" in f for f in p)]
    assert not strays, strays
    listed = run.viewed("--source", "polished_kernel", "--json")["source"]["kernels"]
    lines = {line["line"]: line["samples"] for k in listed for file in k["files"] for line in file["lines"]}
    assert max(lines, key=lines.get) == hot["polished_kernel"], lines


@check
def samples_of_specialisations():
    run = Run("matmul", flags=["-m", "pcsampling", "--trace-statistics"])
    joined = run.viewed("--source", "matmul_kernel", "--json")
    (kernel,) = joined["kernels"]
    of = {}
    for k in joined["source"]["kernels"]:
        of[k["compile_hash"]] = of.get(k["compile_hash"], 0) + k["samples"]
    root = run.root()
    tree, count = total(root, "matmul_kernel", metric="num_samples"), total(root, "matmul_kernel")
    launches = records(run.trace, "launch", "matmul_kernel")
    for special in kernel["specialisations"]:
        print(f"    {special['label']}: {special['launches']} launches, {special['total_ns'] * 1e-6:.2f} ms, {of.get(special['hash'], 0)} samples")
    print(f"    {count} kernels, {len(launches)} launches; {tree} samples in the tree, {sum(of.values())} of specialisations; {is_clean(run.trace)}")
    equal(sum(of.values()), tree, "samples")
    equal((kernel["launches"], sum(s["launches"] for s in kernel["specialisations"])), (count, count), "launches that were measured")
    equal(len(launches), count, "launches")
    equal({s["hash"] for s in kernel["specialisations"]} >= set(of), True, "specialisations")
    assert len(of) >= 2 and min(of.values()) > 0
    equal(sum("mean" in r["extracted_args"]["a"] for r in launches), 40, "launches with statistics, which are not the autotuner's")
    whole, nanos = sum(of.values()), sum(s["total_ns"] for s in kernel["specialisations"])
    for special in kernel["specialisations"]:
        share, time = of[special["hash"]] / whole, special["total_ns"] / nanos
        assert re.fullmatch("[0-9a-f]+", special["hash"]) and abs(share - time) < 0.25, f"{special['label']}: {share:.2f} of the samples, {time:.2f} of the time"


if __name__ == "__main__":
    check.run(sys.argv[1:])
