"""Programs below real launchers, on the fake driver: Open MPI's and MPICH's mpirun, Slurm's srun and sbatch, torchrun with a restart and a
killed worker, torch.multiprocessing, Ray's tasks and actors. tools/launchers.sh fetches them. Several hosts are namespaces of this
machine that have other host names."""

import fcntl
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ORACLES, PATIENCE, TESTS
from test_launchers import BUILD, LAUNCHERS, STUB, WORK, info, profiles
from trees import load

FETCHED = Path(os.environ.get("GOPROTON_LAUNCHERS") or ORACLES / "launchers")
PYTHON = FETCHED / "bin" / "python"

pytestmark = pytest.mark.skipif(not (BUILD / "proton").exists() or not STUB.exists(), reason="needs build/: run make build")


def needs(part, name):
    return pytest.mark.skipif(not (FETCHED / f".{part}").exists(), reason=f"needs {name}, which tools/launchers.sh fetches for make check")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in LAUNCHERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{STUB}:{FETCHED / 'stubs'}")
    monkeypatch.setenv("PROTON_CUPTI_PATH", str(STUB / "libcupti.so"))
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work.py").write_text(WORK)
    return tmp_path


def run(*command, codes=(0,), **variables):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **variables})
    assert done.returncode in codes, done.stdout + done.stderr
    return [line for line in done.stderr.splitlines() if line.startswith("proton: ")]


def run_ray(*command):
    """Runs a program that begins with ray.init, one at a time. Ray gives its own processes 30 s to start, which a busy machine exceeds;
    then nothing of the program has run, and it is started again."""
    with open(FETCHED / ".ray.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for last in [False] * 9 + [True]:
            try:
                return run(*command, RAY_AUTH_MODE="disabled", PROTON_LIB=str(BUILD / "libproton.so"))
            except AssertionError as failed:
                if last or "timed out during startup" not in str(failed):
                    raise


def proton(*target):
    return [BUILD / "proton", "run", "--name", "w", "--", *target]


def mpirun(*target):
    return [FETCHED / "bin" / "mpirun", "--oversubscribe", "-n", 2, *target]


ROOT = {f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1" for prefix in ("OMPI", "PRTE") for suffix in ("", "_CONFIRM")}


@needs("openmpi", "Open MPI")
@pytest.mark.parametrize("command", [proton(*mpirun(sys.executable, "work.py", 5)), mpirun(*proton(sys.executable, "work.py", 5))], ids=["around", "below"])
def test_mpirun(folder, command):
    run(*command, **ROOT)
    assert profiles(folder) == {"w.rank0.hatchet": 5, "w.rank1.hatchet": 5}
    facts = info(folder / "w.rank1.hatchet")
    assert (facts["rank"], facts["world"], facts["launcher"]) == ("1", "2", "Open MPI") and facts["job"]


def may_name_hosts():
    return shutil.which("unshare") and subprocess.run(["unshare", "-u", "hostname", "other"], capture_output=True).returncode == 0


several_hosts = pytest.mark.skipif(not may_name_hosts(), reason="needs unshare -u and the right to use it, for a host with another name")


def on_host(name, *command):
    return ["unshare", "-u", "sh", "-c", 'hostname "$0" && exec "$@"', name, *map(str, command)]


MPICH = FETCHED / "mpich" / "bin" / "mpiexec"


@needs("mpich", "MPICH")
@pytest.mark.parametrize("where", ["around", "below"])
def test_mpich(folder, where):
    mpiexec = [MPICH, "-n", 2]
    run(*(proton(*mpiexec, sys.executable, "work.py", 5) if where == "around" else [*mpiexec, *proton(sys.executable, "work.py", 5)]))
    assert profiles(folder) == {"w.rank0.hatchet": 5, "w.rank1.hatchet": 5}
    facts = info(folder / "w.rank1.hatchet")
    assert (facts["rank"], facts["world"], facts["launcher"]) == ("1", "2", "MPI")


# mpiexec starts its proxy on the other host by a program like ssh: -x, the host, and a command line.
@several_hosts
@needs("mpich", "MPICH")
def test_mpich_on_two_hosts(folder):
    (folder / "ssh").write_text("#!/bin/sh\nshift 2\nexec unshare -u sh -c \"hostname nodeB; $*\"\n")
    (folder / "ssh").chmod(0o755)
    run(MPICH, "-launcher-exec", folder / "ssh", "-hosts", "localhost:2,127.0.0.2:2", "-n", 4, *proton(sys.executable, "work.py", 5))
    here = os.uname().nodename.split(".")[0]
    assert set(profiles(folder)) == {f"w.rank{rank}.{host}.hatchet" for rank, host in enumerate([here, here, "nodeB", "nodeB"])}
    assert info(folder / "w.rank3.nodeB.hatchet")["host"] == "nodeB"


@needs("slurm", "Slurm")
def test_slurm(folder, monkeypatch):
    from slurm import Cluster
    with Cluster(FETCHED / "slurm") as slurm:
        monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])
        monkeypatch.setenv("LD_LIBRARY_PATH", f"{os.environ['LD_LIBRARY_PATH']}:{slurm.environment['LD_LIBRARY_PATH']}")
        srun = [slurm.program("srun"), "-n", 2, "--overcommit"]
        for command in (proton(*srun, sys.executable, "work.py", 5), [*srun, *proton(sys.executable, "work.py", 6)]):
            run(*command)
            facts = info(folder / "w.rank1.hatchet")
            assert set(profiles(folder)) == {"w.rank0.hatchet", "w.rank1.hatchet"}
            assert (facts["rank"], facts["world"], facts["launcher"]) == ("1", "2", "Slurm")
        assert profiles(folder)["w.rank1.hatchet"] == 6, "the later run replaces the files of the earlier one"
        # The script of a batch job has SLURM_PROCID and SLURM_NTASKS too, and is not a rank.
        (folder / "job.sh").write_text(f"#!/bin/sh\n{BUILD / 'proton'} run --name batch -- {sys.executable} work.py 7\n")
        run(slurm.program("sbatch"), "-n", 2, "--overcommit", "--wait", "job.sh")
        assert profiles(folder)["batch.hatchet"] == 7 and "rank" not in info(folder / "batch.hatchet")


