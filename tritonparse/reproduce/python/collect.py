"""Finds what a kernel needs of the source files around it. A JSON object comes on standard input, one goes out.

In: file, code (the kernel's source as it was recorded, or its whole file's), whole (it is the latter), function, line (in
the file), decorators (whether those are wanted too), folders (no file outside of them is read), given (functions and classes that the
kernel gets as arguments: module and name of each, optional for a name that may mean something else).
Out: imports, constants and functions (source text each, in an order in which they can be executed), aliases (name ->
members of a module that is spread out), missing (names), packages (that must be installed), changed (functions whose
source is no longer what was recorded).
"""

import ast
import builtins
import json
import os
import sys
import textwrap

PREINSTALLED = {"torch", "triton"} | set(sys.stdlib_module_names)

# What everyone calls these; used where the file is gone.
USUAL = {
    "tl": "import triton.language as tl",
    "triton": "import triton",
    "torch": "import torch",
    "math": "import math",
    "libdevice": "from triton.language.extra import libdevice",
    "tldevice": "from triton.language.extra import libdevice as tldevice",
    "tl_math": "from triton.language import math as tl_math",
    "gl": "from triton.experimental.gluon import language as gl",
    "ttgl": "from triton.experimental.gluon import language as ttgl",
    "gluon": "from triton.experimental import gluon",
    "triton_helpers": "from torch._inductor.runtime import triton_helpers",
    "triton_heuristics": "from torch._inductor.runtime import triton_heuristics",
    "TensorDescriptor": "from triton.tools.tensor_descriptor import TensorDescriptor",
}
INDUCTOR = {
    "libdevice": "from torch._inductor.runtime.triton_helpers import libdevice",
    "tl_math": "from torch._inductor.runtime.triton_helpers import math as tl_math",
}


class Module:
    """A source file and what its top level binds."""

    def __init__(self, path, source):
        self.path, self.source = path, source
        self.lines = source.splitlines(keepends=True)
        self.bound = {}  # name -> what binds it, as it is when the file has been executed
        self.unsure = set()  # names whose binding depends on what is only known then
        self.stars = []  # from … import *
        self.bind(ast.parse(source).body)

    def bind(self, body, around=None):
        """Notes what statements bind; around is the if or try that they stand in."""
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.bind_name(node.name, node, around)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(node)
                    self.bind_name(alias.asname or alias.name.split(".")[0], (node, alias), around)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            self.bind_name(name.id, node, around)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                if node.value is not None:
                    self.bind_name(node.target.id, node, around)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self.unsure.add(node.target.id)
            else:
                branches = isinstance(node, (ast.If, ast.Try, ast.For, ast.While))
                for block in ("body", "orelse", "finalbody"):
                    self.bind(getattr(node, block, ()) or (), node if branches else around)
                for handler in getattr(node, "handlers", ()):
                    self.bind(handler.body, node)

    def bind_name(self, name, node, around):
        """The last binding holds, unless one of them may not be executed. Of imports that are tried the first is taken: one that
        is not there says so."""
        before = self.bound.get(name)
        if before is not None and around is not None and dump(before) != dump(node):
            if isinstance(around, ast.Try) and isinstance(before, tuple) and isinstance(node, tuple):
                return
            if not (isinstance(around, ast.Try) and isinstance(node, tuple)):
                self.unsure.add(name)
        elif around is None:
            self.unsure.discard(name)
        self.bound[name] = node

    def text(self, node):
        first = min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", ())])
        text = textwrap.dedent("".join(self.lines[first - 1 : node.end_lineno])).rstrip() + "\n"
        try:
            ast.parse(text)
        except SyntaxError:  # a text over several lines keeps it from the margin
            return ast.unparse(node) + "\n"
        return text


def dump(node):
    """What a binding is, for comparison."""
    return meaning_of(*node) if isinstance(node, tuple) else ast.dump(node)


def names_of(node, decorators):
    """Names that a function, class or expression reads from outside, and for each the attributes of it, as tuples: a.b.c reads
    ("b", "c") of a."""
    parts, inside, read, attributes = [node], set(), [], {}
    if isinstance(node, ast.FunctionDef):
        arguments = node.args
        inside = {a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs}
        inside |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a}
        parts = [arguments, *node.body] + (node.decorator_list if decorators else [])
    for part in parts:
        for each in ast.walk(part):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                read.append(each.id)
            elif isinstance(each, ast.Name):
                inside.add(each.id)
            elif isinstance(each, ast.arg):
                inside.add(each.arg)
            elif isinstance(each, (ast.FunctionDef, ast.ClassDef)) and each is not node:
                inside.add(each.name)
            elif isinstance(each, ast.alias) and each.name != "*":
                inside.add(each.asname or each.name.split(".")[0])
            elif isinstance(each, ast.Attribute) and (dotted := dotted_name(each)):
                attributes.setdefault(dotted[0], []).append(dotted[1:])
    outside = [n for n in dict.fromkeys(read) if n not in inside]
    return outside, attributes


