"""Records launches of generated kernels, compiles reproducers of them for real, and runs them in Triton's interpreter. No GPU is
needed: the driver launches nothing.

    python reproduce_roundtrip.py record FOLDER SEED NUMBER    writes and launches kernels; a trace is in FOLDER/trace. NUMBER 0
                                                               stands for those that do not compile
    python reproduce_roundtrip.py compile SCRIPT…              prints for each script what the compiler makes of it
    python reproduce_roundtrip.py interpret FOLDER SCRIPT…     prints whether each script computes what its kernel does

SCRIPT is KERNEL=FILE. The last two print a line of JSON for each.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import sys
import traceback
import types


def use_driver():
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase
    from triton.runtime.driver import driver
    handles = iter(range(0x7000, 1 << 40, 16))

    class Launcher:
        def __init__(self, src, metadata):
            pass

        def __call__(self, x, y, z, stream, function, packed, lazy, enter, exit, *arguments):
            for hook in enter, exit:
                if hook is not None:
                    hook(lazy)

    def load_binary(name, image, shared, device):
        handle = next(handles)
        return handle, handle, 32, 0, 1024

    class Driver(DriverBase):
        launcher_cls = Launcher
        utils = types.SimpleNamespace(load_binary=load_binary, unload_module=lambda module: None,
                                      get_device_properties=lambda device: {"max_shared_mem": 228 << 10})

        @classmethod
        def is_active(cls):
            return True

        def map_python_to_cpp_type(self, name):
            return name

        def get_current_target(self):
            return GPUTarget("cuda", 90, 32)

        def get_current_device(self):
            return 0

        def get_current_stream(self, device):
            return 0

        def get_active_torch_device(self):
            return "cpu"

        def get_benchmarker(self):
            return lambda call, quantiles: [call() or float(n + 1) for n, _ in enumerate(quantiles)]

    driver.set_active(Driver())


def the_reason(error):
    """The innermost error, without what differs from run to run."""
    while error.__cause__ is not None:
        error = error.__cause__
    return re.sub(r"0x[0-9a-f]+|/tmp/\S+", "...", "".join(traceback.format_exception_only(type(error), error)).strip())


def loaded(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain_ptx(text):
    """PTX without locations and debug information. Names of functions have those of their modules in them, and a kernel may have
    named itself."""
    (name,) = re.findall(r"\.visible \.entry (\w+)\(", text)
    lines = [re.sub(r"\s*//.*", "", line).strip() for line in text.split(".section")[0].splitlines()]
    lines = [re.sub(rf"\b{name}(?=_param|\b)", "kernel", line) for line in lines if line and not re.match(r"\.(loc|file|version)|\$L__(tmp|func)", line)]
    return re.sub(r"[\w$]+\$_(\w+)", r"\1", "\n".join(lines))


def fingerprint(text):
    return hashlib.sha256(plain_ptx(text).encode()).hexdigest()[:16]


def write_kernels(folder, seed, number):
    import reproduce_kernels
    for name, text in reproduce_kernels.PACKAGE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    text, facts = reproduce_kernels.kernels(seed, number) if number else (reproduce_kernels.HEAD + reproduce_kernels.FAILING, [])
    (folder / "kernels.py").write_text(text)
    (folder / "facts.json").write_text(json.dumps(facts))


@contextlib.contextmanager
def recording(folder):
    """A trace of ours, or of tritonparse."""
    if "--theirs" in sys.argv:
        import tritonparse.structured_logging as theirs
        theirs.init(folder, enable_trace_launch=True, enable_tensor_blob_storage=True)
        yield
    else:
        from goproton import trace
        with trace.init(folder, compression="none", tensors="--tensors" in sys.argv):
            yield


def record(folder, seed, number):
    write_kernels(folder, seed, number)
    sys.path.insert(0, str(folder))
    import triton
    compile = triton.compile
    with recording(str(folder / "trace")):
        import kernels
        for name, launch in kernels.launches():
            try:
                launch()
            except Exception as error:
                print(json.dumps({"kernel": name, "error": the_reason(error)}))
    assert triton.compile is triton.compiler.compile is triton.compiler.compiler.compile is compile


def compile_scripts(scripts):
    from triton import knobs
    made = []
    knobs.compilation.listener = lambda metadata_group, **_: made.append(metadata_group)
    for kernel, path in scripts:
        made.clear()
        said = {"kernel": kernel, "script": path}
        try:
            script = loaded(path)
            getattr(script, "launch_kernel", getattr(script, "compile_kernel", None))()
            said["ptx"] = [fingerprint(pathlib.Path(file).read_text()) for group in made for name, file in group.items() if name.endswith(".ptx")]
        except Exception as error:
            said["error"] = the_reason(error)
        print(json.dumps(said), flush=True)


def interpret(folder, scripts):
    import torch
    sys.path.insert(0, str(folder))
    import kernels
    launches = dict(kernels.launches())
    for kernel, path in scripts:
        said = {"kernel": kernel, "script": path}
        try:
            want = launches[kernel]()
        except Exception as error:  # a limit of this interpreter
            print(json.dumps({**said, "limit": the_reason(error)}))
            continue
        try:
            got = loaded(path).launch_kernel()["o"]
            said["equal"] = bool(torch.equal(torch.nan_to_num(want, nan=-1e30), torch.nan_to_num(got, nan=-1e30)))
        except Exception as error:
            said["error"] = the_reason(error)
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    what, arguments = sys.argv[1], [one for one in sys.argv[2:] if not one.startswith("--")]
    if what == "interpret":
        os.environ["TRITON_INTERPRET"] = "1"
    use_driver()
    if what == "record":
        record(pathlib.Path(arguments[0]), int(arguments[1]), int(arguments[2]))
    else:
        scripts = [one.split("=", 1) for one in arguments if "=" in one]
        compile_scripts(scripts) if what == "compile" else interpret(pathlib.Path(arguments[0]), scripts)
