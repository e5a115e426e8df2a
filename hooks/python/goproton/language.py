"""``triton.profiler.language``: scopes inside kernels.

    import goproton.language as pl

    with pl.scope("load"):
        x = tl.load(pointer)

While a session with ``backend="instrumentation"`` is active, kernels are compiled with a record of the clock at both ends of a
scope. Otherwise a kernel that uses scopes compiles to the same code as without them. Needs Triton.
"""

from triton.language import core as _core
from triton.language.core import builtin

from ._inside.compiler import is_without_scopes
from .flags import flags

# Triton accepts other functions in a kernel only if their module makes them look like its own.
_MODULE = "triton.profiler.language"

# Of Gluon, what one writes is what runs. Triton's own passes move, copy and unroll code, and scopes with it.
_semantics = {"gluon"}


def _mark(function):
    function.__module__ = _MODULE
    marked = builtin(function)
    marked.__module__ = _MODULE
    return marked


@_mark
def enter_scope(name: _core.constexpr, _semantic=None, _builder=None):
    """Begins a scope inside a kernel."""
    record(True, name, _semantic)


@_mark
def exit_scope(name: _core.constexpr, _semantic=None, _builder=None):
    """Ends a scope inside a kernel."""
    record(False, name, _semantic)


class scope:
    """``with pl.scope("load"):`` inside a kernel: a scope around the block."""

    __module__ = _MODULE

    def __init__(self, name, _semantic=None, _builder=None):
        self.name = name
        self.semantic = _semantic

    def __enter__(self):
        record(True, self.name, self.semantic)

    def __exit__(self, exc_type, exc_value, traceback):
        record(False, self.name, self.semantic)


def record(is_start, scope_name, semantic):
    """Writes one end of a scope into the kernel that is being compiled; nothing while no session records scopes."""
    if not _recording():
        return
    _check(semantic)
    start, name = _core._unwrap_if_constexpr(is_start), _core._unwrap_if_constexpr(scope_name)
    _compiler().create_proton_record(semantic.builder, bool(start), str(name))


def _recording():
    """Whether the kernel that this thread compiles gets records. With ``inside``, some are compiled without as well, to be compared."""
    return flags.instrumentation_on and not is_without_scopes()


def _compiler():
    from triton._C.libtriton import proton
    return proton


if hasattr(_core, "base_value") and hasattr(_core, "base_type"):

    class _EventType(_core.base_type):
        """Kernel-side type of an event: a number in the IR of a kernel that is compiled with records, else nothing."""

        def __eq__(self, other):
            return isinstance(other, _EventType)

        def __hash__(self):
            return hash(_EventType)

        def __str__(self):
            return "proton.event"

        def mangle(self):
            return "PEvent"

        def _flatten_ir_types(self, builder, out):
            if _recording():
                _core.int32._flatten_ir_types(builder, out)

        def _unflatten_ir(self, handles, cursor):
            return (Event(handles[cursor]), cursor + 1) if _recording() else (Event(), cursor)

    class Event(_core.base_value):
        """An asynchronous scope, from :func:`allocate_event`, for :func:`start_event` and :func:`end_event` only."""

        __module__ = _MODULE

        def __init__(self, handle=None):
            self.handle = handle
            self.type = _EventType()

        def _flatten_ir(self, handles):
            if self.handle is not None:
                handles.append(self.handle)

        def _set_name(self, builder, name):
            if self.handle is not None:
                self.handle.set_loc(builder.create_name_loc(name, self.handle.get_loc()))

    @_mark
    def allocate_event(name: _core.constexpr, _semantic=None, _builder=None):
        """Makes an event: a scope whose ends may be in different loops, functions or warps. Needs Triton 3.9 while it is recorded."""
        if not _recording():
            return Event()
        _check(_semantic)
        compiler = _compiler()
        if not hasattr(compiler, "create_proton_allocate_event"):
            import triton
            raise NotImplementedError(f"Triton {triton.__version__} cannot record events inside kernels: use Triton 3.9, or scopes")
        return Event(compiler.create_proton_allocate_event(_semantic.builder, str(_core._unwrap_if_constexpr(name))))

    @_mark
    def start_event(event, _semantic=None, _builder=None):
        """Begins an event's scope."""
        _record_event(True, event, _semantic)

    @_mark
    def end_event(event, _semantic=None, _builder=None):
        """Ends an event's scope."""
        _record_event(False, event, _semantic)

    def _record_event(is_start, event, semantic):
        if not _recording():
            return
        _check(semantic)
        if not isinstance(event, Event):
            raise TypeError("expected an event returned by allocate_event")
        _compiler().create_proton_event(semantic.builder, is_start, event.handle)


def enable_semantic(semantic_name: str) -> None:
    """Allows scopes in kernels of one language: "triton" or "gluon" (on by default)."""
    _semantics.add(_known(semantic_name))


def disable_semantic(semantic_name: str) -> None:
    """Forbids scopes in kernels of one language again."""
    _semantics.remove(_known(semantic_name))


def _known(semantic_name: str) -> str:
    if semantic_name not in ("triton", "gluon"):
        raise KeyError(semantic_name)
    return semantic_name


def _class_of(semantic_name: str) -> type:
    if semantic_name == "triton":
        from triton.language.semantic import TritonSemantic
        return TritonSemantic
    from triton.experimental.gluon.language._semantic import GluonSemantic
    return GluonSemantic


def _check(semantic) -> None:
    allowed = tuple(_class_of(name) for name in sorted(_semantics))
    if not isinstance(semantic, allowed):
        raise TypeError(f"Unsupported semantic type: {type(semantic)}. Supported semantics are: {set(allowed)}; "
                        "allow scopes in kernels of Triton's language with enable_semantic(\"triton\")")
