"""The names of PyTorch's modules as frames, through torch's global module hooks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_handles: list[Any] = []


def watch(native: ModuleType | None) -> None:
    """Opens frames for modules from now on; None: no longer."""
    while _handles:
        _handles.pop().remove()
    if native is None:
        return
    import weakref

    import torch
    from torch.nn.modules import module as hooks

    is_compiling = torch.compiler.is_compiling
    enter, leave = native.torch_enter, native.torch_exit
    names: Any = weakref.WeakKeyDictionary()

    def before(module: Any, arguments: Any) -> None:
        if is_compiling():
            return
        name = names.get(module)
        if name is None:
            name = _add_names(names, module)
        enter(name, module)

    def after(module: Any, arguments: Any, result: Any) -> None:
        if not is_compiling():
            leave(module)

    _handles.append(hooks.register_module_forward_pre_hook(before))
    _handles.append(hooks.register_module_forward_hook(after, always_call=True))


def _add_names(names: Any, root: Any) -> str:
    """Names a module that no other one of the program's calls has named, and everything in it."""
    original = getattr(root, "_orig_mod", root)  # of torch.compile's wrapper
    kind = type(original).__name__
    for path, module in original.named_modules():
        names.setdefault(module, f"{kind}.{path}" if path else kind)
    return names.setdefault(root, kind)
