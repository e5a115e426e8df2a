"""Profiles as trees: kernel counts and times by call path against torch.profiler, names, contexts and activities."""
import gc
import os
import subprocess
import threading

import pytest
import torch

import goproton as proton


def demangled(name):
    return subprocess.run(["c++filt", name], capture_output=True, text=True).stdout.strip() if name.startswith("_Z") else name


def only_kernels(events):
    """Count and total time by name."""
    out = {}
    for name, nanos in events:
        if not name.startswith(("Memcpy", "Memset")):
            count, total = out.get(name, (0, 0))
            out[name] = count + 1, total + nanos
    return out


@pytest.mark.alone
def test_counts_and_times_match_torch_profiler(profiled, work, kineto):
    steps = work.steps()

    def body():
        for name, step in steps.items():
            with proton.scope(name):
                step()
    for step in steps.values():
        step()
    torch.cuda.synchronize()
    children = {c["frame"]["name"]: c["children"] for c in profiled(body).root["children"]}
    worst = 0
    for name, step in steps.items():
        want = only_kernels(kineto(step))
        got = {demangled(c["frame"]["name"]): (c["metrics"]["count"], c["metrics"]["time (ns)"]) for c in children[name]}
        assert sorted((k[:60], n) for k, (n, _) in got.items()) == sorted((k[:60], n) for k, (n, _) in want.items()), name
        g, w = (sum(nanos for _, nanos in of.values()) for of in (got, want))
        worst = max(worst, abs(g / w - 1)) if name in ("mm", "stream") else worst
        print(f"{name}: ours {g} ns, torch.profiler {w:.0f} ns, ratio {g / w:.4f}")
    assert worst < 0.01, f"GPU-bound times differ by {worst:.2%}"


@pytest.mark.usefixtures("any_libcupti")
def test_scopes_threads_and_streams(profiled, work):
    def worker(k):
        with proton.scope(f"t{k}"), torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(100):
                torch.mul(work.x, work.y)

    def body():
        threads = [threading.Thread(target=worker, args=(k,)) for k in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
    assert sorted((p.split("/")[0], n) for p, n in profiled(body).counts().items()) == [(f"t{k}", 100) for k in range(8)]


def test_autograd_threads(profiled):
    def body():
        with proton.scope("ones1"):
            a1 = torch.ones((100, 100), device="cuda", requires_grad=True)
        with proton.scope("plus"):
            a2 = a1 * a1 * a1
        with proton.scope("ones2"):
            loss = torch.ones_like(a2)
        with proton.scope("backward"):
            a2.backward(loss)
    for _ in range(2):  # the second session meets threads that exist already
        assert [c["frame"]["name"] for c in profiled(body).root["children"]] == ["ones1", "plus", "ones2", "backward"]


@pytest.mark.usefixtures("any_libcupti")
def test_launch_hook(profiled, work):
    def body():
        with proton.scope("s"):
            for _ in range(10):
                work.add()
            work.mul()
    tree = profiled(body, hook="triton")
    m = tree.rows()["s/add_4096"]
    assert (m["count"], m["flops32"], m["bytes"], m["shoes"]) == (10, 40960.0, 491520, 20)
    assert m["time (ns)"] > 0
    assert tree.root["metrics"].get("bytes") == 0, "root zeros"
    assert tree.total() == 11


def test_python_context(profiled, work):
    def inner():
        work.add()
        work.mul()

    def body():
        for _ in range(5):
            inner()
    counts = profiled(body, context="python").counts()
    for p in counts:
        assert "test_profile.py:" in p and "@inner/" in p and "@body/" in p, p
    assert sum(counts.values()) == 10
    assert not any(os.path.dirname(proton.__file__) in p for p in counts), counts


def test_python_context_with_hook(profiled, work):
    (path, n), = profiled(lambda: [work.add() for _ in range(5)], context="python", hook="triton").counts().items()
    assert path.endswith("/add_4096") and n == 5, path


def test_dataloader_workers(profiled):
    class Numbers(torch.utils.data.Dataset):
        def __len__(self): return 64
        def __getitem__(self, i): return torch.tensor(float(i))

    def body():
        for b in torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2):
            with proton.scope("step"):
                b.cuda() * 2
    assert profiled(body).total() == 8


def test_unloaded_modules_and_new_names(profiled, work):
    def body():
        for i in range(20):
            kernel = torch.cuda._compile_kernel(f'extern "C" __global__ void k{i}(float* p) {{ p[0] = {i}; }}', f"k{i}")
            kernel((1, 1, 1), (1, 1, 1), (work.z,))
            torch.cuda.synchronize()
            del kernel
            gc.collect()
    assert sorted(profiled(body).counts()) == sorted(f"k{i}" for i in range(20))


def test_several_gpus(profiled):
    n = torch.cuda.device_count()
    if n < 2:
        pytest.skip("needs two GPUs")

    def body():
        for d in range(n):
            with proton.scope(f"gpu{d}"), torch.cuda.device(d):
                w = torch.ones(1024, device=f"cuda:{d}")
                for _ in range(10 + d):
                    w.mul_(2)
        # no synchronise here: the flush must wait for every device, not only the current one
    tree = profiled(body)
    for d in range(n):
        rows = [node["metrics"] for path, node in tree.walk() if f"gpu{d}" in path and node["metrics"].get("device_id") == str(d)]
        assert sum(m["count"] for m in rows) == 11 + d, f"gpu{d}"
    assert sum(map(len, tree.devices[0].values())) == n


def test_copies_in_a_tree(profiled, work):
    rows = profiled(work.copies, activities=["memcpy", "memset", "sync"]).rows()
    for p, m in rows.items():
        if "<" in p:
            print(f"{p}: {m.get('count', m.get('sync_count'))}, {m.get('bytes', 0)} bytes, {m.get('time (ns)', m.get('sync_time (ns)'))} ns")
    assert rows["copies/<memcpy HtoD>"]["count"] == 15
    assert rows["copies/<memcpy HtoD>"]["bytes"] == 15 * 4 << 16
    assert rows["copies/<memcpy DtoH>"]["count"] == 10
    assert rows["copies/<sync context>"]["sync_count"] >= 1 and rows["copies/<sync context>"]["sync_time (ns)"] > 0
    kernels = sum(m.get("count", 0) for p, m in rows.items() if "<mem" not in p)
    assert profiled(work.copies).total() == kernels, "kernels without asking for copies"


def test_distributions_of_kernel_times(profiled, work):
    def body():
        with proton.scope("s"):
            for _ in range(100):
                work.stream()
    body()
    tree = profiled(body)
    with_times = [node for _, node in tree.walk() if "times" in node]
    assert [node["metrics"]["count"] for node in with_times] == [100]
    print(f"info {tree.root.get('info')}, times {str(with_times[0]['times'])[:150]}")
    assert not any("times" in node for _, node in profiled(body, stats=False).walk())
