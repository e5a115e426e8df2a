import ast
import collections
import dataclasses
import enum
import functools
import importlib
import json
import operator
import os
import re
import sys

import torch
import triton
import triton.language as tl


def create_args_from_json_file(path):
    """Grid and arguments by name of the launch that a context file describes."""
    with open(path, encoding="utf-8") as file:
        return create_args_from_json(json.load(file))


def create_args_from_json(context):
    """Grid and arguments by name of a launch, as tensors that lie in memory as the recorded ones did."""
    if isinstance(context, str):
        context = json.loads(context)
    plan = context.get("reproduce") or {}
    torch.manual_seed(plan.get("seed", 0))
    memory = _Memory(plan)
    for name, described in context["extracted_args"].items():
        for tensor in _tensors_of(described):
            memory.add(name, tensor)
    memory.allocate()
    args = {name: _argument(name, described, memory) for name, described in context["extracted_args"].items()}
    return context.get("grid"), args


def _tensors_of(described):
    """The descriptions of the tensors in an argument, as the trace has them."""
    if described.get("type") == "tensor":
        yield described
        return
    yield from (described[part] for part in ("base", "data") if part in described)
    inner = [described["storage"]] if "storage" in described else []
    inner += described.get("items", []) + list(described.get("fields", {}).values())
    for part in [*inner, *(each for pair in described.get("entries", []) for each in pair)]:
        yield from _tensors_of(part)
    if "Tensor(shape=" in described.get("repr", "") and not _MADE_FROM & described.keys():
        described["outline"] = _syntax(described["repr"])
        for node in ast.walk(described["outline"]):
            if _called(node) == "Tensor":
                node.described = {k.arg: ast.unparse(k.value) if k.arg == "dtype" else ast.literal_eval(k.value) for k in node.keywords}
                yield node.described


class _Memory:
    """Places tensors as in the recorded launch: with the same strides and alignment, and sharing the memory that they shared."""

    ALIGN = 256  # what every allocation of a GPU is aligned to

    def __init__(self, plan):
        self.plan = plan
        self.described = []  # (name, description)
        self.views = {}  # by id of the description
        self.regions = []

    def add(self, name, described):
        self.described.append((name, described))

    def allocate(self):
        spans = []
        for name, described in self.described:
            dtype, size, stride = _dtype(described["dtype"]), described["shape"], described.get("stride") or _contiguous(described["shape"])
            described["stride"] = stride
            extent = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride))
            address = int(described["data_ptr"], 16) if "data_ptr" in described else 0
            if not address or address % dtype.itemsize:
                address = -self.ALIGN * (len(spans) + 1) << 48  # on its own
            spans.append((address, address + extent * dtype.itemsize, _device(described), described, dtype))
        spans.sort(key=lambda span: (span[2], span[0]))
        group = []
        for span in spans:
            if group and (span[2] != group[0][2] or span[0] >= max(s[1] for s in group)):
                self._place(group)
                group = []
            group.append(span)
        if group:
            self._place(group)
        # What is known exactly comes last, so that nothing made up is written over it.
        for name, described in sorted(self.described, key=lambda each: "blob_path" in each[1]):
            _fill(name, self.views[id(described)], described, self.plan)

    def _place(self, group):
        begin = group[0][0] // self.ALIGN * self.ALIGN
        size = max(span[1] for span in group) - begin
        size = max(size + 511, 512) // 512 * 512
        try:
            region = torch.zeros(size, dtype=torch.uint8, device=group[0][2])
        except torch.cuda.OutOfMemoryError as error:
            raise RuntimeError(f"the launch's tensors need {size / 1e9:.1f} GB in one piece, which this GPU has not free; "
                               "use one as large as the recorded, or make shapes smaller in the context") from error
        self.regions.append(region)
        for address, _, _, described, dtype in group:
            offset = (address - begin) // dtype.itemsize
            self.views[id(described)] = region.view(dtype).as_strided(described["shape"], described["stride"], offset)


def _contiguous(size):
    stride, step = [], 1
    for n in reversed(size):
        stride.insert(0, step)
        step *= max(n, 1)
    return stride


def _device(described):
    """The first device of the kind: the recorded program may have used its fourth. Triton's interpreter needs none."""
    kind = (described.get("device") or "cuda").split(":")[0]
    if kind in ("cpu", "meta"):
        return kind
    if not hasattr(torch, kind):
        try:
            importlib.import_module("torch_" + kind)  # as for Ascend's npu
        except ImportError:
            pass
    there = hasattr(torch, kind)
    if os.environ.get("TRITON_INTERPRET") == "1" and not (there and getattr(torch, kind).is_available()):
        return "cpu"
    if not there:
        raise RuntimeError(f"the launch was for {kind}, which this torch does not have: install the package that adds it (torch_{kind}), or set "
                           "TRITON_INTERPRET=1 for Triton's interpreter, which runs on the CPU")
    return kind + ":0"


