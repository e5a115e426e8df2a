"""Kernels that Triton loaded before a session samples instructions are handed over."""

from conftest import run_python

PRELUDE = """
import base64, sys, types, spy_native
sys.modules["goproton._native"] = native = spy_native.make()
import goproton as proton

class CompiledKernel:
    def __init__(self, name, function, kernel):
        self.name, self.function, self.kernel = name, function, kernel

triton = types.ModuleType("triton")
triton.compiler = types.ModuleType("triton.compiler")
triton.compiler.CompiledKernel = CompiledKernel
sys.modules["triton"], sys.modules["triton.compiler"] = triton, triton.compiler

class Proxy:  # pretends to be whatever it stands for, as proxies do
    @property
    def __class__(self): raise ReferenceError("the object is gone")

kept = [CompiledKernel("first", 0x7f01, b"\\x7fELF first"), CompiledKernel("second", 0x7f02, b"\\x7fELF second"),
        CompiledKernel("not loaded yet", None, b"\\x7fELF third"), CompiledKernel("an AMD kernel of old", 0x7f04, "text"), Proxy()]

def handed_over():
    return sorted((c[1]["handle"], c[1]["name"], base64.b64decode(c[1]["image"])) for c in native.calls if c[0] == "code.loaded")
"""


def test_kernels_that_were_loaded_before_sampling_began():
    run_python(PRELUDE + """
proton.start("p", mode="pcsampling")
assert handed_over() == [(0x7f01, "first", b"\x7fELF first"), (0x7f02, "second", b"\x7fELF second")], native.calls
""")


def test_only_sampling_needs_code():
    run_python(PRELUDE + """
proton.start("p")
proton.start("q", mode="periodic_flushing")
assert handed_over() == [], native.calls
""")


def test_a_library_of_another_version_costs_one_line():
    run_python(PRELUDE + """
call = native.call
def refuse(method, params):
    if method == "code.loaded": raise ValueError("unknown control call code.loaded")
    return call(method, params)
native.call = refuse
import io, contextlib
said = io.StringIO()
with contextlib.redirect_stderr(said):
    assert proton.start("p", mode="pcsampling") == 0
assert said.getvalue() == "goproton: kernels that were loaded before the session are sampled without their lines: unknown control call code.loaded\\n", said.getvalue()
""")