def dotted_name(node):
    """The names in a.b.c; none of any other expression."""
    names = ()
    while isinstance(node, ast.Attribute):
        node, names = node.value, (node.attr, *names)
    return (node.id, *names) if isinstance(node, ast.Name) else ()


def meaning_of(node, alias):
    """An import statement with one of its names."""
    fields = {field: getattr(node, field) for field in node._fields}
    return ast.unparse(type(node)(**{**fields, "names": [alias]}))


class Collector:
    def __init__(self, folders):
        self.folders = [os.path.realpath(folder) for folder in folders]
        self.modules = {}
        self.seen = {}  # emitted name -> path of the module that it is from
        self.out = {"imports": [], "constants": [], "functions": [], "aliases": {}, "missing": [], "packages": [], "changed": []}

    def module(self, path):
        if path not in self.modules:
            self.modules[path] = None
            try:
                if self.may_read(path):
                    if not os.path.exists(path) and os.path.isdir(os.path.dirname(path)):
                        self.modules[path] = Module(path, "")
                    with open(path, encoding="utf-8") as file:
                        self.modules[path] = Module(path, file.read())
            except (OSError, SyntaxError, ValueError):
                pass
        return self.modules[path]

    def may_read(self, path):
        """Whether a file is Python's and lies in one of the folders, links followed: the trace names files as it likes."""
        real = os.path.realpath(path)
        return real.endswith(".py") and any(os.path.commonpath([real, folder]) == folder for folder in self.folders)

    def find(self, dotted, level, importer):
        """The file of a module, without importing anything."""
        parts = dotted.split(".") if dotted else []
        folder = os.path.dirname(importer or "")
        roots = [folder]
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            roots = [folder]
        else:  # of the package that the importer is in
            while folder and os.path.exists(os.path.join(folder, "__init__.py")) and folder != os.path.dirname(folder):
                folder = os.path.dirname(folder)
                roots.insert(1, folder)
        for root in roots:
            for tail in (os.path.join(*parts) + ".py" if parts else "__init__.py", os.path.join(*parts, "__init__.py")):
                path = os.path.join(root, tail)
                if os.path.isfile(path):
                    return path
        packages = [os.path.join(root, *parts) for root in roots if parts]
        return next((os.path.join(path, "__init__.py") for path in packages if os.path.isdir(path)), None)  # without a file of its own

    def add_names(self, module, node, decorators=False):
        outside, attributes = names_of(node, decorators)
        for name in outside:
            self.add(module, name, attributes.get(name, []))

    def add(self, module, name, attributes, called=None):
        """Emits what a name of a module means, under that name."""
        called = called or name
        node = module.bound.get(name)
        if node is None:
            for star in module.stars:
                path = self.find(star.module or "", star.level, module.path)
                inner = self.module(path) if path else None
                if inner and name in inner.bound:
                    return self.add(inner, name, attributes, called)
        meaning = (module.path, name)
        if isinstance(node, tuple) and not getattr(node[0], "level", 0):  # the same wherever it stands
            meaning = ("import", meaning_of(*node))
        if called in self.seen:
            if self.seen[called] != meaning:
                self.out["missing"].append(f"{called} (means one thing in {module.path}, another in {self.seen[called][0]})")
            elif called not in self.out["aliases"]:
                return
        if node is None:
            if not hasattr(builtins, name):
                self.lack(module, name)
            return
        self.seen[called] = meaning
        if name in module.unsure:
            self.out["missing"].append(f"{called} (which of several it is, {os.path.basename(module.path)} decides when it is imported)")
            return
        if isinstance(node, tuple):
            return self.add_import(module, *node, called, attributes)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            self.add_names(module, node, True)
            text = module.text(node)
            if isinstance(node, ast.FunctionDef):
                text = text.replace("def " + name, "def " + called, 1)
            self.emit("functions", text)
        else:
            if isinstance(node.value, ast.AST):
                self.add_names(module, node.value)
            self.emit("constants", module.text(node))
        if called != name and not isinstance(node, ast.FunctionDef):
            self.emit("constants", f"{called} = {name}\n")

    def add_given(self, kernels, dotted, name, optional):
        """Emits a function or class that the kernel gets as an argument. The module that a program begins with is the kernel's, if
        any. An optional one is left out if it is not there."""
        if dotted.split(".")[0] in PREINSTALLED:
            return self.emit("imports", f"from {dotted} import {name}\n")
        path = None if dotted in ("", "__main__") else self.find(dotted, 0, kernels.path)
        if path is None and dotted in ("", "__main__", os.path.basename(kernels.path).removesuffix(".py")):
            path = kernels.path
        module = self.module(path) if path else None
        if module is not None and name in module.bound:
            return self.add(module, name, [])
        return None if optional else self.out["missing"].append(f"{name} of {dotted} (an argument)")

    def emit(self, kind, text):
        if text not in self.out[kind]:
            self.out[kind].append(text)

    def lack(self, module, name):
        usual = INDUCTOR.get(name) if "triton_helpers" in module.source else None
        if usual or name in USUAL:
            self.seen[name] = ("import", usual or USUAL[name])
            return self.emit("imports", (usual or USUAL[name]) + "\n")
        if name not in self.out["missing"]:
            self.out["missing"].append(name)

    def add_import(self, module, node, alias, called, attributes):
        dotted = alias.name if isinstance(node, ast.Import) else node.module or ""
        level = getattr(node, "level", 0)
        if not level and dotted.split(".")[0] in PREINSTALLED:
            as_name = f" as {called}" if called != alias.name else ""
            if isinstance(node, ast.Import):
                return self.emit("imports", f"import {alias.name}{' as ' + alias.asname if alias.asname else ''}\n")
            return self.emit("imports", f"from {dotted} import {alias.name}{as_name}\n")
        target = self.target(module, node, alias)
        if target is None:
            if level:
                return self.out["missing"].append(called)
            self.emit("imports", meaning_of(node, alias) + "\n")
            if dotted.split(".")[0] not in self.out["packages"]:
                self.out["packages"].append(dotted.split(".")[0])
            return None
        inner, name = target
        if name is None:
            return self.add_members(inner, called, attributes)
        del self.seen[called]
        return self.add(inner, name, attributes, called)

    def target(self, module, node, alias):
        """What an import of the program's own files binds: a module and None, or a module and the name of something in it."""
        if isinstance(node, ast.Import):
            path = self.find(alias.name if alias.asname else alias.name.split(".")[0], 0, module.path)
            return (self.module(path), None) if path and self.module(path) else None
        path = self.find(node.module or "", node.level, module.path)
        inner = self.module(path) if path else None
        path = self.find(((node.module or "") + "." + alias.name).strip("."), node.level, module.path)
        below = self.module(path) if path else None
        # What a package has imported under the name of a module of its own is that module.
        if inner and self.binds(inner, alias.name) and not (below and isinstance(inner.bound.get(alias.name, ()), tuple)):
            return inner, alias.name
        return (below, None) if below else None

    def binds(self, module, name):
        """Whether a module has a name, of its own or by from … import *."""
        return name in module.bound or any(
            (path := self.find(star.module or "", star.level, module.path)) and (inner := self.module(path)) and inner is not module and self.binds(inner, name)
            for star in module.stars
        )

    def add_members(self, module, called, attributes):
        """Spreads a module out under a name: emits what is used of it."""
        members = self.out["aliases"].setdefault(called, [])
        for first, rest in dict.fromkeys((path[0], path[1:]) for path in attributes if path):
            inner, node = None, module.bound.get(first)
            if isinstance(node, tuple):
                inner, name = self.target(module, *node) or (None, "")
                inner = inner if name is None else None
            elif os.path.basename(module.path) == "__init__.py" and not self.binds(module, first):
                path = self.find(first, 1, module.path)  # a module of this package, which something else imports
                inner = self.module(path) if path else None
            if inner:
                self.add_members(inner, f"{called}.{first}", [rest])
            elif first not in members:
                self.add(module, first, [rest])
                members.append(first)


