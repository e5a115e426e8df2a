"""Peaks of GPUs: arithmetic per operand width, and memory bandwidth.

Dense rates, without structured sparsity. Where Triton's own profiler knows a GPU, these are exactly its numbers; there
the 32 and 64 bit peaks are fixed fractions of the 8 bit peak. The figures and their sources are those of
gpu/peaks in GoProton's Go code.
"""

from __future__ import annotations

# flop per clock and SM for 8, 16, 32 and 64 bit operands (TF32 for 32 bit if tensor cores support it).
_PER_CLOCK = {
    "70": (1024, 1024, 128, 64),
    "72": (2048, 1024, 128, 64),
    "75": (2048, 1024, 128, 4),
    "86": (2048, 1024, 512, 4),
    "87": (4096, 2048, 1024, 4),
    "101": (16384, 8192, 4096, 4),
    "103": (16384, 8192, 4096, 4),
    "110": (16384, 8192, 4096, 4),
    "120": (2048, 1024, 512, 4),
    "121": (2048, 1024, 512, 4),
}
_WIDTHS = {8: 0, 16: 1, 32: 2, 64: 3}

# byte/s of chips that share the host's memory, for which a driver may report neither bus nor clock.
_SHARED_MEMORY = {"72": 136.5e9, "87": 204.8e9, "101": 273e9, "110": 273e9, "121": 273e9}

# 8 bit flop per clock and compute unit; INT8 on gfx90a, which has no FP8.
amd_fp8_flops_by_arch = {"gfx90a": 1024, "gfx940": 4096, "gfx941": 4096, "gfx942": 4096, "gfx950": 8192}
# byte/s of the whole package.
amd_bps_by_arch = {"gfx90a": 3.2e12, "gfx940": 5.3e12, "gfx941": 5.3e12, "gfx942": 5.3e12, "gfx950": 8.0e12}


def max_flops(device_type: str, arch: str, width: int, num_sms: int, clock_rate: float) -> float:
    """Peak arithmetic in flop/s.

    Args:
        device_type: "CUDA" or "HIP".
        arch: "90", "gfx942", ...
        width: operand width in bits: 8, 16, 32 or 64.
        num_sms: multiprocessors or compute units.
        clock_rate: in kHz.

    Raises:
        ValueError: a device type, architecture or width without known peaks.
    """
    if width not in _WIDTHS:
        raise ValueError(f"Unsupported width: {width}; use 8, 16, 32 or 64")
    share = width / 8
    if device_type == "HIP":
        return _known(amd_fp8_flops_by_arch, _amd(arch)) * num_sms * clock_rate * 1e3 / share
    if device_type != "CUDA":
        raise ValueError(f"Unsupported device type: {device_type}; use CUDA or HIP")
    if arch == "80":
        return 624e12 / share  # an A100
    if arch == "89":
        return 330.3 * 1e12 / share  # a GeForce RTX 4090, FP8 with FP32 accumulation
    if arch == "90":
        return num_sms / 114 * clock_rate / (1755 * 1e3) * 1513 * 1e12 / share  # scaled from the H100 PCIe
    if arch == "100":
        return num_sms * 16384 * (clock_rate / 1e3) * 1e6 / share
    return _known(_PER_CLOCK, arch)[_WIDTHS[width]] * num_sms * clock_rate * 1e3


def max_bps(device_type: str, arch: str, bus_width: int, memory_clock_rate: float) -> float:
    """Peak memory bandwidth in byte/s.

    Args:
        device_type: "CUDA" or "HIP".
        arch: "90", "gfx942", ...
        bus_width: in bits.
        memory_clock_rate: in kHz; two transfers per clock.

    Raises:
        ValueError: a device type or architecture without a known peak.
    """
    if device_type == "CUDA":
        return 2 * bus_width * memory_clock_rate * 1e3 / 8 or _known(_SHARED_MEMORY, arch)
    if device_type == "HIP":
        return _known(amd_bps_by_arch, _amd(arch))
    raise ValueError(f"Unsupported device type: {device_type}; use CUDA or HIP")


def _known(table: dict, arch: str):
    try:
        return table[arch]
    except KeyError:
        raise ValueError(f"Unsupported architecture: {arch}") from None


def _amd(arch: str) -> str:
    return arch.partition(":")[0]
