"""Flops of PyTorch's operators where several threads or processes run them, and where operators end early: the sums are those of
torch.utils.flop_counter, which counts the same work on the thread that it watches.
"""

import json
from concurrent.futures import ThreadPoolExecutor

from test_torch import torch_python  # noqa: F401
from test_torch_work import by_operator, run

WORK = """
import torch.utils.checkpoint
from torch.utils.flop_counter import FlopCounterMode

net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
batch = torch.randn(5, 32)

def step(model=net):
    model(batch).sum().backward()

def counted(work):
    with FlopCounterMode(display=False) as counter:
        work()
    return {str(op).replace("aten.", "aten::"): n for op, n in counter.get_flop_counts().get("Global", {}).items()}

def times(n, flops):
    return {op: n * one for op, one in flops.items()}
"""

# Each defines `work`, and `theirs` where flop_counter does not see all threads.
WAYS = {
    "four threads": """
def work():
    threads = [threading.Thread(target=lambda: [step() for _ in range(25)]) for _ in range(4)]
    for one in threads: one.start()
    for one in threads: one.join()
theirs = times(100, counted(step))
""",
    "threads of TorchScript's interpreter": """
script = torch.jit.CompilationUnit('''
def product(x, w):
    return torch.mm(x, w)

def forks(x, w):
    parts = [torch.jit.fork(product, x, w) for _ in range(8)]
    return torch.stack([torch.jit.wait(part) for part in parts])
''')
def work(): script.forks(torch.ones(4, 5), torch.ones(5, 6))
work()
theirs = {"aten::mm": 8 * 2 * 4 * 5 * 6}
""",
    # Below 60 backward passes inside of each other, autograd takes another thread.
    "backward passes inside of a hundred others": """
class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        if ctx.n:
            with torch.enable_grad():
                x = ctx.saved_tensors[0].detach().requires_grad_()
                Nested.apply(x @ torch.ones(8, 8), ctx.n - 1).sum().backward()
        return gradient, None

def work(): Nested.apply(torch.ones(8, 8, requires_grad=True), 100).sum().backward()
theirs = {"aten::mm": 100 * 2 * 2 * 8**3}
""",
    # The recomputed forward pass ends with an exception in its last operator, before the kernel.
    "a checkpoint": """
def work():
    torch.utils.checkpoint.checkpoint(net, batch.clone().requires_grad_(), use_reentrant=False).sum().backward()
""",
    "a reentrant checkpoint": """
def work():
    torch.utils.checkpoint.checkpoint(net, batch.clone().requires_grad_(), use_reentrant=True).sum().backward()
once = counted(lambda: step(lambda x: net(x.clone().requires_grad_())))
theirs = {**once, "aten::addmm": 2 * once["aten::addmm"]}  # flop_counter of torch 2.4 fails in such a checkpoint
""",
    "operators that fail": """
def work():
    for _ in range(3):
        try:
            net[0](torch.ones(3, 31))
        except RuntimeError:
            pass
    step()
""",
    "hooks of gradients, and second gradients": """
def work():
    w = torch.ones(5, 6, requires_grad=True)
    y = torch.ones(4, 5) @ w
    y.register_hook(lambda gradient: gradient @ torch.ones(6, 6))
    (first,) = torch.autograd.grad((y * y).sum(), w, create_graph=True)
    first.sum().backward()
""",
    "vmap": """
def work():
    torch.func.vmap(torch.mm, in_dims=(0, None))(torch.ones(3, 4, 5), torch.ones(5, 6))
    torch.func.vmap(torch.mm)(torch.ones(3, 4, 5), torch.ones(3, 5, 6))
    torch.func.vmap(torch.func.grad(lambda w, x: (x @ w).sum()), in_dims=(None, 0))(torch.ones(5, 6), torch.ones(3, 4, 5))
""",
    "a compiled region": """
compiled = torch.compile(net, backend="aot_eager")
def work(): step(compiled)
work()
theirs = counted(step)
""",
    "a compiled region in three threads": """
from concurrent.futures import ThreadPoolExecutor
compiled = torch.compile(net, backend="aot_eager")
step(compiled)
def work():
    with ThreadPoolExecutor(3) as pool:
        for one in [pool.submit(step, compiled) for _ in range(9)]: one.result()
theirs = times(9, counted(step))
""",
}

