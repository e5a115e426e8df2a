"""Code and contexts of CUDA's driver API, in addition to those of torch."""
import ctypes
import functools
import time

import torch

import goproton as proton


@functools.cache
def library():
    return ctypes.CDLL("libcuda.so.1")


def call(name, *args):
    rc = getattr(library(), name)(*args)
    assert rc == 0, f"{name}: CUDA error {rc}"


class Module:
    """chain_kernel loaded by the driver's API; the context that is current keeps it."""

    def __init__(self, image):
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(self.module), image)
        call("cuModuleGetFunction", ctypes.byref(self.function), self.module, b"chain_kernel")

    def launch(self, address, steps, blocks):
        values = ctypes.c_void_p(address), ctypes.c_int(steps), ctypes.c_void_p(), ctypes.c_void_p()
        args = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
        call("cuLaunchKernel", self.function, blocks, 1, 1, 128, 1, 1, 0, None, args, None)

    def unload(self):
        began = time.perf_counter()
        call("cuModuleUnload", self.module)
        return time.perf_counter() - began


def launched_in_a_context(image, scope, steps, launches=20):
    """Creates a context, runs the kernel in it, and destroys it when the caller goes on."""
    context, memory = ctypes.c_void_p(), ctypes.c_void_p()
    blocks = 8 * torch.cuda.get_device_properties(0).multi_processor_count
    call("cuCtxCreate_v2", ctypes.byref(context), 0, torch.cuda.current_device())
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(blocks * 4096))
    module = Module(image)
    with proton.scope(scope):
        for _ in range(launches):
            module.launch(memory.value, steps, blocks)
        call("cuCtxSynchronize")
    call("cuCtxPopCurrent_v2", ctypes.byref(context))  # torch's is current again
    yield
    call("cuCtxDestroy_v2", context)
