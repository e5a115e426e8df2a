"""Profiles as Python objects: ``goproton.read`` opens one, whatever its format.

    profile = goproton.read("matmul.hatchet")
    profile.to_pandas()                        # a row per frame
    print(profile.tree("util,tflop/s,time"))   # what `proton viewer` prints
    goproton.show(profile)                     # in a notebook: the page of `proton report`

The ``proton`` command does the reading. It comes with this package and needs neither a GPU nor libproton.so.
"""

from __future__ import annotations

import os

from . import _command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

    import pandas


def read(path: str | os.PathLike[str]) -> Profile:
    """Opens a profile in any format that ``proton`` reads: hatchet, chrome_trace, pprof, a trace of torch.profiler.

    Raises:
        FileNotFoundError: there is no such file.
    """
    return Profile(path)


def explain(path: str | os.PathLike[str], kernel: str | None = None, trace: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Says why a program is slow: the document of ``proton explain --json``; docs/explain.md describes its keys.

    Args:
        path: a profile, in any format that ``proton`` reads.
        kernel: patterns such as ``matmul_*``; only what concerns kernels whose names match.
        trace: the trace of the same run, which ``proton run --trace`` wrote.

    Raises:
        ValueError: the file cannot be read, or has no time of a GPU.
    """
    options = [f"--{name}={os.fspath(value)}" for name, value in (("kernel", kernel), ("trace", trace)) if value is not None]
    return _json("explain", "--json", *options, "--", os.fspath(path))


class Profile:
    """A profile in a file. Nothing is cached: each method reads the file as it is now."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        if not os.path.exists(self.path):
            raise FileNotFoundError(f"there is no profile {self.path}: goproton.finalize() and `proton run` write them")

    def __repr__(self) -> str:
        return f"goproton.read({self.path!r})"

    def metrics(self) -> list[dict[str, Any]]:
        """What can be requested of this profile: dictionaries with name, about, inclusive, text and derived."""
        return _json("viewer", "--list", "--json", self.path)["metrics"]

    def rows(self, metrics: str | Sequence[str] | None = None) -> dict[str, Any]:
        """The document of ``proton viewer --view json``: info, notes, columns and rows; docs/viewer.md describes its keys.

        Args:
            metrics: names, also with units, as a list or separated by commas; by default all that were recorded.

        Raises:
            ValueError: a metric that this profile does not have; the text names those it has.
        """
        return _json("viewer", "--view", "json", "-m", self._names(metrics), self.path)

    def to_pandas(self, metrics: str | Sequence[str] | None = None) -> pandas.DataFrame:
        """A data frame with a row per frame of the tree, parents before children.

        Args:
            metrics: as for :meth:`rows`.

        Returns:
            Columns ``name`` (as printed), ``symbol`` (as recorded), ``depth`` (0 for the root), ``parent`` (index of a row, <NA> for the
            root), ``path`` (tuple of names from the root), and for each metric ``time (ns)`` or, without a unit, ``count``. Inclusive metrics
            cover the subtree, and have a second column, ``time (ns) own``, of the frame alone. A value that was not recorded is NaN.
            ``attrs["info"]`` and ``attrs["notes"]`` are the facts of the run and remarks.

        Raises:
            ValueError: a metric that this profile does not have.
            ImportError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas, or use rows(), which needs nothing") from error
        document = self.rows(metrics)
        rows = document["rows"]
        columns: dict[str, Any] = {
            "name": [row["label"] for row in rows], "symbol": [row["name"] for row in rows], "depth": [row["depth"] for row in rows],
            "parent": pandas.array([row["parent"] for row in rows], dtype="Int64"), "path": [tuple(row["path"]) for row in rows],
        }
        for i, column in enumerate(document["columns"]):
            title = f"{column['label']} ({column['unit']})" if column["unit"] else column["label"]
            dtype = object if column["text"] else float
            columns[title] = pandas.Series([row["values"][i] for row in rows], dtype=dtype)
            if column["inclusive"] and not column["text"]:
                columns[f"{title} own"] = pandas.Series([row["own"][i] for row in rows], dtype=dtype)
        frame = pandas.DataFrame(columns)
        frame.index.name = "id"
        frame.attrs.update(info=document["info"], notes=document["notes"])
        return frame

    def tree(self, metrics: str | Sequence[str] | None = None, width: int = 100) -> str:
        """The text that ``proton viewer`` prints, in lines of at most ``width`` columns."""
        wanted = ["-m", _comma_separated(metrics)] if metrics else []
        return _run("viewer", *wanted, "--width", str(width), "--color", "never", "--no-pager", self.path).decode()

    def html(self) -> str:
        """The page of ``proton report``: one document that needs no network."""
        return _run("report", "-o", "-", self.path).decode()

    def _repr_html_(self) -> str:
        return inline(self)

    def _names(self, metrics: str | Sequence[str] | None) -> str:
        if metrics:
            return _comma_separated(metrics)
        return ",".join(_quoted(metric["name"]) for metric in self.metrics() if not metric["derived"])


HEIGHT = 640  # pixels: a summary and a flame graph of ten levels


def inline(profile: Profile, height: int = HEIGHT) -> str:
    """An element with the page of a profile. The page cannot reach the notebook around it: names in a profile are not to be trusted."""
    import html
    page = html.escape(profile.html(), quote=True)
    return (f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads allow-popups" title="{html.escape(profile.path, quote=True)}" '
            f'style="width: 100%; height: {int(height)}px; box-sizing: border-box; border: 1px solid #8884"></iframe>')


def _comma_separated(metrics: str | Sequence[str]) -> str:
    return metrics if isinstance(metrics, str) else ",".join(map(_quoted, metrics))


def _quoted(name: str) -> str:
    """A name as ``-m`` takes it: in quotes, as a field of CSV, if a comma or a quote would split it."""
    return '"' + name.replace('"', '""') + '"' if any(mark in name for mark in ',"\n') else name


def _run(*arguments: str) -> bytes:
    return run(*arguments)[0]


def run(*arguments: str) -> tuple[bytes, str]:
    """Runs the ``proton`` command; returns what it printed, and its messages.

    Raises:
        ValueError: with the message, if the command fails.
    """
    import subprocess
    done = subprocess.run([_command.path(), *arguments], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        raise ValueError(done.stderr.decode(errors="replace").strip().removeprefix("proton: ") or f"proton ended with code {done.returncode}")
    return done.stdout, done.stderr.decode(errors="replace")


def _json(*arguments: str) -> Any:
    import json
    return json.loads(_run(*arguments))