def _dtype(text):
    dtype = getattr(torch, text.removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"this torch, {torch.__version__}, has no type {text}; the recorded one had")
    return dtype


def _fill(name, view, described, plan):
    """Puts values into a tensor: the recorded, else some like them, else random ones."""
    if view.numel() == 0:
        return
    for dim, (size, stride) in enumerate(zip(described["shape"], described["stride"])):
        if stride == 0 and size > 1:  # expanded: one element stands for all, and may be written only once
            view = view.narrow(dim, 0, 1)
    view = _numbers(view)
    if "blob_path" in described:
        values = load_tensor(described["blob_path"])
        if list(values.shape) != list(described["shape"]):
            raise ValueError(f"{described['blob_path']} holds a tensor of {list(values.shape)}, not {name}'s {described['shape']}")
        for dim, size in enumerate(view.shape):
            values = values.narrow(dim, 0, size)
        view.copy_(_numbers(values))
    else:
        view.copy_(_values(view, described, plan))


def _numbers(tensor):
    """The tensor, or its bytes if torch does not compute with its elements: two numbers of four bits in each, for one."""
    shells = r"torch\.(float4_\w+|u?int[1-7])"
    return tensor.view(torch.uint8) if re.fullmatch(shells, str(tensor.dtype)) else tensor


def _values(like, described, plan):
    size, dtype, device = list(like.shape), like.dtype, like.device
    least, most, mean, std = (_number(described.get(key)) for key in ("min", "max", "mean", "std"))
    known = all(_finite(v) for v in (least, most, mean))
    if not _finite(std):  # of one element
        known, std = known and least == most, 0.0
    if dtype.is_complex:
        return torch.randn(size, dtype=dtype, device=device)
    if dtype == torch.bool:
        return torch.rand(size, device=device) < (mean if known else 0.5)
    if dtype.is_floating_point:
        exact = dtype if dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64) else torch.float32
        values = torch.randn(size, dtype=exact, device=device)
        if known:
            values.mul_(std).add_(mean).clamp_(least, most)
        return values.to(dtype)
    if known:
        values = torch.randn(size, dtype=torch.float64, device=device).mul_(std).add_(mean).round_()
        most = min(most, 2**63 - 1024)  # the last double that an int64 can hold
        return values.clamp_(least, most).to(torch.int64).to(dtype)
    if dtype.itemsize == 1:  # quantized data, hardly ever an index
        bounds = (-128, 128) if dtype == torch.int8 else (0, 256)
    else:
        bounds = plan.get("int_range") or (0, 16)
    return torch.randint(bounds[0], bounds[1], size, dtype=torch.int64, device=device).to(dtype)


def _finite(value):
    return isinstance(value, (int, float)) and abs(value) < float("inf")


def _number(value):
    """A number; JSON has none for nan and infinities, which are texts in a trace."""
    return float(value) if isinstance(value, str) and value in ("nan", "inf", "-inf") else value


# Members of a description from which an object is made. Without one there is its text.
_MADE_FROM = {"object", "member", "items", "entries", "fields", "base", "storage", "data"}


def _argument(name, described, memory):
    value = _value(name, described, memory)
    return tl.constexpr(value) if described.get("constexpr") or described.get("type") == "constexpr" else value


def _value(name, described, memory):
    kind = described.get("type")
    if kind == "tensor":
        return memory.views[id(described)]
    if kind in _BUILDERS:
        return _BUILDERS[kind](name, described, memory)
    if _MADE_FROM & described.keys():
        return _made(name, described, memory)
    if kind == "str":
        return described["value"]
    if "value" in described:  # also of what is a number and more, such as numpy.float64 or a member of an IntEnum
        return _number(described["value"])
    text = re.sub(r"^constexpr\[(.*)\]$", r"\1", described.get("repr", ""))
    if kind == "NoneType":
        return None
    if kind == "device":
        return torch.device(text)
    if kind in ("dtype", "constexpr") and text.startswith("torch."):
        return _dtype(text)
    if kind == "Size":
        return tuple(ast.literal_eval(text.removeprefix("torch.Size(").removesuffix(")")))
    if kind == "dtype" or kind == "constexpr" and re.fullmatch(r"u?int\d+|bf16|fp\d+(e\w+)?", text):
        return tl.dtype(re.sub(r".*\('|'\)", "", text))
    try:
        return _built(described.get("outline") or _syntax(text), memory)
    except (ValueError, SyntaxError):
        raise _unknown(name, described) from None


def _unknown(name, described):
    return TypeError(f"argument {name}: the trace has only the text {described.get('repr', '')!r} of this {described.get('type')}; "
                     f"put a value for it into args_dict[{name!r}] before the launch")


