"""Capacity from files: delivery traces of mahimahi, and rates over time as CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trafficgen.errors import InputFileError
from trafficgen.units import (
    RATE_UNITS_BPS,
    bps_from_bytes,
    number_and_unit,
    rate_from_text,
    s_from_ms,
)

#: A delivery opportunity of mahimahi (Netravali et al. 2015): a packet of 1500 bytes with the 4 bytes that its tunnel
#: device puts before each packet.
OPPORTUNITY_BYTES = 1504
TUNNEL_HEADER_BYTES = 4
_REMEDY = "give a mahimahi trace (whole milliseconds, one a line, ascending) or a CSV with columns time_s and rate"
_LARGEST_BYTES = 200_000_000


@dataclass(frozen=True)
class Trace:
    """A capacity over time.

    Attributes:
        capacity: What the engine reads.
        mean_bps: Mean over the file, bit/s.
        overhead_bytes: What each packet takes of it beside its IP bytes.
    """

    capacity: dict[str, object]
    mean_bps: float
    overhead_bytes: int = 0


def load_trace(file: str, *, period_s: float | None = None) -> Trace:
    """Return the capacity in a file.

    A file whose first line is one whole number is a delivery trace: at each of these milliseconds 1504 bytes may leave,
    and all repeats after the last. Everything else is CSV: a header with ``time_s`` and ``rate`` (values with a unit,
    such as 2.5Mbps) or ``rate_bps``, ``rate_kbps``, ``rate_Mbps``; the last rate stays unless ``period_s`` repeats all.

    Raises:
        InputFileError: If the file cannot be read or is neither; the message names the line.
    """
    try:
        with Path(file).open(encoding="utf-8-sig") as stream:
            lines = stream.read(_LARGEST_BYTES).splitlines()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a text file"
        raise _error(file, f"cannot be read ({why})") from error
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.isascii() and first.isdigit():
        if period_s is not None:
            raise _error(file, "a mahimahi trace repeats by itself", remedy="leave trace_period out")
        return _deliveries(file, lines)
    return _rates(file, lines, period_s=period_s)


def _error(file: str, problem: str, *, remedy: str = _REMEDY) -> InputFileError:
    return InputFileError(file=file, problem=problem, remedy=remedy)


def _deliveries(file: str, lines: Sequence[str]) -> Trace:
    times_ms: list[int] = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit()):
            raise _error(file, f"line {number}: {text[:30]!r} is no whole number of milliseconds")
        times_ms.append(int(text))
        if len(times_ms) > 1 and times_ms[-1] < times_ms[-2]:
            raise _error(file, f"line {number}: {text} ms comes after {times_ms[-2]} ms")
    if times_ms[-1] == 0:
        raise _error(file, "all opportunities are at 0 ms")
    period_s = s_from_ms(times_ms[-1])
    capacity = {"times_s": [s_from_ms(time) for time in times_ms], "bytes": OPPORTUNITY_BYTES, "period_s": period_s}
    mean_bps = bps_from_bytes(len(times_ms) * OPPORTUNITY_BYTES, period_s)
    return Trace({"opportunities": capacity}, mean_bps, TUNNEL_HEADER_BYTES)


def _rates(file: str, lines: Sequence[str], *, period_s: float | None) -> Trace:
    rows = [(number, row) for number, row in enumerate(csv.reader(lines), start=1) if any(cell.strip() for cell in row)]
    if not rows:
        raise _error(file, "is empty")
    header = [cell.strip() for cell in rows[0][1]]
    rate_columns = [name for name in header if name == "rate" or name.removeprefix("rate_") in RATE_UNITS_BPS]
    if "time_s" not in header or len(rate_columns) != 1:
        raise _error(file, f"line 1: columns are {', '.join(header)[:60]}")
    at_time, at_rate = header.index("time_s"), header.index(rate_columns[0])
    unit = rate_columns[0].removeprefix("rate").removeprefix("_")
    times_s: list[float] = []
    rates_bps: list[float] = []
    for number, row in rows[1:]:
        if len(row) != len(header):
            raise _error(file, f"line {number}: {len(row)} fields under {len(header)} columns")
        time = number_and_unit(row[at_time])
        rate_bps = _rate(row[at_rate], unit)
        if time is None or time[1] or time[0] < 0 or rate_bps is None or rate_bps < 0:
            raise _error(file, f"line {number}: {','.join(row)[:40]!r} is no time and rate")
        if times_s and time[0] <= times_s[-1]:
            raise _error(file, f"line {number}: {time[0]:g} s does not come after {times_s[-1]:g} s")
        times_s.append(time[0])
        rates_bps.append(rate_bps)
    if not any(rates_bps):
        raise _error(file, "no rate is above 0")
    if period_s is None and rates_bps[-1] == 0:
        raise _error(file, "the last rate is 0 and stays", remedy="end with a rate above 0 or give trace_period")
    if period_s is not None and period_s < times_s[-1]:
        raise _error(file, f"goes on to {times_s[-1]:g} s", remedy="make trace_period at least so long")
    capacity = {"times_s": times_s, "rates_bps": rates_bps, "period_s": period_s}
    return Trace({"steps": capacity}, _mean(times_s, rates_bps, period_s))


def _rate(text: str, unit: str) -> float | None:
    if not unit:
        return rate_from_text(text)
    parts = number_and_unit(text)
    return parts[0] * RATE_UNITS_BPS[unit] if parts is not None and not parts[1] else None


def _mean(times_s: list[float], rates_bps: list[float], period_s: float | None) -> float:
    """Return the mean rate over the file or its period, the first rate holding from 0 on, bit/s."""
    end_s = times_s[-1] if period_s is None else period_s
    if end_s <= 0:
        return rates_bps[-1]
    begins = [0.0, *times_s[1:]]
    ends = [*times_s[1:], end_s]
    return sum(rate * (end - begin) for rate, begin, end in zip(rates_bps, begins, ends, strict=True)) / end_s
