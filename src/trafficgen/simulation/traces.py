"""Capacity from files: delivery traces of mahimahi, and rates over time as CSV or JSON."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from trafficgen.simulation.json_traces import Way, json_trace
from trafficgen.simulation.trace_steps import LONGEST_S, Steps, Trace, trace_error
from trafficgen.units import (
    RATE_UNITS_BPS,
    bps_from_bytes,
    number_and_unit,
    rate_from_text,
    s_from_ms,
)

#: A delivery opportunity of mahimahi (Netravali et al. 2015): a packet of 1500 bytes with the 4
#: bytes that its tunnel device puts before each packet.
OPPORTUNITY_BYTES = 1504
TUNNEL_HEADER_BYTES = 4
_LARGEST_BYTES = 200_000_000
_LONGEST_DIGITS = 30


def load_trace(file: str, *, period_s: float | None = None, way: Way = "to_client") -> Trace:
    """Return the capacity in a file.

    A file whose first line is one whole number is a delivery trace: at each of these milliseconds
    1504 bytes may leave, and all repeats after the last. One that begins with a bracket is JSON
    (see ``json_traces``). Everything else is
    CSV: a header with ``time_s`` and ``rate`` (values with a unit, such as 2.5Mbps) or
    ``rate_bps``, ``rate_kbps``, ``rate_Mbps``; the last rate stays unless ``period_s`` repeats all.

    Args:
        file: Name of the file.
        period_s: A CSV repeats after this time, s.
        way: Towards whom, where a JSON file has both directions.

    Raises:
        InputFileError: If the file cannot be read or is none of these; the message names the line.

    Warns:
        SimulationWarning: If a JSON file has latency, loss or jitter, which a path does not take
            from a trace.
    """
    try:
        with Path(file).open(encoding="utf-8-sig") as stream:
            lines = stream.read(_LARGEST_BYTES).splitlines()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a text file"
        raise trace_error(file, f"cannot be read ({why})") from error
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.isascii() and first.isdigit():
        if period_s is not None:
            raise trace_error(
                file, "a mahimahi trace repeats by itself", remedy="leave trace_period out"
            )
        return _deliveries(file, lines)
    if first[:1] in ("[", "{"):
        return json_trace(file, "\n".join(lines), period_s=period_s, way=way)
    return _rates(file, lines, period_s=period_s)


def _deliveries(file: str, lines: Sequence[str]) -> Trace:
    times_ms: list[int] = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit()):
            raise trace_error(
                file, f"line {number}: {text[:30]!r} is no whole number of milliseconds"
            )
        if len(text) > _LONGEST_DIGITS or s_from_ms(int(text)) > LONGEST_S:
            raise trace_error(file, f"line {number}: {text[:30]} ms is later than {LONGEST_S:g} s")
        times_ms.append(int(text))
        if len(times_ms) > 1 and times_ms[-1] < times_ms[-2]:
            raise trace_error(file, f"line {number}: {text} ms comes after {times_ms[-2]} ms")
    if times_ms[-1] == 0:
        raise trace_error(file, "all opportunities are at 0 ms")
    period_s = s_from_ms(times_ms[-1])
    capacity = {
        "times_s": [s_from_ms(time) for time in times_ms],
        "bytes": OPPORTUNITY_BYTES,
        "period_s": period_s,
    }
    mean_bps = bps_from_bytes(len(times_ms) * OPPORTUNITY_BYTES, period_s)
    return Trace({"opportunities": capacity}, mean_bps, TUNNEL_HEADER_BYTES)


def _rates(file: str, lines: Sequence[str], *, period_s: float | None) -> Trace:
    try:
        numbered = list(enumerate(csv.reader(lines), start=1))
    except csv.Error as error:
        raise trace_error(file, f"is no CSV ({error})") from error
    rows = [(number, row) for number, row in numbered if any(cell.strip() for cell in row)]
    if not rows:
        raise trace_error(file, "is empty")
    header = [cell.strip() for cell in rows[0][1]]
    rate_columns = [
        name for name in header if name == "rate" or name.removeprefix("rate_") in RATE_UNITS_BPS
    ]
    if "time_s" not in header or len(rate_columns) != 1:
        raise trace_error(file, f"line 1: columns are {', '.join(header)[:60]}")
    at_time, at_rate = header.index("time_s"), header.index(rate_columns[0])
    unit = rate_columns[0].removeprefix("rate").removeprefix("_")
    steps = Steps.of(file)
    for number, row in rows[1:]:
        if len(row) != len(header):
            raise trace_error(file, f"line {number}: {len(row)} fields under {len(header)} columns")
        time = number_and_unit(row[at_time])
        rate_bps = _rate(row[at_rate], unit)
        if time is None or time[1] or time[0] < 0 or rate_bps is None or rate_bps < 0:
            raise trace_error(file, f"line {number}: {','.join(row)[:40]!r} is no time and rate")
        steps.add(f"line {number}", time[0], rate_bps)
    return steps.trace(period_s=period_s)


def _rate(text: str, unit: str) -> float | None:
    if not unit:
        return rate_from_text(text)
    parts = number_and_unit(text)
    return parts[0] * RATE_UNITS_BPS[unit] if parts is not None and not parts[1] else None
