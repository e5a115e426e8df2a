"""A Slurm of this machine alone, from Debian's packages as tools/launchers.sh unpacks them: ``with Cluster(folder) as slurm``."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

CONFIGURATION = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldPort={control}
SlurmdPort={node}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES OverSubscribe=YES State=UP
"""


class Cluster:
    """Ended processes are those that it has started."""

    def __init__(self, root):
        self.root = Path(root)
        libraries = next(self.root.glob("usr/lib/*-linux-gnu"))
        self.folder = Path(tempfile.mkdtemp(prefix="slurm"))  # sockets have short paths
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf"), "LD_LIBRARY_PATH": f"{libraries}:{libraries / 'slurm-wlm'}"}
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], user=getpass.getuser(), folder=self.folder, plugins=libraries / "slurm-wlm",
            control=_free_port(), node=_free_port(), processors=os.cpu_count()))

    def program(self, name):
        return next(path for path in (self.root / "usr/bin" / name, self.root / "usr/sbin" / name, self.root / "usr/sbin" / f"{name}-wlm") if path.exists())

    def __enter__(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.folder.chmod(0o755)
        for folder in "state", "spool":
            (self.folder / folder).mkdir()
        try:
            self._start("munged", "--force", "-S", self.folder / "munge.socket", f"--key-file={key}", f"--pid-file={self.folder / 'munged.pid'}",
                        f"--log-file={self.folder / 'munged.log'}", f"--seed-file={self.folder / 'seed'}")
            self._start("slurmctld", "-L", self.folder / "slurmctld.log")
            self._start("slurmd", "-d", self.program("slurmstepd"), "-L", self.folder / "slurmd.log")
            deadline = time.monotonic() + 60
            while "idle" not in self.run("sinfo", "-h", "-o", "%T").stdout:
                assert time.monotonic() < deadline, self.log()
                time.sleep(0.1)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self, name, *arguments):
        done = self.run(name, *arguments)
        assert done.returncode == 0, done.stderr

    def run(self, name, *arguments):
        return subprocess.run([str(self.program(name)), *map(str, arguments)], env={**os.environ, **self.environment}, capture_output=True, text=True)

    def log(self):
        return "".join(path.read_text() for path in self.folder.glob("*.log"))

    def __exit__(self, *_):
        for file in self.folder.glob("*.pid"):
            try:
                os.kill(int(file.read_text()), signal.SIGTERM)
            except (OSError, ValueError):
                pass
        deadline = time.monotonic() + 10
        while list(self.folder.glob("*.pid")) and time.monotonic() < deadline:
            time.sleep(0.1)
        shutil.rmtree(self.folder, ignore_errors=True)


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
