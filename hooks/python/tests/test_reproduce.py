"""Reproducers of generated kernels: what the real compiler makes of them, and what they compute in Triton's interpreter."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import ALL, ORACLES, PACKAGE, PATIENCE, REPOSITORY, TESTS, wait_for
from reproduce_roundtrip import fingerprint

WAYS = {
    "auto": [],
    "default": ["--kernel-import", "default"],
    "copy": ["--kernel-import", "copy"],
    "override": ["--kernel-import", "override-ttir"],
    "embed": ["--embed-context"],
    "preserve": ["--preserve-autotune"],
}


@pytest.fixture
def round_trip(library, tmp_path):
    proton = REPOSITORY / "build" / "proton"
    if not proton.exists():
        pytest.skip(f"{proton} is not built; make build")
    return lambda triton, torch, *flags: RoundTrip(tmp_path, proton, library, triton, torch, flags)


class RoundTrip:
    """Kernels that have been launched, their trace, and scripts of its launches."""

    def __init__(self, folder, proton, library, triton, torch, flags):
        self.folder, self.proton, self.flags = folder, str(proton), flags
        self.env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [PACKAGE, TESTS, triton, torch])), "PROTON_LIB": library,
                    "TRITON_CACHE_DIR": str(folder / "cache"), "LD_LIBRARY_PATH": str(torch / "cuda"), "STUB_WITHOUT_GPU": "1",
                    "TRITON_DEFAULT_FP_FUSION": "1"}

    def step(self, *arguments):
        command = [sys.executable, str(TESTS / "reproduce_roundtrip.py"), *map(str, arguments)]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"kernel": ')]

    def record(self, seed, number):
        """Launches kernels. Older releases of Triton cannot compile some."""
        self.failed = {one["kernel"]: one["error"] for one in self.step("record", self.folder, seed, number, *self.flags)}
        self.facts = {one["kernel"]: one for one in json.loads((self.folder / "facts.json").read_text())}
        (file,) = (self.folder / "trace").glob("*.ndjson")
        self.records = records = list(enumerate(map(json.loads, file.read_text().splitlines())))
        compilations = [record for _, record in records if record["event_type"] == "compilation"]
        names = {record["payload"]["metadata"]["hash"]: _function(record["payload"]) for record in compilations}
        self.ptx = {record["payload"]["metadata"]["hash"]: fingerprint(text) for record in compilations
                    for name, text in record["payload"]["file_content"].items() if name.endswith(".ptx")}
        launches = [(line, record["compilation_metadata"]["hash"]) for line, record in records if record["event_type"] == "launch"]
        self.launches = {names[hash]: (line, hash) for line, hash in launches}  # the last of each: autotuners try before
        assert set(self.launches) == set(self.facts) - set(self.failed) or not number

    def reproduce(self, ways):
        """Scripts as (kernel, way, file). A way that does not fit a kernel must be refused, and no other."""
        asked = [(kernel, way) for kernel in self.launches for way in ways]
        with ThreadPoolExecutor(2) as pool:
            return [one for one in pool.map(lambda each: self.script(*each), asked) if one]

    def script(self, kernel, way):
        return kernel, way, self.reproduced(self.launches[kernel][0], kernel, way)["repro_script"]

    def reproduced(self, line, kernel, way):
        command = [self.proton, "reproduce", str(self.folder / "trace"), "--line", str(line), "--json", "--stamp", "", "--files-from", str(self.folder),
                   "--out-dir", str(self.folder / "out" / way), *WAYS[way]]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f"{kernel} {way}: {done.stderr}\n{self.facts.get(kernel)}"
        result = json.loads(done.stdout)
        assert way != "auto" or result["kernel_import"] == "copy", f"{kernel}: {result['why']}\n{self.facts.get(kernel)}"
        return result

    def compiled(self, scripts):
        """How the compiled scripts differ from the recorded kernels."""
        wrong = []
        for (kernel, way, path), said in zip(scripts, self.step("compile", *(f"{kernel}={path}" for kernel, _, path in scripts)), strict=True):
            want = self.ptx[self.launches[kernel][1]]
            if want not in said.get("ptx", []):
                wrong.append(f"{way} {path}: {said.get('error', 'other PTX')}\n    {self.facts[kernel]}")
        return wrong

    def failing(self, ways):
        """How scripts of the compilations that failed differ from these: they must fail in the same way."""
        records = [(line, record) for line, record in self.records if record["event_type"] == "compilation_failure"]
        assert len(records) == len(self.failed), self.failed
        scripts = [(record["goproton"]["function"], way, self.reproduced(line, record["goproton"]["function"], way)) for line, record in records for way in ways]
        said = self.step("compile", *(f"{kernel}={result['repro_script']}" for kernel, _, result in scripts))
        return [f"{way} {result['repro_script']}: {one.get('error')}\n    and not {self.failed[kernel]}" for (kernel, way, result), one
                in zip(scripts, said, strict=True) if one.get("error") != self.failed[kernel]]

    def interpreted(self, scripts):
        """How the scripts' results differ from those of the kernels."""
        scripts = [one for one in scripts if self.facts[one[0]]["interpreted"] and one[1] != "override"]
        said = self.step("interpret", self.folder, *(f"{kernel}={path}" for kernel, _, path in scripts))
        assert sum("limit" in one for one in said) <= len(said) / 4, said
        return [f"{way} {path}: {one.get('error', 'other numbers')}\n    {self.facts[kernel]}" for (kernel, way, path), one in zip(scripts, said, strict=True)
                if "limit" not in one and not one.get("equal")]