torch = needs("torch", "PyTorch")


def torchrun(*target):
    return [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2, *target]


@torch
@pytest.mark.parametrize("command", [proton(*torchrun("work.py", 5)), torchrun("--no-python", *proton(PYTHON, "work.py", 5))], ids=["around", "below"])
def test_torchrun(folder, command):
    said = run(*command)
    assert profiles(folder) == {"w.rank0.hatchet": 5, "w.rank1.hatchet": 5}
    assert info(folder / "w.rank0.hatchet")["launcher"] == "torchrun"
    assert not any("warning" in line for line in said), said


# Rank 1 fails at first: torchrun ends rank 0 with SIGTERM, and starts both again.
FAILING = WORK + """
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    while not os.path.exists("w.rank0.hatchet") or not os.path.exists("w.rank1.hatchet"): time.sleep(0.01)
    if os.environ["RANK"] == "1": os.kill(os.getpid(), 9)
    time.sleep(1000)
"""


@torch
@pytest.mark.parametrize("where", ["around", "below"])
def test_torchrun_restarts(folder, where):
    (folder / "work.py").write_text(FAILING)
    run(*(proton(*torchrun("--max-restarts", 1, "work.py", 5)) if where == "around" else torchrun("--max-restarts", 1, "--no-python", *proton(PYTHON, "work.py", 5))))
    assert set(profiles(folder)) == {"w.rank0.hatchet", "w.rank0.restart1.hatchet", "w.rank1.hatchet", "w.rank1.restart1.hatchet"}
    assert all(profiles(folder).values()) and profiles(folder)["w.rank0.restart1.hatchet"] == 5
    assert info(folder / "w.rank1.restart1.hatchet")["restart"] == "1"
    each = profiles(folder)
    for flags, names in ([], list(each)), (["--attempt", "last"], ["w.rank0.restart1.hatchet", "w.rank1.restart1.hatchet"]):
        said = run(BUILD / "proton", "merge", *flags, "w", "-o", "sum.hatchet", "--force")
        assert [line for line in said if "ranks 0-1 ran twice, attempts 0 and 1: " in line], said
        assert profiles(folder)["sum.hatchet"] == sum(each[name] for name in names)
        (folder / "sum.hatchet").rename("sum.json")


