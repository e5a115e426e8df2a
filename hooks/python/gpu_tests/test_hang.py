"""`proton run --watch-hang` on a GPU: a kernel that waits for the host, and work that only takes long."""
import sys

import pytest

from running import PROTON, ended
from trees import Tree

# The kernel polls a word of the host's memory; the watch's limit is a second.
PROGRAM = """
import threading, time, torch, triton, triton.language as tl
import goproton as proton
@triton.jit
def waiting_kernel(flag, out):
    while tl.atomic_add(flag, 0) == 0:
        pass
    tl.store(out, 1)
x, flag, out = torch.randn(4096, 4096, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda")
flag.fill_(1)
waiting_kernel[(1,)](flag, out)  # compiled
with proton.scope("works"):
    for _ in range(3):
        for _ in range(600):
            torch.mm(x, x)
        torch.cuda.synchronize()
    time.sleep(1.5)  # a GPU without work does not hang
flag.zero_()
torch.cuda.synchronize()
side = torch.cuda.Stream()
def free():
    time.sleep(4)
    with torch.cuda.stream(side):
        flag.fill_(1)
threading.Thread(target=free).start()
with proton.scope("hangs"):
    waiting_kernel[(1,)](flag, out)
torch.cuda.synchronize()
print("went on")
"""


@pytest.mark.only("cupti")
@pytest.mark.alone
def test_a_kernel_that_hangs(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = ended([PROTON, "run", "--python", sys.executable, "-n", "out", "--watch-hang", "1s", tmp_path / "program.py"], cwd=tmp_path)
    print(done.stderr)
    assert "went on" in done.stdout
    assert len({line for line in done.stderr.splitlines() if "no kernel has ended" in line}) == 1, done.stderr
    assert "waiting_kernel" in done.stderr and "hangs" in done.stderr
    assert Tree.read(tmp_path / "out.hatchet").total("hangs") == 1
