"""Profiles as hatchet GraphFrames: the functions that scripts and notebooks import from ``triton.profiler.viewer``.

For looking at a profile use ``proton viewer``, which needs none of this. These functions need pandas and
llnl-hatchet, and import them when they are first called.

The formulas are here a second time because scripts derive metrics of frames that they have changed; a test compares them
with those of ``proton viewer`` and of its ``--compat``.

Metric names: ``time/ms``, ``avg_time/us``, ``cpu_time/s``, ``tflop16/s``, ``gbyte/s``, ``util``, ``time/%``, or any raw
name, without its unit and in any case. Columns that end in " (inc)" are summed over the subtree.
"""

from __future__ import annotations

from . import specs
from .metric import FLOPS_WIDTHS
from .state import COMPUTE_METADATA_SCOPE_NAME, COMPUTE_METADATA_SCOPE_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    import hatchet
    import pandas

_SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_MANY = {"": 1, "g": 1e9, "t": 1e12}

# "gbyte/s" -> ("bytes", 1e9): a counter over time, in units of.
_RATES = {f"{prefix}byte/s": ("bytes", factor) for prefix, factor in _MANY.items()}
for _width in ("", *FLOPS_WIDTHS):
    _RATES.update({f"{prefix}flop{_width}/s": (f"flops{_width}", factor) for prefix, factor in _MANY.items()})

# "avg_cpu_time/us" -> ("cpu_time", average?, 1e-6)
_TIMES = {
    f"{average}{source}/{unit}": (source, bool(average), seconds)
    for source in ("time", "cpu_time") for average in ("", "avg_") for unit, seconds in _SECONDS.items()
}


def _hatchet():
    try:
        import hatchet
    except ImportError as error:
        raise ImportError("reading a profile into a GraphFrame needs pandas and llnl-hatchet: pip install llnl-hatchet "
                          "(the package called hatchet is another project), or use `proton viewer`") from error
    if not hasattr(hatchet, "GraphFrame"):
        raise ImportError("the installed package called hatchet is another project: pip uninstall hatchet, then "
                          "pip install llnl-hatchet")
    return hatchet


# ---- reading ----


