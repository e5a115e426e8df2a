"""Profiling modes as objects; each prints as the mode string that :func:`goproton.start` takes.

:class:`PCSampling` is a mode of the backends for GPUs; "periodic_flushing" is a plain string. :class:`Default` and :class:`MMA` are
modes of backend "instrumentation".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class _Named(Enum):
    """Prints like the compiler's own enums: GRANULARITY.WARP."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class METRIC_TYPE(_Named):
    CYCLE = "cycle"


class BUFFER_STRATEGY(_Named):
    CIRCULAR = "circular"
    FLUSH = "flush"


class BUFFER_TYPE(_Named):
    SHARED = "shared"
    GLOBAL = "global"


class SAMPLING_STRATEGY(_Named):
    NONE = "none"
    SELECTIVE = "selective"


class GRANULARITY(_Named):
    CTA = "cta"
    WARP = "warp"
    WARP_2 = "warp_2"
    WARP_4 = "warp_4"
    WARP_8 = "warp_8"
    WARP_GROUP = "warp_group"
    WARP_GROUP_2 = "warp_group_2"
    WARP_GROUP_4 = "warp_group_4"
    WARP_GROUP_8 = "warp_group_8"


class Optimize(Enum):
    """Optimisations of the code that records inside kernels."""
    TIMESHIFT = "time_shift"
    SCHED_STORES = "sched_stores"
    SCHED_BARRIERS = "sched_barriers"
    CLOCK32 = "clock32"

    def __str__(self) -> str:
        return self.value


def _one_of(what: str, value: Any, words: Iterable[Any]) -> None:
    """Raises ValueError for a value that is none of those that are known."""
    known = list(words)
    if value not in known:
        raise ValueError(f"Unknown {what}: {value}; use {', '.join(map(str, known[:-1]))} or {known[-1]}")


def _words(enum: type[Any]) -> dict[str, Any]:
    return {member.value: member for member in enum}


metric_types = _words(METRIC_TYPE)
buffer_strategies = _words(BUFFER_STRATEGY)
buffer_types = _words(BUFFER_TYPE)
sampling_strategies = _words(SAMPLING_STRATEGY)
granularities = _words(GRANULARITY)
optimizations = _words(Optimize)

_FIELDS = {
    "metric_type": metric_types,
    "sampling_strategy": sampling_strategies,
    "granularity": granularities,
    "buffer_strategy": buffer_strategies,
    "buffer_type": buffer_types,
}


@dataclass(frozen=True)
class BaseMode:
    """A mode that has only a name."""
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class PCSampling(BaseMode):
    """Samples instructions: where in a kernel the time goes, and why warps wait there.

    Args:
        interval: cycles between two samples of a multiprocessor, rounded to a power of two; None (the default) leaves
            it to the profiler, which uses what the GPU can deliver without loss. Upstream's default is 1000. With
            method="host_trap" it is a time.
        collection: "continuous" lets kernels run as without sampling; "serialized" runs one at a time, which is slow but
            identifies the launch of every sample. None (the default) is "continuous", and "serialized" under Triton's names
            (:func:`goproton.install`), as Triton's profiler does.
        kernels: regular expression; only functions with a match anywhere in their name are sampled.
        buffer: bytes on the GPU for samples, None for the default.
        scratch: bytes on the host for CUPTI to decode them, None for the default.
        cubins: "keep" writes the binaries of sampled functions to the folder <name>.cubins, for the viewer; "drop" does not.
        sources: "keep" writes the text of the sampled lines into the profile; "drop" does not.
        method: only for AMD's GPUs: "stochastic" has the hardware take samples, "host_trap" the driver; None (the default)
            leaves it to the profiler. AMD's GPUs have neither serialized collection nor buffer and scratch.

    Raises:
        ValueError: an invalid value.
    """
    name: str = field(default="pcsampling", init=False)
    interval: int | None = None
    collection: str | None = None
    kernels: str | None = None
    buffer: int | None = None
    scratch: int | None = None
    cubins: str = "keep"
    sources: str = "keep"
    method: str | None = None

    def __post_init__(self) -> None:
        if self.interval is not None and self.interval <= 0:
            raise ValueError("Interval must be a positive integer.")
        for option, words in (("collection", (None, "continuous", "serialized")), ("cubins", ("keep", "drop")),
                              ("sources", ("keep", "drop")), ("method", (None, "stochastic", "host_trap"))):
            _one_of(option, getattr(self, option), words)

    def __str__(self) -> str:
        options = {"method": self.method, "interval": self.interval, "collection": self.collection, "buffer": self.buffer,
                   "scratch": self.scratch, "cubins": self.cubins, "sources": self.sources, "kernels": self.kernels}  # kernels comes last
        defaults = {"cubins": "keep", "sources": "keep"}
        given = (f"{option}={value}" for option, value in options.items()
                 if value is not None and value != defaults.get(option))
        return ":".join((self.name, *given))


