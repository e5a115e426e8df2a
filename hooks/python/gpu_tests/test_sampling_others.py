"""Instruction sampling while code, contexts and threads come and go, and with other GPUs, processes and users."""
import os
import shutil
import subprocess
import tempfile
import threading
import time

import pytest
import torch

import goproton as proton
from driver import Module, launched_in_a_context
from kernels import chain_kernel
from running import ended, environment, program
from sampling import clock_hz
from test_costs import resident
from trees import Tree

pytestmark = [pytest.mark.alone, pytest.mark.only("cupti"), pytest.mark.patience(100)]


def churn(hot, seconds, graph=True):
    """Compiles, loads, launches and unloads code while another stream and a graph are running. Says how often, the longest wait
    for an unload, and how much resident memory it took."""
    image = hot.chain(10).asm["cubin"]
    stop, n, worst, marks = threading.Event(), 0, 0.0, []

    def launch_on():
        with torch.cuda.stream(torch.cuda.Stream()):
            while not stop.is_set():
                hot.chain(200, C=3.0)
                torch.mul(*hot.rows[:2])
                torch.cuda.current_stream().synchronize()
    if graph:
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            for _ in range(5):
                hot.chain(500, C=4.0)
    thread = threading.Thread(target=launch_on)
    thread.start()
    end = time.time() + seconds
    while time.time() < end:
        hot.chain(500, C=5.0 + n)  # a new variant each time: compiled, loaded
        module = Module(image)
        for _ in range(20):
            module.launch(hot.x.data_ptr(), 500, hot.sms)
        if graph:
            g.replay()
        torch.cuda.synchronize()
        worst = max(worst, module.unload())
        if n % 20 == 0:
            marks.append(resident())
        n += 1
    stop.set()
    thread.join()
    grows = (marks[-1] - marks[2]) / (20 * (len(marks) - 3)) * 1024 if len(marks) > 3 else 0
    print(f"{n} times compiled, loaded and unloaded in {seconds:.0f} s; an unload waited {worst * 1e3:.0f} ms at most; "
          f"resident MiB {[round(m) for m in marks[:: max(1, len(marks) // 8)]]}, {grows:.0f} KiB each time")


@pytest.fixture
def seconds(pytestconfig):
    return pytestconfig.getoption("soak")


def test_soak(sampled, hot, seconds):
    with sampled("interval=16384") as p:
        churn(hot, seconds)
    print(f"{p.tree.total()} kernels, {p.expect_hot_line()}")


def test_soak_serialized(sampled, hot, seconds):
    with sampled("collection=serialized") as p:
        churn(hot, max(5, seconds / 9), graph=False)
    print(f"{p.tree.total()} kernels, {p.expect_hot_line()}")


def test_soak_without_us(hot, seconds):
    """Whose memory the soak's is."""
    churn(hot, max(5, seconds / 6))


def test_others_launch_while_samples_are_read(sampled, sessions, hot):
    """Another thread goes on launching while sessions end during the one that has its samples: each end waits for all."""
    stop, launched = threading.Event(), 0
    hot.chain(10)
    torch.cuda.synchronize()

    def launch_on():
        nonlocal launched
        with torch.cuda.stream(torch.cuda.Stream()):
            while not stop.is_set():
                hot.chain(500)
                launched += 1
                if launched % 50 == 0:
                    torch.cuda.current_stream().synchronize()
    with sampled() as p:
        t = threading.Thread(target=launch_on)
        t.start()
        for i in range(5):  # each end waits for two seconds: the GPU does not come to rest
            other = sessions.start(f"other{i}", mode="pcsampling")
            time.sleep(0.2)
            proton.finalize(other)
        stop.set()
        t.join()
    kernels = p.tree.total("chain_kernel")
    share = p.tree.samples("chain_kernel") / (p.tree.nanos("chain_kernel") * 1e-9 * clock_hz("max.") * hot.sms / 32768)
    print(f"{kernels} kernels of {launched}; {share:.3f} of the samples that their time makes at the highest clock")
    assert kernels == launched and share > 0.7


