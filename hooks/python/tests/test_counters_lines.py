"""Counts by source line, on the fake driver, whose libcupti has instructions count by their place in the code: see counted in replay/fakecuda/lines.c."""

import json
import struct
import subprocess

import pytest
from conftest import PATIENCE, REPOSITORY, run_python
from test_counters import THREADS, TOGGLES
from test_windows import PROTON, STUB, counts, environment, run, walk  # noqa: F401 (run is a fixture)
from trees import load

CUBIN = REPOSITORY / "gpu/cubin/testdata/softmax.sm90.cubin"
NEW = {"PROTON_STUB_VERSION": "130500"}
WARPS = 4 * 4  # of a launch of fake_gpu
INST, THREAD = "smsp__sass_inst_executed", "smsp__sass_thread_inst_executed"
GLOBAL, SECTORS, IDEAL = "smsp__sass_inst_executed_op_global", "smsp__sass_sectors_mem_global", "smsp__sass_sectors_mem_global_ideal"
SHARED, SHARED_IDEAL = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal"

SOFTMAX = f"softmax = fake_gpu.function('softmax', open({str(CUBIN)!r}, 'rb').read())\n"
LAUNCHES = SOFTMAX + """
for n in range(3):
    with proton.scope("odd" if n % 2 else "even"):
        for _ in range(4):
            fake_gpu.launch(softmax)
            launch(7)
"""


def instructions(name="softmax"):
    """How many a function has, from its symbol."""
    elf = CUBIN.read_bytes()
    at, size, number = (*struct.unpack_from("<Q", elf, 40), *struct.unpack_from("<HH", elf, 58))
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, at + i * size) for i in range(number)]
    for _, kind, _, _, place, length, link, *_ in sections:
        for symbol in range(place, place + length, 24) if kind == 2 else ():
            text, info, _, _, _, bytes_ = struct.unpack_from("<IBBHQQ", elf, symbol)
            begin = sections[link][4] + text
            if info & 15 == 2 and elf[begin:elf.index(b"\0", begin)] == name.encode():
                return bytes_ // 16
    raise AssertionError(name)


def expected(number, launches=1):
    """What that many instructions count: every fourth uses global memory, the one behind it shared memory."""
    sums = dict.fromkeys((INST, THREAD, GLOBAL, SECTORS, IDEAL, SHARED, SHARED_IDEAL), 0)
    for i in range(number):
        times = launches * WARPS * (1 + i % 3)
        sums[INST] += times
        sums[THREAD] += times * (32 - i % 5)
        if i % 4 == 0:
            sums[GLOBAL] += times
            sums[SECTORS] += times * (4 + i % 29)
            sums[IDEAL] += 4 * times
        if i % 4 == 1:
            sums[SHARED] += times * (1 + i % 32)
            sums[SHARED_IDEAL] += times
    return {name: n for name, n in sums.items() if n}


def below(node):
    """The sums of a frame and those below it."""
    sums = {name: n for name, n in node["metrics"].items() if name.startswith("smsp__")}
    for child in node["children"]:
        for name, n in below(child).items():
            sums[name] = sums.get(name, 0) + n
    return sums


def check(path):
    """Each kernel has what its instructions count, and nothing else; how many of its launches were counted."""
    launches = {}

    def visit(node, above):
        for child in node["children"]:
            here = (*above, child["frame"]["name"])
            n = child["metrics"].get("launches_by_line")
            if n is None:
                visit(child, here)
                continue
            launches["/".join(here)] = n
            assert below(child) == expected(instructions() if here[-1] == "softmax" else 4, n), here
            assert "count" not in child["metrics"] and "time (ns)" not in child["metrics"]
            if here[-1] == "softmax":  # every instruction has a line
                assert len(child["children"]) > 5 and INST not in child["metrics"]
    visit(load(path), ())
    return launches