def function_in(tree, name, line):
    """The function of that name at that line, or anywhere, and the functions around it."""
    best = None

    def visit(node, around):
        nonlocal best
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                if child.name == name:
                    first = min([child.lineno] + [d.lineno for d in child.decorator_list])
                    if best is None or first == line:
                        best = (child, around)
                visit(child, around + [child])
            else:
                visit(child, around)

    visit(tree, [])
    return best


def main():
    ask = json.load(sys.stdin)
    collector = Collector(ask.get("folders") or [])
    file, code = ask["file"], ask["code"]
    recorded = Module(file, code)
    module = recorded
    if not ask.get("whole"):
        module = collector.module(file) or recorded
    found = function_in(ast.parse(recorded.source), ask["function"], ask["line"] if ask.get("whole") else 1)
    if found is None:
        raise SystemExit(f"no function {ask['function']} in the recorded source")
    node = found[0]
    around = []
    if module is not recorded:
        there = function_in(ast.parse(module.source), ask["function"], ask["line"])
        if there is None:
            collector.out["changed"].append(ask["function"])
        else:
            around = there[1]
            if ast.dump(there[0]) != ast.dump(node):
                collector.out["changed"].append(ask["function"])
    else:
        around = found[1]
    for outer in around:  # what the functions around it bind, as far as it can be had without running them
        module.bind([n for n in outer.body if not isinstance(n, ast.Return)])
    collector.modules[file] = module
    collector.seen[ask["function"]] = (module.path, ask["function"])
    collector.add_names(module, node, bool(ask.get("decorators")))
    for function in ask.get("given") or []:
        collector.add_given(module, function["module"], function["name"], function["optional"])
    json.dump(collector.out, sys.stdout)


main()
