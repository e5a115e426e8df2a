"""Makes kernels of all forms that Python and Triton allow, for reproducers of their launches.

A kernel consists of features: parameters with their arguments, what the body does with them, and what the file, or another one,
defines for it. The features, the form of the parameters and of the decorators are drawn at random, each in its turn, so that
few kernels have all of them.
"""

import random
import textwrap

PACKAGE = {
    "gen/__init__.py": """
from .scales import third as renamed, third
from .scales import *
from . import scales
from .inner import deep
""",
    "gen/scales.py": """
import triton
import triton.language as tl
from . import consts
from .consts import ONE as UNIT

__all__ = ["starred"]
_PRIVATE = tl.constexpr(3)

@triton.jit
def third(x):
    return x * _PRIVATE + UNIT

@triton.jit
def starred(x, by: tl.constexpr = consts.TWO):
    return third(x) - by + consts.TABLE[0]

@triton.jit(noinline=True)
def apart(x):
    return x + 7
""",
    "gen/consts.py": """
import triton.language as tl

def computed(n):
    return n * LATER

LATER = 2
ONE = tl.constexpr(1.0)
TWO = tl.constexpr(computed(1))
TABLE = (5, 6)
""",
    "gen/inner/__init__.py": "from .deep import fourth as fourth_function\n",
    "gen/inner/deep.py": """
import math
import triton
import triton.language as tl
import triton.language.math as device

LOG = tl.constexpr(math.log2(8))
SIZES = {"small": 2, "large": [4, 8]}

class Sizes:
    STEP = 3

@triton.constexpr_function
def step(n):
    return n + Sizes.STEP

@triton.constexpr_function
def chosen(name, n):
    return math.floor(SIZES[name][-1] + step(n) + math.sqrt(16))

@triton.jit
def fourth(x, n: tl.constexpr = 1):
    return x * LOG + chosen("large", n) + device.abs(x)
""",
    "gen/types.py": """
import collections
import dataclasses
import enum
from typing import NamedTuple, Optional

class Act(enum.Enum):
    NONE = "none"
    RELU = "relu"

class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2

class Parts(enum.Flag):
    A = enum.auto()
    B = enum.auto()

Way = enum.Enum("Way", {"UP": 1, "DOWN": 2})

def scaled(function):
    return property(lambda self: function(self) * FACTOR)

FACTOR = 2

@dataclasses.dataclass(frozen=True)
class Config:
    offset: int
    scale: float = 2.0
    act: Act = Act.NONE
    more: Optional[tuple] = None

    @scaled
    def double(self):
        return self.offset

    def shifted(self, by):
        return self.offset + by

@dataclasses.dataclass(frozen=True)
class Derived(Config):
    extra: int = dataclasses.field(init=False, default=0)

    def __post_init__(self):
        object.__setattr__(self, "extra", self.offset + 100)

class Strides(NamedTuple):
    batch: int
    token: int

    @property
    def total(self):
        return self.batch + self.token

Pair = collections.namedtuple("Pair", "left right")

class Holder:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return isinstance(other, Holder) and self.n == other.n

    def __hash__(self):
        return hash(self.n)

    class Nested(NamedTuple):
        value: int
""",
}

