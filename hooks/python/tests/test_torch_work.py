"""Flops and bytes of PyTorch's operators, on the CPU: against torch.utils.flop_counter, and against sums over the shapes."""

import json

import pytest

from test_torch import run_python, torch_python  # noqa: F401

PROGRAM = """
import json, math, sys, threading
import goproton as proton
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

torch.manual_seed(0)
{body}
problem = proton.torch.problem()
if problem:
    sys.exit(problem)
"""

RECORD = """
def record(work, context="shadow", **options):
    proton.start("profile", context=context)
    proton.torch.install(flops=True, **options)
    proton.torch._want(proton.torch._wanted | 16)  # TORCH_EVERYWHERE: operators on the CPU too
    work()
    proton.finalize()
    proton.torch.uninstall()
"""


def run(python, folder, body, *arguments):
    done = run_python(PROGRAM.format(body=RECORD + body), *map(str, arguments), python=python, cwd=folder, env={"CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return done.stdout


def nodes(folder):
    def visit(node, above):
        path = [*above, node["frame"]["name"]]
        yield path[1:], node["metrics"]
        for child in node["children"]:
            yield from visit(child, path)
    return list(visit(json.loads((folder / "profile.hatchet").read_text())[0], []))


def by_operator(folder):
    found = {}
    for path, metrics in nodes(folder):
        if path and path[-1].startswith("aten::"):
            flops = sum(metrics.get(f"flops{width}", 0) for width in (8, 16, 32, 64))
            assert flops == sum(metrics.get(f"operator_flops{width}", 0) for width in (8, 16, 32, 64))
            assert metrics.get("bytes", 0) == metrics.get("operator_bytes", 0)
            if flops:
                found[path[-1]] = found.get(path[-1], 0) + flops
    return found


MODELS = {
    "perceptron": """
model = nn.Sequential(nn.Linear(33, 65), nn.ReLU(), nn.Linear(65, 7, bias=False), nn.Softmax(-1))
batch = torch.randn(2, 5, 33)
""",
    "transformer": """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(24), nn.Linear(24, 72), nn.Linear(24, 24)
        self.up, self.down = nn.Linear(24, 96), nn.Linear(96, 24)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (3, 8)).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, -1))
        with sdpa_kernel(SDPBackend.MATH):
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(x)))

model = nn.Sequential(Block(), Block(), nn.Linear(24, 100))
batch = torch.randn(2, 11, 24)
""",
    "encoder": """
model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2)
batch = torch.randn(3, 9, 16)
""",
    "convolutions": """
model = nn.Sequential(
    nn.Conv2d(6, 12, (3, 5), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=3), nn.BatchNorm2d(12), nn.ReLU(),
    nn.Conv2d(12, 12, 3, groups=12), nn.Conv2d(12, 8, 1, bias=False),
    nn.ConvTranspose2d(8, 10, 3, stride=2, padding=1, output_padding=1, groups=2), nn.GELU(), nn.Conv2d(10, 4, 3, padding="same"),
    nn.AdaptiveAvgPool2d(3), nn.Flatten(2), nn.Conv1d(4, 6, 2, groups=2), nn.Flatten(), nn.Linear(48, 5))
batch = torch.randn(4, 6, 21, 19, requires_grad=True)
""",
    "three dimensions": """
model = nn.Sequential(nn.Conv3d(2, 4, (1, 2, 3), stride=2), nn.ConvTranspose3d(4, 2, 2, dilation=2), nn.ConvTranspose1d(11, 3, 4) if False else nn.ReLU())
batch = torch.randn(2, 2, 5, 7, 9)
""",
    "recurrent": """
class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.cells, self.out = nn.Embedding(50, 12), nn.LSTM(12, 20, 2, batch_first=True, bidirectional=True), nn.Linear(40, 50)

    def forward(self, x):
        return self.out(self.cells(self.words(x))[0])

model = Words()
batch = torch.randint(50, (3, 7))
""",
}

COUNTED = """
from torch.utils.flop_counter import FlopCounterMode

def gradients_of_convolution(g, x, w, bias, stride, padding, dilation, transposed, output_padding, groups, mask, out_val=None, **_):
    # torch's own formula multiplies the gradient of the weight by the number of groups.
    one = 2 * x.shape[0] * math.prod((x if transposed else g).shape[2:]) * w.numel()
    return one * (mask[0] + mask[1])
gradients_of_convolution._get_raw = True

def step():
    with proton.scope("both"):
        model(batch).sum().backward()

with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.convolution_backward: gradients_of_convolution}) as counter:
    step()
record(step, context=sys.argv[1] if len(sys.argv) > 1 else "shadow")
print(json.dumps({str(op).replace("aten.", "aten::"): n for op, n in counter.get_flop_counts()["Global"].items()}))
"""


@pytest.mark.parametrize("model", MODELS)
def test_flops_equal_those_of_flop_counter(library, torch_python, tmp_path, model):  # noqa: F811
    said = run(torch_python, tmp_path, MODELS[model] + COUNTED)
    theirs = json.loads(said.splitlines()[-1])
    assert theirs and by_operator(tmp_path) == theirs


# Work, flops, their width, and bytes. Brackets of a result `y` are sums over the tensors that are read and written.
SINGLE = {
    "torch.mm(r(5, 7), r(7, 3))": (2 * 5 * 7 * 3, 32, 4 * (35 + 21 + 15)),
    "torch.mm(r(5, 7).double(), r(7, 3).double())": (2 * 5 * 7 * 3, 64, 8 * (35 + 21 + 15)),
    "torch.mm(r(5, 7).bfloat16(), r(7, 3).bfloat16())": (2 * 5 * 7 * 3, 16, 2 * (35 + 21 + 15)),
    "torch.mm(r(5, 7).cfloat(), r(7, 3).cfloat())": (8 * 5 * 7 * 3, 32, 8 * (35 + 21 + 15)),
    "torch.mm(r(5, 7).long(), r(7, 3).long())": (0, 0, 8 * (35 + 21 + 15)),
    "torch.mm(r(5, 7), r(3, 7).t())": (2 * 5 * 7 * 3, 32, 4 * (35 + 21 + 15)),
    "torch.mm(r(1, 7).expand(5, 7), r(7, 3))": (2 * 5 * 7 * 3, 32, 4 * (7 + 21 + 15)),
    "torch.mm(r(5, 7), r(7, 3), out=r(5, 3))": (2 * 5 * 7 * 3, 32, 4 * (35 + 21 + 15)),
    "torch.addmm(r(3), r(5, 7), r(7, 3))": (2 * 5 * 7 * 3, 32, 4 * (3 + 35 + 21 + 15)),
    "torch.bmm(r(2, 5, 7), r(2, 7, 3))": (2 * 2 * 5 * 7 * 3, 32, 4 * 2 * (35 + 21 + 15)),
    "torch.baddbmm(r(2, 5, 3), r(2, 5, 7), r(2, 7, 3))": (2 * 2 * 5 * 7 * 3, 32, 4 * 2 * (15 + 35 + 21 + 15)),
    "torch.matmul(r(2, 4, 5, 7), r(7, 3))": (2 * 8 * 5 * 7 * 3, 32, 4 * (8 * 35 + 21 + 8 * 15)),
    "torch.mv(r(5, 7), r(7))": (2 * 35, 32, 4 * (35 + 7 + 5)),
    "torch.dot(r(9), r(9))": (2 * 9, 32, 4 * 19),
    "F.conv2d(r(2, 6, 9, 8), r(4, 3, 3, 2), r(4), 2, 1, 1, 2)": (2 * 2 * 4 * 5 * 5 * 3 * 3 * 2, 32, 4 * (864 + 72 + 4 + 2 * 4 * 5 * 5)),
    "F.conv_transpose1d(r(2, 6, 9), r(6, 2, 3), None, 2, 1, 1, 3)": (2 * 2 * 6 * 9 * 2 * 3, 32, 4 * (108 + 36 + 2 * 6 * 18)),
    "F.conv1d(r(6, 9), r(4, 6, 9))": (2 * 4 * 6 * 9, 32, 4 * (54 + 216 + 4)),
    "F.scaled_dot_product_attention(r(2, 3, 5, 8), r(2, 3, 7, 8), r(2, 3, 7, 8))": (4 * 2 * 3 * 5 * 7 * 8, 32, 4 * 6 * (40 + 56 + 56 + 40)),
    "torch.add(r(5, 7), r(7))": (0, 0, 4 * (35 + 7 + 35)),
    "torch.add(r(5, 7), 3)": (0, 0, 4 * 70),
    "r(5, 7).bfloat16().add(r(5, 7))": (0, 0, 35 * (4 + 2) + 35 * (2 + 4 + 4)),
    "torch.add(r(5, 1), r(1, 7), out=r(5, 7))": (0, 0, 4 * (5 + 7 + 35)),
    "r(5, 7).add_(r(7))": (0, 0, 4 * (35 + 7 + 35)),
    "r(5, 7) < r(5, 1)": (0, 0, 4 * 40 + 35),
    "torch.where(r(5, 7) < 0, r(5, 7), r(1))": (0, 0, 4 * 35 + 35 + 35 + 4 * (35 + 1 + 35)),
    "r(5, 7, 3).sum(1)": (0, 0, 4 * (105 + 15)),
    "r(5, 7, 3).sum((0, -1), keepdim=True)": (0, 0, 4 * (105 + 7)),
    "r(5, 7, 3).amax()": (0, 0, 4 * 106),
    "r(5, 7, 3).max()": (0, 0, 4 * 106),
    "r(5, 7, 3).max(1)": (0, 0, 4 * (105 + 15) + 8 * 15),
    "r(5, 7, 3).argmax(1)": (0, 0, 4 * 105 + 8 * 15),
    "torch.zeros(0).any()": (0, 0, 1),
    "(r(5, 7) < 0).all(1)": (0, 0, 4 * 35 + 35 + 35 + 5),
    "(r(5, 7) < 0).sum()": (0, 0, 4 * 35 + 35 + 35 + 8),
    "torch.var_mean(r(5, 7), (1,))": (0, 0, 4 * (35 + 10)),
    "torch.clamp(r(5, 7), r(5, 7), r(7))": (0, 0, 4 * (35 + 35 + 7 + 35)),
    "torch.linalg.vector_norm(r(5, 7, 3), 2)": (0, 0, 4 * 106),
    "torch.linalg.vector_norm(r(5, 7, 3), 2, (1,))": (0, 0, 4 * (105 + 15)),
    "torch.norm(r(5, 7, 3), 2, 1)": (0, 0, 4 * (105 + 15)),
    "torch._int_mm(r(32, 16).to(torch.int8), r(16, 8).to(torch.int8))": (2 * 32 * 16 * 8, 8, 32 * 16 + 16 * 8 + 4 * 32 * 8 + 5 * (32 * 16 + 16 * 8)),
    "r(5, 7).t().contiguous()": (0, 0, 4 * 70),
    "r(5, 7).clone()": (0, 0, 0),
    "torch.cat([r(5, 7), r(5, 2)], 1)": (0, 0, 4 * 2 * 45),
    "F.embedding(torch.tensor([[1, 2, 1]]), r(5, 7))": (0, 0, 8 * 3 + 2 * 4 * 21),
    "F.layer_norm(r(5, 7), (7,), r(7), r(7))": (0, 0, 4 * (35 + 14 + 35)),
    "torch.softmax(r(5, 7), -1)": (0, 0, 4 * 70),
    "torch._foreach_mul_([r(5), r(6)], [r(5), r(6)])": (0, 0, 4 * 33),
    "torch._foreach_add([r(5), r(6)], 2)": (0, 0, 4 * 22),
    "torch.zeros(0, 7) @ r(7, 3)": (0, 0, 4 * 21),
}

EACH = """
def r(*shape):
    at = torch.empty(shape)  # no operator but this, which has no work
    return at

def work():
    for one in json.loads(sys.argv[1]):
        code = compile(one, one, "eval")
        with proton.scope(one):
            eval(code)
record(work, modules=False)
"""


def test_work_of_single_operators(library, torch_python, tmp_path):  # noqa: F811
    """Second derivation: sums over the shapes, in Python."""
    body = EACH.replace("sys.argv[1]", repr(json.dumps(list(SINGLE))))
    run(torch_python, tmp_path, body)
    found = {one: [0, {}, 0] for one in SINGLE}
    for path, metrics in nodes(tmp_path):
        if path:
            for width in (8, 16, 32, 64):
                if metrics.get(f"flops{width}"):
                    found[path[0]][0] += metrics[f"flops{width}"]
                    found[path[0]][1][width] = 1
            found[path[0]][2] += metrics.get("bytes", 0)
    ours = {one: (flops, max(widths, default=0), total) for one, (flops, widths, total) in found.items()}
    casts = {one: sum(35 * (4 + n) + 21 * (4 + n) for kind, n in (("double", 8), ("bfloat16", 2), ("cfloat", 8), ("long", 8)) if f"mm(r(5, 7).{kind}" in one)
             for one in SINGLE}
    expected = {one: (flops, width, total + casts[one]) for one, (flops, width, total) in SINGLE.items()}
    assert {one: (ours[one], expected[one]) for one in SINGLE if ours[one] != expected[one]} == {}
