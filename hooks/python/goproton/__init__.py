"""GoProton inside a Python program: a GPU profiler with the API of ``triton.profiler``.

    import goproton as proton

    proton.start("matmul", hook="triton")
    with proton.scope("warm-up"):
        matmul(a, b)
    proton.finalize()                      # writes matmul.hatchet

Importing this package loads nothing and starts nothing: the first ``start`` loads libproton.so, and with it the Go
runtime. Names imported before that (``from goproton import scope``) switch to the native implementation when it is
loaded, so the order of imports does not matter.

If libproton.so is missing or does not fit this interpreter, all functions do nothing, and ``start`` says so once on
standard error.
"""

from . import flags as flags
from .profile import (
    DEFAULT_PROFILE_NAME,
    activate,
    deactivate,
    finalize,
    profile,
    start,
)
from .scope import cpu_timed_scope, enter_scope, exit_scope, scope
from .state import enter_state, exit_state, metadata_state, state

__all__ = [
    "DEFAULT_PROFILE_NAME", "Array", "Finding", "Push", "activate", "context", "cpu_timed_scope", "data", "deactivate", "enter_scope",
    "enter_state", "exit_scope", "exit_state", "explain", "finalize", "flags", "hooks", "install", "interpret", "interpreting", "metadata_state", "metric",
    "mode", "profile", "ray", "read", "schedule", "scope", "show", "specs", "start", "state", "step", "torch", "trace", "uninstall"
]

__version__ = "0.1.0"  # "go test ./internal/version -update" copies it from there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import context as context, counting as counting, data as data, hooks as hooks, language as language, metric as metric
    from . import mode as mode, notebook as notebook, proton as proton, pushing as pushing, ray as ray, reading as reading, specs as specs, torch as torch
    from . import trace as trace, viewer as viewer
    from ._interpret.storages import Array as Array
    from ._interpret.runs import Finding as Finding, interpret as interpret, interpreting as interpreting
    from .counting import Metrics as Metrics, Prometheus as Prometheus
    from .notebook import show as show
    from .pushing import Push as Push
    from .reading import Profile as Profile, explain as explain, read as read
    from .recording import ProfilerAction as ProfilerAction, schedule as schedule, step as step

# Submodules that most profiling scripts never use are imported at their first use: together they cost more than the
# rest of the package.
_LAZY = frozenset(("context", "counting", "data", "hooks", "language", "metric", "mode", "notebook", "proton", "pushing", "ray", "reading", "recording", "specs", "torch", "trace", "viewer"))
_LAZY_NAMES = {"Metrics": "counting", "Profile": "reading", "ProfilerAction": "recording", "Prometheus": "counting", "Push": "pushing", "explain": "reading", "read": "reading", "schedule": "recording", "show": "notebook",
               "step": "recording", "Array": "_interpret.storages", "Finding": "_interpret.runs", "interpret": "_interpret.runs", "interpreting": "_interpret.runs"}


def __getattr__(name: str):
    if name in _LAZY:
        import importlib
        return importlib.import_module(f"{__name__}.{name}")
    if name in _LAZY_NAMES:
        import importlib
        return getattr(importlib.import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | _LAZY | set(_LAZY_NAMES))


def load_ipython_extension(ipython) -> None:
    """``%load_ext goproton`` in a notebook: defines the cell magic ``%%proton``."""
    from . import notebook
    notebook.load(ipython)


def install(*, upstream: bool = True) -> None:
    """Makes ``import triton.profiler`` return this package from now on.

    Covers ``import triton.profiler as proton``, ``from triton.profiler import scope``, every submodule
    (``triton.profiler.language``, ``triton.profiler.hooks.launch``, ...) and ``triton._C.libproton.proton``. Triton
    itself is not imported. Earlier references to Triton's own profiler still point to it. A second call only changes
    ``upstream``.

    Args:
        upstream: sessions do by default what programs written for Triton's profiler expect: timelines have the events and
            the form of its files, ``mode="pcsampling"`` samples one kernel at a time, and trees of scopes inside kernels have
            no other kernels. False keeps our defaults: calls, copies and waits on timelines, numbers as numbers, sampling
            while kernels run concurrently, and the time of every kernel.
    """
    from ._triton import dropin
    dropin.install(upstream=upstream)


def uninstall() -> None:
    """Reverts :func:`install`: ``import triton.profiler`` returns Triton's own profiler again."""
    from ._triton import dropin
    dropin.uninstall()
