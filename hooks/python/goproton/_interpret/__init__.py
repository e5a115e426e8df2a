"""Triton's kernels on the CPU: the hook that takes their launches, the compile to TTIR, and the memory of their tensors.

The interpreter itself is Go, in libproton.so. ``hook`` takes launches, ``host`` is the driver that Triton has meanwhile, ``compiling`` makes
TTIR, ``launching`` passes a launch to Go, ``storages`` finds the memory of tensors, ``runs`` has what users call, and ``program`` is the part
of ``proton interpret`` in each Python process.
"""