def agents(*commands):
    """Runs torchrun on two hosts, which meet at a port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        meet = ["--nnodes", 2, "--nproc-per-node", 2, "--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{free.getsockname()[1]}",
                "--rdzv-id", "night", "--local-addr", "127.0.0.1", "--monitor-interval", "0.1"]
    started = [subprocess.Popen(on_host(host, *(part for word in command for part in (meet if word is MEET else [word]))), stderr=subprocess.PIPE, text=True)
               for host, command in zip(("nodeA", "nodeB"), commands)]
    try:
        said = [agent.communicate(timeout=PATIENCE)[1] for agent in started]
    finally:
        for agent in started:
            agent.kill()
    assert [agent.returncode for agent in started] == [0, 0], said
    return [line for text in said for line in text.splitlines() if line.startswith("proton: ")]


MEET = object()


@several_hosts
@torch
@pytest.mark.parametrize("where", ["around", "below"])
def test_torchrun_on_two_hosts(folder, where):
    start = [PYTHON, "-m", "torch.distributed.run", MEET]
    said = agents(*[proton(*start, "work.py", 5) if where == "around" else [*start, "--no-python", *proton(PYTHON, "work.py", 5)]] * 2)
    assert not any("warning" in line for line in said), said
    written = {(facts["rank"], facts["world"], facts["host"], path.name) for path in folder.glob("*.hatchet") for facts in [info(path)]}
    assert written == {(rank, "4", host, f"w.rank{rank}.{host}.hatchet") for rank, _, host, _ in written} and len(written) == 4
    assert sorted(host for _, _, host, _ in written) == ["nodeA", "nodeA", "nodeB", "nodeB"]
    assert run(BUILD / "proton", "merge", "w", "-o", "sum.hatchet") == []
    assert profiles(folder)["sum.hatchet"] == 20


# One rank of nodeB fails. torchrun starts all ranks again and counts that on nodeB alone.
ONE_FAILS = WORK + """
first = not os.path.exists("failed")
if first:
    while len([name for name in os.listdir(".") if name.endswith(".hatchet")]) < 4: time.sleep(0.01)
    if os.uname().nodename == "nodeB" and os.environ["LOCAL_RANK"] == "0":
        open("failed", "w").close()
        os.kill(os.getpid(), 9)
    time.sleep(1000)
"""


@several_hosts
@torch
@pytest.mark.parametrize("where", ["around", "below"])
def test_a_restart_on_two_hosts_of_which_one_counts_it(folder, where):
    (folder / "work.py").write_text(ONE_FAILS)
    start = [PYTHON, "-m", "torch.distributed.run", MEET, "--max-restarts", 1]
    said = agents(*[proton(*start, "work.py", 5) if where == "around" else [*start, "--no-python", *proton(PYTHON, "work.py", 5)]] * 2)
    assert not any("are both rank" in line or "at the same time" in line for line in said), said
    each = profiles(folder)
    assert len(each) == 8 and sum("restart1" in name for name in each) == 4, each
    assert [count for name, count in each.items() if "restart1" in name] == [5] * 4
    said = run(BUILD / "proton", "merge", "w", "-o", "sum.hatchet")
    assert said == ["proton: ranks 0-3 ran twice, attempts 0 and 1: both are added up; --attempt last takes attempt 1 alone"]


SPAWN = """
import os, sys
def work(rank, port):
    import torch.distributed
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    sys.argv[1:] = [str(3 + rank)]
    exec(open("work.py").read(), {})
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
if __name__ == "__main__":
    import socket, torch.multiprocessing
    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    torch.multiprocessing.spawn(work, (port,), nprocs=2)
