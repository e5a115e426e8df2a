"""Libraries with the few functions of torch that the native side observes, so that tests without torch can say what torch reports."""

import ctypes
import subprocess
from pathlib import Path

REPORT = """
#include <stddef.h>
#include <stdint.h>
void report(void *address, int64_t bytes, size_t total, size_t reserved, uint16_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
"""

C10 = REPORT + """
void report(void *address, int64_t bytes, size_t total, size_t reserved, uint16_t device) { (void)address, (void)bytes, (void)total, (void)reserved, (void)device; }
"""

C10_CUDA = REPORT + """
static size_t total;
void change(uint64_t address, int64_t bytes) {
  total += bytes;
  report((void *)address, bytes, total, total, 1);
}
"""


def _load(name, code):
    """Builds a library in the current folder and loads it."""
    path = Path(name).resolve()
    subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-x", "c", "-", "-o", path], input=code, text=True, check=True)
    return ctypes.PyDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def allocator():
    """change(address, bytes): what torch's allocator of GPU memory reports when it hands out a block, or takes one back (bytes < 0)."""
    _load("libc10.so", C10)
    change = _load("libc10_cuda.so", C10_CUDA).change
    change.argtypes, change.restype = [ctypes.c_uint64, ctypes.c_int64], None
    return change
