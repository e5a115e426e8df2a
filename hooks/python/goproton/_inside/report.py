"""What a session with scopes by machine says at its end: what they cost, and what has none."""

from __future__ import annotations

import json

from . import compiler
from .comparison import PLAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

    from . import Inside

_SHOWN = 8  # names in a sentence
_LARGEST = 256 << 20  # bytes of a profile that is read for its times


def matched(inside: Inside) -> list[str]:
    """The patterns that match a kernel."""
    return [pattern for pattern in inside.chosen if any(compiler.matches(name, pattern) for name in inside.comparisons.seen)]


def unmatched(inside: Inside) -> list[str]:
    """Sentences about patterns that match no kernel."""
    seen, found = sorted(inside.comparisons.seen), matched(inside)
    ran = f"the program launched {_some(seen)}" if seen else "the program launched no Triton kernel"
    return [f"inside={pattern!r}: no kernel has that name; {ran}" for pattern in inside.chosen if pattern not in found]


def problems(inside: Inside) -> list[str]:
    """Sentences about kernels and lines that were asked for and have no scopes."""
    sentences = []
    for name, done in sorted(inside.comparisons.seen.items()):
        if done.get("problem"):
            sentences.append(f"kernel {name} has no scopes: {done['problem']}")
        left_out = done.get("left_out") or {}
        if left_out:
            sentences.append(f"kernel {name} has {done['scopes']} scopes and can have {compiler.DEFAULT_PAIRS}: "
                             f"none at {_some([f'{place} ({count} times)' for place, count in sorted(left_out.items())])}")
    return sentences


def costs(inside: Inside, files: list[str]) -> list[str]:
    """Sentences about what the scopes cost, a kernel each.

    Args:
        files: the profiles that the session has written.
    """
    times, read = {}, False
    for file in files:
        found = _times(file)
        times.update(found or {})
        read |= found is not None
    resources: dict[str, list[dict[str, tuple[int, int]]]] = {}
    for made in inside.comparisons.made:
        resources.setdefault(made.kernel.name, []).append(made.resources())
    why = {made.kernel.name: made.problem for made in inside.comparisons.made if made.problem}
    sentences = []
    for name in sorted({*times, *resources}):
        if name in why:
            sentences.append(f"what scopes in kernel {name} cost is not known: {why[name]}")
            continue
        parts = [*_time_parts(times.get(name), read), *_resource_parts(resources.get(name, []))]
        sentences.append(f"scopes in kernel {name} cost: {'; '.join(parts)}")
    return sentences


def _some(words: list[str]) -> str:
    more = len(words) - _SHOWN
    return ", ".join(words[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _time_parts(times: tuple[float, float] | None, read: bool) -> Iterator[str]:
    if times is None and read:
        yield "time unknown, because it ran too seldom to be timed without them"
    elif times is None:
        yield f"time not read from a profile of this form or size (.hatchet and .chrome_trace of up to {_LARGEST >> 20} MiB are)"
    else:
        with_scopes, without = times
        yield f"{with_scopes / 1000:.1f} µs with them, {without / 1000:.1f} µs without (x{with_scopes / without:.3f}, medians)"


_WORDS = {"registers": "registers", "spills": "spilled registers", "shared": "bytes of shared memory", "blocks": "blocks per multiprocessor"}


def _resource_parts(compiled: list[dict[str, tuple[int, int]]]) -> Iterator[str]:
    """What changed, of the specialisation in which it changed most."""
    for key, word in _WORDS.items():
        pairs = [resources[key] for resources in compiled if key in resources]
        if pairs:
            without, with_scopes = max(pairs, key=lambda pair: abs(pair[1] - pair[0]))
            yield f"{word} {without} -> {with_scopes}" if without != with_scopes else f"{word} {without}"


def _times(file: str) -> dict[str, tuple[float, float]] | None:
    """Kernel -> median times with scopes and without, in ns, at the call paths that have both.

    None if the profile is not read.
    """
    import os
    times = {".hatchet": _of_tree, ".chrome_trace": _of_timeline}.get(os.path.splitext(file)[1])
    try:
        if times is None or os.path.getsize(file) > _LARGEST:
            return None
        with open(file) as text:
            return _medians(*times(text))
    except (OSError, ValueError, KeyError, TypeError):
        return None


# Times by call path, with scopes and without: lists of a time in ns and how many launches took it.

def _of_tree(text: Any) -> tuple[dict[tuple, list], dict[tuple, list]]:
    with_scopes: dict[tuple, list] = {}
    without: dict[tuple, list] = {}
    for root in json.load(text):
        if "frame" in root:
            _collect(root, (), with_scopes, without)
    return with_scopes, without


def _of_timeline(text: Any) -> tuple[dict[tuple, list], dict[tuple, list]]:
    """Each event has a line of its own, as our writer makes them."""
    with_scopes: dict[tuple, list] = {}
    without: dict[tuple, list] = {}
    for line in text:
        if '"cat":"kernel"' not in line:
            continue
        event = json.loads(line.rstrip().rstrip(","))
        path = event["args"]["call_stack"]
        times = without if PLAIN in path else with_scopes
        times.setdefault(tuple(name for name in path if name != PLAIN), []).append((event["dur"] * 1000, 1))
    return with_scopes, without


def _collect(root: dict[str, Any], path: tuple, with_scopes: dict, without: dict) -> None:
    stack = [(root, path, False)]
    while stack:
        node, path, plain = stack.pop()
        name = node["frame"]["name"]
        if name == PLAIN:
            plain = True
        else:
            path = (*path, name)
        buckets = node.get("times", {}).get("buckets")
        if buckets and plain:
            without.setdefault(path, []).extend(buckets)
        elif buckets and node.get("inside", {}).get("kernel"):
            with_scopes.setdefault(path, []).extend(buckets)
        stack.extend((child, path, plain) for child in node["children"])


def _medians(with_scopes: dict, without: dict) -> dict[str, tuple[float, float]]:
    """The averages of the medians at each call path, which has the weight of its launches: at two call paths a kernel may have different work."""
    sums: dict[str, list[float]] = {}
    for path in with_scopes.keys() & without.keys():
        launches = sum(count for _, count in with_scopes[path])
        theirs = sums.setdefault(path[-1], [0, 0, 0])
        for n, value in enumerate((launches, launches * _median(with_scopes[path]), launches * _median(without[path]))):
            theirs[n] += value
    return {name: (one / launches, other / launches) for name, (launches, one, other) in sums.items() if launches}


def _median(buckets: list[list]) -> float:
    half, seen = sum(count for _, count in buckets) / 2, 0
    for value, count in sorted(buckets):
        seen += count
        if seen >= half:
            return value
    return 0
