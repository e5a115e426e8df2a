"""proton explain names the cause and the line of kernels that are slow for a known reason, and is silent about healthy ones."""
import concurrent.futures
import re
import subprocess
import sys

import causes
import goproton
import pytest
from goproton import _command

pytestmark = [pytest.mark.alone, pytest.mark.only("cupti"), pytest.mark.patience(240)]
MARK = re.compile(r"# cause: ([a-z |]*[a-z])")


def marks():
    """The class and the line of each kernel; None of a healthy one."""
    known, name = {}, None
    for number, text in enumerate(open(causes.__file__), 1):
        if found := re.match(r"def (\w+)\(", text):
            name = found[1]
        elif (found := MARK.search(text)) and name:
            known[name] = (found[1], number)
    return known


def run(folder, *words):
    subprocess.run([_command.path(), "run", *words], cwd=folder, check=True, timeout=300)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("causes")
    run(folder, "--python", sys.executable, "--mode", "pcsampling:interval=16384", "--trace", "traces", "-n", "causes", causes.__file__)
    return folder


def test_causes_of_kernels(recorded, monkeypatch):
    monkeypatch.chdir(recorded)
    known, right, wrong, false = marks(), [], [], []
    names = list(causes.kernels())
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda name: goproton.explain("causes.hatchet", kernel=f"^{name}$", trace="traces")["findings"], names)
    for name, findings in zip(names, answers):
        sure = [f for f in findings if f["confidence"] != "low"]
        said = [(f["class"], (f.get("line") or {}).get("number"), f["rule"]) for f in findings[:2]]
        if name not in known:
            if sure:
                false.append((name, said))
        elif any(c in known[name][0].split("|") and abs(line - known[name][1]) <= 1 for c, line, _ in said if line):
            right.append(name)
        else:
            wrong.append((name, known[name], said))
    healthy = len(causes.kernels()) - len(known)
    print(f"right: {len(right)} of {len(known)}; false alarms: {len(false)} of {healthy}")
    print(f"wrong: {wrong}\nfalse: {false}")
    assert len(right) >= 0.9 * len(known) and len(false) <= max(1, 0.05 * healthy)


@pytest.mark.parametrize("program", causes.PROGRAMS)
def test_causes_of_programs(program, tmp_path, monkeypatch):
    run(tmp_path, "--python", sys.executable, "--data", "timeline", "-n", program, causes.__file__, program)
    monkeypatch.chdir(tmp_path)
    findings = goproton.explain(f"{program}.chrome_trace")["findings"]
    said = [f["class"] for f in findings[:3]]
    print(program, said)
    assert set(said) & set(re.findall("data movement|launch|host|synchronisation", causes.PROGRAMS[program][2])), findings