@dataclass(frozen=True)
class InstrumentationMode(BaseMode):
    """Options of intra-kernel profiling. Every choice may be given as the enum or as its value.

    Args:
        metric_type: "cycle".
        sampling_strategy: "none", or "selective" with the warp ids in sampling_options.
        sampling_options: comma-separated warp ids.
        granularity: "cta", "warp", "warp_2/4/8", "warp_group", "warp_group_2/4/8".
        buffer_strategy: "circular" or "flush".
        buffer_type: "shared" or "global".
        buffer_size: bytes, 0 for the default.
        optimizations: list of :class:`Optimize`, or their words separated by commas.

    Raises:
        ValueError: an unknown value.
    """
    metric_type: METRIC_TYPE = METRIC_TYPE.CYCLE
    sampling_strategy: SAMPLING_STRATEGY = SAMPLING_STRATEGY.NONE
    sampling_options: str = ""
    granularity: GRANULARITY = GRANULARITY.WARP
    buffer_strategy: BUFFER_STRATEGY = BUFFER_STRATEGY.CIRCULAR
    buffer_type: BUFFER_TYPE = BUFFER_TYPE.SHARED
    buffer_size: int = 0
    optimizations: list[Optimize] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, words in _FIELDS.items():
            value = getattr(self, name)
            if isinstance(value, str):
                _one_of(name, value, words)
                object.__setattr__(self, name, words[value])
        if isinstance(self.optimizations, str):
            object.__setattr__(self, "optimizations", _parse_optimizations(self.optimizations))

    def __str__(self) -> str:
        options = ("metric_type", "sampling_strategy", "sampling_options", "granularity", "buffer_strategy",
                   "buffer_type", "buffer_size")
        parts = [self.name, *(f"{option}={getattr(self, option)}" for option in options)]
        return ":".join(parts + ["optimizations=" + ",".join(map(str, self.optimizations))])


@dataclass(frozen=True)
class Default(InstrumentationMode):
    """Intra-kernel profiling with the default instruction set."""
    name: str = field(default="default", init=False)


@dataclass(frozen=True)
class MMA(InstrumentationMode):
    """Intra-kernel profiling of matrix instructions."""
    name: str = field(default="mma", init=False)


def instrumentation_mode(given: InstrumentationMode | str | None) -> InstrumentationMode:
    """The mode of backend "instrumentation" as an object, from what ``start`` takes: "default:buffer_size=4096:granularity=warp".

    Raises:
        ValueError: an unknown mode, option or value.
    """
    if isinstance(given, InstrumentationMode):
        return given
    head, *options = (str(given) if given else "default").split(":")
    _one_of("mode", head, ("default", "mma"))
    values: dict[str, Any] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals:
            raise ValueError(f"Malformed instrumentation option: '{option}'")
        # The value may be printed by an object: GRANULARITY.WARP.
        kind, dot, member = value.partition(".")
        values[name] = member.lower() if dot and kind == name.upper() else value
    known = [*_FIELDS, "sampling_options", "buffer_size", "optimizations"]
    chosen = {name: value for name, value in values.items() if name in known and value != ""}
    if "buffer_size" in chosen:
        chosen["buffer_size"] = int(chosen["buffer_size"])
    return (Default if head == "default" else MMA)(**chosen)


def _parse_optimizations(text: str) -> list[Optimize]:
    words = [word.strip() for word in text.split(",")] if text else []
    for word in words:
        _one_of("optimization", word, optimizations)
    return [optimizations[word] for word in words]
