"""What a TritonParse trace holds, by `proton trace` and by its files."""
import gzip
import json
import pathlib
import tempfile

import torch

from running import PROTON, ended


def records(folder, kind=None, kernel=None):
    """The records of a trace, in order."""
    lines = ended([PROTON, "trace", "cat", folder, "--no-ir"]).stdout.splitlines()
    return [r for r in map(json.loads, lines) if kind in (None, r["event_type"]) and kernel in (None, r.get("name"))]


def is_clean(folder):
    """Nothing is wrong with a trace, and it can be parsed."""
    ended([PROTON, "trace", "validate", folder])
    with tempfile.TemporaryDirectory() as parsed:
        return "parsed: " + ended([PROTON, "trace", "parse", folder, "-o", f"{parsed}/parsed", "--strict", "--analysis", "none"]).stdout.splitlines()[-1]


def close(got, want):
    """Two figures of a tensor: numbers, or the texts of what JSON has no number for."""
    return got == want or not isinstance(got, str) and not isinstance(want, str) and abs(got - want) <= 1e-6 * max(1, abs(want))


def tensor_of(argument, folder):
    """The tensor that an argument's file holds."""
    data = pathlib.Path(argument["blob_path"]).read_bytes()
    assert len(data) == argument["blob_size"]
    path = folder / "blob.pt"
    path.write_bytes(gzip.decompress(data) if argument["compression"] == "gzip" else data)
    return torch.load(path, weights_only=True)


def same(a, b):
    def bits(t):
        return t.contiguous().view(torch.uint8) if t.numel() else t
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(bits(a), bits(b))


def numbers(folder):
    """The argument n of each launch."""
    return [r["extracted_args"]["n"]["value"] for r in records(folder, "launch")]