HEAD = """
import math
import torch
import triton
import triton.language as tl
import gen
import gen.inner.deep
import gen.scales as sc
import gen.types
from gen import renamed as twice_renamed, starred
from gen.inner.deep import *
from gen.scales import apart
from gen.types import Act, Config, Derived, Holder, Level, Pair, Parts, Strides, Way
from triton.language import constexpr as const
from triton.tools.tensor_descriptor import TensorDescriptor as Rows

RELU = tl.constexpr(Act.RELU)
HIGH = tl.constexpr(Level.HIGH)
BOTH = tl.constexpr(Parts.A | Parts.B)
NAME = tl.constexpr("relu")
NUMBERS = tl.constexpr((2, (3, 4.5), None))
SETTINGS = tl.constexpr(Config(4, act=Act.RELU, more=(1, "two")))
HALF: tl.constexpr = tl.constexpr(tl.float16)
NOT_A_NUMBER = tl.constexpr(math.nan)
STEADY = ["n"]
CONFIGS = [triton.Config({"B": 32}, num_warps=1), triton.Config({"B": 64}, num_warps=2, num_stages=2)]

def configurations():
    return [triton.Config({"B": size}, num_warps=size // 32) for size in SIZES_TO_TRY]

SIZES_TO_TRY = 32, 64

def keep(configs, named, **others):
    return [config for config in configs if config.kwargs["B"] >= LEAST]

LEAST = 32

@triton.jit
def square(x):
    return x * x

@triton.jit
def negated(x):
    return -square(x) * HIGH.value if HIGH == 1 else -square(x)

@triton.constexpr_function
def plus_one(n: int) -> int:
    return n + 1

def both(x):
    return square(x)

def numbers(by=1, skip=0, dtype=torch.float32):
    return torch.arange(100 + skip, dtype=torch.float32).add_(-50).mul_(by).to(dtype).narrow(0, skip, 100)

x = numbers()
n = 100
"""


# Kernels that do not compile, each for another reason, and one that does.
FAILING = """
def plainly(x):
    return x

OUTSIDE = 5

@triton.jit
def calls(x):
    return not_there(x)

@triton.jit
def unknown_name(x, E: tl.constexpr, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), calls(1.0))

@triton.jit
def other_shapes(x, n, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), tl.load(x + tl.arange(0, 2 * B)) * n)

@triton.jit
def asserted(x, C: tl.constexpr, B: tl.constexpr):
    tl.static_assert(B > C.offset * 100, "too small")

@triton.jit
def no_instruction(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, tl.inline_asm_elementwise("no.such.instruction $0, $1;", "=r,r", [tl.load(x + i)], dtype=tl.float32, is_pure=True, pack=1))

@triton.jit
def reads_number(x, B: tl.constexpr):
    tl.store(x, OUTSIDE)

@triton.jit
def calls_python(x, B: tl.constexpr):
    tl.store(x, plainly(1))

@triton.jit
def too_large(x, t, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), t[0][1])

@triton.jit
def right(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)

def launches():
    yield "unknown_name", lambda: unknown_name[(1,)](x, Act.RELU, 64)
    yield "other_shapes", lambda: other_shapes[(1,)](x, n, 32)
    yield "asserted", lambda: asserted[(1,)](x, Config(3), 64)
    yield "no_instruction", lambda: no_instruction[(1,)](x, 64, num_warps=2, maxnreg=32)
    yield "reads_number", lambda: reads_number[(1,)](x, 64)
    yield "calls_python", lambda: calls_python[(1,)](x, 64)
    yield "too_large", lambda: too_large[(1,)](x, (((1, 2.5), 3), x), 2**21)
    yield "right", lambda: right[(1,)](x, 64)
"""


class Feature:
    """What a kernel has in addition to loading, adding and storing.

    Args:
        param: as in the signature; "" for none.
        value: Python for its argument.
        body: lines that change v.
        runtime: the argument is not a constant.
        interpreted: Triton's interpreter takes it.
    """

    def __init__(self, param, value, body, runtime=False, interpreted=True):
        self.param, self.value, self.body, self.runtime, self.interpreted = param, value, body, runtime, interpreted


def constant(name, value, body):
    return Feature(f"{name}: tl.constexpr", value, body)


