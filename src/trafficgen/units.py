"""Conversions between units: the only place with 8, 1000 and powers of ten as factors."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]
    IntArray = npt.NDArray[np.int64]
    WholeArray = npt.NDArray[np.integer[Any]]
    BoolArray = npt.NDArray[np.bool_]
    Real = TypeVar("Real", float, FloatArray)
    Whole = TypeVar("Whole", int, IntArray)
else:

    def __getattr__(name: str) -> Any:
        """Return a type of arrays, so that help texts, which need units, do without numpy."""
        if name not in ("FloatArray", "IntArray", "WholeArray", "BoolArray"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import numpy as np  # noqa: PLC0415
        import numpy.typing as npt  # noqa: PLC0415

        types = {"FloatArray": np.float64, "IntArray": np.int64, "BoolArray": np.bool_}
        types["WholeArray"] = np.integer
        globals().update({key: npt.NDArray[dtype] for key, dtype in types.items()})
        return globals()[name]


BITS_PER_BYTE = 8
NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
NS_PER_US = 1_000
US_PER_S = 1_000_000
US_PER_MS = 1000
BITS_PER_KILOBIT = 1000
S_PER_HOUR = 3600
HOURS_PER_DAY = 24
#: Numbers that stay in the processor's cache from one operation to the next: long arrays are worked
#: through in such blocks, which costs less time, and no memory for what lies between.
BLOCK = 1 << 15
#: Ethernet II header without the frame check sequence, as captures hold it.
ETHERNET_HEADER_BYTES = 14
#: Headers of Ethernet, IPv4 and TCP; with less of a frame, its flow is not known.
FEWEST_FRAME_BYTES = 54
#: Snapshot length that tcpdump and wireshark take as "the whole frame".
WHOLE_FRAME_BYTES = 262_144
#: Origin of generated traffic, 2020-01-01 00:00 UTC: the same seed gives the same bytes any day.
DEFAULT_ORIGIN_NS = 1_577_836_800_000_000_000


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
    import numpy as np  # noqa: PLC0415 - see __getattr__

    time_s = np.ascontiguousarray(time_s, dtype=np.float64)
    time_ns = np.empty(time_s.shape, dtype=np.int64)
    source, target = time_s.reshape(-1), time_ns.reshape(-1)
    for row in range(0, source.size, BLOCK):
        part = source[row : row + BLOCK] * NS_PER_S
        target[row : row + BLOCK] = np.rint(part, out=part)
    return time_ns


def ns_in_place(time_s: FloatArray) -> IntArray:
    """Turn seconds into whole nanoseconds, rounded to nearest, in their own memory, shape (n,)."""
    time_ns: IntArray = time_s.view("int64")
    for row in range(0, time_s.size, BLOCK):
        time_ns[row : row + BLOCK] = ns_array_from_s(time_s[row : row + BLOCK])
    return time_ns


def us_from_ms(time_ms: int) -> int:
    """Return whole microseconds from whole milliseconds."""
    return time_ms * US_PER_MS


def bps_from_bytes(size_bytes: Real, duration_s: Real) -> Real:
    """Return the mean rate in bit/s of ``size_bytes`` spread over ``duration_s`` (> 0)."""
    return size_bytes * BITS_PER_BYTE / duration_s


def kbps_from_bytes(size_bytes: Real, duration_s: Real) -> Real:
    """Return the mean rate, kbit/s (1000 bit/s), of bytes spread over a duration (> 0)."""
    return kbps_from_bps(bps_from_bytes(size_bytes, duration_s))


def kbps_from_bps(rate_bps: Real) -> Real:
    """Return kbit/s (1000 bit/s) from bit/s."""
    return rate_bps / BITS_PER_KILOBIT


def bps_from_kbps(rate_kbps: float) -> float:
    """Return bit/s from kbit/s (1000 bit/s)."""
    return rate_kbps * BITS_PER_KILOBIT


def bytes_from_bps(rate_bps: Real, duration_s: Real) -> Real:
    """Return the bytes that a rate in bit/s carries in ``duration_s``."""
    return rate_bps * duration_s / BITS_PER_BYTE


#: Units that may follow a number, and how many bit/s, s or bytes each is. Megabytes per second are
#: refused: they must not pass for megabits.
RATE_UNITS_BPS = {
    **dict.fromkeys(("bps", "bit/s"), 1),
    **dict.fromkeys(("kbps", "Kbps", "kbit", "kbit/s"), 1000),
    **dict.fromkeys(("Mbps", "mbps", "Mbit", "Mbit/s"), 1_000_000),
    **dict.fromkeys(("Gbps", "gbps", "Gbit", "Gbit/s"), 1_000_000_000),
}
SIZE_UNITS_BYTES = {
    "B": 1,
    **dict.fromkeys(("kB", "KB"), 1000),
    "MB": 1_000_000,
    "GB": 1_000_000_000,
}
#: Units of memory, which other programs write shorter or in powers of two.
MEMORY_UNITS_BYTES = {
    **SIZE_UNITS_BYTES,
    **{"K": 1000, "M": 1_000_000, "G": 1_000_000_000},
    **{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30},
}
#: Units below a second divide, so that 45 ms is the float that 0.045 is.
_TIME_UNITS_PER_S = {"ns": NS_PER_S, "us": 1_000_000, "µs": 1_000_000, "ms": 1000}
_TIME_UNITS_S = {
    **dict.fromkeys(("s", "sec"), 1),
    **dict.fromkeys(("min", "m"), 60),
    **{"h": S_PER_HOUR, "d": HOURS_PER_DAY * S_PER_HOUR},
}

_NUMBER_WITH_UNIT = re.compile(
    r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s]\S*)?\s*"
)


def number_and_unit(text: str) -> tuple[float, str] | None:
    """Split a text into a number and its unit (empty without one); None if it has no number."""
    found = _NUMBER_WITH_UNIT.fullmatch(text)
    return None if found is None else (float(found[1]), found[2] or "")


def rate_from_text(text: str) -> float | None:
    """Return bit/s from a text such as ``725kbps``; None if it is not a rate with a unit."""
    return _scaled(text, RATE_UNITS_BPS)


def bytes_from_text(text: str) -> float | None:
    """Return bytes from a text such as ``10kB``; None if it is not a size with a unit."""
    return _scaled(text, SIZE_UNITS_BYTES)


def memory_from_text(text: str) -> float | None:
    """Return bytes from a text such as ``500MB``, ``1G`` or ``2GiB``; None if it is not a size."""
    return _scaled(text, MEMORY_UNITS_BYTES)


def s_from_text(text: str, *, bare: str = "") -> float | None:
    """Return seconds from a text such as ``45ms``; None if it is not a time with a unit.

    ``bare`` is the unit of a number without one, such as ``s``; empty refuses such numbers.
    """
    parts = number_and_unit(text)
    if parts is None:
        return None
    number, unit = parts[0], parts[1] or bare
    if unit in _TIME_UNITS_PER_S:
        return number / _TIME_UNITS_PER_S[unit]
    return number * _TIME_UNITS_S[unit] if unit in _TIME_UNITS_S else None


def per_s_from_text(text: str) -> float | None:
    """Return events per second from a text such as ``0.5/s`` or ``30/min``; None if it is not."""
    parts = number_and_unit(text)
    unit = "" if parts is None else parts[1].removeprefix("/")
    if parts is None or not parts[1].startswith("/") or unit not in _TIME_UNITS_S:
        return None
    return parts[0] / _TIME_UNITS_S[unit]


def share_from_text(text: str) -> float | None:
    """Return a share from a text such as ``0.03`` or ``3%``; None if it is neither."""
    parts = number_and_unit(text)
    if parts is None or parts[1] not in ("", "%"):
        return None
    return parts[0] / 100 if parts[1] else parts[0]


def parse_offset_s(text: str) -> float:
    """Return the seconds of ``90s``, ``-20min`` or a plain number; raise ValueError for others."""
    time_s = s_from_text(text, bare="s")
    if time_s is None or not math.isfinite(time_s):
        raise ValueError(f"Invalid time {text!r}. Use 90s, 20min or 1h.")
    return time_s


def parse_time_s(text: str) -> float:
    """Return the seconds of a time from 0 on, such as ``90s``; raise ValueError for others."""
    time_s = parse_offset_s(text)
    if time_s < 0:
        raise ValueError(f"Invalid time {text!r}. Use 0s or a later one, such as 20min.")
    return time_s


def parse_duration_s(text: str) -> float:
    """Return the seconds of a time above 0, such as ``90s``; raise ValueError for others."""
    time_s = parse_offset_s(text)
    if time_s <= 0:
        raise ValueError(f"Invalid time {text!r}. Use one above 0, such as 90s, 20min or 1h.")
    return time_s


def parse_delay_s(text: str) -> float:
    """Return the seconds of a delay such as ``5ms``; raise ValueError for others.

    A number without a unit is refused: delays are thought of in ms, other times in s.
    """
    if s_from_text(text) is None and s_from_text(text, bare="ms") is not None:
        raise ValueError(f"{text!r} has no unit. Write {text}ms, or {text}s for seconds.")
    delay_s = parse_offset_s(text)
    if delay_s <= 0:
        raise ValueError(f"Invalid time {text!r}. Use one above 0, such as 5ms, or leave it out.")
    return delay_s


def parse_positive(text: str) -> float:
    """Return a finite number above 0; raise ValueError for any other text."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ValueError(f"Invalid number {text!r}. Use a number above 0.")
    return value


