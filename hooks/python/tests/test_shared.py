"""Another profiler in the process: CUPTI 13.3 serves several, where the first allows it, and the fake libcupti plays both."""

import pytest

from test_windows import counts, run  # noqa: F401 (run is a fixture)

PROGRAM = """
for _ in range(500):
    with proton.scope("a"):
        launch(0)
    launch(1)
"""
ALL = {"a/k0": 500, "k1": 500}
NEW = {"PROTON_STUB_VERSION": "130300", "PROTON_STUB_DRIVER": "13030"}


@pytest.mark.parametrize("holder, shared", [("torch.profiler", ""), ("", "1")])
def test_with_another_subscriber(run, tmp_path, holder, shared):  # noqa: F811
    """It is there already and allows others, or comes later and is allowed: all is recorded, by functions that name their subscriber, and CUPTI is
    not finalized (the fake aborts then)."""
    text = run(PROGRAM, "--activities", "memcpy", **NEW, PROTON_STUB_SEVERAL="1", PROTON_STUB_HOLDER=holder, PROTON_CUPTI_SHARED=shared)
    assert counts(tmp_path / "out.hatchet") == ALL and "warning" not in text


@pytest.mark.parametrize("more", [
    dict(NEW),  # the first does not allow it
    dict(NEW, PROTON_STUB_DRIVER="13000", PROTON_STUB_SEVERAL="1"),
    dict(NEW, PROTON_STUB_VERSION="130100", PROTON_STUB_SEVERAL="1"),
    dict(NEW, PROTON_STUB_SEVERAL="1", PROTON_STUB_RESULTS="ActivityGetAttribute_v2=1"),  # it could not be established
])
def test_another_subscriber_that_stays_alone(run, tmp_path, more):  # noqa: F811
    text = run(PROGRAM, code_of_exit=3, **more, PROTON_STUB_HOLDER="torch.profiler")
    assert '"torch.profiler" holds CUPTI in this process, and CUPTI serves one at a time' in text


def test_sampling_needs_cupti_alone(run, tmp_path):  # noqa: F811
    text = run(PROGRAM, "-m", "pcsampling", code_of_exit=3, **NEW, PROTON_STUB_SEVERAL="1", PROTON_STUB_HOLDER="torch.profiler")
    assert "holds CUPTI in this process" in text
