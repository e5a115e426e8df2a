"""Triton's driver on the fake GPU of fake_gpu.py, or of fake_hip.py: `kernel[grid](…)` compiles for real and launches what does nothing.

    import fake_driver; fake_driver.use()       # before the first launch
    fake_driver.stream = fake_gpu.stream()      # where launches go from here on
"""

import ctypes
import types

stream = 0
gpu = None  # fake_gpu or fake_hip
leave = None  # leave(address, bytes, metadata) writes what a kernel leaves in its profile scratch


class Launcher:
    """What Triton's own does around a launch; tensors are asked for their address, which may fail."""

    def __init__(self, src, metadata):
        self.metadata = metadata

    def __call__(self, x, y, z, stream, function, packed, lazy, enter, exit, *arguments):
        from triton.runtime import _allocation
        size = x * y * z * self.metadata.profile_scratch_size
        if x * y * z * getattr(self.metadata, "global_scratch_size", 0):  # the user's comes first; AMD's kernels have none
            _allocation._allocator.get()(x * y * z * self.metadata.global_scratch_size, self.metadata.global_scratch_align, stream)
        if size:
            scratch = _allocation._profile_allocator.get()(size, self.metadata.profile_scratch_align, stream)
        if enter is not None:
            enter(lazy)
        for one in arguments:
            if hasattr(one, "data_ptr"):
                one.data_ptr()
        if x * y * z:
            gpu.launch(function, stream)
            if size and leave:
                leave(scratch, size, self.metadata)
        if exit is not None:
            exit(lazy)


def _load_binary(name, image, shared, device):
    handle = gpu.function(name, image)
    return handle, handle, 32, 0, 1024


def quick_keys():
    """The keys of Triton's cache begin with a hash of Triton, which each process computes from 500 MB: half of the time of a test."""
    import triton
    from triton.runtime import cache
    cache.triton_key = lambda: triton.__version__


def use(target=("cuda", 90, 32), on=None):
    global gpu
    if on is None:
        import fake_gpu as on
    gpu = on
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase
    from triton.runtime.driver import driver

    class Driver(DriverBase):
        launcher_cls = Launcher
        utils = types.SimpleNamespace(load_binary=_load_binary, unload_module=lambda module: None,
                                      get_device_properties=lambda device: {"max_shared_mem": 228 << 10})

        @classmethod
        def is_active(cls):
            return True

        def map_python_to_cpp_type(self, name):
            return name

        def get_current_target(self):
            return GPUTarget(*target)

        def get_current_device(self):
            return 0

        def get_current_stream(self, device):
            return stream

        def get_active_torch_device(self):
            return "cuda:0"

        def get_benchmarker(self):
            return lambda call, quantiles: [call() or float(n + 1) for n, _ in enumerate(quantiles)]

    quick_keys()
    gpu.init()
    driver.set_active(Driver())
