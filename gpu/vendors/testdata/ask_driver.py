"""Asks the CUDA driver how many blocks of a kernel fit on a multiprocessor of the GPU that it runs on:

    python3 gpu/vendors/testdata/ask_driver.py > gpu/vendors/testdata/driver.csv

The kernel is flash_attention of tritonparse/internal/count/testdata/compiled, assembled by the driver for several numbers of registers."""
import ctypes
import gzip
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    if code := getattr(cuda, name)(*arguments):
        raise RuntimeError(f"{name}: error {code}")


def number(name, *arguments):
    out = ctypes.c_int()
    call(name, ctypes.byref(out), *arguments)
    return out.value


call("cuInit", 0)
device, context = number("cuDeviceGet", 0), ctypes.c_void_p()
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuCtxSetCurrent", context)
sm = 10 * number("cuDeviceGetAttribute", 75, device) + number("cuDeviceGetAttribute", 76, device)
largest = number("cuDeviceGetAttribute", 97, device)  # bytes of shared memory that a block can ask for

with gzip.open(f"{HERE}/../../trace/ttir/testdata/compiled/flash_attention.sm80.ptx.gz", "rt") as f:
    ptx = re.sub(r"\.reqntid 128", "", f.read())
print("# sm,threads,registers,shared,blocks")
for most in (32, 36, 40, 48, 56, 64, 72, 80, 96, 104, 112, 128, 144, 168, 184, 200, 216, 232, 255):
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    options, values = (ctypes.c_int * 1)(0), (ctypes.c_void_p * 1)(most)  # CU_JIT_MAX_REGISTERS
    call("cuModuleLoadDataEx", ctypes.byref(module), ptx.encode() + b"\0", 1, options, values)
    call("cuModuleGetFunction", ctypes.byref(kernel), module, b"flash_attention")
    registers, static = number("cuFuncGetAttribute", 4, kernel), number("cuFuncGetAttribute", 1, kernel)
    call("cuFuncSetAttribute", kernel, 8, largest - static)
    for threads in (1, 32, 33, 64, 96, 128, 160, 192, 224, 256, 288, 320, 384, 480, 512, 640, 768, 896, 1024):
        for shared in (0, 1, 1024, 5000, 16384, 33333, 49152, 65536, 100000, 115712, 115713, largest - static):
            blocks = number("cuOccupancyMaxActiveBlocksPerMultiprocessor", kernel, threads, ctypes.c_size_t(shared))
            print(f"{sm},{threads},{registers},{static + shared},{blocks}")
    call("cuModuleUnload", module)