FEATURES = {
    "int": constant("I", "3", "v = v + I"),
    "negative": constant("NEG", "-7", "v = v + NEG"),
    "large": constant("BIG", "2**40 + 1", "v = v + (BIG % 1000)"),
    "float": constant("F", "2.5", "v = v * F"),
    "nan": constant("NAN", "math.nan", "v = tl.where(v == v, v, NAN)"),
    "infinity": constant("INF", "-math.inf", "v = tl.maximum(v, INF)"),
    "bool": constant("T", "True", "if T:\n    v = v + 1"),
    "text": constant("S", "'4'", "if S == '4':\n    v = v + 1"),
    "odd text": constant("Q", "'a \"quoted\" \\\\ \\n \\u00e9 text'", "if Q == 'a \"quoted\" \\\\ \\n \\u00e9 text':\n    v = v * 3"),
    "none": constant("Z", "None", "if Z is None:\n    v = v + 2"),
    "tuple": constant("TU", "(1, (2.5, 3), ())", "v = v + TU[0] + TU[1][0] + TU[1][1]"),
    "one": constant("ONE1", "(8,)", "v = v + ONE1[0]"),
    "dtype": constant("D", "tl.float16", "v = v.to(D).to(tl.float32)"),
    "torch's dtype": constant("TD", "torch.bfloat16", "if TD is not None:\n    v = v + 1"),
    "enum": constant("E", "Act.RELU", "if E == RELU:\n    v = tl.maximum(v, 0.)"),
    "int enum": constant("L", "Level.HIGH", "if L == HIGH:\n    v = v + 4"),
    "flags": constant("P", "Parts.A | Parts.B", "if P == BOTH:\n    v = v + 5"),
    "made enum": constant("W", "Way.DOWN", "if W is not None:\n    v = v + 6"),
    "dataclass": constant("C", "Config(3, act=Act.RELU, more=(1, 2))", "v = v * C.scale + C.offset + C.double"),
    "derived dataclass": constant("DC", "Derived(3)", "v = v * DC.scale + DC.extra"),
    "named tuple": constant("ST", "Strides(3, 4)", "v = v * ST.token + ST.batch"),
    "made named tuple": constant("PA", "Pair(3, Pair(1, 2))", "v = v * PA.left + PA.right.left"),
    "nested class": constant("NE", "Holder.Nested(5)", "v = v + NE.value[0] if False else v + NE[0]"),
    "object": constant("H", "Holder(6)", "v = v + H.n"),
    "function": constant("FN", "square", "v = FN(v)"),
    "function of another file": constant("FO", "gen.renamed", "v = FO(v)"),
    "functions": constant("FS", "(square, negated)", "for k in tl.static_range(len(FS)):\n    v = FS[k](v) * 0.01"),
    "triton's function": constant("TF", "tl.sigmoid", "v = TF(v)"),
    "constexpr function": constant("CF", "plus_one", "v = v + CF(2)"),
    "wrapped text": constant("WS", "tl.constexpr('4')", "if WS == '4':\n    v = v + 1"),
    "wrapped int": constant("WI", "tl.constexpr(4)", "v = v + WI"),
    "wrapped enum": constant("WE", "tl.constexpr(Act.RELU)", "if WE == RELU:\n    v = v + 1"),
    "size": constant("SZ", "x.shape", "v = v + SZ[0]"),
    "runtime int": Feature("a", "17", "v = v + a", True),
    "runtime one": Feature("one", "1", "v = v + one", True),
    "runtime long": Feature("far", "2**40", "v = v + (far % 1000)", True),
    "runtime float": Feature("f", "1.5", "v = v * f", True),
    "runtime bool": Feature("yes", "True", "v = tl.where(yes, v, 0.)", True),
    "runtime none": Feature("no", "None", "if no is None:\n    v = v + 9", True),
    "runtime constexpr": Feature("rc", "tl.constexpr(5)", "v = v + rc", True),
    "runtime function": Feature("rf", "square", "v = rf(v)", True),
    "typed": Feature("ty: tl.int64", "3", "v = v + ty", True),
    "typed by text": Feature('tt: "i16"', "3", "v = v + tt", True),
    "second": Feature("y", "numbers(2)", "v = v + tl.load(y + i, i < n)", True),
    "misaligned": Feature("m", "numbers(1, 1)", "v = v + tl.load(m + i, i < n)", True),
    "halves": Feature("h", "numbers(1, 0, torch.float16)", "v = v + tl.load(h + i, i < n)", True),
    "runtime tuple": Feature("t", "(numbers(3), 2, (4, None), square)", "v = v + tl.load(t[0] + i, i < n) * t[1] + t[2][0]", True),
    "runtime named tuple": Feature("nt", "Pair(numbers(4), Strides(2, 3))", "v = v + tl.load(nt.left + i, i < n) + nt.right.token", True),
    "descriptor": Feature("td", "Rows(numbers(2).narrow(0, 0, 64).as_strided([8, 8], [8, 1]), [8, 8], [8, 1], [4, 8])", "v = v + tl.sum(td.load([4, 0]))", True),
    "descriptors": Feature("ts", "(Rows(numbers(5).narrow(0, 0, 64).as_strided([4, 16], [16, 1]), [4, 16], [16, 1], [1, 16]), 3)", "v = v + tl.sum(ts[0].load([ts[1], 0]))", True),
    "bytes": Feature("by", "triton.reinterpret(numbers(1, 0, torch.int8), tl.int8)", "v = v + tl.load(by + i, i < n)", True),
    "local helper": Feature("", "", "v = negated(v) * 0.1"),
    "renamed helper": Feature("", "", "v = twice_renamed(v)"),
    "helper by module": Feature("", "", "v = sc.third(v)"),
    "re-exported helper": Feature("", "", "v = gen.renamed(v) + gen.third(v)"),
    "dotted helper": Feature("", "", "v = gen.inner.deep.fourth(v, 2)"),
    "module of a package": Feature("", "", "v = gen.scales.starred(v) + gen.deep.fourth(v)"),
    "starred helper": Feature("", "", "v = starred(v) + fourth(v)"),
    "helper apart": Feature("", "", "v = v + apart(n)"),
    "constants": Feature("", "", "v = v + NUMBERS[0] * NUMBERS[1][1]\nif NAME == 'relu':\n    v = v.to(HALF).to(tl.float32)"),
    "constant object": Feature("", "", "v = v + SETTINGS.offset + SETTINGS.double", interpreted=False),
    "constants of a module": Feature("", "", "v = v + gen.scales.consts.TABLE[1] + gen.scales.consts.ONE"),
    "constexpr function of ours": Feature("", "", "v = v + plus_one(3) + chosen('large', 2)"),
    "named tuple in the kernel": Feature("", "", "p = Pair(v, 2)\nv = p.left + p.right"),
    "shadowed": Feature("", "", "square = v + 1\nv = square"),
    "asserted": Feature("", "", "tl.static_assert(HIGH == 2)\nv = v + math.pi"),
}

