"""triton._C.libproton.proton over our native module: the calls that upstream's test_lib makes."""

import inspect
import json

import pytest
from conftest import LIBRARY, answer_in_child, run_python
from trees import at, load


@pytest.fixture
def libproton(proton):
    from goproton._triton import libproton
    yield libproton
    libproton.finalize_all("")


def test_record(libproton):
    first = libproton.record_scope()
    assert libproton.record_scope() == first + 1


def test_state_scope_and_op_without_a_session(libproton):
    libproton.enter_state("zero")
    libproton.exit_state()
    libproton.enter_scope(0, "zero")
    libproton.exit_scope(0, "zero")
    number = libproton.record_scope()
    libproton.enter_op(number, "zero")
    libproton.exit_op(number, "zero")
    libproton.add_metrics(number, {"a": 1.0})


@pytest.mark.parametrize("source", ["shadow", "python"])
def test_context(libproton, source, tmp_path):
    session = libproton.start("test", source, "tree", "cupti")
    assert libproton.get_context_depth(session) >= 0
    libproton.finalize(session, "hatchet")
    assert (tmp_path / "test.hatchet").exists()


def test_session(libproton, tmp_path):
    session = libproton.start("test", "shadow", "tree", "cupti", "")
    libproton.deactivate(session, False)
    libproton.activate(session)
    libproton.deactivate(session)
    libproton.deactivate_all()
    libproton.deactivate_all(True)
    libproton.activate_all()
    assert libproton.advance_data_phase(session) == 1
    assert libproton.is_data_phase_complete(session, 0) in (True, False)
    libproton.clear_data(session, 0, True)
    assert json.loads(libproton.get_data(session, 1))[0]["frame"]["name"] == "ROOT"
    libproton.finalize(session, "hatchet")
    libproton.finalize(999999, "hatchet")
    with pytest.raises(IndexError):
        libproton.activate(999999)


def test_add_metrics(libproton, tmp_path):
    libproton.start("test", "shadow", "tree", "cupti")
    one, two = libproton.record_scope(), libproton.record_scope()
    libproton.enter_scope(one, "one")
    libproton.enter_scope(two, "two")
    libproton.add_metrics(one, {"a": 1.0, "b": [1, 2]})
    libproton.add_metrics(two, {"a": 2.0})
    libproton.exit_scope(two, "two")
    libproton.exit_scope(one, "one")
    libproton.add_metrics(one, {"a": 1.0})
    with pytest.raises(IndexError):
        libproton.add_metrics(999999, {"a": 1.0})
    libproton.finalize_all("")
    root = load(tmp_path / "test.hatchet")
    assert at(root, "one")["metrics"] == {"a": 2.0, "b": [1, 2]}
    assert at(root, "one", "two")["metrics"] == {"a": 2.0}


def test_what_a_deactivated_session_does_not_open_closes_nothing(libproton, tmp_path):
    session = libproton.start("test", "shadow", "tree", "cupti")
    epoch, warm_up, op, other = (libproton.record_scope() for _ in range(4))
    libproton.enter_scope(epoch, "epoch")
    libproton.deactivate(session)
    libproton.enter_scope(warm_up, "warm up")
    libproton.exit_scope(warm_up, "warm up")
    libproton.activate(session)
    assert libproton.get_context_depth(session) == 1
    libproton.enter_op(op, "op")
    libproton.deactivate(session)
    libproton.enter_op(other, "other")
    libproton.exit_op(other, "other")
    libproton.activate(session)
    assert libproton.get_context_depth(session) == 2
    libproton.exit_op(op, "op")
    libproton.enter_scope(warm_up, "the id again")
    libproton.exit_scope(warm_up, "the id again")
    libproton.exit_scope(epoch, "epoch")
    assert libproton.get_context_depth(session) == 0


def test_a_forked_child_has_no_data(libproton):
    session = libproton.start("test", "shadow", "tree", "cupti")

    def asked():
        libproton.clear_data(session, 0)
        libproton.finalize(session, "")
        return [libproton.get_data(session, 0), libproton.get_data_msgpack(session, 0), libproton.advance_data_phase(session),
                libproton.is_data_phase_complete(session, 0), libproton.get_context_depth(session), libproton.start("other", "shadow", "tree", "cupti")]

    assert answer_in_child(asked) == "[None, None, None, False, None, None]"
    assert libproton.advance_data_phase(session) == 1


