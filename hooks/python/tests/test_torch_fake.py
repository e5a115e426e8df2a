"""What is recorded of torch where torch does what it does on a GPU, with libraries that say so in its place."""

import json
import shutil

import pytest
from conftest import run_python

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="needs cc")

MEMORY = """
import sys, types
import fake_libtorch
import goproton as proton
change = fake_libtorch.allocator()
sys.modules["torch"] = types.ModuleType("torch")
proton.torch.record_memory()
change(0x1000, 1000)  # before the session: the weights
{body}
assert proton.torch.problem() is None, proton.torch.problem()
"""


def peak(library, tmp_path, body, name="p"):
    run_python(MEMORY.format(body=body), env={"PROTON_LIB": library}, cwd=tmp_path)
    root = json.loads((tmp_path / f"{name}.hatchet").read_text())[0]
    return {child["frame"]["name"]: child["metrics"]["peak_bytes"] for child in root["children"] if "peak_bytes" in child["metrics"]}


@pytest.mark.parametrize("end", ["", "proton.deactivate()", "proton.deactivate(flushing=True)"])
@pytest.mark.parametrize("work, rows", [
    ("change(0x2000, 500)", {"<allocated before>": 1000, "step": 500}),
    ("change(0x1000, -1000)", {"<allocated before>": 1000}),
    ("pass", {"<allocated before>": 1000}),
], ids=["allocates", "frees", "nothing"])
def test_what_was_allocated_before_is_in_the_peak_of_a_deactivated_session(library, tmp_path, work, rows, end):
    body = "proton.start('other'); change(0x3000, 8); change(0x3000, -8); proton.finalize()\n" \
           f"proton.start('p')\nwith proton.scope('step'): {work}\n{end}\nproton.finalize()"
    assert peak(library, tmp_path, body) == rows


def test_the_first_report_of_a_session_is_of_freed_memory(library, tmp_path):
    """No session before it has seen the GPU."""
    assert peak(library, tmp_path, "proton.start('p'); change(0x1000, -1000); proton.deactivate(); proton.finalize()") == {"<allocated before>": 1000}


def test_peak_of_a_profiled_function(library, tmp_path):
    """@proton.profile deactivates its session, also between calls."""
    body = """
@proton.profile(name="p")
def step(address):
    with proton.scope("step"): change(address, 500)
step(0x2000); step(0x3000)
proton.finalize()
"""
    assert peak(library, tmp_path, body) == {"<allocated before>": 1000, "step": 1000}