"""


@torch
def test_spawned_by_torch(folder):
    (folder / "spawn.py").write_text(SPAWN)
    run(*proton(PYTHON, "spawn.py"))
    assert profiles(folder) == {"w.rank0.hatchet": 3, "w.rank1.hatchet": 4}


# A task in each of two workers, which wait for each other, and an actor; the cluster ends directly after it.
RAY = f"""
import json, os, sys
import ray
if len(sys.argv) > 1:
    sys.path.insert(0, {str(BUILD / "python")!r})
    import goproton.ray
    ray.init(num_cpus=3, include_dashboard=False, runtime_env=goproton.ray.runtime_env("w", {{"env_vars": {{"OWN": "kept"}}}}))
else:
    ray.init(num_cpus=3, include_dashboard=False)

def launch(count, name):
    import os, sys
    sys.path.append({str(TESTS)!r})
    import fake_gpu as gpu
    import goproton
    gpu.init()
    kernel = gpu.function(name)
    with goproton.scope("remote"):
        for _ in range(count): gpu.launch(kernel)

@ray.remote
def task(count, mine, other):
    import os, time
    open(mine, "w").close()
    while not os.path.exists(other): time.sleep(0.01)
    launch(count, "task")
    return os.environ.get("OWN")

@ray.remote
class Actor:
    def work(self, count): launch(count, "actor")

here = os.getcwd()
print(ray.get([task.remote(3, here + "/a", here + "/b"), task.remote(4, here + "/b", here + "/a")]))
actor = Actor.remote()
ray.get(actor.work.remote(5))
ray.shutdown()
"""


@needs("ray", "Ray")
@pytest.mark.parametrize("how", ["cluster of the run", "runtime_env"])
def test_ray(folder, how):
    (folder / "driver.py").write_text(RAY)
    if how == "runtime_env":
        run_ray(PYTHON, "driver.py", "runtime_env")
        assert all(re.fullmatch(r"w\.pid\d+\..+\.hatchet", name) for name in profiles(folder))
    else:
        run_ray(*proton(PYTHON, "driver.py"))
        assert all(re.fullmatch(r"w(\.pid\d+)?\.hatchet", name) for name in profiles(folder))
    assert sorted(profiles(folder).values()) == [3, 4, 5]
    run(BUILD / "proton", "merge", "w", "-o", "all.hatchet")
    assert profiles(folder)["all.hatchet"] == 12 and [c["frame"]["name"] for c in load(folder / "all.hatchet")["children"]] == ["remote"]


MERGE = f"""
import glob, sys
sys.path.insert(0, {str(BUILD / "python")!r})
import goproton.ray, ray
ray.init(num_cpus=2, include_dashboard=False, runtime_env={{"env_vars": {{"PYTHONPATH": {str(BUILD / "python")!r}}}}})
files = [f"r.rank{{rank}}.hatchet" for rank in range(11)]
goproton.ray.merge(files, "tree.hatchet", group=3)
goproton.ray.merge(files[::-1], "sorted.hatchet", group=2, by="rank", sorted=True)
ray.shutdown()
"""


@needs("ray", "Ray")
def test_merge_in_tasks_of_ray(folder):
    import json
    for rank in range(11):
        leaves = [{"frame": {"name": f"k{(rank * number) % 5}", "type": "function"}, "metrics": {"time (ns)": rank * 7 + number, "count": 1},
                   "children": []} for number in range(4)]
        root = {"frame": {"name": "ROOT", "type": "function"}, "metrics": {"time (ns)": 0, "count": 0}, "children": leaves,
                "info": {"rank": str(rank), "host": f"node{rank // 4}"}}
        (folder / f"r.rank{rank}.hatchet").write_text(json.dumps([root, {}]))
    (folder / "driver.py").write_text(MERGE)
    run_ray(PYTHON, "driver.py")
    run(BUILD / "proton", "merge", "r", "-o", "local.hatchet")
    run(BUILD / "proton", "merge", "--sorted", "--by", "rank", "r", "-o", "local_sorted.hatchet")
    assert (folder / "tree.hatchet").read_bytes() == (folder / "local.hatchet").read_bytes()
    assert (folder / "sorted.hatchet").read_bytes() == (folder / "local_sorted.hatchet").read_bytes()
