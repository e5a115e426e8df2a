"""Contents of tensors: statistics, and the data as files, in TritonParse's form."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import os
import sys
import zlib
from _thread import _local, get_ident
from contextlib import ExitStack

from .values import compact, plain, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_COMPRESS_FROM = 1 << 20
_LEVEL = 4
_SAMPLE = 64 << 10
_WORTH_IT = 0.75  # gzip takes 25 times as long as the hash, and leaves 93 % of random numbers


class Tensors:
    """The part of a launch's record that describes its tensors beyond their shapes.

    Args:
        statistics: least, greatest, mean and standard deviation.
        blobs: where and how data are stored, None for not at all.
    """

    def __init__(self, statistics: bool, blobs: Blobs | None) -> None:
        self._statistics, self._blobs = statistics, blobs
        self._launch = _Launch()

    def prepare(self, metadata: Any) -> None:
        """A launch begins. Launches that the autotuner times are skipped, because it would time this code too."""
        launch = self._launch
        launch.described = not _benchmarking()
        launch.stored = self._blobs is not None and launch.described and self._blobs.wanted(metadata)

    def more(self, tensor: Any) -> str:
        """Further members of a tensor's description, as JSON without braces."""
        launch = self._launch
        info: dict[str, Any] = {}
        if self._statistics and launch.described:
            info.update(_statistics(tensor))
        if launch.stored:
            info.update(self._blobs.store(tensor))
        return compact(info)[1:-1]


class _Launch(_local):
    """What to record of the launch that this thread makes."""

    described = stored = False


def _statistics(tensor: Any) -> dict[str, Any]:
    try:
        import torch
        with _aside():
            values = tensor.detach().float()
            mean = values.mean()
            deviation = values.std() if values.numel() > 1 else mean * math.nan  # torch returns nan too, with a warning
            four = torch.stack([values.min(), values.max(), mean, deviation]).tolist()  # one wait instead of four
    except Exception as error:
        return {"tensor_capture_error": str(error)}
    return dict(zip(("min", "max", "mean", "std"), map(plain, four)))


class Blobs:
    """Data of tensors, each stored once under the hash of its torch.save bytes.

    Args:
        folder: of the trace.
        limit: bytes of the largest tensor that is stored.
        quota: bytes of all files of this process.
        skip, most: of each compilation the first ``skip`` launches store nothing, and at most ``most`` do; 0 for no bound.
    """

    def __init__(self, folder: str, limit: int, quota: int, skip: int, most: int) -> None:
        self._folder = os.path.join(os.path.abspath(folder), "saved_tensors")
        self._limit, self._quota, self._skip, self._most = limit, quota, skip, most
        self._runs: dict[str, int] = {}
        self._stored: dict[str, str] = {}
        self._bytes = 0
        self._off: str | None = None

    def wanted(self, metadata: Any) -> bool:
        """Whether this launch stores its tensors; it is counted."""
        if not self._skip and not self._most:
            return True
        key = str(getattr(metadata, "hash", ""))
        run = self._runs[key] = self._runs.get(key, 0) + 1
        return run > self._skip and not (self._most and run > self._skip + self._most)

    def store(self, tensor: Any) -> dict[str, Any]:
        if self._off is not None:
            return _failed(self._off)
        try:
            size = tensor.numel() * tensor.element_size()
            if size > self._limit:
                return _failed(f"Tensor size {size} bytes exceeds limit {self._limit} bytes")
            return self._keep(_saved(tensor))
        except OSError as error:
            return self._stop(f"Failed to save tensor blob (I/O error): {error}")
        except Exception as error:
            return _failed(f"Failed to save tensor blob: {error}")

    def _keep(self, data: bytes) -> dict[str, Any]:
        name = hashlib.blake2b(data).hexdigest()
        path = self._stored.get(name)
        again = path is not None and os.path.exists(path)
        if not again:
            packed = gzip.compress(data, _LEVEL) if _compresses(data) else data
            if self._bytes + len(packed) > self._quota:
                return self._stop(f"Storage quota would be exceeded: {(self._bytes + len(packed)) / 1024**3:.2f}GB > {self._quota / 1024**3:.2f}GB limit")
            path = self._write(name, packed, ".bin" if packed is data else ".bin.gz")
            self._bytes += len(packed)
            self._stored[name] = path
        disk = os.path.getsize(path)
        info = {"tensor_hash": name, "blob_path": path, "blob_size": disk, "blob_size_uncompressed": len(data),
                "compression": "gzip" if path.endswith(".gz") else "none", "compression_ratio": len(data) / max(1, disk),
                "serialization_method": "torch_save"}
        if again:
            info["deduplicated"] = True
        return info

    def _write(self, name: str, data: bytes, suffix: str) -> str:
        folder = os.path.join(self._folder, name[:2])
        path = os.path.join(folder, name + suffix)
        os.makedirs(folder, exist_ok=True)
        part = os.path.join(folder, f".tmp_{name}_{os.getpid()}_{get_ident()}")  # two threads may have the same tensor
        try:
            with open(part, "wb") as file:
                file.write(data)
            os.replace(part, path)
        except BaseException:
            _remove(part)  # left by a full disk or an interrupted program
            raise
        return path

    def _stop(self, reason: str) -> dict[str, Any]:
        self._off = reason
        say(f"tensors are not stored any more: {reason}")
        return _failed(reason)


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass


def _failed(reason: str) -> dict[str, Any]:
    return {"error": reason, "tensor_hash": None}


def _compresses(data: bytes) -> bool:
    """Whether compression saves enough, judged by a sample from the middle of the data."""
    if len(data) < _COMPRESS_FROM:
        return False
    sample = data[len(data) // 2:][:_SAMPLE]
    return len(zlib.compress(sample, 1)) < _WORTH_IT * len(sample)


def _saved(tensor: Any) -> bytes:
    import torch
    with _aside():
        # A copy from the GPU has only the elements of a view. A view in host memory would include its whole storage.
        copy = tensor.detach().cpu()
        if copy.device == tensor.device and copy.untyped_storage().nbytes() > copy.numel() * copy.element_size():
            copy = copy.clone()
        out = io.BytesIO()
        torch.save(copy, out)
    return out.getvalue()


def _aside() -> ExitStack:
    """Runs our operators outside of gradients and of modes that the program has set to count or replace its own operators."""
    torch = sys.modules["torch"]
    dispatch = sys.modules.get("torch.utils._python_dispatch")
    stack = ExitStack()
    for holder, name in (torch, "no_grad"), (torch._C, "DisableTorchFunction"), (dispatch, "_disable_current_modes"):
        enter = getattr(holder, name, None)  # the last two are internal to torch and missing in older versions
        if enter is not None:
            stack.enter_context(enter())
    return stack


def _benchmarking() -> bool:
    """Whether this launch is one that the autotuner repeats to time it."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "_bench" and frame.f_code.co_filename.endswith("autotuner.py"):
            return True
        frame = frame.f_back
    return False