def test_op_metrics(libproton, tmp_path):
    libproton.start("test", "shadow", "tree", "cupti")
    number = libproton.record_scope()
    libproton.enter_op(number, "op")
    libproton.add_metrics(number, {"flops": 7})
    libproton.exit_op(number, "op")
    libproton.finalize_all("")
    assert at(load(tmp_path / "test.hatchet"), "op")["metrics"] == {"flops": 7.0}


def test_init_function_metadata_and_instrumented_op(libproton, tmp_path):
    file = tmp_path / "metadata.json"
    file.write_text("{}")
    libproton.init_function_metadata(0, "dummy", [(0, "s")], [(1, 0)], str(file))
    libproton.enter_instrumented_op(0, 0, 0, 0)
    libproton.exit_instrumented_op(0, 0, 0, 0)
    libproton.destroy_function_metadata(0)


def test_set_metric_kernels(libproton):
    libproton.set_metric_kernels(1, 2, 3)
    libproton.set_metric_kernels(1, 2, 3, 32, 0, 32, 0)


def test_tensor_metric_construction(libproton):
    metric = libproton.TensorMetric(123, libproton.metric_type_double_index)
    assert (metric.ptr, metric.index, metric.size) == (123, 2, 1)
    assert libproton.metric_double_index == libproton.metric_type_double_index
    assert libproton.metric_int64_index == libproton.metric_type_int64_index
    assert libproton.TensorMetric(1, libproton.metric_type_vector_int64_index, 4).size == 4
    with pytest.raises(AttributeError):
        metric.ptr = 1


def test_backends(libproton):
    assert libproton.select_profiler_from_triton_backend("cuda") == "cupti"
    assert libproton.select_profiler_from_triton_backend(tritonBackend="hip") == "rocprofiler"
    with pytest.raises(ValueError, match="No profiler registered for triton backend nonesuch"):
        libproton.select_profiler_from_triton_backend("nonesuch")
    assert set(libproton.get_available_profilers()) == {"cupti", "rocprofiler", "roctracer", "instrumentation"}


def test_names_of_the_native_module(libproton):
    names = """start activate activate_all deactivate deactivate_all finalize finalize_all record_scope enter_scope exit_scope
        enter_op exit_op init_function_metadata destroy_function_metadata enter_instrumented_op exit_instrumented_op
        enter_state exit_state add_metrics set_metric_kernels get_context_depth get_data get_data_msgpack clear_data
        advance_data_phase is_data_phase_complete get_available_profilers select_profiler_from_triton_backend
        has_amd_pc_sampling_source_locations""".split()
    assert all(callable(getattr(libproton, name)) for name in names) and len(names) == 29
    assert libproton.metadata_scope_name == "__proton_launch_metadata"
    assert libproton.metadata_scope_prefix == "__proton_launch_metadata:"
    assert list(inspect.signature(libproton.start).parameters) == ["path", "contextSourceName", "dataName", "profilerName",
                                                                   "mode"]


def test_exit_of_a_program_with_faulthandler(library, tmp_path):
    """Go aborts at a signal to a thread without a signal stack, and faulthandler's goes before the exit handlers run. One
    in eight such exits failed, with a garbage collector that runs all the time."""
    stub = LIBRARY.parent / "stub"
    if not (stub / "libcuda.so.1").exists():
        pytest.skip(f"{stub} is not built; make build")
    code = """
import faulthandler; faulthandler.enable()
import goproton as proton
proton.start("p", backend="cupti")
for i in range(3000):
    with proton.scope(f"scope {i}", {"x": i}): pass
"""
    env = {"PROTON_LIB": library, "LD_LIBRARY_PATH": str(stub), "PROTON_CUPTI_PATH": str(stub / "libcupti.so"), "GOGC": "1"}
    for _ in range(12):
        run_python(code, env=env, cwd=tmp_path)
        (tmp_path / "p.hatchet").unlink()
