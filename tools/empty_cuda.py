#!/usr/bin/env python3
"""Makes empty libraries of CUDA, so that a torch that was built for GPUs can be imported on a machine without them.

    tools/empty_cuda.py FOLDER OUTDIR

FOLDER has the unpacked wheel. OUTDIR gets a library for each of CUDA's that torch's libraries need and the wheel lacks. Their functions
return 1, which is an error; those of the runtime return 0, and it finds no GPU. Needs a C compiler, readelf and nm.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CUDA_LIBRARY = re.compile(r"lib(cu|nv|nccl)")
CUDA_FUNCTION = re.compile(r"(cu|nccl|nvrtc|nvshmem|nvJit|nvtx)")
NO_DEVICE = 100  # cudaErrorNoDevice


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def versions_of(library, needed):
    """Adds to needed[other library] the versions of symbols that a library asks it for."""
    other = None
    for line in said("readelf", "-V", "-W", library).splitlines():
        if match := re.search(r"File: (\S+)", line):
            other = match[1]
        elif (match := re.search(r"Name: (\S+)\s+Flags", line)) and other:
            needed[other].add(match[1])
    for name in re.findall(r"NEEDED.*\[(.*)\]", said("readelf", "-d", library)):
        needed[name].update()


def symbols_of(library, versioned, plain):
    for line in said("nm", "-D", "--undefined-only", library).splitlines():
        name, _, version = line.split()[-1].partition("@")
        if version:
            versioned[version.lstrip("@")].add(name)
        elif CUDA_FUNCTION.match(name):
            plain.add(name)


def function(name):
    return f"long {name}(void) {{ return {NO_DEVICE if name.startswith('cudaGetDeviceCount') else 0 if name.startswith('cuda') else 1}; }}\n"


def compile_library(path, names, versions):
    """versions: the names of each version of symbols."""
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder, "empty.c"), pathlib.Path(folder, "empty.map")
        source.write_text("".join(map(function, sorted(names))) or "int empty;\n")
        script.write_text("".join(f"{version} {{ {'global: ' + ' '.join(f'{name};' for name in sorted(of)) if of else ''} }};\n"
                                  for version, of in sorted(versions.items())))
        scripts = [f"-Wl,--version-script={script}"] if versions else []
        said(os.environ.get("CC", "cc"), "-shared", "-w", "-fno-builtin", f"-Wl,-soname,{path.name}", "-o", str(path), str(source), *scripts)


def main(folder, out):
    libraries = list(pathlib.Path(folder, "torch", "lib").glob("*.so*"))
    needed, versioned, plain = collections.defaultdict(set), collections.defaultdict(set), set()
    for library in libraries:
        versions_of(library, needed)
        symbols_of(library, versioned, plain)
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    own = {library.name for library in libraries}
    for name in sorted(name for name in needed if CUDA_LIBRARY.match(name) and name not in own):
        versions = {version: versioned[version] for version in needed[name]}
        # A function without a version may be of any library: one has them all.
        others = plain if name.startswith("libcublas.so") else set()
        compile_library(pathlib.Path(out, name), others.union(*versions.values()), versions)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
