"""The names of profiles below launchers, of programs on the fake driver: one profile per rank, and none replaces another's."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from conftest import ALL, LIBRARY, PATIENCE, REPOSITORY, TESTS
from trees import load

BUILD = REPOSITORY / "build"
STUB = BUILD / "stub"

pytestmark = pytest.mark.skipif(not (LIBRARY.exists() and (BUILD / "proton").exists() and STUB.exists()), reason="needs build/: run make build")

# Launches some kernels in a scope. A file in the folder, if it is named, is waited for before the end.
WORK = f"""
import os, sys, time
sys.path.append({str(TESTS)!r})
import fake_gpu as gpu
import goproton as proton
gpu.init()
kernel = gpu.function("kernel")
for _ in range(int(sys.argv[1])):
    with proton.scope("step"):
        gpu.launch(kernel)
for name in sys.argv[2:]:
    while not os.path.exists(name): time.sleep(0.01)
"""

LAUNCHERS = "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX", "SLURM_JOB_ID"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with work.py, and an environment with the fake driver and no launcher."""
    for name in LAUNCHERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(STUB))
    monkeypatch.setenv("PROTON_CUPTI_PATH", str(STUB / "libcupti.so"))
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work.py").write_text(WORK)
    return tmp_path


def command(*target, flags=()):
    return [str(BUILD / "proton"), "run", "--name", "w", *flags, "--", *map(str, target)]