def remove_frames(database: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drops work that only computed metrics, empty frames, and parents of nothing else.

    Args:
        database: a parsed .hatchet file: the root node and the device block.

    Returns:
        The same, pruned; nodes are changed in place.
    """
    kept = (_prune(node) if "frame" in node else node for node in database)
    return [node for node in kept if node is not None]


def _prune(node: dict[str, Any]) -> dict[str, Any] | None:
    name = node["frame"]["name"]
    if name == COMPUTE_METADATA_SCOPE_NAME or name.startswith(COMPUTE_METADATA_SCOPE_PREFIX):
        return None
    before = node.get("children", [])
    if not before:
        return node if node["metrics"] else None
    node["children"] = [child for child in map(_prune, before) if child is not None]
    return node if node["children"] else None


def get_raw_metrics(database: list[dict[str, Any]] | TextIO) -> tuple[hatchet.GraphFrame, list[str], list[str], dict[str, Any]]:
    """A GraphFrame of a parsed profile.

    Args:
        database: a parsed .hatchet file, or what :func:`goproton.data.get` returns; or an open .hatchet file, as in Triton
            3.6.

    Returns:
        The frame, its inclusive metrics (those the root carries), its exclusive ones, and the device block.
    """
    if hasattr(database, "read"):
        import json
        database = json.load(database)
    nodes = remove_frames(database)
    devices = nodes.pop(1) if len(nodes) > 1 else {}
    frame = _hatchet().GraphFrame.from_literal(nodes)
    inclusive = frame.show_metric_columns()
    return frame, inclusive, [column for column in frame.dataframe.columns if column not in inclusive], devices


def read(filename: str) -> tuple[hatchet.GraphFrame, list[str], list[str], dict[str, Any]]:
    """:func:`get_raw_metrics` of a file, with the inclusive columns summed up."""
    frame, inclusive, exclusive, devices = get_raw_metrics(_load(filename))
    assert inclusive or exclusive, "No metrics found in the input file"
    frame.update_inclusive_columns()
    return frame, inclusive, exclusive, devices


def parse(metrics: list[str], filename: str, include: str | None = None, exclude: str | None = None,
          threshold: float | None = None) -> tuple[hatchet.GraphFrame, list[str]]:
    """Reads a file, derives metrics and filters.

    Args:
        metrics: requested names; the first one is what the threshold is about.
        filename: a .hatchet file.
        include, exclude, threshold: as for :func:`filter_frames`.

    Returns:
        The frame and the names of the columns that hold the requested metrics.
    """
    frame, inclusive, exclusive, devices = read(filename)
    columns = derive_metrics(frame, metrics, inclusive, exclusive, devices)
    return filter_frames(frame, include, exclude, threshold, columns[0]), columns


def _load(filename: str) -> list[dict[str, Any]]:
    import json
    with open(filename) as file:
        return json.load(file)


# ---- metrics ----


def match_available_metrics(metrics: str | list[str], inclusive_metrics: list[str],
                            exclusive_metrics: list[str]) -> list[str]:
    """The columns of the requested names, in any case and with or without their unit.

    Raises:
        RuntimeError: none of them is there.
    """
    wanted = metrics if isinstance(metrics, list) else [metrics]
    found = []
    for name in wanted:
        name = name.lower()
        for raw in inclusive_metrics + exclusive_metrics:
            if name in (raw, raw.partition("(")[0].strip().lower()):
                found.append(raw + " (inc)" if raw in inclusive_metrics else raw)
                break
    if not found:
        name = wanted[-1].lower() if wanted else ""
        raise RuntimeError(f"Metric {name} is not found. Use the --list flag to list available metrics")
    return found


def get_min_time_flops(df: pandas.DataFrame, device_info: dict[str, Any]) -> pandas.DataFrame:
    """The seconds that each row's floating-point work takes at the device's peak; column min_time."""
    total = _zeros(df)
    for kind, index, device in _devices(device_info):
        rows = df["device_id"] == index
        for width in FLOPS_WIDTHS:
            if f"flops{width}" in df.columns:
                peak = specs.max_flops(kind, device["arch"], width, device["num_sms"], device["clock_rate"])
                total.loc[rows, "min_time"] += df.loc[rows, f"flops{width}"].fillna(0) / peak
    return total


def get_min_time_bytes(df: pandas.DataFrame, device_info: dict[str, Any]) -> pandas.DataFrame:
    """The seconds that each row's memory traffic takes at the device's peak; column min_time."""
    total = _zeros(df)
    for kind, index, device in _devices(device_info):
        rows = df["device_id"] == index
        peak = specs.max_bps(kind, device["arch"], device["bus_width"], device["memory_clock_rate"])
        total.loc[rows, "min_time"] += df.loc[rows, "bytes"] / peak
    return total


def _zeros(df: pandas.DataFrame) -> pandas.DataFrame:
    import pandas
    return pandas.DataFrame(0.0, index=df.index, columns=["min_time"])


def _devices(device_info: dict[str, Any]):
    for kind, devices in device_info.items():
        for index, device in devices.items():
            yield kind, index, device


def derive_metrics(gf: hatchet.GraphFrame, metrics: list[str], inclusive_metrics: list[str],
                   exclusive_metrics: list[str], device_info: dict[str, Any]) -> list[str]:
    """Adds a column for each requested metric that is not a raw one.

    Returns:
        The column of each requested metric, in order.

    Raises:
        ValueError: an unknown unit, or a device without known peaks.
        RuntimeError: a metric that the profile does not have.
    """
    source = _Source(gf.dataframe, inclusive_metrics, exclusive_metrics, device_info)
    columns = [source.derive(metric) for metric in metrics]
    for column in columns:
        (gf.inc_metrics if column.endswith("(inc)") else gf.exc_metrics).append(column)
    return columns


class _Source:
    """A data frame with the data for computing further columns of it."""

    def __init__(self, df: pandas.DataFrame, inclusive: list[str], exclusive: list[str], devices: dict[str, Any]) -> None:
        self.df, self.inclusive, self.exclusive, self.devices = df, inclusive, exclusive, devices

    def derive(self, metric: str) -> str:
        """Adds the column of one metric and returns its name."""
        if metric == "util":
            return self._put("util", self._utilisation())
        if metric in _RATES:
            counter, factor = _RATES[metric]
            return self._put(f"{metric} (inc)", self.df[self.match(counter)] / self.seconds("time") / factor)
        if metric in _TIMES:
            name, average, factor = _TIMES[metric]
            seconds = self.seconds(name)
            return self._put(f"{metric} (inc)", (seconds / self.df["count (inc)"] if average else seconds) / factor)
        name, slash, unit = metric.partition("/")
        column = self.match(name)
        if not slash:
            return column
        if unit != "%":
            raise ValueError(f"Unsupported unit {unit}")
        values = self.df[column]
        if column.endswith("(inc)"):
            return self._put(f"{metric} (inc)", values / values.iloc[0] * 100.0)
        return self._put(metric, values / values.sum() * 100.0)

    def match(self, name: str) -> str:
        return match_available_metrics(name, self.inclusive, self.exclusive)[0]

    def seconds(self, name: str) -> pandas.Series:
        column = self.match(name)
        unit = column.partition("(")[2].partition(")")[0]
        return self.df[column] * _SECONDS[unit]

    def _utilisation(self) -> pandas.Series:
        flops = get_min_time_flops(self.df, self.devices)["min_time"]
        traffic = get_min_time_bytes(self.df, self.devices)["min_time"]
        # Only rows of a single device have a peak.
        return (flops.combine(traffic, max) / self.seconds("time")).mask(self.df["device_id"].isna())

    def _put(self, column: str, values: pandas.Series) -> str:
        self.df[column] = values
        return column


# ---- choosing and printing ----


def filter_frames(gf: hatchet.GraphFrame, include: str | None = None, exclude: str | None = None,
                  threshold: float | None = None, metric: str | None = None) -> hatchet.GraphFrame:
    """A frame with fewer nodes; the rest of each path is joined and summed again.

    Args:
        include: keep the paths through nodes whose whole name matches this regular expression.
        exclude: drop nodes whose whole name matches, and everything below them.
        threshold: keep nodes whose ``metric`` column is at least this much.
    """
    _hatchet()
    if include:
        gf = gf.filter(f'MATCH ("*")->(".", p)->("*") WHERE p."name" =~ "{include}"', squash=True)
    if exclude:
        from hatchet.query import NegationQuery
        gf = gf.filter(NegationQuery(f'MATCH (".", p)->("*") WHERE p."name" =~ "{exclude}"'), squash=True)
    if threshold:
        gf = gf.filter(["*", {metric: f">= {threshold}"}], squash=True)
    return gf


def _file_function(name: str) -> str:
    return f"{name.split('/')[-1].split(':')[0]}@{name.split('@')[-1].split(':')[0]}"


_FORMATS = {
    "file_function_line": lambda name: name.split("/")[-1],
    "function_line": lambda name: name.split(":")[-1],
    "file_function": _file_function,
}


def format_frames(gf: hatchet.GraphFrame, format: str | None) -> hatchet.GraphFrame:
    """Shortens names of the form ``file:line@function``, in place.

    Args:
        format: "full", "file_function_line", "function_line" or "file_function".
    """
    shorten = _FORMATS.get(format or "full")
    if shorten:
        gf.dataframe["name"] = gf.dataframe["name"].apply(shorten)
    return gf


def emit_warnings(gf: hatchet.GraphFrame, metrics: list[str]) -> None:
    """Prints a warning if byte counts are negative, which indicates an overflow."""
    if "bytes (inc)" in metrics and gf.dataframe["bytes (inc)"].min() < 0:
        print("Warning: Negative byte values detected, this is usually the result of a datatype overflow\n")


def print_tree(gf: hatchet.GraphFrame, metrics: list[str], depth: int = 100, format: str | None = None,
               print_sorted: bool = False) -> None:
    """Prints the tree with the first two metrics; with print_sorted also the rows by the first one."""
    gf = format_frames(gf, format)
    print(gf.tree(metric_column=metrics, expand_name=True, depth=depth, render_header=False))
    if print_sorted:
        print("Sorted kernels by metric " + metrics[0])
        rows = gf.dataframe.sort_values(by=[metrics[0]], ascending=False)
        for name, value in list(zip(rows["name"], rows[metrics[0]]))[1:]:
            print(f"{name if len(name) <= 100 else name[:100] + '...':105} {value:.4}")
    emit_warnings(gf, metrics)


def show_metrics(file_name: str) -> None:
    """Prints the metrics of a file."""
    _, inclusive, exclusive, _ = get_raw_metrics(_load(file_name))
    for title, names in (("inclusive", inclusive), ("exclusive", exclusive)):
        print(f"Available {title} metrics:")
        for name in names:
            print(f"- {name.partition('(')[0].strip().lower()}")


def apply_diff_profile(gf: hatchet.GraphFrame, derived_metrics: list[str], diff_file: str, metrics: list[str],
                       include: str | None, exclude: str | None, threshold: float | None) -> hatchet.GraphFrame:
    """``gf`` minus another profile, path by path; both are derived and filtered the same way."""
    other, _ = parse(metrics, diff_file, include, exclude, threshold)
    for frame in (gf, other):
        frame.inc_metrics = [name for name in derived_metrics if name.endswith("(inc)")]
        frame.exc_metrics = [name for name in derived_metrics if not name.endswith("(inc)")]
    return gf.sub(other)


def main() -> None:
    """``proton-viewer`` in Python, with its flags."""
    import argparse
    parser = argparse.ArgumentParser(description="Print a profile as a tree.")
    parser.add_argument("-l", "--list", action="store_true", help="list the metrics of the file")
    parser.add_argument("-m", "--metrics", help="metrics, separated by commas; two are shown")
    parser.add_argument("-i", "--include", help="keep paths through frames that match this regular expression")
    parser.add_argument("-e", "--exclude", help="drop frames that match, and what is below them")
    parser.add_argument("-t", "--threshold", type=float, help="keep frames whose first metric is at least this")
    parser.add_argument("-d", "--depth", type=int, default=100, help="deepest level to print")
    parser.add_argument("-f", "--format", default="full", choices=["full", *_FORMATS], help="how much of file:line@function")
    parser.add_argument("--print-sorted", action="store_true", help="also list the frames by the first metric")
    parser.add_argument("-diff", "--diff-profile", help="a profile to subtract")
    options, files = parser.parse_known_args()
    assert len(files) == 1, "Must specify a file to read"
    if options.include and options.exclude:
        raise ValueError("Cannot specify both include and exclude")
    if options.list:
        show_metrics(files[0])
    elif options.metrics:
        metrics = options.metrics.split(",")
        choice = (options.include, options.exclude, options.threshold)
        frame, columns = parse(metrics, files[0], *choice)
        if options.diff_profile:
            frame = apply_diff_profile(frame, columns, options.diff_profile, metrics, *choice)
        print_tree(frame, columns, options.depth, options.format, options.print_sorted)


if __name__ == "__main__":
    main()
