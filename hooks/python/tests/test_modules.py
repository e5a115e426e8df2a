"""How the package is divided: what users import stands in its root, and no module needs one that needs it."""

import ast

from conftest import PACKAGE

ROOT = PACKAGE / "goproton"
MOST = 28  # modules in the root


def name_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in ROOT.rglob("*.py")}


def imports(node):
    """The import statements below a node, those in functions too, but for those that only type checkers read."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        yield from imports(child)


def needed(name, path):
    """The modules of this package that a module imports by name. The packages that they stand in hold nothing that imports back."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for statement in imports(ast.parse(path.read_text())):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names if alias.name in MODULES)
            continue
        base = package.split(".")[:len(package.split(".")) + 1 - statement.level] if statement.level else []
        source = ".".join([*base, *filter(None, [statement.module])])
        for alias in statement.names:
            if f"{source}.{alias.name}" in MODULES:
                yield f"{source}.{alias.name}"
            elif source in MODULES:
                yield source


def circle(graph):
    """A circle in a graph, as the names on it; [] if there is none."""
    done = set()

    def follow(name, path):
        if name in path:
            return [*path[path.index(name):], name]
        if name not in done:
            for other in sorted(graph.get(name, ())):
                found = follow(other, [*path, name])
                if found:
                    return found
            done.add(name)
        return []

    return next(filter(None, (follow(name, []) for name in sorted(graph))), [])


def test_no_module_needs_one_that_needs_it():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == ["b", "c", "b"] and circle({"a": {"b", "c"}, "b": {"c"}}) == []
    graph = {name: set(needed(name, path)) - {name} for name, path in MODULES.items()}
    assert {"goproton._library", "goproton.flags"} <= graph["goproton.profile"], "imports are found"
    assert "goproton._torch.tensors" in graph["goproton.scope"], "imports in functions are found"
    assert circle(graph) == []


def test_the_root_has_what_users_import():
    root = sorted(path.name for path in ROOT.glob("*.py"))
    assert len(root) <= MOST, f"{len(root)} modules: what others need stands in a package whose name begins with _\n" + "\n".join(root)
    assert not [name for name in root if name.startswith("_") and name.count("_") > 1 and not name.startswith("__")], "a prefix that several modules share is a package"
    for package in ROOT.glob("_[!_]*/"):
        assert ast.get_docstring(ast.parse((package / "__init__.py").read_text())), f"{package.name} says what it holds"
