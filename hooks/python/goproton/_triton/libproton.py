"""The functions of ``triton._C.libproton.proton``, over ``goproton._native``.

Scripts and tests that talk to Triton's native module directly find its names, argument names and error classes here.
Before a session is started, calls are accepted and have no effect. In a forked child, too, and those that return something return None or False.
"""

from __future__ import annotations

import sys

from .. import _library
from ..metric import DOUBLE, INT64, VECTOR_DOUBLE, VECTOR_INT64, TensorMetric
from ..profile import say_forked, select_profiler, site_packages, trace_form, upstream_mode
from ..state import COMPUTE_METADATA_SCOPE_NAME, COMPUTE_METADATA_SCOPE_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Sequence

metadata_scope_name = COMPUTE_METADATA_SCOPE_NAME
metadata_scope_prefix = COMPUTE_METADATA_SCOPE_PREFIX
metric_type_int64_index = INT64
metric_type_double_index = DOUBLE
metric_type_vector_int64_index = VECTOR_INT64
metric_type_vector_double_index = VECTOR_DOUBLE
# Names of the first two before vectors were added.
metric_int64_index = INT64
metric_double_index = DOUBLE

# This module is both triton._C.libproton and triton._C.libproton.proton. As the first it needs the second as an attribute,
# and the __path__ of a package.
proton = sys.modules[__name__]
__path__: list[str] = []

# scope id -> the call path inside the scope. The last few thousand are kept, because a caller may add metrics to a scope
# after it was closed.
_leaves: dict[int, tuple] = {}
_KEPT = 4096

# Ids of the scopes and ops that were entered and opened nothing, as while every session is deactivated: their exits must not close what is
# open around them.
_unopened: set[int] = set()


def start(path: str, contextSourceName: str, dataName: str, profilerName: str, mode: str = "") -> int | None:
    if _library.forked():
        say_forked()
        return None
    if profilerName.lower() == "instrumentation":
        device, _, mode = mode.partition(":")
        if device not in ("cuda", "hip"):
            raise ValueError(f"[PROTON] Unknown or unsupported device type for instrumentation backend: {device}")
    return _session_call("start", name=path, context=contextSourceName, data=dataName, backend=profilerName,
                         mode=upstream_mode(mode, profilerName), graph="", site_packages=site_packages(), trace_form=trace_form())["session"]


def activate(session: int, /) -> None:
    _session_call("activate", session=session)


def activate_all() -> None:
    _session_call("activate", session=None)


def deactivate(session: int, flushing: bool = False, /) -> None:  # Triton 3.6 has no second argument
    _session_call("deactivate", session=session, flushing=flushing)


def deactivate_all(flushing: bool = False, /) -> None:
    _session_call("deactivate", session=None, flushing=flushing)


def finalize(session: int, output_format: str, /) -> None:
    if _library.native is not None:
        _library.call("finalize", session=session, output_format=output_format)


def finalize_all(output_format: str, /) -> None:
    if _library.native is not None:
        _library.call("finalize", session=None, output_format=output_format)


def record_scope() -> int:
    return _loaded().record_scope()


def enter_scope(scopeId: int, name: str, /) -> None:
    native = _loaded()
    _remember(scopeId, native.enter_scope(name), native.leaf())


def exit_scope(scopeId: int, name: str, /) -> None:
    native = _loaded()
    if _opened(scopeId):
        native.exit_scope()


def enter_op(scopeId: int, name: str, /) -> None:
    native = _loaded()
    _remember(scopeId, native.enter_op(name), native.leaf())


def exit_op(scopeId: int, name: str, /) -> None:
    native = _loaded()
    if _opened(scopeId):
        native.exit_op()


def enter_state(name: str, /) -> None:
    _loaded().enter_state(name)


def exit_state() -> None:
    _loaded().exit_state()


def add_metrics(scopeId: int, metrics: Mapping[str, Any], tensorMetrics: Mapping[str, TensorMetric] = {}) -> None:
    native = _loaded()
    if not native.active():
        return
    leaf = _leaves.get(scopeId)
    if leaf is None:
        raise IndexError(f"[PROTON] scope {scopeId} was never entered: call enter_scope or enter_op with it first")
    if metrics:
        native.add_metrics_at(leaf, metrics)
    if tensorMetrics:
        native.add_metrics_at(leaf, {name: _tensor(name, metric) for name, metric in tensorMetrics.items()})


