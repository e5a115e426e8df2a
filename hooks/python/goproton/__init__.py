"""GoProton inside a Python program: a GPU profiler with the API of ``triton.profiler``.

    import goproton as proton

    proton.start("matmul", hook="triton")
    with proton.scope("warm-up"):
        matmul(a, b)
    proton.finalize()                      # writes matmul.hatchet

Importing this package loads nothing and starts nothing: libproton.so, and with it the Go runtime, comes in at the
first ``start``. Names imported before that (``from goproton import scope``) switch over to the native
implementation when it arrives, so nothing has to be imported late.

If libproton.so is missing or does not fit this interpreter, everything here still works as a no-op and
``start`` says so once on standard error.
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
    "DEFAULT_PROFILE_NAME", "activate", "context", "cpu_timed_scope", "data", "deactivate", "enter_scope",
    "enter_state", "exit_scope", "exit_state", "finalize", "flags", "hooks", "install", "metadata_state", "metric",
    "mode", "profile", "scope", "specs", "start", "state", "trace", "uninstall"
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import context as context, data as data, hooks as hooks, language as language, metric as metric
    from . import mode as mode, proton as proton, specs as specs, trace as trace, viewer as viewer

# Submodules that a plain profiling script never touches are imported when first asked for: together they
# cost more than the rest of the package.
_LAZY = frozenset(("context", "data", "hooks", "language", "metric", "mode", "proton", "specs", "trace", "viewer"))


def __getattr__(name: str):
    if name in _LAZY:
        import importlib
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | _LAZY)


def install() -> None:
    """Makes ``import triton.profiler`` give this package, now and from here on.

    Covers ``import triton.profiler as proton``, ``from triton.profiler import scope``, every submodule
    (``triton.profiler.language``, ``triton.profiler.hooks.launch``, ...) and ``triton._C.libproton.proton``. Triton
    itself is not imported. References to Triton's own profiler taken before this call keep pointing to it.
    Calling it again does nothing.
    """
    from . import _dropin
    _dropin.install()


def uninstall() -> None:
    """Undoes :func:`install`: ``import triton.profiler`` gives Triton's own profiler again."""
    from . import _dropin
    _dropin.uninstall()
