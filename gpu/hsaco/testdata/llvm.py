"""Rewrites what LLVM's tools say, which the tests compare with. Usage: llvm.py encodings|occupancy FOLDER, the folder of llvm-mc and llc
(22 or newer), in this folder.

encodings.txt has lines "architecture, encoding, instruction"; llvm-mc encodes the instruction anew. occupancy.csv has what llc says of
kernels that take certain registers and local data."""
import re
import subprocess
import sys

TARGET = "-triple=amdgcn-amd-amdhsa", "-mtriple=amdgcn-amd-amdhsa"


def encodings(tools):
    with open("encodings.txt") as f:
        lines = [line.rstrip("\n").split("\t") for line in f]
    with open("encodings.txt", "w") as f:
        for arch, _, text in lines:
            out = subprocess.run([f"{tools}/llvm-mc", TARGET[0], f"-mcpu={arch}", "-show-encoding"], input=text, capture_output=True, text=True, check=True)
            encoding = re.search(r"encoding: \[([0-9a-fx,]+)\]", out.stdout)[1]
            f.write(f"{arch}\t{encoding.replace('0x', '').replace(',', '')}\t{text}\n")


ARCHS = ("gfx900 gfx906 gfx908 gfx90a gfx942 gfx950 gfx9-generic gfx9-4-generic gfx1010 gfx1030 gfx10-1-generic gfx10-3-generic "
         "gfx1100 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 gfx11-generic gfx1200 gfx1201 gfx12-generic").split()
# Numbers of vector, accumulation and scalar registers, bytes of local data, threads of a workgroup.
KERNELS = [(v, 0, 10, 0, 64) for v in (4, 24, 32, 36, 40, 64, 68, 72, 96, 97, 128, 150, 200, 256)]
KERNELS += [(8, 0, 10, shared, threads) for shared, threads in ((1000, 64), (9000, 256), (20000, 128), (33000, 256), (65536, 1024), (4000, 512), (1300, 256))]
SCALARS = [(4, 0, s, 0, 64) for s in (70, 76, 80, 84, 90, 98, 100)]
ACCUMULATORS = [(v, a, 10, 0, 64) for v, a in ((60, 40), (128, 128), (256, 10), (20, 3))]


def occupancy(tools):
    rows = set()
    for arch in ARCHS:
        cdna = arch.startswith("gfx9")
        for features in [""] if cdna else ["", "+wavefrontsize64", "+cumode"]:
            kernels = KERNELS + (SCALARS if cdna else []) + (ACCUMULATORS if arch in ("gfx908", "gfx90a", "gfx942", "gfx950") else [])
            for kernel in kernels:
                rows.add((arch, *compiled(tools, arch, features, *kernel)))
    with open("occupancy.csv", "w") as f:
        f.write("arch,wave,pair,vector,scalar,shared,threads,occupancy\n")
        for row in sorted(rows):
            f.write(",".join(map(str, row)) + "\n")


def compiled(tools, arch, features, vector, accumulation, scalar, shared, threads):
    registers = [f"~{{v{vector - 1}}}", f"~{{s{scalar - 1}}}"] + ([f"~{{a{accumulation - 1}}}"] if accumulation else [])
    text = f'define amdgpu_kernel void @k() #0 {{\n  call void asm sideeffect "", "{",".join(registers)}"()\n'
    if shared:
        text = f"@data = internal addrspace(3) global [{shared} x i8] poison\n{text}" + '  call void asm sideeffect "", "v"(ptr addrspace(3) @data)\n'
    text += f'  ret void\n}}\nattributes #0 = {{ "amdgpu-flat-work-group-size"="{threads},{threads}" }}\n'
    out = subprocess.run([f"{tools}/llc", TARGET[1], f"-mcpu={arch}", f"-mattr={features}", "-o", "-"], input=text, capture_output=True, text=True, check=True).stdout

    def number(name):
        return int(re.search(name + r":?\s+(\d+)", out)[1])

    pair = int("workgroup_processor_mode: 1" in out)
    return (number(r"\.wavefront_size"), pair, number(r"\.vgpr_count"), number(r"\.sgpr_count"), number(r"\.group_segment_fixed_size"), threads, number("; Occupancy"))


if __name__ == "__main__":
    {"encodings": encodings, "occupancy": occupancy}[sys.argv[1]](sys.argv[2])