def _made(name, described, memory):
    """A value of what it consists of. The trace says which class it is of, and may name any: no class is called."""
    kind = _known(described["class"]) if "class" in described else None
    parts = [_argument(name, each, memory) for each in described.get("items", [])]
    if "object" in described:
        found = _known(described["object"])
    elif "base" in described:
        return triton.reinterpret(memory.views[id(described["base"])], tl.dtype(described["dtype"]))
    elif "member" in described:
        found = _member(kind, described["member"])
    elif "entries" in described:
        return {_argument(name, key, memory): _argument(name, each, memory) for key, each in described["entries"]}
    elif "fields" in described:
        found = _filled(kind, {key: _argument(name, each, memory) for key, each in described["fields"].items()})
    elif "class" not in described:
        return {"list": list, "set": set, "frozenset": frozenset}.get(described.get("type"), tuple)(parts)
    elif described["class"] == "torch:Size":
        return torch.Size(parts)
    elif isinstance(kind, type) and issubclass(kind, tuple):
        return tuple.__new__(kind, parts)
    elif "names" in described:
        return collections.namedtuple(described["type"], described["names"])(*parts)
    else:
        found = None
    if found is None:
        raise _unknown(name, described)
    return found


def _member(kind, names):
    """A member of an enumeration; of several flags the names stand between bars."""
    if not isinstance(kind, type) or not issubclass(kind, enum.Enum):
        return None
    members = [kind[each] for each in names.split("|") if each]
    return functools.reduce(operator.or_, members) if members else kind(0)


def _filled(kind, fields):
    """An object as it was, without calling its class."""
    if not isinstance(kind, type):
        return None
    made = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def _syntax(text):
    """The syntax of an object's text; numpy's numbers and constexpr are the numbers themselves."""
    text = re.sub(r"\bnp\.\w+\(([^()]*)\)|\bconstexpr\[([^][]*)\]", r"\1\2", text)
    text = re.sub(r"JITFunction\([\w.]+:(?:[\w.<>]*\.)?(\w+)\)|<(?:function|[\w.]*Function) (?:[\w.<>]*\.)?(\w+) at \w+>", r"\1\2", text)
    return ast.parse(re.sub(r"<(\w+\.\w+): [^<>]*>", r"\1", text), mode="eval").body  # a member of an enumeration


def _called(node):
    """The name of what is called in a text, with or without a subscript; None of anything else."""
    callee = getattr(node, "func", None)
    return getattr(getattr(callee, "value", callee), "id", None)


def _built(node, memory):
    """An object as its text has it: tensors by their form, classes by their fields."""
    if hasattr(node, "described"):
        return memory.views[id(node.described)]
    if isinstance(node, (ast.Tuple, ast.List)):
        parts = [_built(each, memory) for each in node.elts]
        return tuple(parts) if isinstance(node, ast.Tuple) else parts
    if isinstance(node, ast.Dict):
        return {ast.literal_eval(key): _built(value, memory) for key, value in zip(node.keys, node.values)}
    if isinstance(node, ast.Name):
        found = float(node.id) if node.id in ("nan", "inf") else _known(node.id)
    elif isinstance(node, (ast.Attribute, ast.BinOp)):  # Color.RED, Flags.A|B
        name, _, members = ast.unparse(node).replace(" ", "").partition(".")
        found = _member(_known(name), members)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Name):  # -inf
        found = -_built(node.operand, memory)
    elif _called(node) == "TensorWrapper":
        return triton.reinterpret(_built(node.args[0], memory), tl.dtype(node.func.slice.id))
    elif _called(node) and node.keywords and not node.args:
        name, fields = _called(node), {each.arg: _built(each.value, memory) for each in node.keywords}
        return _record(_known(name), name, fields)
    else:
        return ast.literal_eval(node)
    if found is None:
        raise ValueError(ast.unparse(node))
    return found


def _record(kind, name, fields):
    """An object of fields. The trace says which class it is of, and may name any: only those are called that fill fields."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        later = {field.name for field in dataclasses.fields(kind) if not field.init}
        made = kind(**{key: value for key, value in fields.items() if key not in later})
        for key in later & fields.keys():
            object.__setattr__(made, key, fields[key])
        return made
    if not (isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")):
        kind = collections.namedtuple(name, fields)
    return kind(**fields)


def _known(name):
    """What a function or class is in this script, in the kernel's file, or in Triton, by its name or its module and name."""
    module, name = name.partition(":")[0], re.split(r"[.:]", name)[-1]
    kernel = globals().get("imported_kernel_function")
    while hasattr(kernel, "fn") and not hasattr(kernel, "__globals__"):
        kernel = kernel.fn
    for place in globals(), getattr(kernel, "__globals__", {}), vars(sys.modules.get("triton.experimental.gluon.language", tl)):
        if place.get(name) is not None:
            return place[name]
    if module.startswith("triton."):  # such as a descriptor of Gluon, which the kernel's file need not name
        return getattr(importlib.import_module(module), name, None)
    return None


# What builds arguments of other types than tensors and plain values.
_BUILDERS = {}


def _set_allocator(device):
    """Gives kernels that ask for scratch memory on the GPU some."""
    if hasattr(triton, "set_allocator"):
        triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=device))
