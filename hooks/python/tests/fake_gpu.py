"""Kernel launches on the fake driver of replay/fakecuda, whose fake libcupti reports them: a GPU program without a GPU.

The interpreter must have been started with the stub's folder in LD_LIBRARY_PATH and PROTON_CUPTI_PATH.
"""

import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
_context = ctypes.c_void_p()


def _check(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    assert result == 0, f"{name}: {result}"


def init():
    """Makes the context; a program's first use of the GPU."""
    _check("cuInit", 0)
    _check("cuCtxCreate_v2", ctypes.byref(_context), 0, 0)


def use():
    """Gives another thread the context."""
    _check("cuCtxSetCurrent", _context)


def synchronize():
    _check("cuCtxSynchronize")


def function(name, image=b"stub"):
    """The handle of a kernel."""
    module, handle = ctypes.c_void_p(), ctypes.c_void_p()
    _check("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(image))
    _check("cuModuleGetFunction", ctypes.byref(handle), module, name.encode())
    return handle.value


def stream():
    made = ctypes.c_void_p()
    _check("cuStreamCreate", ctypes.byref(made), 0)
    return made.value


def launch(handle, on=None):
    """Launches a kernel without any hook, as a library would."""
    zero = ctypes.c_void_p()
    _check("cuLaunchKernel", ctypes.c_void_p(handle), 4, 1, 1, 128, 1, 1, 0, ctypes.c_void_p(on), zero, zero)


def launch_triton(handle, name, metadata=None, on=None, grid=1):
    """Launches a kernel the way Triton does; an empty grid launches nothing."""
    from triton_launch import launch_with_hooks
    launch_with_hooks(launch if grid else lambda *_: None, handle, name, metadata, on)


class Graph:
    """``with Graph(stream): ...`` captures; ``replay()`` launches what was captured."""

    def __init__(self, on):
        self.on, self.exec = ctypes.c_void_p(on), ctypes.c_void_p()

    def __enter__(self):
        _check("cuStreamBeginCapture_v2", self.on, 0)
        return self

    def __exit__(self, *exc):
        graph = ctypes.c_void_p()
        _check("cuStreamEndCapture", self.on, ctypes.byref(graph))
        _check("cuGraphInstantiateWithFlags", ctypes.byref(self.exec), graph, ctypes.c_ulonglong(0))

    def replay(self):
        _check("cuGraphLaunch", self.exec, self.on)
