"""Conversions between units: the only place where 8, 1000 and powers of ten stand as factors."""

from __future__ import annotations

from typing import overload

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

BITS_PER_BYTE = 8
NS_PER_S = 1_000_000_000
BITS_PER_KILOBIT = 1000


@overload
def s_from_ns(time_ns: int) -> float: ...
@overload
def s_from_ns(time_ns: npt.NDArray[np.integer]) -> FloatArray: ...
def s_from_ns(time_ns: int | npt.NDArray[np.integer]) -> float | FloatArray:
    """Return seconds from nanoseconds."""
    return time_ns / NS_PER_S


def ns_from_s(time_s: float) -> int:
    """Return whole nanoseconds, rounded to nearest, from seconds."""
    return round(time_s * NS_PER_S)


def ns_array_from_s(time_s: FloatArray) -> IntArray:
    """Return whole nanoseconds, rounded to nearest, from seconds; any shape."""
    return np.rint(np.asarray(time_s, dtype=np.float64) * NS_PER_S).astype(np.int64)


def bps_from_bytes(size_bytes: float, duration_s: float) -> float:
    """Return the mean rate in bit/s of ``size_bytes`` spread over ``duration_s`` (> 0)."""
    return size_bytes * BITS_PER_BYTE / duration_s


def kbps_from_bytes(size_bytes: float, duration_s: float) -> float:
    """Return the mean rate in kbit/s (1000 bit/s) of ``size_bytes`` spread over ``duration_s`` (> 0)."""
    return kbps_from_bps(bps_from_bytes(size_bytes, duration_s))


def kbps_from_bps(rate_bps: float) -> float:
    """Return kbit/s (1000 bit/s) from bit/s."""
    return rate_bps / BITS_PER_KILOBIT


def bps_from_kbps(rate_kbps: float) -> float:
    """Return bit/s from kbit/s (1000 bit/s)."""
    return rate_kbps * BITS_PER_KILOBIT


def bytes_from_bps(rate_bps: float, duration_s: float) -> float:
    """Return the bytes that a rate in bit/s carries in ``duration_s``."""
    return rate_bps * duration_s / BITS_PER_BYTE