def viewer(folder, *words):
    done = subprocess.run([PROTON, "viewer", *words], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_counts_by_line(run, tmp_path):  # noqa: F811
    """Records of kernels, with which instructions count nothing, are never asked for: CUPTI would refuse them."""
    said = run(LAUNCHES, "-m", "counters:set=lines", PROTON_STUB_RESULTS="ActivityEnable=999", **NEW)
    assert check(tmp_path / "out.hatchet") == {f"{scope}/{kernel}": 1 for scope in ("even", "odd") for kernel in ("softmax", "k7")}
    assert "proton: counters: set lines, 8 metrics in 1 pass: 4 launches of 2 kernels measured\n" in said
    assert "4 kernels, counted by line and not timed, 0 dropped" in said
    assert said.count("warning") == 1 and "the lines of 2 launches that were counted are not known" in said  # k7 has no code
    # The listing by instruction has the same, each at its offset.
    document = json.loads(viewer(tmp_path, "--sass", "softmax", "--json", "out.hatchet"))
    assert document["unit"] == "instructions" and document["samples"] == 2 * (expected(instructions())[INST] + expected(4)[INST])
    [kernel] = document["kernels"]
    for i, one in enumerate(kernel["instructions"]):
        assert one["offset"] == 16 * i and one["samples"] == one["counted"]["instructions"] == 2 * WARPS * (1 + i % 3)
        assert one["counted"].get("global_sectors", 0) == (2 * WARPS * (1 + i % 3) * (4 + i % 29) if i % 4 == 0 else 0)
    # The lines of the tree are what these instructions add up to.
    lines = {}
    for one in kernel["instructions"]:
        line = "{file}:{line}@{function}".format(**one["places"][-1])
        lines[line] = lines.get(line, 0) + one["samples"]
    tree = {}
    for child in load(tmp_path / "out.hatchet")["children"]:
        for node in (n for n in child["children"] if n["frame"]["name"] == "softmax"):
            for line in node["children"]:
                tree[line["frame"]["name"]] = tree.get(line["frame"]["name"], 0) + below(line)[INST]
    assert tree == lines


@pytest.mark.parametrize("options, want", [
    ("first=3", {"even/softmax": 3, "even/k7": 3, "odd/softmax": 3, "odd/k7": 3}),
    ("kernels=soft*:first=9", {"even/softmax": 8, "odd/softmax": 4}),
    ("first=2:most=3", {"even/softmax": 2, "even/k7": 1}),
])
def test_what_is_chosen(run, tmp_path, options, want):  # noqa: F811
    """What other launches count meanwhile does not count for those that are chosen."""
    run(LAUNCHES, "-m", "counters:set=lines:" + options, **NEW)
    assert check(tmp_path / "out.hatchet") == want


def test_after_a_while_without_a_choice(run, tmp_path):  # noqa: F811
    """Instructions stop counting when 50 launches in a row were not chosen, so that the rest runs at its pace; the next one that is chosen is counted."""
    run(SOFTMAX + "for scope in ('a', 'b', 'c'):\n    with proton.scope(scope):\n        for _ in range(120):\n            fake_gpu.launch(softmax)\n", "-m", "counters:set=lines", **NEW)
    assert check(tmp_path / "out.hatchet") == {f"{scope}/softmax": 1 for scope in "abc"}


def test_threads_and_captures(run, tmp_path):  # noqa: F811
    """The fake CUPTI aborts if counts are read while a stream is captured."""
    run(THREADS, "-m", "counters:set=lines:first=20", **NEW)
    assert check(tmp_path / "out.hatchet") == {f"k{n}": 20 for n in range(5)}


def test_deactivated_while_others_launch(run, tmp_path):  # noqa: F811
    """The end of a launch is seen that is counted meanwhile: no other waits for it for ever, and the next ones are counted."""
    run(TOGGLES, "-m", "counters:set=lines:first=300:most=10000", **NEW)
    assert check(tmp_path / "out.hatchet")["k9"] == 5


def test_contexts_that_end(run, tmp_path):  # noqa: F811
    """CUPTI refuses to have a context count that counts already: one that ends before it leaves a gap in the profiler's list."""
    said = run("""
import ctypes
def make():
    context = ctypes.c_void_p()
    fake_gpu._check("cuCtxCreate_v2", ctypes.byref(context), 0, 0)
    return context, [fake_gpu.function(f"c{n}") for n in range(4)]
(first, ones), (second, others) = make(), make()
for context, kernel in ((first, ones[0]), (second, others[1])):
    fake_gpu._check("cuCtxSetCurrent", context)
    fake_gpu.launch(kernel)
fake_gpu._check("cuCtxDestroy_v2", first)
fake_gpu._check("cuCtxSetCurrent", second)
fake_gpu.launch(others[2])
fake_gpu.launch(others[3])
""", "-m", "counters:set=lines", **NEW)
    assert "CUPTI error" not in said and check(tmp_path / "out.hatchet") == {f"c{n}": 1 for n in range(4)}


def test_graphs_are_left_out(run, tmp_path):  # noqa: F811
    said = run("on = fake_gpu.stream()\nwith fake_gpu.Graph(on) as graph:\n    fake_gpu.launch(kernels[1], on)\nlaunch(2)\nfor _ in range(5): graph.replay()\n",
               "-m", "counters:set=lines", **NEW)
    assert check(tmp_path / "out.hatchet") == {"k2": 1}
    assert "the kernels of 5 launches of graphs were not counted by line" in said


def test_an_older_library(run, tmp_path):  # noqa: F811
    """CUPTI 13.0 counts one kernel: nothing is counted, and kernels are timed."""
    said = run(LAUNCHES, "-m", "counters:set=lines")
    assert "(CUPTI 13.0) counts only the first kernel of a program, or none, and CUPTI 13.5 or newer counts all: `pip install --target DIR nvidia-cuda-cupti`" in said
    assert check(tmp_path / "out.hatchet") == {} and sum(counts(tmp_path / "out.hatchet").values()) == 24


@pytest.mark.parametrize("results, says", [
    ("SassMetricsSetConfig=35", "counters: choose what instructions count: CUPTI error 35"),
    ("SassMetricsEnable=27", "counters: have instructions count: CUPTI error 27"),
    ("SassMetricsFlushData=999", "counters: read what instructions counted: CUPTI error 999"),
])
def test_refusals(run, tmp_path, results, says):  # noqa: F811
    said = run(LAUNCHES, "-m", "counters:set=lines", code_of_exit=3, PROTON_STUB_RESULTS=results, **NEW)
    assert says in said and said.count("nothing more is counted, and kernels are not timed: run without set=lines") == 1
    assert "proton: nothing was recorded: set lines, no launch was measured" in said


def test_kernels_that_do_not_exist(run):  # noqa: F811
    said = run(LAUNCHES, "-m", "counters:set=lines:kernels=sofmax", code_of_exit=3, **NEW)
    assert "nothing was recorded: set lines, no launch was measured; kernels=sofmax matches none of those that ran: k7, softmax; did you mean softmax?" in said


@pytest.mark.parametrize("flags, says", [
    (["-m", "counters:set=lines+memory"], "lines is measured alone: count by line in another run, and merge the profiles"),
    (["-m", "counters:set=sector_excess"], "sector_excess is counted by source line: use set=lines"),
    (["-m", "counters:set=lines", "-d", "timeline"], "--mode counters needs --data tree"),
])
def test_what_is_wrong_with_a_command(run, flags, says):  # noqa: F811
    assert says in run(LAUNCHES, *flags, code_of_exit=2, **NEW)


def test_a_second_session(library, tmp_path):
    """CUPTI takes one configuration in the life of a process, and both sessions count."""
    run_python("import fake_gpu, goproton as proton\nfake_gpu.init()\n" + """
for name in ("one", "two"):
    session = proton.start(name, backend="cupti", mode="counters:set=lines")
    """ + SOFTMAX + """
    fake_gpu.launch(softmax)
    proton.finalize(session)
""", cwd=tmp_path, env=environment(tmp_path, PROTON_LIB=str(library), **NEW))
    assert check(tmp_path / "one.hatchet") == check(tmp_path / "two.hatchet") == {"softmax": 1}


def test_times_of_another_run(run, tmp_path):  # noqa: F811
    """A merged profile has the times and launches of the one and the counts of the other; figures of lines are of those alone."""
    run(LAUNCHES, **NEW)
    timed = counts(tmp_path / "out.hatchet")
    (tmp_path / "out.hatchet").rename(tmp_path / "timed.hatchet")
    run(LAUNCHES, "-m", "counters:set=lines", **NEW)
    done = subprocess.run([PROTON, "merge", "-o", "both.hatchet", "timed.hatchet", "out.hatchet"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert counts(tmp_path / "both.hatchet") == timed
    assert below(load(tmp_path / "both.hatchet")) == below(load(tmp_path / "out.hatchet"))
    shown = viewer(tmp_path, "-m", "time/us,threads_per_instruction,sector_excess", "--view", "csv", "both.hatchet")
    one = expected(instructions())
    row = next(line.split(",") for line in shown.splitlines() if "softmax" in line)
    assert {f"{one[THREAD] / one[INST]:.6g}", f"{one[SECTORS] / one[IDEAL]:.6g}"} <= {f"{float(cell):.6g}" for cell in row if cell.replace(".", "").isdigit()}


def test_record_and_replay(run, tmp_path):  # noqa: F811
    run(LAUNCHES, "-m", "counters:set=lines", PROTON_RECORD=str(tmp_path / "capture"), **NEW)
    done = subprocess.run([PROTON, "run", "-b", "replay", "-n", "again", "-m", "counters:set=lines", "capture"], cwd=tmp_path, env=environment(tmp_path),
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "a fake driver called itself" in done.stderr  # so the GPU was recorded
    assert check(tmp_path / "again.hatchet") == check(tmp_path / "out.hatchet") and len(check(tmp_path / "again.hatchet")) == 4
    assert viewer(tmp_path, "--source", "again.hatchet") == viewer(tmp_path, "--source", "out.hatchet")
