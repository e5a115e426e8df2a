#!/usr/bin/env python3
"""Records the kernels of gpu_check_reproduce_kernels.py on a GPU, reproduces each in every way, and compares what the scripts
compute with what the recorded launches wrote. The file with the kernels is gone by then. Then the tuned kernel is launched through
its autotuner, whose file is put back for that, and two traces are compared.

    tools/gpu_check_reproduce.py [--proton build/proton] [--tritonparse FOLDER] [--out FOLDER]

FOLDER of --tritonparse is one with the package tritonparse and what it needs; with it, a trace of its is recorded and
reproduced as well. Prints a line per script and fails if one did.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KERNELS = ["add_kernel", "matmul_kernel", "softmax_1024", "layer_norm_kernel", "attention_kernel", "descriptor_kernel", "gather_kernel",
           "in_place_kernel", "nested_kernel", "given_kernel"]
WAYS = {"auto": [], "override": ["--kernel-import", "override-ttir"], "embed": ["--embed-context"]}


def run(command, **options):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180, **options)
    return done.returncode, done.stdout


def record(options, kind, folder):
    """Runs the kernels, from a place that is gone afterwards; returns the trace's folder."""
    program = folder / "program"
    program.mkdir()
    shutil.copy(HERE / "gpu_check_reproduce_kernels.py", program / "kernels.py")
    trace = folder / "trace"
    environment = dict(os.environ, TORCHINDUCTOR_RUN_JIT_POST_COMPILE_HOOK="1", TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"), TRITON_CACHE_DIR=str(folder / "cache"))
    if kind == "goproton":
        command = [options.proton, "run", "-n", folder / "profile", "--trace", trace, "--trace-tensors", program / "kernels.py", "--inductor"]
    else:
        (program / "traced.py").write_text(
            "import sys, runpy, tritonparse.structured_logging as t\n"
            f"t.init({str(trace)!r}, enable_trace_launch=True, enable_tensor_blob_storage=True)\n"
            f"sys.argv = ['kernels.py', '--inductor']\nrunpy.run_path({str(program / 'kernels.py')!r}, run_name='__main__')\n")
        environment["PYTHONPATH"] = options.tritonparse
        command = [sys.executable, program / "traced.py"]
    code, text = run(command, env=environment)
    if code:
        print(text)
        raise SystemExit(f"recording with {kind} failed: {code}")
    if kind == "goproton":  # its traces hold what the kernels need
        shutil.rmtree(program)
        shutil.rmtree(folder / "inductor", ignore_errors=True)
    return trace


def launches(options, trace, kernel):
    """Ids and records of a kernel's launches, by file."""
    found = []
    for file in sorted(trace.glob("dedicated_log_*")):
        code, text = run([options.proton, "trace", "info", file, "--kernel", kernel, "--json"])
        if code == 0:
            found += [(file.name, each["line"]) for each in json.loads(text[text.index("{"):]).get("launches", ())]
    return found


def inductor_kernels(options, trace):
    names = set()
    for file in sorted(trace.glob("dedicated_log_*")):
        code, text = run([options.proton, "trace", "info", file, "--json"])
        if code == 0:
            names |= {k["name"] for k in json.loads(text[text.index("{"):])["kernels"] if k["name"].startswith("triton_") and k["launches"]}
    return sorted(names)


def one(options, kind, folder, trace, kernel, way, place):
    """Reproduces one launch and runs the script; returns a line of the report and whether it is good."""
    name = f"{kind:<11} {kernel:<32} {way:<9}"
    out = folder / "out" / way
    file, line = place
    code, text = run([options.proton, "reproduce", trace, "--line", f"{file}:{line}", "-o", out, "--stamp", "", "--force", "--template", "benchmark", "--json", *WAYS[way]])
    if code:
        return f"{name} NOT WRITTEN {text.strip()}", False
    result = json.loads(text[text.index("{"):])
    script = pathlib.Path(result["repro_script"])
    alone = folder / "alone" / way / kernel  # moved elsewhere
    shutil.copytree(script.parent, alone, dirs_exist_ok=True)
    environment = dict(os.environ, TRITON_CACHE_DIR=str(folder / "cache2"))
    environment.pop("PYTHONPATH", None)
    code, text = run([sys.executable, alone / script.name, "--repeat", "50", "--json", alone / "result.json"], cwd="/", env=environment)
    if not (alone / "result.json").exists():
        return f"{name} {result['kernel_import']:<13} FAILED {text.strip()[-600:]}", False
    r = json.loads((alone / "result.json").read_text())
    recorded = r["check"]["recorded"]
    said = ", ".join(f"{c['argument']} {'equal' if c['max_abs_diff'] == 0 else 'differs ' + format(c['max_abs_diff'], '.2g')}" for c in recorded) or "nothing recorded"
    return f"{name} {result['kernel_import']:<13} {said}; {r['median_ms'] * 1e3:.2f} us ({r['method']}), {r['gb_per_s']:.0f} GB/s; shared memory as recorded {r['compiled']['same_as_recorded']}", \
        code == 0 and (bool(recorded) or kernel.startswith("triton_"))


def tuned(options, folder, trace):
    """The matmul with --preserve-autotune: the trace has launches of both configurations, whose grids differ."""
    program = folder / "program"
    program.mkdir(exist_ok=True)
    shutil.copy(HERE / "gpu_check_reproduce_kernels.py", program / "kernels.py")
    file, line = launches(options, trace, "matmul_kernel")[-2]
    code, text = run([options.proton, "reproduce", trace, "--line", f"{file}:{line}", "-o", folder / "tuned", "--stamp", "", "--preserve-autotune", "--json"])
    if code:
        return "autotuner kept: NOT WRITTEN " + text.strip(), False
    script = json.loads(text[text.index("{"):])["repro_script"]
    grids = [each for each in pathlib.Path(script).read_text().splitlines() if each.startswith("    ({")]
    code, text = run([sys.executable, script], env=dict(os.environ, TRITON_CACHE_DIR=str(folder / "cache3"), TRITON_PRINT_AUTOTUNING="1"))
    tried = "configurations. The others' grids are not known" not in text
    return f"autotuner kept: grids of {len(grids)} configurations; {text.strip().splitlines()[-1]}", code == 0 and len(grids) == 2 and tried


def compared(options, folder, trace):
    """The same launch of two traces: a copy stands for the other."""
    shutil.copytree(trace, folder / "again")
    code, text = run([options.proton, "reproduce", trace, "--kernel", "matmul_kernel", "--compare", folder / "again", "--rounds", "3", "-o", folder / "compared"],
                     env=dict(os.environ, TRITON_CACHE_DIR=str(folder / "cache4")))
    verdict = [each for each in text.splitlines() if each.startswith(("verdict", "output"))]
    return "two traces: " + ("; ".join(verdict) or text.strip()[-400:]), code == 0 and any("equal" in each for each in verdict)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--proton", default=str(HERE.parent / "build" / "proton"))
    parser.add_argument("--tritonparse")
    parser.add_argument("--out")
    parser.add_argument("--jobs", type=int, default=8)
    options = parser.parse_args()
    options.proton = os.path.abspath(options.proton)
    work = pathlib.Path(tempfile.mkdtemp(prefix="reproduce-"))
    try:
        good = all([check(options, kind, work / kind) for kind in ["goproton"] + (["tritonparse"] if options.tritonparse else [])])
    finally:
        if options.out:
            keep(work, pathlib.Path(options.out))
    return 0 if good else 1


def check(options, kind, folder):
    """Records with one of the two recorders, reproduces, and says whether all is well."""
    good = True
    folder.mkdir()
    trace = record(options, kind, folder)
    jobs = []
    for kernel in KERNELS + inductor_kernels(options, trace):
        places = launches(options, trace, kernel)
        if not places:
            print(f"{kind:<11} {kernel:<32} WAS NOT RECORDED")
            good = False
            continue
        place = places[-2] if len(places) > 1 else places[0]  # the first of the last two: past the autotuner
        jobs += [(kernel, way, place) for way in WAYS if kind == "goproton" or way != "embed"]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for line, ok in pool.map(lambda job: one(options, kind, folder, trace, *job), jobs):
            print(("ok   " if ok else "BAD  ") + line)
            good = good and ok
    for step in (tuned, compared) if kind == "goproton" else ():
        line, ok = step(options, folder, trace)
        print(("ok   " if ok else "BAD  ") + line)
        good = good and ok
    return good


def keep(work, out):
    """Copies the scripts and the traces, without the tensors."""
    for kind in ("goproton", "tritonparse"):
        for script in sorted((work / kind / "out").glob("*/*/*.py")):
            target = out / kind / script.relative_to(work / kind / "out")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(script, target)
        if (work / kind / "trace").exists():
            shutil.copytree(work / kind / "trace", out / kind / "trace", ignore=shutil.ignore_patterns("saved_tensors"), dirs_exist_ok=True)


if __name__ == "__main__":
    sys.exit(main())
