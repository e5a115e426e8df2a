"""The debugger of proton interpret, with the pinned wheels of Triton and numpy: stops and prints in kernels, and sessions of commands."""

import json
import os
import re
import socket
import subprocess
import sys

import pytest
from conftest import LIBRARY, ORACLES, PACKAGE, PATIENCE, REPOSITORY, TESTS

PROTON = REPOSITORY / "build" / "proton"
SCRIPT = TESTS / "debugged.py"
SUM = "sum 1056.0\n"
pytestmark = pytest.mark.skipif(not LIBRARY.exists() or not PROTON.exists(), reason="needs build/: run make build")


@pytest.fixture
def interpret(triton, library):
    def run(*words, typed=""):
        path = os.pathsep.join(map(str, [PACKAGE, TESTS, triton]))
        environment = {**os.environ, "PYTHONPATH": path, "PROTON_LIB": library, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
        return subprocess.run([str(word) for word in (PROTON, "interpret", "--python", sys.executable, *words)], env=environment, input=typed, capture_output=True, text=True, timeout=PATIENCE)

    return run


def line_of(text):
    return next(i for i, line in enumerate(SCRIPT.read_text().splitlines(), 1) if text in line)


@pytest.mark.parametrize("stop, text", [(1, "breakpoint()"), (2, "pdb.set_trace()")])
def test_stops_in_kernels(interpret, stop, text):
    done = interpret(SCRIPT, stop, typed="p offsets\nprevious[1:3]\nBLOCK * 2\nn\nx\np *(x_ptr + offsets)\nc\n")
    line, load = line_of(text), line_of("x = tl.load")
    assert done.returncode == 0 and done.stdout == f"""\
breakpoint() in the kernel.
program (2, 0, 0), add_kernel at debugged.py:{line}
->   {line}              {text}
(proton) p offsets
offsets: int32[8]  16 … 23
  0  16  17  18  19  20  21  22  23
(proton) previous[1:3]
previous[1:3]: int32[2]  17 … 18
  1  17  18
(proton) BLOCK * 2
BLOCK * 2: int64 = 16
(proton) n
->   {load}      x = tl.load(x_ptr + offsets, mask=mask)
(proton) x
*** x is not set yet in add_kernel
(proton) p *(x_ptr + offsets)
*(x_ptr + offsets): fp32[8]  16 … 23, mean 19.5
  0  16  17  18  19  20  21  22  23
(proton) c
The launch has ended.
{SUM}""", done.stdout + done.stderr


def test_prints_in_kernels(interpret):
    done = interpret(SCRIPT, 3)
    assert done.returncode == 0 and done.stdout == "(1, 0, 0) total|[18, 20, 22, …, 28, 30, 32]|(8,)|1/8 32\n" + SUM, done.stdout + done.stderr


def test_commands(interpret):
    done = interpret("--debug", SCRIPT, 0, typed=f"b {line_of('total = double')} if pid == 1\nc\ns\nn\nbt\nup\nfinish\nn\nn\nturn\nb double\nd 1\nc\nq\n")
    assert done.returncode == 1 and "proton: the debugger was left" in done.stderr and "sum" not in done.stdout, done.stderr
    for text in ("->   18      pid = tl.program_id(0)", "double at debugged.py:13", "->   13      return twice", "breakpoint 2, program (2, 0, 0), double at debugged.py:12"):
        assert text in done.stdout, done.stdout
    assert "turn: int32 = 0" in done.stdout, done.stdout


def test_marks_of_variables(interpret):
    """What has no operation of its own, and what the TTIR's types do not say."""
    done = interpret("--break", f"debugged.py:{line_of('if STOP == 3')}", "--break", f"{SCRIPT.name}:{line_of('tl.store')}", SCRIPT, 0, typed="part[:2]\nunused\nbits\nbits.dtype\nturn\nSTOP\nlocals\nd 1\nd 2\nc\n")
    for text in ("part[:2]: fp32[2]  2 … 4, mean 3\n", "unused: int32 = 5\n", "bits: uint32 = 4294967293\n", "turn: int32 = 1\n", "STOP: int64 = 0\n"):
        assert text in done.stdout, done.stdout + done.stderr
    assert done.stdout.endswith(SUM)


def test_print_without_touching_the_source(interpret):
    done = interpret("--print", f"debugged.py:{line_of('tl.store')} total[2:5]", "--programs", "3,0,0", SCRIPT, 0)
    assert done.returncode == 0 and done.stdout.startswith(f"(3, 0, 0) at debugged.py:{line_of('tl.store')}  total[2:5]: fp32[3]  54 … 58, mean 56\n  2  54  56  58\nsum "), done.stdout + done.stderr


def test_finding(interpret):
    done = interpret("--debug", SCRIPT, 0, 40, typed="")
    assert done.returncode == 1, done.stderr
    done = interpret("--break", "other.py:1", SCRIPT, 0, 33, typed="c\n")
    assert done.returncode == 0 and done.stdout == SUM, done.stdout  # the mask is one too long, and the grid is not
    done = interpret("--break", "debugged.py:1", SCRIPT, 1, typed="q\n")
    assert "breakpoint() in the kernel" in done.stdout and done.returncode == 1


@pytest.mark.parametrize("words, says", [(["--break", "add.py"], "is not a place"), (["--print", "add.py:3"], "what is printed where"), (["--debug", "--order", "parallel"], "one after another"), (["--break", "a.py:3 if ("], "ends where a value is missing")])
def test_refused(interpret, words, says):
    done = interpret(*words, SCRIPT, 0)
    assert done.returncode == 2 and says in done.stderr, done.stderr


def test_saved_launch(interpret, tmp_path):
    assert interpret("--save", tmp_path / "l", "--form", "front", SCRIPT, 0).returncode == 0
    done = interpret("--debug", "--launch", tmp_path / "l" / "1-add_kernel", typed=f"b {line_of('tl.store')}\nc\ntotal\nd 1\nc\n")
    assert done.returncode == 0 and "total: fp32[8]  2 … 16, mean 9\n" in done.stdout and "the same bytes" in done.stderr, done.stdout + done.stderr


def test_other_compiles_are_left_alone(interpret, tmp_path):
    """Outside of the interpreter Triton says what it says without goproton, also after a kernel was interpreted."""
    script = tmp_path / "other.py"
    script.write_text(f"""\
import sys; sys.path.insert(0, {str(TESTS)!r})
import debugged, pdb
from triton.compiler.code_generator import CodeGenerator
from triton.language import core
before = dict(CodeGenerator.builtin_namespace), CodeGenerator.visit_Assign
debugged.main(0)
assert (dict(CodeGenerator.builtin_namespace), CodeGenerator.visit_Assign) == before
assert CodeGenerator.builtin_namespace['print'] is core.device_print and 'breakpoint' not in CodeGenerator.builtin_namespace
assert not hasattr(pdb.set_trace, '__triton_builtin__')
""")
    done = interpret("--print", "debugged.py:19 pid", script)
    assert done.returncode == 0 and done.stdout.count("pid: int32 = ") == 4, done.stdout + done.stderr


class Editor:
    """Speaks the Debug Adapter Protocol over two files."""

    def __init__(self, reading, writing):
        self.reading, self.writing, self.seq, self.events = reading, writing, 0, []

    def read(self):
        headers = iter(self.reading.readline, b"\r\n")
        size = next(int(line.split(b":")[1]) for line in list(headers) if line.lower().startswith(b"content-length"))
        return json.loads(self.reading.read(size))

    def send(self, command, **arguments):
        self.seq += 1
        raw = json.dumps({"seq": self.seq, "type": "request", "command": command, "arguments": arguments}).encode()
        self.writing.write(b"Content-Length: %d\r\n\r\n%s" % (len(raw), raw))
        self.writing.flush()
        return self.seq

    def ask(self, command, **arguments):
        seq = self.send(command, **arguments)
        while True:
            message = self.read()
            if message["type"] == "event":
                self.events.append(message)
            elif message["request_seq"] == seq:
                assert message["success"], message
                return message.get("body", {})

    def event(self, name):
        while True:
            for message in self.events:
                if message["event"] == name:
                    self.events.remove(message)
                    return message.get("body", {})
            message = self.read()
            assert message["type"] == "event", message
            self.events.append(message)

    def session(self, begin, **configuration):
        """A breakpoint at the store of the second instance, and on to the end of the program."""
        assert self.ask("initialize", adapterID="proton")["supportsLogPoints"]
        self.ask(begin, **configuration)
        self.event("initialized")
        self.ask("setBreakpoints", source={"path": str(SCRIPT)}, breakpoints=[{"line": line_of("tl.store"), "condition": "pid == 1"}])
        self.ask("configurationDone")
        stopped = self.event("stopped")
        assert (stopped["reason"], stopped["threadId"]) == ("breakpoint", 2)
        frame = self.ask("stackTrace", threadId=2)["stackFrames"][0]
        assert (frame["name"], frame["line"], frame["source"]["path"]) == ("add_kernel", line_of("tl.store"), str(SCRIPT))
        assert self.ask("evaluate", expression="total[0]", frameId=frame["id"], context="hover")["result"] == "18"
        self.ask("continue", threadId=2)


def test_editor_at_a_port(interpret, triton, library):
    path = os.pathsep.join(map(str, [PACKAGE, TESTS, triton]))
    environment = {**os.environ, "PYTHONPATH": path, "PROTON_LIB": library, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    command = [str(w) for w in (PROTON, "interpret", "--python", sys.executable, "--dap", "0", SCRIPT, 0)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        said = program.stderr.readline().decode()
        host, _, port = said.rsplit(" ", 1)[1].strip().rpartition(":")
        assert said.startswith("proton: waiting for an editor at 127.0.0.1:"), said
        with socket.create_connection((host, int(port)), PATIENCE) as connection:
            editor = Editor(connection.makefile("rb"), connection.makefile("wb"))
            editor.session("attach")
            editor.event("terminated")
        assert (program.stdout.read().decode(), program.wait(PATIENCE)) == (SUM, 0)


def test_editor_that_starts_the_program(triton, library):
    path = os.pathsep.join(map(str, [PACKAGE, TESTS, triton]))
    environment = {**os.environ, "PYTHONPATH": path, "PROTON_LIB": library, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen([str(PROTON), "interpret", "--dap", "-"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as adapter:
        editor = Editor(adapter.stdout, adapter.stdin)
        editor.session("launch", program=str(SCRIPT), args=["0"], python=sys.executable)
        written = ""
        while SUM not in written:
            output = editor.event("output")
            written += output["output"] if output["category"] == "stdout" else ""
        assert editor.event("exited")["exitCode"] == 0
        adapter.stdin.close()
        assert adapter.wait(PATIENCE) == 0


def test_tutorial(triton, library):
    """Its page has what its programs print."""
    folder = REPOSITORY / "tutorials" / "debug"
    path = os.pathsep.join(map(str, [PACKAGE, triton]))
    environment = {**os.environ, "PYTHONPATH": path, "PROTON_LIB": library, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    blocks = re.findall(r"```console\n\$ (.*)\n((?:.*\n)*?)```", (folder / "README.md").read_text())
    assert len(blocks) == 3
    for command, printed in blocks:
        command = command.replace("proton interpret", f"{PROTON} interpret --python {sys.executable}", 1)
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode, done.stdout) == (0, printed), done.stderr


MAGIC = """
import sys
sys.path.insert(0, {tests!r})
from IPython.testing.globalipapp import start_ipython
shell = start_ipython()
shell.run_line_magic("load_ext", "goproton")
shell.run_cell_magic("proton", "interpret --break 'double if program == (2, 0, 0)' -k 'add_*'", "import debugged; debugged.main(3)")
shell.run_cell_magic("proton", "interpret --nonsense", "1")
"""


def test_notebook(triton, library, tmp_path):
    jupyter = ORACLES / "jupyter"
    if not jupyter.exists():
        pytest.skip(f"{jupyter} is not there; make oracles")
    path = os.pathsep.join(map(str, [PACKAGE, triton, jupyter]))
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path), "PYTHONPATH": path, "PROTON_LIB": library, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", MAGIC.format(tests=str(TESTS))], env=environment, input="value[:2]\nc\n", capture_output=True, text=True, timeout=PATIENCE)
    assert "value[:2]: fp32[2]  17 … 18, mean 17.5" in done.stdout, done.stdout + done.stderr
    assert "(1, 0, 0)  total|" in done.stdout and "add_kernel: 1 × 4 program instances, 0 findings" in done.stdout, done.stdout + done.stderr
    assert "unrecognized arguments: --nonsense" in done.stderr


def test_places_that_no_kernel_has(interpret):
    """A place of --break or --print that no launch had is named at the end, and one that a launch had is not."""
    line = next(i for i, text in enumerate((TESTS / "interpreted.py").read_text().splitlines(), 1) if "# the sum" in text)
    done = interpret("--print", f"interpreted.py:{line} n", "--print", "interpreted.py:99999 n", "--break", "nosuch", TESTS / "interpreted.py", "script", "0")
    assert done.returncode == 0 and done.stderr.count("no kernel that ran has the place") == 2, done.stderr
    assert "has the place nosuch\n" in done.stderr and "has the place interpreted.py:99999 n\n" in done.stderr, done.stderr


@pytest.mark.parametrize("order", ["cooperative", "parallel", "reverse"])
def test_breakpoint_in_another_order(interpret, order):
    """breakpoint() runs program instances one after another, which is said where another order was asked for that is not so."""
    done = interpret("--order", order, SCRIPT, 1, typed="c\n")
    assert "breakpoint() in the kernel" in done.stdout and done.returncode == 0, done.stderr
    assert ("the debugger runs program instances one after another: its launches are not in the order " + order in done.stderr) == (order != "reverse"), done.stderr