# Kernels with nothing drawn at random: for each its name and how it is launched.
FIXED = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as GluonDescriptor
from triton.tools.tensor_descriptor import TensorDescriptor

@gluon.jit
def gluon_helper(x, by: gl.constexpr):
    return x * by

@gluon.jit
def with_layout(x, o, n, L: gl.constexpr, LS: gl.constexpr, B: gl.constexpr):
    i = gl.program_id(0) * B + gl.arange(0, B, layout=L)
    j = gl.convert_layout(gl.arange(0, B, layout=LS[0]), L)
    gl.store(o + i, gluon_helper(gl.load(x + i, i < n) + j, 3.0), i < n)

def launch_with_layout():
    o, blocked = numbers(0), gl.BlockedLayout([1], [32], [4], [0])
    with_layout[(2,)](x, o, n, blocked, (gl.SliceLayout(0, gl.BlockedLayout([1, 1], [1, 32], [1, 4], [1, 0])),), B=64)
    return o

@gluon.jit
def with_gluon_descriptor(d, o, L: gl.constexpr, P: gl.constexpr):
    from_memory = gl.allocate_shared_memory(d.dtype, d.block_type.shape, d.layout)
    arrived = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(arrived, count=1)
    mbarrier.expect(arrived, d.nbytes_per_cta)
    tma.async_load(d, [0, 0], arrived, from_memory)
    mbarrier.wait(arrived, 0)
    sums = gl.sum(from_memory.load(L), 1)
    padded = gl.allocate_shared_memory(gl.float32, [8], P)
    padded.store(sums)
    rows: gl.constexpr = gl.SliceLayout(1, L)
    gl.store(o + gl.arange(0, 8, layout=rows), padded.load(rows))

