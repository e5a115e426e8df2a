"""Kernel launches on the fake libamdhip64 of replay/fakehip, whose fake libroctracer64 reports them."""

import ctypes
import os

hip = None


def load():
    """What importing torch does: the program has HIP from here on."""
    global hip
    hip = ctypes.CDLL(os.environ["FAKE_HIP"])


def init():
    """A program's first use of the GPU."""
    if hip is None:
        load()


def _check(name, *arguments):
    result = getattr(hip, name)(*arguments)
    assert result == 0, f"{name}: {result}"


def function(name, image=b"image"):
    """The handle of a kernel."""
    module, handle = ctypes.c_void_p(), ctypes.c_void_p()
    _check("hipModuleLoadData", ctypes.byref(module), ctypes.c_char_p(image))
    _check("hipModuleGetFunction", ctypes.byref(handle), module, name.encode())
    return handle.value


def launch(handle, on=None):
    zero = ctypes.c_void_p()
    _check("hipModuleLaunchKernel", ctypes.c_void_p(handle), 4, 1, 1, 64, 1, 1, 0, ctypes.c_void_p(on), zero, zero)


def stream():
    made = ctypes.c_void_p()
    _check("hipStreamCreate", ctypes.byref(made))
    return made.value


def launch_triton(handle, name, metadata=None, on=None):
    """Launches a kernel the way Triton does."""
    from triton_launch import launch_with_hooks
    launch_with_hooks(launch, handle, name, metadata, on)


class Graph:
    """``with Graph(stream): ...`` captures; ``replay()`` launches what was captured."""

    def __init__(self, on):
        self.on, self.exec = ctypes.c_void_p(on), ctypes.c_void_p()

    def __enter__(self):
        _check("hipStreamBeginCapture", self.on, 0)
        return self

    def __exit__(self, *exc):
        graph = ctypes.c_void_p()
        _check("hipStreamEndCapture", self.on, ctypes.byref(graph))
        _check("hipGraphInstantiate", ctypes.byref(self.exec), graph, None, None, ctypes.c_size_t(0))

    def replay(self):
        _check("hipGraphLaunch", self.exec, self.on)