def _function(payload):
    """The kernel's function, which may not be its name."""
    return re.search(r"^\s*def (\w+)", payload["python_source"]["code"], re.MULTILINE)[1]


def test_some_kernels(round_trip):
    triton = ORACLES / "triton-3.9.0"
    if not triton.exists():
        pytest.skip(f"{triton} is not there; make oracles")
    trip = round_trip(triton, REPOSITORY / "tritonparse" / "reproduce" / "testdata" / "stub")
    trip.record(1, 14 if ALL else 6)
    assert not trip.failed
    wrong = trip.compiled(trip.reproduce(WAYS))
    assert not wrong, "\n".join(wrong)


def test_compilations_that_fail(round_trip, triton):
    trip = round_trip(triton, REPOSITORY / "tritonparse" / "reproduce" / "testdata" / "stub")
    trip.record(0, 0)
    assert set(trip.launches) == {"right"} and len(trip.failed) == 7
    wrong = trip.failing(["auto", "default"])
    assert not wrong, "\n".join(wrong)
    failures = {record["goproton"]["function"]: record for _, record in trip.records if record["event_type"] == "compilation_failure"}
    late, early = failures["no_instruction"], failures["unknown_name"]
    assert late["goproton"]["failure"]["stage"] == "cubin" and late["goproton"]["failure"]["type"] == "PTXASError"
    assert "no_instruction.ptx" in late["payload"]["file_content"] and late["goproton"]["inputs"]["options"] == {"num_warps": 2, "maxnreg": 32}
    assert early["payload"]["file_content"] == {} and early["goproton"]["failure"]["causes"][0] == "NameError: not_there is not defined"
    info = subprocess.run([trip.proton, "trace", "info", str(trip.folder / "trace")], capture_output=True, text=True)
    assert info.returncode == 0 and "NameError: not_there is not defined" in info.stdout and "PTXASError" in info.stdout and "Unknown modifier" in info.stdout, info


