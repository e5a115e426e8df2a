"""A launch of a kernel the way Triton does it: metadata, enter hook, launch, exit hook."""


def launch_with_hooks(launch, handle, name, metadata=None, on=None):
    from triton import knobs
    from triton.compiler import LazyDict
    lazy = LazyDict({"name": name, "function": handle, "stream": on or 0})
    if metadata:
        lazy.add(metadata, ())
    knobs.runtime.launch_enter_hook(lazy)
    launch(handle, on)
    knobs.runtime.launch_exit_hook(lazy)