def set_metric_kernels(tensorMetricKernel: int, scalarMetricKernel: int, stream: int,
                       tensorMetricKernelNumThreads: int = 1, tensorMetricKernelSharedMemBytes: int = 0,
                       scalarMetricKernelNumThreads: int = 1, scalarMetricKernelSharedMemBytes: int = 0) -> None:
    """Has no effect: tensor metrics are copied, or stored by a kernel of the library's own."""


def get_context_depth(session: int, /) -> int | None:
    if _library.forked():
        return None
    node, pynode, _ = _loaded().leaf()
    return _library.call("depth", session=session, node=node, pynode=pynode)["depth"]


def get_data(sessionId: int, phase: int) -> str | None:
    if _library.forked():
        return None
    import json
    return json.dumps(_session_call("data.get", session=sessionId, phase=phase))


def get_data_msgpack(sessionId: int, phase: int) -> bytes | None:
    if _library.forked():
        return None
    import base64
    return base64.b64decode(_session_call("data.get_msgpack", session=sessionId, phase=phase)["msgpack"])


def clear_data(sessionId: int, phase: int, clearUpToPhase: bool = False) -> None:
    _session_call("data.clear", session=sessionId, phase=phase, clear_up_to_phase=clearUpToPhase)


def advance_data_phase(sessionId: int) -> int | None:
    if _library.forked():
        return None
    return _session_call("data.advance_phase", session=sessionId)["phase"]


def is_data_phase_complete(sessionId: int, phase: int) -> bool:
    if _library.forked():
        return False
    return _session_call("data.is_phase_complete", session=sessionId, phase=phase)["complete"]


def get_available_profilers() -> list[str]:
    return ["cupti", "rocprofiler", "roctracer", "instrumentation"]


def select_profiler_from_triton_backend(tritonBackend: str) -> str:
    return select_profiler(tritonBackend)


def has_amd_pc_sampling_source_locations() -> bool:
    return False


# ---- scopes inside kernels ----


def init_function_metadata(functionId: int, name: str, scopeIdNames: Sequence[tuple[int, str]],
                           scopeIdParents: Sequence[tuple[int, int]], metadataPath: str, /) -> None:
    import json
    with open(metadataPath) as file:
        metadata = json.load(file)
    if not metadata.get("profile_scratch_size"):
        return  # a kernel without scopes
    parents = dict(scopeIdParents)
    target = metadata.get("target") or {}
    scopes = [{"id": id, "name": name, "parent": parents.get(id, -1) if parents.get(id) != id else -1} for id, name in scopeIdNames]
    kernel = {"name": name, "slot_size": metadata["profile_scratch_size"], "warps": metadata["num_warps"], "backend": target.get("backend", ""),
              "arch": str(target.get("arch", "")), "scopes": scopes}
    _session_call("inside.kernel", function=functionId, inside=kernel)


def destroy_function_metadata(functionId: int, /) -> None:
    if _library.native is not None:
        _library.call("inside.forget", function=functionId)


def enter_instrumented_op(stream: int, functionId: int, buffer: int, size: int, /) -> None:
    pass


def exit_instrumented_op(stream: int, functionId: int, buffer: int, size: int, /) -> None:
    if _library.native is not None:
        _library.native.inside_launched_in(stream, functionId, buffer, size)


def _loaded():
    native = _library.load()
    if native is None:
        raise RuntimeError(f"[PROTON] {_library.problem}")
    return native


def _session_call(method: str, **params: Any) -> Any:
    _loaded()
    return _library.call(method, **params)


def _remember(scope_id: int, opened: int, leaf: tuple) -> None:
    if opened:
        _unopened.discard(scope_id)
    else:
        _unopened.add(scope_id)
    if len(_leaves) >= _KEPT:
        for old in list(_leaves)[:_KEPT // 2]:
            _leaves.pop(old, None)
    _leaves[scope_id] = leaf


def _opened(scope_id: int) -> bool:
    """Whether the entry that ends now opened anything."""
    if scope_id not in _unopened:
        return True
    _unopened.discard(scope_id)
    return False


def _tensor(name: str, metric: TensorMetric) -> Any:
    tensor = getattr(metric, "_tensor", None)
    if tensor is None:
        raise NotImplementedError(f"tensor metric {name!r} is only an address: pass the tensor itself to a scope's metrics")
    return tensor
