"""Process-wide switches: the three of ``triton.profiler.flags``, and one more."""

import os


class Flags:
    """The state of profiling in this process. ``start`` and ``finalize`` write these; scripts may read them.

    Attributes:
        profiling_on: a session was started and not all were finalized.
        instrumentation_on: kernels are compiled with records of their scopes.
        command_line: ``proton run`` owns the session; the script's own start and finalize are ignored.
        command_line_trace: ``proton run --trace`` owns the TritonParse trace; the script's own is ignored.
    """

    __slots__ = ("profiling_on", "instrumentation_on", "command_line", "command_line_trace")

    def __init__(self, profiling_on: bool = False, instrumentation_on: bool = False, command_line: bool = False) -> None:
        self.profiling_on = profiling_on
        self.instrumentation_on = instrumentation_on
        self.command_line = command_line
        self.command_line_trace = False

    def __repr__(self) -> str:
        return (f"Flags(profiling_on={self.profiling_on}, instrumentation_on={self.instrumentation_on}, "
                f"command_line={self.command_line})")


# Not a dataclass, because importing dataclasses takes longer than importing this package.
flags = Flags()


def is_on(variable: str) -> bool:
    """Whether an environment variable is a switch that is on, as Triton reads its own."""
    return os.environ.get(variable, "").lower() in ("1", "true", "on", "yes", "y")
