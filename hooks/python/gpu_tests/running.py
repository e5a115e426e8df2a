"""Programs of programs.py, alone and below `proton run`, and what they left."""
import json
import os
import pathlib
import signal
import subprocess
import sys

from trees import Tree

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
PROTON = REPOSITORY / "build" / "proton"
PROGRAMS = HERE / "programs.py"
KILLED = -signal.SIGKILL, 128 + signal.SIGKILL


def program(name, *arguments):
    return [sys.executable, PROGRAMS, name, *arguments]


def environment(**more):
    python = [str(REPOSITORY / "build" / "python"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, python)), **more}


def ended(command, *codes, cwd=None, **variables):
    """Runs a command to its end, with one of these exit codes (0); returns what it said."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd, env=environment(**variables))
    assert done.returncode in (codes or (0,)), f"{command}: ended with {done.returncode}, not {codes or 0}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done


class Run:
    """A program below `proton run`; `trace` is the folder of its TritonParse trace, if it has one."""

    def __init__(self, profile, flags, name, *arguments, trace=None, codes=(0,)):
        self.profile, self.trace = profile, trace
        traced = ["--trace", trace, "--trace-compression", "none"] if trace else []
        self.done = ended([PROTON, "run", "--python", sys.executable, "-n", profile, *traced, *flags, "--", *program(name, *arguments)], *codes)
        said = self.done.stderr.splitlines()
        self.closing = [line for line in said if line.startswith("proton: traced")]
        self.said = [line for line in said if line.startswith(("goproton: ", "proton: warning: trace: "))]
        assert "please report this" not in self.done.stderr and "BUG:" not in self.done.stderr, self.done.stderr

    def tree(self):
        return Tree.read(f"{self.profile}.hatchet")

    def events(self):
        with open(f"{self.profile}.chrome_trace") as file:
            return json.load(file)["traceEvents"]

    def viewed(self, *flags):
        """The viewer's answer, which joins profile and trace."""
        file = next(f for f in (f"{self.profile}.hatchet", f"{self.profile}.chrome_trace") if os.path.exists(f))
        return json.loads(ended([PROTON, "viewer", "--trace", self.trace, file, *flags]).stdout)