def launch_with_gluon_descriptor():
    o, rows = numbers(0), numbers(1).narrow(0, 0, 64).as_strided([8, 8], [8, 1])
    layout = gl.NVMMASharedLayout(swizzle_byte_width=32, element_bitwidth=32, rank=2)
    with_gluon_descriptor[(1,)](GluonDescriptor(rows, [8, 8], [8, 1], [8, 8], layout), o, gl.BlockedLayout([1, 1], [8, 4], [4, 1], [1, 0]), gl.SwizzledSharedLayout(1, 1, 1, [0]))
    return o

@triton.jit
def with_descriptor(d, e, B: tl.constexpr):
    e.store([0, 0], d.load([0, B]) * 2)

def launch_with_descriptor():
    o = numbers(0)
    rows = numbers(1).narrow(0, 0, 64).as_strided([8, 8], [8, 1])
    with_descriptor[(1,)](TensorDescriptor(rows, [8, 8], [8, 1], [8, 4]), TensorDescriptor(o.narrow(0, 0, 64).as_strided([8, 8], [8, 1]), [8, 8], [8, 1], [8, 4]), 4)
    return o

def plainly(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, i < n), i < n)

made_by_call = triton.jit(plainly, do_not_specialize=["n"])

def launch_plainly():
    o = numbers(0)
    made_by_call[(2,)](x, o, n, B=64)
    return o
"""
FIXED_NAMES = "with_layout", "with_gluon_descriptor", "with_descriptor", "plainly"

PARAMETERS = ("plain", "defaults", "keyword only", "rest", "rest and keywords", "constants first")  # the compiler takes no / among them
DECORATORS = ("jit", "options", "autotune", "autotune by name", "autotune by call", "heuristics", "both", "called", "static", "nested", "conditional")


def kernels(seed, number):
    """The text of a file with kernels and a function that launches them: pairs of a kernel's name and of facts about it."""
    rng = random.Random(seed)
    decks = {}

    def draw(kind, among):
        """The next of a shuffled list, which begins anew at its end."""
        if not decks.get(kind):
            decks[kind] = rng.sample(list(among), len(among))
        return decks[kind].pop()

    texts, facts = [HEAD], []
    for at in range(number):
        features, parameters, decorators = [], draw("parameters", PARAMETERS), draw("decorators", DECORATORS)
        while len(features) < 4:
            name = draw("features", FEATURES)
            if name not in features:
                features.append(name)
        text, fact = kernel(f"k{at}", features, parameters, decorators, rng)
        texts.append(text)
        facts.append({"kernel": f"k{at}", "features": features, "parameters": parameters, "decorators": decorators, **fact})
    texts.append(FIXED)
    for name in FIXED_NAMES:
        facts.append({"kernel": name, "features": [], "parameters": "plain", "decorators": "jit", "interpreted": name == "plainly"})
    texts.append("def launches():\n" + "".join(f"    yield {one['kernel']!r}, launch_{one['kernel']}\n" for one in facts))
    return "\n".join(texts), facts


def kernel(name, features, parameters, decorators, rng):
    """The text of a kernel and of a function that launches it and returns its output."""
    used = [FEATURES[one] for one in features]
    runtime = [one for one in used if one.param and one.runtime]
    constants = [one for one in used if one.param and not one.runtime]
    tuned = decorators in ("autotune", "autotune by name", "autotune by call", "both")
    even = decorators in ("heuristics", "both")
    if tuned and parameters in ("rest", "rest and keywords", "constants first") or even and "rest" in parameters:
        parameters = "plain"  # an autotuner gives constants by name
    lines, positions, named = signature(runtime, constants, parameters, tuned, even)
    body = ["i = tl.program_id(0) * B + tl.arange(0, B)", "v = tl.load(x + i, i < n)"]
    if any("rest" in one for one in lines):
        body.append("for each in tl.static_range(len(rest)):\n    v = v + tl.load(rest[each] + i, i < n)")
    body += [one.body for one in used]
    if even:
        body.append("if EVEN:\n    v = v + 1")
    body.append("tl.store(o + i, v, i < n)")
    define = decorated(name, decorators) + f"def {name}({', '.join(lines)}):\n" + textwrap.indent("\n".join(body), "    ") + "\n"
    callee = name
    if decorators == "static":
        define, callee = f"class Ops{name}:\n" + textwrap.indent(define, "    "), f"Ops{name}.{name}"
    elif decorators == "nested":
        define = (f"def make_{name}(CLOSED):\n" + textwrap.indent(define.replace("tl.store(o + i, v,", "tl.store(o + i, v + CLOSED,"), "    ") +
                  f"    return {name}\n\n{name}_made = make_{name}(tl.constexpr(11))\n")
        callee = f"{name}_made"
    elif decorators == "conditional":
        define = "if torch is not None:\n" + textwrap.indent(define, "    ") + "else:\n    pass\n"
    launch = f"""
def launch_{name}():
    o = torch.zeros(100)
    {callee}[lambda meta: (triton.cdiv(100, meta["B"]),)]({", ".join(positions + named)})
    return o
"""
    if "rest" in parameters:  # the grid's function gets what is bound: a name that is given by position is there too
        launch = launch.replace('lambda meta: (triton.cdiv(100, meta["B"]),)', "(2,)")
    return define + launch, {"parameters": parameters, "interpreted": "rest" not in parameters and decorators != "nested" and all(one.interpreted for one in used)}


