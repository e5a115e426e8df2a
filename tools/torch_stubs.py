"""Makes libraries that let PyTorch be imported without CUDA: torch_stubs.py FOLDER-OF-TORCH INTO [FOLDER-WITH-LIBRARIES…].

Each library that torch needs, and that is neither torch's nor the system's, is linked to if a folder has it; else it is made of functions
that return an error. Needs gcc, readelf and nm.
"""
import collections
import pathlib
import re
import subprocess
import sys

SYSTEM = re.compile(r"ld-linux|lib(c|m|dl|rt|pthread|util|gcc_s|stdc\+\+)\.so")
FOREIGN = re.compile(r"(cu|nccl|nvrtc|nvshmem|nvJit)")  # names of CUDA's libraries that have no version


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main(torch, into, *folders):
    own = sorted(pathlib.Path(torch, "lib").glob("*.so*"))
    needed, defined = set(), set()
    versions = collections.defaultdict(set)  # library → versions of its functions
    functions = collections.defaultdict(set)  # version → functions; "" for those without one
    for library in own:
        needed |= set(re.findall(r"\(NEEDED\).*\[(.+)\]", said("readelf", "-dW", library)))
        file = ""
        for name, version in re.findall(r"File: (\S+)|Name: (\S+)\s+Flags", said("readelf", "-VW", library)):
            file = name or file
            if version:
                versions[file].add(version)
        for line in said("nm", "-D", "--undefined-only", library).splitlines():
            name, _, version = line.split()[-1].partition("@")
            if version or FOREIGN.match(name):
                functions[version].add(name)
    into = pathlib.Path(into)
    into.mkdir(parents=True, exist_ok=True)
    plain = functions[""]
    for name in sorted(needed - {library.name for library in own}):
        if SYSTEM.match(name):
            continue
        real = next((path for folder in folders for path in pathlib.Path(folder).glob(f"**/{name}")), None)
        if real:
            into.joinpath(name).unlink(missing_ok=True)
            into.joinpath(name).symlink_to(real.resolve())
            defined |= {line.split()[-1].partition("@")[0] for line in said("nm", "-D", "--defined-only", real).splitlines()}
    for name in sorted(needed - {library.name for library in own}):
        if SYSTEM.match(name) or into.joinpath(name).exists():
            continue
        stub(into / name, {version: functions[version] for version in versions[name]}, plain - defined)
        plain = set()  # the first one has them


def stub(path, versioned, plain):
    every = sorted(set().union(plain, *versioned.values()))
    code = "".join(f"int {name}(void) {{ return 1; }}\n" for name in every) or "int empty;\n"
    script = "".join(f"{version} {{ global: {' '.join(name + ';' for name in sorted(names))} }};\n" if names else f"{version} {{ }};\n"
                     for version, names in sorted(versioned.items()))
    command = ["gcc", "-shared", "-w", "-fno-builtin", f"-Wl,-soname,{path.name}", "-x", "c", "-", "-o", str(path)]
    if script:
        map_file = path.with_suffix(".map")
        map_file.write_text(script)
        command.append(f"-Wl,--version-script={map_file}")
    subprocess.run(command, input=code, text=True, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