def _scaled(text: str, units: dict[str, int]) -> float | None:
    parts = number_and_unit(text)
    return parts[0] * units[parts[1]] if parts is not None and parts[1] in units else None


def s_from_ms(time_ms: Real) -> Real:
    """Return seconds from milliseconds."""
    return time_ms / 1000


def ms_from_s(time_s: Real) -> Real:
    """Return seconds as milliseconds, in which papers print delays."""
    return time_s * 1000


def us_from_ns(time_ns: Whole) -> Whole:
    """Return whole microseconds, rounded to nearest, from nanoseconds."""
    return (time_ns + NS_PER_US // 2) // NS_PER_US


def round_to_us(time_ns: IntArray) -> IntArray:
    """Return nanoseconds rounded to the nearest whole microsecond; any shape."""
    return ns_from_us(us_from_ns(time_ns))


def ns_from_us(time_us: IntArray) -> IntArray:
    """Return nanoseconds from microseconds; any shape."""
    return time_us * NS_PER_US


def ns_from_ms(time_ms: float) -> int:
    """Return whole nanoseconds, rounded to nearest, from milliseconds."""
    return round(time_ms * NS_PER_MS)


def us_from_s(time_s: float) -> float:
    """Return seconds as microseconds, in which shells and timers count."""
    return time_s * US_PER_S


def megabytes(size_bytes: float) -> float:
    """Return bytes as megabytes (1,000,000 bytes), in which people read the size of files."""
    return size_bytes / SIZE_UNITS_BYTES["MB"]