def signature(runtime, constants, parameters, tuned, even):
    """Parameters, and arguments by position and by name."""
    size = ("B: tl.constexpr", "64")
    first = [("x", "x"), ("o", "o")]
    runtime = [(one.param, one.value) for one in runtime]
    constants = [(one.param, one.value) for one in constants]
    tuning = ([size] if tuned else []) + ([("EVEN: tl.constexpr", None)] if even else [])
    fixed = [] if tuned else [size]
    n = ("n", "n")

    def word(param):
        return param.split(":")[0].split("=")[0].strip("* ")

    def by_name(listed):
        return [f"{word(param)}={value}" for param, value in listed if value is not None]

    def texts(listed):
        return [param for param, _ in listed]

    def values(listed):
        return [value for _, value in listed]

    def with_default(param):
        return f"{param} = {'77' if ':' in param else '78'}"

    tuned_names = texts(tuning)
    if parameters == "defaults":
        late = [(with_default(param), value) for param, value in constants]
        listed = [*first, n, *runtime]
        return texts(listed) + [f"{p} = 64" if p == size[0] else p for p in texts(fixed)] + texts(late) + [f"{p} = 32" for p in tuned_names], values(listed), by_name(late)
    if parameters == "keyword only":
        later = [n, *runtime, *constants, *fixed]
        return [*texts(first), "*", *texts(later), *tuned_names], values(first), by_name(later)
    if parameters == "rest":
        listed = [("o", "o"), n, *runtime, *constants, *fixed]
        return ["x", *texts(listed), "*rest"], ["x", *values(listed), "numbers(5)", "numbers(6, 3)"], []
    if parameters == "rest and keywords":
        listed = [*first, n]
        later = [*runtime, *constants, *fixed]
        return [*texts(listed), "*rest", *texts(later)], [*values(listed), "numbers(5)"], by_name(later)
    if parameters == "constants first":
        listed = [*fixed, *constants, *first, n, *runtime]
        return texts(listed) + tuned_names, values(listed), []
    listed = [*first, n, *runtime, *constants, *fixed]
    return texts(listed) + tuned_names, values([*first, n, *runtime]), by_name([*constants, *fixed])


def decorated(name, decorators):
    jit = "@triton.jit\n"
    heuristics = '@triton.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})\n'
    return {
        "options": "@triton.jit(do_not_specialize=STEADY)\n",
        "called": "@triton.jit(repr=lambda _: 'renamed_" + name + "')\n",
        "autotune": '@triton.autotune(configs=[triton.Config({"B": 64}), triton.Config({"B": 32}, num_warps=1)], key=["n"])\n' + jit,
        "autotune by name": '@triton.autotune(configs=CONFIGS, key=["n"], prune_configs_by={"early_config_prune": keep})\n' + jit,
        "autotune by call": '@triton.autotune(configurations(), key=[])\n' + jit,
        "heuristics": heuristics + jit,
        "both": '@triton.autotune(configs=CONFIGS, key=["n"])\n' + heuristics + jit,
        "static": "@staticmethod\n" + jit,
    }.get(decorators, jit)
