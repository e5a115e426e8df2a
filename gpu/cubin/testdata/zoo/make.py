"""Compiles cubins for the comparison with NVIDIA's tools; no GPU is needed. Usage: make.py ORACLES FOLDER [NAME…]

ORACLES is .venv/oracles, with the compilers that tools/oracles.txt names; what is missing there is left out. FOLDER gets one
folder for each compiler, or for the NAMEs alone, and keeps those that it has. A kernel that a compiler does not take is a line on stderr."""
import ctypes
import fcntl
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def triton(folder, oracles, *targets):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    sys.path.insert(0, HERE)
    import kernels

    for sm in map(int, targets):
        for name, fn, signature, constants, options in kernels.KERNELS + (kernels.NEWER if sm >= 90 else []):
            try:
                source = ASTSource(fn=fn, signature={**signature, **{c: "constexpr" for c in constants}}, constexprs=constants)
                compiled = triton.compile(source, target=GPUTarget("cuda", sm, 32), options=options)
            except Exception as e:
                print(f"{name} for sm_{sm}: {type(e).__name__}: {str(e).strip().splitlines()[-1:]}", file=sys.stderr)
                continue
            write(f"{folder}/{name}.sm{sm}.cubin", compiled.asm["cubin"])
            if sm == 80:
                write(f"{folder}/{name}.sm{sm}.ptx", compiled.asm["ptx"].encode())


# Older assemblers write older tables. They take what Triton's newest compiler made, as far as it is not about newer GPUs.
def ptxas(folder, oracles, version):
    for ptx in sorted(glob.glob(f"{folder}/../triton-3.9.0-80/*.sm80.ptx")):
        name = os.path.basename(ptx).removesuffix(".ptx")
        with open(ptx) as f:
            older = re.sub(r'(?m)^\s*\.pragma "used_bytes_mask .*', "", re.sub(r"(?m)^\.version .*", ".version 7.8", f.read()))
        write(f"{folder}/{name}.ptx", older.encode())
        command = [f"{oracles}/cupti-{version}/nvidia/cuda_nvcc/bin/ptxas", "-w", "-lineinfo", "-arch=sm_80", f"{folder}/{name}.ptx"]
        subprocess.run(command + ["-o", f"{folder}/{name}.cubin"])


def nvrtc(folder, oracles, source, sm, *options):
    library = ctypes.CDLL(f"{oracles}/nvrtc-12.9/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
    name = os.path.basename(source).removesuffix(".cu")
    headers = ["cupti-12.8/nvidia/cuda_runtime", "cupti-12.8/nvidia/cuda_nvcc", "nvrtc-12.9/nvidia/cuda_cccl", "nvrtc-12.9/cutlass_library/source"]
    flags = [f"--gpu-architecture=sm_{sm}", "--std=c++17", "-default-device", *options] + [f"-I{oracles}/{h}/include" for h in headers]
    flags = [f.encode() for f in flags]
    program = ctypes.c_void_p()
    with open(f"{HERE}/{source}", "rb") as f:
        library.nvrtcCreateProgram(ctypes.byref(program), f.read(), f"/home/user/{name}.cu".encode(), 0, None, None)
    if library.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*flags)):
        log = text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program)
        sys.exit(f"{name} for sm_{sm}: {log.decode(errors='replace')}")
    write(f"{folder}/{name}.sm{sm}{''.join(options[:-1])}.cubin", text(library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN, program))


def text(size_of, get, program):
    size = ctypes.c_size_t()
    size_of(program, ctypes.byref(size))
    out = ctypes.create_string_buffer(size.value)
    get(program, out)
    return out.raw


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


# folder, what it needs, then the function above and what it gets in addition to the folders
JOBS = [
    ("triton-3.9.0-80", "triton-3.9.0", "triton 80"),
    ("triton-3.9.0-90", "triton-3.9.0", "triton 90"),
    ("triton-3.9.0-100", "triton-3.9.0", "triton 100"),
    ("triton-3.6.0", "triton-3.6.0", "triton 90"),
    ("ptxas-11.8", "triton-3.9.0 cupti-11.8", "ptxas 11.8"),
    ("ptxas-12.8", "triton-3.9.0 cupti-12.8", "ptxas 12.8"),
    ("nvrtc-80", "nvrtc-12.9 cupti-12.8", "nvrtc ../calls.cu 80 -lineinfo", "nvrtc ../calls.cu 80 -G -lineinfo", "nvrtc instructions.cu 80 -lineinfo"),
    ("nvrtc-90", "nvrtc-12.9 cupti-12.8", "nvrtc ../calls.cu 90 -lineinfo", "nvrtc ../calls.cu 90 -G -lineinfo", "nvrtc instructions.cu 90 -lineinfo"),
    ("nvrtc-100", "nvrtc-12.9 cupti-12.8", "nvrtc ../calls.cu 100 -lineinfo", "nvrtc ../two.cu 100 -lineinfo", "nvrtc instructions.cu 100 -lineinfo"),
    ("cutlass", "nvrtc-12.9 cupti-12.8", "nvrtc cutlass_gemm.cu 80 -lineinfo", "nvrtc cute_gemm.cu 90a -lineinfo"),
]


def make(oracles, folder, names):
    os.makedirs(folder, exist_ok=True)
    lock = open(f"{folder}/../.lock", "a")
    fcntl.flock(lock, fcntl.LOCK_EX)
    for name, needs, *calls in JOBS:
        final, part = f"{folder}/{name}", f"{folder}/{name}.part"
        if (names and name not in names) or os.path.isdir(final) or not all(os.path.isdir(f"{oracles}/{n}") for n in needs.split()):
            continue
        shutil.rmtree(part, ignore_errors=True)
        os.makedirs(part)
        environment = dict(os.environ, PYTHONPATH=f"{oracles}/{needs.split()[0]}", TRITON_CACHE_DIR=f"{part}/cache", PYTHONWARNINGS="ignore")
        for call in calls:
            function, *arguments = call.split()
            subprocess.run([sys.executable, "-B", __file__, function, part, oracles, *arguments], env=environment)
        shutil.rmtree(f"{part}/cache", ignore_errors=True)
        os.rename(part, final)


if __name__ == "__main__":
    function = {"triton": triton, "ptxas": ptxas, "nvrtc": nvrtc}.get(sys.argv[1])
    if function:
        function(*sys.argv[2:])
    else:
        make(*map(os.path.abspath, sys.argv[1:3]), sys.argv[3:])