@pytest.mark.parametrize("release", ["3.6.0", "3.9.0"])
def test_many_kernels(round_trip, release):
    """Also runs them in the interpreter, with PyTorch."""
    triton, torch = ORACLES / f"triton-{release}", ORACLES / "torch-2.15.0"
    if not ALL or not (torch / "cuda").exists():
        pytest.skip("needs PyTorch with empty libraries of CUDA; make check")
    trip = round_trip(triton, torch, "--tensors")
    trip.record(release == "3.9.0", 60)
    assert len(trip.failed) <= (0 if release == "3.9.0" else 30), trip.failed
    scripts = trip.reproduce(WAYS)
    wrong = trip.compiled(scripts) + trip.interpreted(scripts) + trip.failing(["auto", "default"])
    assert not wrong, "\n".join(wrong)


CANDIDATE = """
import torch, triton, triton.language as tl

@triton.jit
def dots(a, b, c, N, K, factor, M_: tl.constexpr, N_: tl.constexpr, K_: tl.constexpr):
    i, j = tl.program_id(0) * M_ + tl.arange(0, M_), tl.program_id(1) * N_ + tl.arange(0, N_)
    total = tl.zeros((M_, N_), tl.float32)
    for k in range(0, K, K_):
        at = k + tl.arange(0, K_)
        total = tl.dot(tl.load(a + i[:, None] * K + at[None, :]), tl.load(b + at[:, None] * N + j[None, :]), total)
    tl.store(c + i[:, None] * N + j[None, :], (total * factor).to(tl.float16))

def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, factor=1.0, **_):
    dots[(M // 16, N // 16)](a_ptr, b_ptr, c_ptr, N, K, factor, 16, 16, 16)

def scaled(**given):
    matmul_kernel(**given, factor=1.01)

def lost(**given):
    matmul_kernel(**given, factor=float("nan"))

def endless(**given):
    import signal, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open("begun", "w").close()
    time.sleep(600)

def beyond(c_ptr, **given):
    matmul_kernel(c_ptr=c_ptr[1:], **given)
"""


def test_candidates_without_a_gpu(library, tmp_path):
    """Outputs are compared on the CPU, and what a candidate must not do is said."""
    torch = ORACLES / "torch-2.15.0"
    if not ALL or not (torch / "cuda").exists():
        pytest.skip("needs PyTorch with empty libraries of CUDA; make check")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [ORACLES / "triton-3.9.0", torch])), "LD_LIBRARY_PATH": str(torch / "cuda"), "PROTON_LIB": library}
    (tmp_path / "new.py").write_text(CANDIDATE)
    trace = REPOSITORY / "tritonparse" / "testdata" / "dedicated_log_triton_trace_complex_.ndjson.gz"

    def command(candidate):
        return [REPOSITORY / "build" / "proton", "reproduce", trace, "--kernel", "matmul_kernel", "--python", sys.executable, "--json", "--candidate", candidate]

    def tried(candidate):
        done = subprocess.run(command(candidate), cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE)
        return done.returncode, json.loads(done.stdout)

    code, right = tried("new.py")
    assert (code, right["verdict"]) == (0, "not timed") and [(each["argument"], each["ok"]) for each in right["outputs"]] == [("c_ptr", True)], right
    code, wrong = tried("new.py:scaled")
    assert (code, wrong["verdict"]) == (1, "wrong") and 0.005 < wrong["outputs"][0]["max_abs_diff"] / wrong["outputs"][0]["max_abs"] < 0.015, wrong
    code, lost = tried("new.py:lost")
    assert (code, lost["verdict"]) == (1, "wrong") and lost["outputs"][0]["max_abs_diff"] is None and "nan" in lost["outputs"][0]["why"], lost
    env["TMPDIR"] = str(tmp_path / "temporary")
    (tmp_path / "temporary").mkdir()
    process = subprocess.Popen(command("new.py:endless"), cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for("the candidate begins", (tmp_path / "begun").exists)
    assert list((tmp_path / "temporary").iterdir())
    process.terminate()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + 15 and not list((tmp_path / "temporary").iterdir()), "a signal leaves temporary folders, if the candidate must be killed"
    code, failed = tried("new.py:beyond")
    assert code == 1 and failed["verdict"] == "" and "tt.store" in failed["errors"][0]["message"], failed