def rank(number, world=2, **more):
    return {**os.environ, "RANK": str(number), "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world), **more}


def proton(*target, env=None, flags=(), code=0):
    """Runs a program below `proton run`; returns its lines on standard error."""
    done = subprocess.run(command(*target, flags=flags), env=env, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == code, done.stderr
    return [line for line in done.stderr.splitlines() if line.startswith("proton")]


def profiles(folder):
    """The kernels in each profile."""
    def kernels(node):
        return node["metrics"].get("count", 0) + sum(map(kernels, node["children"]))
    return {path.name: kernels(load(path)) for path in sorted(folder.glob("*.hatchet"))}


def info(path):
    return load(path)["info"]


def shell(*lines):
    return ["/bin/sh", "-c", "\n".join(lines)]


WORKER = f"{sys.executable} work.py"


def test_ranks_below_a_launcher(folder):
    said = proton(*shell(f"for r in 0 1 2; do RANK=$r WORLD_SIZE=3 LOCAL_WORLD_SIZE=3 {WORKER} $((r + 1)) & done; wait"))
    assert profiles(folder) == {"w.rank0.hatchet": 1, "w.rank1.hatchet": 2, "w.rank2.hatchet": 3}
    assert len(said) == 1 and "wrote 3 files: w.rank0.hatchet, w.rank1.hatchet, w.rank2.hatchet" in said[0], said
    merged = subprocess.run([str(BUILD / "proton"), "merge", "w", "-o", "w.hatchet"], capture_output=True, text=True)
    assert (merged.returncode, merged.stderr) == (0, "") and profiles(folder)["w.hatchet"] == 6
    (folder / "w.rank1.hatchet").rename("elsewhere")
    merged = subprocess.run([str(BUILD / "proton"), "merge", "w", "-o", "some.hatchet"], capture_output=True, text=True)
    assert merged.stderr == "proton: rank 1 of 3 is missing: it has no profile here\n"
    (folder / "elsewhere").rename("w.rank1.hatchet")
    facts = info(folder / "w.rank1.hatchet")
    assert (facts["rank"], facts["world"]) == ("1", "3") and "restart" not in facts


def test_proton_below_a_launcher(folder):
    for r in 0, 1:
        proton(sys.executable, "work.py", "5", env=rank(r))
    assert profiles(folder) == {"w.rank0.hatchet": 5, "w.rank1.hatchet": 5}


def test_a_later_run_replaces_the_files_of_an_earlier_one(folder):
    for count in 5, 7:
        assert len(proton(sys.executable, "work.py", count, env=rank(1))) == 1
    assert profiles(folder) == {"w.rank1.hatchet": 7}


@pytest.mark.parametrize("variables, name", [
    ({"LOCAL_WORLD_SIZE": "1"}, rf"w\.rank1\.{re.escape(os.uname().nodename.split('.')[0])}\.hatchet"),
    ({"TORCHELASTIC_RESTART_COUNT": "2", "TORCHELASTIC_RUN_ID": "night"}, r"w\.rank1\.restart2\.hatchet"),
    ({"RANK": "one"}, r"w\.pid\d+\.hatchet"),
    ({"RANK": "2"}, r"w\.pid\d+\.hatchet"),
    ({"WORLD_SIZE": "1", "RANK": "0"}, r"w\.hatchet"),
])
def test_names(folder, variables, name):
    said = proton(sys.executable, "work.py", "5", env=rank(1, **variables))
    [written] = profiles(folder)
    assert re.fullmatch(name, written)
    assert len(said) == (2 if "pid" in name else 1), said
    if "pid" in name:
        assert "is not a rank" in said[0] and "rank" not in info(folder / written)
    if "restart" in name:
        facts = info(folder / written)
        assert (facts["restart"], facts["launcher"], facts["job"]) == ("2", "torchrun", "night")


def test_the_launcher_launches_nothing(folder):
    assert "1 kernel" in proton(sys.executable, "-c", "import os, subprocess, sys; subprocess.run([sys.executable, 'work.py', '1'], "
                                "env={**os.environ, 'RANK': '1', 'WORLD_SIZE': '2'})", env=rank(0))[0]
    assert profiles(folder) == {"w.rank1.hatchet": 1}


def test_one_rank_twice_in_a_run(folder):
    said = proton(*shell(f"{WORKER} 3 & {WORKER} 3 & wait"), env=rank(1))
    assert re.fullmatch(r"w\.rank1\.hatchet,w\.rank1\.pid\d+\.hatchet", ",".join(profiles(folder)))
    assert sorted(profiles(folder).values()) == [3, 3]
    assert any(re.search(r"warning: processes \d+ and \d+ are both rank 1: the profile of the second is w\.rank1\.pid\d+\.\*$", line) for line in said), said


# A data loader's worker has the variables of its rank, whose name is taken; that is normal.
def test_a_child_of_a_rank(folder):
    code = "import sys; sys.argv[1] = '3'; exec(open('work.py').read()); import subprocess; subprocess.run([sys.executable, 'work.py', '4'], check=True)"
    said = proton(sys.executable, "-c", code, "3", env=rank(1))
    assert sorted(profiles(folder).values()) == [3, 4] and "w.rank1.hatchet" in profiles(folder)
    assert len(said) == 1, said


def alone(count, ready):
    """A run of rank 1 that goes on until there is a file."""
    return subprocess.Popen(command(sys.executable, "work.py", count, ready, flags=["--checkpoint", "0.05"]), env=rank(1), stderr=subprocess.PIPE, text=True)


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("checkpoint_of_the_first", ["0.05", "1000"], ids=["busy", "idle"])
def test_one_rank_in_two_runs(folder, checkpoint_of_the_first):
    first = subprocess.Popen(command(sys.executable, "work.py", "3", "go", flags=["--checkpoint", checkpoint_of_the_first]), env=rank(1), stderr=subprocess.PIPE, text=True)
    wait_for(lambda: list(folder.glob("w.rank1.hatchet")) == [folder / "w.rank1.hatchet"])
    second = alone(4, "go")
    wait_for(lambda: 4 in profiles(folder).values())
    (folder / "go").touch()
    said = "".join(run.communicate(timeout=PATIENCE)[1] for run in (first, second))
    assert sorted(profiles(folder).values()) == [3, 4], said
    assert re.search(r"warning: another run writes .*w\.rank1\.hatchet at the same time: this profile is w\.rank1\.pid\d+\.\*", said), said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_rank_that_is_killed(folder, number):
    run = subprocess.Popen(command(*shell(f"RANK=0 WORLD_SIZE=2 {WORKER} 3 never & echo $! >pid; RANK=1 WORLD_SIZE=2 {WORKER} 4; wait")), stderr=subprocess.PIPE, text=True)
    wait_for(lambda: profiles(folder).get("w.rank0.hatchet") == 3)
    os.kill(int((folder / "pid").read_text()), number)
    said = run.communicate(timeout=PATIENCE)[1]
    assert profiles(folder) == {"w.rank0.hatchet": 3, "w.rank1.hatchet": 4}, said


def test_workers_that_are_killed_before_a_checkpoint_are_named(folder):
    """The profile says nothing of them: without checkpoints, it is written at the end."""
    said = proton(*shell(f"{WORKER} 3 never & killed=$!; {WORKER} 4", "sleep 1; kill -9 $killed; wait; true"), flags=["--checkpoint", "0"])
    assert sum(profiles(folder).values()) == 4, said
    assert re.search(r"warning: process \d+ \(.*\) used the GPU and ended early.*: what it launched is missing", "\n".join(said)), said


def test_a_worker_that_is_killed_soon_is_recorded_or_named(folder):
    """As pools end their workers. The first launch brings a checkpoint."""
    (folder / "work.py").write_text(LAUNCHED)
    said = proton(*shell(f"{WORKER} 4", "for n in 1 2 3; do", f"  rm launched; {WORKER} 1 never & pid=$!", "  until [ -e launched ]; do sleep 0.01; done",
                         "  sleep 0.2; kill -9 $pid; wait $pid", "done; true"))
    missing = "\n".join(said).count(") used the GPU and ended early")
    assert sum(profiles(folder).values()) == 7 - missing, said


def merged(folder, *flags):
    """Merges the run's ranks; returns the kernels of the sum and what merge says."""
    done = subprocess.run([str(BUILD / "proton"), "merge", *flags, "w", "-o", "sum.hatchet", "--force"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sum_ = profiles(folder)["sum.hatchet"]
    (folder / "sum.hatchet").rename(folder / "sum.json")
    return sum_, done.stderr


def test_ranks_that_are_started_again(folder):
    for attempt, kernels in enumerate([3, 4]):
        for r in 0, 1:
            proton(sys.executable, "work.py", kernels + 10 * r, env=rank(r, TORCHELASTIC_RESTART_COUNT=str(attempt), TORCHELASTIC_RUN_ID="night"))
    assert profiles(folder) == {"w.rank0.hatchet": 3, "w.rank0.restart1.hatchet": 4, "w.rank1.hatchet": 13, "w.rank1.restart1.hatchet": 14}
    assert merged(folder) == (34, "proton: ranks 0-1 ran twice, attempts 0 and 1: both are added up; --attempt last takes attempt 1 alone\n")
    assert info(folder / "sum.json")["ranks"] == "0-1; restart 1: 0-1"
    assert merged(folder, "--attempt", "last") == (18, "proton: ranks 0-1 ran twice, attempts 0 and 1: attempt 1 alone counts\n")


# An agent of torchrun whose own ranks did not fail starts them again with the count of before. The child of a rank does not count as an attempt.
@pytest.mark.parametrize("where", ["around", "below"])
def test_ranks_that_are_started_again_and_not_counted(folder, where):
    variables = "RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=x TORCHELASTIC_RESTART_COUNT=0 TORCHELASTIC_USE_AGENT_STORE=1"
    (folder / "parent.py").write_text("""
import os, subprocess, sys, time
began, own = time.time(), "w.rank1.restart2.hatchet"
sys.argv[1:] = ["6"]
exec(open("work.py").read())
while not (os.path.exists(own) and os.path.getmtime(own) >= began): time.sleep(0.01)  # a faster child would have the name
subprocess.run([sys.executable, "work.py", "7"], check=True)
""")
    child, flags = f"{sys.executable} parent.py", ["--checkpoint", "0.1"]
    below = "" if where == "around" else " ".join(command(flags=flags)) + " "
    for _ in range(2):  # a later run replaces the files of the earlier one
        agent = shell(*(f"env {variables} {below}{worker}" for worker in (f"{WORKER} 3", f"{WORKER} 4", child)))
        said = proton(*agent, flags=flags) if where == "around" else subprocess.run(agent, capture_output=True, text=True, check=True).stderr.splitlines()
        assert not any("warning" in line for line in said), said
        for path in folder.glob("*.hatchet"):
            if "pid" in path.name: path.rename("child.json")
        assert profiles(folder) == {"w.rank1.hatchet": 3, "w.rank1.restart1.hatchet": 4, "w.rank1.restart2.hatchet": 6}
        assert info(folder / "w.rank1.restart2.hatchet")["restart"] == "2" and load(folder / "child.json")
        assert info(folder / "child.json")["rank"] == "1"


# As the actors of Ray Train: of two groups of ranks, one after the other, with process ids in their names and no number.
def test_ranks_that_are_started_again_without_a_number(folder):
    for kernels in 3, 4:
        for r in 0, 1:
            run = command(sys.executable, "work.py", kernels + 10 * r)
            run[run.index("w")] = "w.pid%p"
            subprocess.run(run, env=rank(r), check=True)
    assert merged(folder) == (34, "proton: ranks 0-1 ran twice, one after another: both are added up; --attempt last takes the last one alone\n")
    assert merged(folder, "--attempt", "last") == (18, "proton: ranks 0-1 ran twice, one after another: the last one alone counts\n")


def test_a_job_that_is_requeued(folder):
    for count in "", "1":
        proton(sys.executable, "work.py", "3", env={**os.environ, "SLURM_JOB_ID": "71", "SLURM_RESTART_COUNT": count})
    assert profiles(folder) == {"w.hatchet": 3, "w.requeue1.hatchet": 3}
    assert merged(folder)[0] == 6 and info(folder / "w.requeue1.hatchet")["requeue"] == "1"


# As torch.multiprocessing.spawn does: no launcher has set variables, and torch.distributed learns the rank from the program.
SPAWNED = """
import os, subprocess, sys
if len(sys.argv) == 2:
    children = [subprocess.Popen([sys.executable, __file__, str(r), sys.argv[1]]) for r in range(2)]
    sys.exit(max(child.wait() for child in children))
import torch.distributed
sys.argv[2:] = []
when, rank = os.environ["WHEN"], int(sys.argv[1])
sys.argv[1] = str(3 + rank)
def join(): torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
if when == "early": join()
exec(open("work.py").read())
if when == "late":
    while not [name for name in os.listdir(".") if name.endswith(".hatchet")]: time.sleep(0.01)
    join()
"""

FAKE_DISTRIBUTED = """
_at = None
def init_process_group(backend, rank, world_size):
    global _at
    _at = rank, world_size
def get_rank(): return _at[0]
def get_world_size(): return _at[1]
"""


@pytest.mark.parametrize("when", ["early", "late"])
def test_a_rank_that_only_the_program_knows(folder, monkeypatch, when):
    package = folder / "torch" / "distributed"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("from .distributed_c10d import *\n")
    (package / "distributed_c10d.py").write_text(FAKE_DISTRIBUTED)
    (folder / "spawn.py").write_text(SPAWNED)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    said = proton(sys.executable, "spawn.py", "go", env={**os.environ, "WHEN": when}, flags=["--checkpoint", "0.1"])
    assert profiles(folder) == {"w.rank0.hatchet": 3, "w.rank1.hatchet": 4}, said
    facts = info(folder / "w.rank1.hatchet")
    assert (facts["rank"], facts["world"], facts["launcher"]) == ("1", "2", "torch.distributed")
    assert len(said) == 1, said


def test_runtime_environment_of_ray(folder, monkeypatch):
    import goproton.ray
    monkeypatch.delenv("PROTON_RUN_CONFIG", raising=False)
    monkeypatch.setenv("PROTON_LIB", str(LIBRARY))
    base = {"pip": ["x"], "env_vars": {"OWN": "1", "PROTON_LIB": "of another"}}
    env = goproton.ray.runtime_env("50%", base, data="trace", checkpoint=1)
    config = json.loads(env["env_vars"]["PROTON_RUN_CONFIG"])
    assert config["name"] == f"{folder}/50%%.pid%p.%h" and (config["data"], config["checkpoint"], config["status"]) == ("trace", 1, "")
    assert env["pip"] == ["x"] and env["env_vars"]["OWN"] == "1" and env["env_vars"]["PROTON_LIB"] == str(LIBRARY)
    assert base == {"pip": ["x"], "env_vars": {"OWN": "1", "PROTON_LIB": "of another"}}, "the argument stays as it was"
    assert os.path.exists(os.path.join(env["env_vars"]["PYTHONPATH"].split(":")[0], "sitecustomize.py"))
    monkeypatch.setenv("PROTON_RUN_CONFIG", json.dumps({"context": "python", "data": "tree", "status": "/gone"}))
    config = json.loads(goproton.ray.runtime_env("w", data="trace")["env_vars"]["PROTON_RUN_CONFIG"])
    assert (config["context"], config["data"], config["status"]) == ("python", "trace", "")
    with pytest.raises(TypeError, match="no option depth"):
        goproton.ray.runtime_env("w", depth=3)


class SerialRay:
    """The part of Ray that merge() calls, without tasks: what Ray's own scheduler does is in test_real_launchers.py."""

    @staticmethod
    def remote(function):
        function.remote = function
        return function

    @staticmethod
    def get(value):
        return value


def test_merge_in_groups(tmp_path, monkeypatch):
    import goproton.ray
    monkeypatch.setitem(sys.modules, "ray", SerialRay)
    monkeypatch.chdir(tmp_path)
    files = []
    for rank in range(7):
        leaves = [{"frame": {"name": f"k{(rank * number) % 5}", "type": "function"}, "metrics": {"time (ns)": rank * 7 + number}, "children": []}
                  for number in range(4)]
        root = {"frame": {"name": "ROOT", "type": "function"}, "metrics": {"time (ns)": 0}, "children": leaves, "info": {"rank": str(rank)}}
        files.append(f"r.rank{rank}.hatchet")
        (tmp_path / files[-1]).write_text(json.dumps([root, {}]))
    for flags, options, given in [([], {}, files), (["--sorted", "--by", "rank"], {"sorted": True, "by": "rank"}, files[::-1])]:
        goproton.ray.merge(given, "tree.hatchet", group=2, **options)
        subprocess.run([str(BUILD / "proton"), "merge", "--force", *flags, "-o", "local.hatchet", *files], check=True)
        assert (tmp_path / "tree.hatchet").read_bytes() == (tmp_path / "local.hatchet").read_bytes()
    (tmp_path / files[3]).write_text("[{")
    with pytest.raises(RuntimeError, match="rank3.*left out"):
        goproton.ray.merge(files, "tree.hatchet", group=2)
    with pytest.raises(ValueError, match="at least 2"):
        goproton.ray.merge(files, "tree.hatchet", group=1)


def some_profiles(random, folder):
    """Profiles of ranks, hosts and programs of all kinds: each fact is in some of them."""
    world = random.choice([None, 8])
    for number in range(random.randint(2, 9)):
        facts = {"pid": str(100 + number), "start": str(10**18 + number * 10**9), "end": str(2 * 10**18), "host": f"node{number % 3}", "rank": str(random.randrange(8)),
                 "job": f"slurm.{random.randrange(3)}", "restart": str(random.randrange(2)), "sampled": "0.5"}
        facts = {name: value for name, value in facts.items() if random.random() < 0.7} | ({"world": str(world)} if world else {})
        metrics = lambda: {"time (ns)": random.randrange(1000), "count": random.randrange(1, 4), **({"cpu_time (ns)(exc)": 5} if random.random() < 0.2 else {})}
        leaf = lambda: {"frame": {"name": f"k{random.randrange(5)}", "type": "function"}, "metrics": {**metrics(), "device_id": random.choice("01"), "device_type": "CUDA"}, "children": []}
        kernels = {node["frame"]["name"] + node["metrics"]["device_id"]: node for node in (leaf() for _ in range(random.randint(0, 5)))}
        scope = {"frame": {"name": random.choice(["step", "warm"]), "type": "function"}, "metrics": {}, "children": list(kernels.values())}
        root = {"frame": {"name": "ROOT", "type": "function"}, "metrics": {"time (ns)": 0, "count": 0}, "children": [scope], "info": facts}
        file = folder / random.choice([f"{number}.rank{random.randrange(8)}.hatchet", f"train{'abcdefghi'[number]}.hatchet"])
        devices = {ordinal: {"arch": random.choice(["80", "90"]), "num_sms": 132} for ordinal in "01" if random.random() < 0.6}
        file.write_text(json.dumps([root, {"CUDA": devices}]))
        yield file.name


@pytest.mark.parametrize("by", [None, "rank", "host"])
def test_merge_in_any_groups(by, tmp_path, monkeypatch, capfd):
    """It equals the merge of all files at once, and says the same."""
    import random

    import goproton.ray
    monkeypatch.setitem(sys.modules, "ray", SerialRay)
    for seed in range(12 if ALL else 4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        monkeypatch.chdir(folder)
        files = list(some_profiles(random.Random(seed), folder))
        flags = ["--by", by] if by else []
        capfd.readouterr()
        subprocess.run([str(BUILD / "proton"), "merge", *flags, "-o", "local.hatchet", *map(os.path.abspath, files)], check=True)
        local = capfd.readouterr().err.splitlines()
        for group in (2, 3, 4, 64):
            goproton.ray.merge(files, "tree.hatchet", group=group, by=by)
            said = capfd.readouterr().err.splitlines()
            assert (folder / "tree.hatchet").read_bytes() == (folder / "local.hatchet").read_bytes(), (seed, group, files)
            of_files = lambda lines: sorted(line for line in lines if re.search("names no rank|does not name its host|missing", line))
            assert of_files(said) == of_files(local), (seed, group)


# The signal is sent when everything has been launched. Without checkpoints in between, the profile has what is written because of it.
LAUNCHED = WORK.replace("for name in sys.argv[2:]:", """
with open("launching%d" % os.getpid(), "w") as file: file.write(str(os.getpid()))
os.rename(file.name, "launched" + os.environ.get("RANK", ""))
for name in sys.argv[2:]:""")
HANDLER = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"


@pytest.mark.parametrize("sent_to, number, handler, code, left", [
    ("proton", signal.SIGTERM, "", -signal.SIGTERM, {"w.hatchet": 3}),
    ("proton", signal.SIGHUP, "", -signal.SIGHUP, {"w.hatchet": 3}),
    ("proton", signal.SIGTERM, HANDLER, 9, {"w.hatchet": 3}),  # the program ends in its own way, with the same code
    ("program", signal.SIGTERM, HANDLER, 9, {"w.hatchet": 3}),
    ("program", signal.SIGTERM, "", -signal.SIGTERM, {}),  # nothing of ours runs in it any more
    ("program", signal.SIGKILL, "", -signal.SIGKILL, {}),
    ("proton", signal.SIGKILL, "", -signal.SIGKILL, {})])
def test_what_a_signal_leaves(folder, sent_to, number, handler, code, left):
    (folder / "work.py").write_text(handler + LAUNCHED)
    run = subprocess.Popen(command(sys.executable, "work.py", "3", "never", flags=["--checkpoint", "0"]), stderr=subprocess.PIPE, text=True,
                           start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))  # nohup's children ignore it
    wait_for((folder / "launched").exists)
    os.kill(run.pid if sent_to == "proton" else int((folder / "launched").read_text()), number)
    said = run.communicate(timeout=PATIENCE)[1]
    assert (run.returncode, profiles(folder)) == (code, left), said


def test_a_launcher_that_is_ended_leaves_the_profiles_of_its_ranks(folder):
    (folder / "work.py").write_text(LAUNCHED)
    start = "".join(f"RANK={r} WORLD_SIZE=2 {WORKER} {3 + r} never & pids=\"$pids $!\"; " for r in range(2))
    run = subprocess.Popen(command(*shell(f"trap 'kill $pids; exit 4' TERM; {start} wait"), flags=["--checkpoint", "0"]), stderr=subprocess.PIPE, text=True)
    wait_for(lambda: (folder / "launched0").exists() and (folder / "launched1").exists())
    run.terminate()
    said = run.communicate(timeout=PATIENCE)[1]
    assert (run.returncode, profiles(folder)) == (4, {"w.rank0.hatchet": 3, "w.rank1.hatchet": 4}), said