def test_contexts_of_one_gpu_take_turns(sampled, hot):
    """Of the contexts of one GPU CUPTI samples one at a time: the first to launch, until it is destroyed."""
    images = [hot.chain(10, C=C).asm["cubin"] for C in (21.0, 22.0)]
    hot.chain(10, C=23.0)
    torch.cuda.synchronize()
    with sampled() as p:
        first = launched_in_a_context(images[0], "first", 20_000)
        next(first)
        hot.scoped("waiting", 20_000, 24.0)
        torch.cuda.synchronize()
        list(first)
        time.sleep(0.2)
        list(launched_in_a_context(images[1], "second", 20_000))
        hot.scoped("its turn", 20_000, 25.0)
    waiting, *sampled_ones = p.rates("waiting", "first", "second", "its turn")
    assert waiting == 0 and all(abs(r - 1) < 0.1 for r in sampled_ones)


def test_contexts_come_and_go_while_they_are_set_up(sampled, hot):
    image = hot.chain(10, C=31.0).asm["cubin"]
    torch.cuda.synchronize()

    def come_and_go():
        for _ in range(6):
            list(launched_in_a_context(image, "short", 50, launches=2))
    with sampled() as p:
        threads = [threading.Thread(target=come_and_go) for _ in range(3)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        hot.scoped("afterwards", 20_000, 32.0)
    (after,) = p.rates("afterwards")
    assert p.tree.total("short") == 36 and abs(after - 1) < 0.1


def test_sampling_of_several_gpus(sampled, hot):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    other = torch.randn(hot.N, device="cuda:1")
    with sampled() as p:
        for _ in range(10):
            hot.scoped("gpu 0", 20_000, 41.0, n=1)
            with torch.cuda.device(1), proton.scope("gpu 1"):
                chain_kernel[(hot.sms * 8,)](other, 40_000, C=42.0)
                chain_kernel[(hot.sms * 8,)](other, 20_000, C=41.0)
        torch.cuda.synchronize(1)
    rates, of = p.rates("gpu 0", "gpu 1"), [p.lines(scope=f"gpu {i}") for i in range(2)]
    print(f"hottest lines {[max(o, key=o.get) for o in of]}")
    assert all(abs(r - 1) < 0.1 for r in rates)


def test_another_process_samples_the_same_gpu(sampled, hot, tmp_path):
    """It has the GPU's sampler; ours is refused, kernels are timed, and the other is not disturbed."""
    child = subprocess.Popen(list(map(str, program("sampled", tmp_path / "theirs", "wait"))), env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "up\n"
    with sampled() as p:
        hot.scoped("ours", 20_000, n=10)
    child.communicate("\n", timeout=60)
    theirs = Tree.read(tmp_path / "theirs.hatchet")
    print(f"ours: {p.tree.total('ours')} kernels, {p.tree.samples()} samples; the other process: {theirs.total()} kernels, {theirs.samples()} samples")
    assert p.tree.total("ours") == 10 and theirs.total() == 201 and theirs.samples() > 1000


def test_users_without_rights_are_informed():
    """Where RmProfilingAdminOnly is 1, only root may sample."""
    if os.getuid() or not shutil.which("setpriv"):
        pytest.skip("needs to be root, and setpriv")
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o777)
        said = ended(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *program("sampled", f"{home}/p")], HOME=home).stderr
        tree = Tree.read(f"{home}/p.hatchet")
    params = open("/proc/driver/nvidia/params").read() if os.path.exists("/proc/driver/nvidia/params") else ""
    setting = [line for line in params.splitlines() if line.startswith("RmProfilingAdminOnly")]
    print(f"{setting}: {tree.total()} kernels, {tree.samples()} samples; {said.strip() or 'nothing said'}")
    assert tree.total() == 201
    assert tree.samples() > 1000 if setting != ["RmProfilingAdminOnly: 1"] else "NVreg_RestrictProfilingToAdminUsers" in said