ALL = """
import os, pathlib
for i, (way, code) in enumerate(json.loads(sys.argv[1]).items()):
    names = dict(globals())
    exec(code, names)
    flops = names["theirs"] if "theirs" in names else counted(names["work"])
    pathlib.Path(str(i)).mkdir()
    os.chdir(str(i))
    record(names["work"])
    os.chdir("..")
    print(json.dumps([way, flops]))
"""


def test_flops_of_what_ran(library, torch_python, tmp_path):  # noqa: F811
    said = run(torch_python, tmp_path, WORK + ALL, json.dumps(WAYS))
    theirs = dict(json.loads(line) for line in said.splitlines() if line.startswith("["))
    assert list(theirs) == list(WAYS) and all(theirs.values())
    assert {way: by_operator(tmp_path / str(i)) for i, way in enumerate(WAYS)} == theirs


def test_an_operator_that_did_not_run_has_no_work(library, torch_python, tmp_path):  # noqa: F811
    run(torch_python, tmp_path, """
def work():
    for _ in range(3):
        try:
            torch.mm(torch.ones(2, 3), torch.ones(2, 3))
        except RuntimeError:
            pass
record(work)
""")
    assert by_operator(tmp_path) == {}
    assert '"flops32"' not in (tmp_path / "profile.hatchet").read_text()


RANKS = """
import pathlib
import torch.distributed as dist
import torch.distributed.fsdp

rank, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
dist.init_process_group("gloo", store=dist.FileStore(str(folder / "store"), 2), rank=rank, world_size=2)
batch = torch.randn(5 + rank, 32)

def ddp():
    return nn.parallel.DistributedDataParallel(net)

def compiled_ddp():
    return torch.compile(ddp(), backend="aot_eager")

def fsdp():
    from torch.distributed.fsdp import FullyShardedDataParallel
    wrap = lambda module, recurse, **_: recurse or isinstance(module, nn.Linear)
    return FullyShardedDataParallel(net, auto_wrap_policy=wrap, use_orig_params=True, device_id=torch.device("cpu"))

def sharded():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh = init_device_mesh("cpu", (2,))
    for layer in net[::2]:
        fully_shard(layer, mesh=mesh)
    return fully_shard(net, mesh=mesh)

def tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    global batch
    batch = torch.randn(5, 32)
    return parallelize_module(net, init_device_mesh("cpu", (2,)), {"0": ColwiseParallel(), "2": RowwiseParallel()})

expected, found = {}, {}
ways = [ddp, compiled_ddp, fsdp, tensor_parallel]
if hasattr(torch.distributed.fsdp, "fully_shard"):
    ways.append(sharded)  # that of torch 2.4 needs a GPU
for way in ways:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    eager = counted(step)
    model = way()
    optimizer = torch.optim.AdamW(model.parameters())

    def train():
        step(model)
        optimizer.step()
        optimizer.zero_grad()

    train()
    theirs = eager if way is compiled_ddp else counted(train)
    if way is tensor_parallel:  # flop_counter gives every rank the whole products
        theirs = {"aten::addmm": 2 * 5 * (32 * 32 + 32 * 64 + 64 * 8), "aten::mm": 2 * 5 * (32 * 32 + 2 * 32 * 64 + 2 * 64 * 8)}
    pathlib.Path(way.__name__).mkdir(exist_ok=True)
    os.chdir(way.__name__)
    record(lambda: [train() for _ in range(3)])
    os.chdir("..")
    print(json.dumps([way.__name__, times(3, theirs)]))
dist.destroy_process_group()
"""


def test_two_ranks(library, torch_python, tmp_path):  # noqa: F811
    def rank(i):
        folder = tmp_path / f"rank{i}"
        folder.mkdir()
        return folder, run(torch_python, folder, "import os\n" + WORK + RANKS, i, tmp_path)

    with ThreadPoolExecutor(2) as pool:
        ranks = list(pool.map(rank, range(2)))
    for folder, said in ranks:
        ways = [json.loads(line) for line in said.splitlines() if line.startswith("[")]
        assert len(ways) >= 4
        for way, theirs in ways:
            assert by_operator(folder / way) == theirs, (folder.name, way)
