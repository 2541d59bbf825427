"""Capacity of a link from files: traces of mahimahi, and rates over time as CSV or JSON."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from trafficgen.errors import InputFileError, SimulationWarning, warn
from trafficgen.formatting import name_columns
from trafficgen.quantity_bounds import check_number
from trafficgen.simulation.path_keys import LONGEST_S
from trafficgen.standard_streams import read_text_file
from trafficgen.units import (
    RATE_UNITS_BPS,
    bps_from_bytes,
    bps_from_kbps,
    number_and_unit,
    rate_from_text,
    s_from_ms,
)

Way = Literal["to_client", "to_server"]
_REMEDY = (
    "give a mahimahi trace (whole milliseconds, one a line, ascending), a CSV with columns time_s"
    " and rate, or JSON with duration_ms and bandwidth_kbps, trace_pattern, or times_s and"
    " rates_kbps"
)
#: A delivery opportunity of mahimahi (Netravali et al. 2015): a packet of 1500 bytes with the 4
#: bytes that its tunnel device puts before each packet.
OPPORTUNITY_BYTES = 1504
TUNNEL_HEADER_BYTES = 4
LARGEST_TRACE_BYTES = 200_000_000
_LONGEST_DIGITS = 30
_PATTERNS: dict[Way, tuple[str, str]] = {
    "to_client": ("downlink", "uplink"),
    "to_server": ("uplink", "downlink"),
}
_DURATIONS = ("duration_ms", "duration")
_CAPACITIES_KBPS = ("bandwidth_kbps", "capacity", "bandwidth", "throughput_kbps")
#: Other properties in such traces -> the key of a path that sets it, and the unit.
_OTHER_PROPERTIES = {
    "latency_ms": ("delay (or half of it, where it is a round trip)", " ms"),
    "rtt": ("delay (half of it)", " ms"),
    "delay": ("delay", " ms"),
    "jitter": ("no key", ""),
    "loss": ("loss", ""),
    "loss_rate": ("loss", ""),
}


@dataclass(frozen=True)
class Capacity:
    """Capacity of a link."""

    config: dict[str, object] | None  #: capacity as the engine reads it; None: no limit
    mean_bps: float | None  #: mean over the file, bit/s; None: no limit
    overhead_bytes: int = 0  #: bytes of each packet on the link on top of its IP bytes


def load_trace(file: str, *, period_s: float | None = None, way: Way = "to_client") -> Capacity:
    """Return the capacity in a file.

    A file whose first line is one whole number is a delivery trace: at each of these milliseconds
    1504 bytes may leave, and all repeats after the last. A file that begins with a bracket is JSON
    of three forms: a list of periods with ``duration_ms`` and ``bandwidth_kbps``; an object with
    such a list (``duration`` in ms, ``capacity`` in kbit/s) as ``trace_pattern`` under
    ``downlink``, ``uplink`` or both; an object with ``times_s`` and ``rates_kbps`` (or
    ``rates_bps``). Periods repeat after the last one. Everything else is CSV: a header with
    ``time_s`` and ``rate`` (values with a unit, such as 2.5Mbps) or ``rate_bps``, ``rate_kbps``,
    ``rate_Mbps``. The last rate of a CSV or of lists stays unless ``period_s`` repeats all. Of a
    JSON file that has both directions ``way`` is read; else the one that it has.

    Raises:
        InputFileError: If the file cannot be read or is invalid; the message names the line.

    Warns:
        SimulationWarning: If a JSON file has latency, loss or jitter, which a path does not take
            from a trace.
    """
    text = read_text_file(file, most_bytes=LARGEST_TRACE_BYTES, remedy=_REMEDY, regular=True)
    lines = text.splitlines()
    try:
        return _parse(lines, file=file, period_s=period_s, way=way)
    except _TraceError as error:
        raise InputFileError(file=file, problem=str(error), remedy=error.remedy) from error


def capacity_of_steps(steps: Sequence[tuple[float, float]]) -> Capacity:
    """Return the capacity of steps: times, s, and the rate from each on, bit/s; the last stays."""
    times_s, rates_bps = map(list, zip(*steps, strict=True))
    return _Steps(times_s, rates_bps).trace(period_s=None)


def _parse(lines: Sequence[str], *, file: str, period_s: float | None, way: Way) -> Capacity:
    first = next((line.strip() for line in lines if line.strip()), "")
    if first[:1] in ("[", "{"):
        return _parse_json("\n".join(lines), file=file, period_s=period_s, way=way)
    if not (first.isascii() and first.isdigit()):
        return _parse_csv(lines, period_s=period_s)
    if period_s is not None:
        raise _TraceError("a mahimahi trace repeats by itself", "leave trace_period out")
    return _parse_mahimahi(lines)


class _TraceError(ValueError):
    """A problem of a trace, before the name of its file is known."""

    def __init__(self, problem: str, remedy: str = _REMEDY) -> None:
        super().__init__(problem)
        self.remedy = remedy


@dataclass
class _Steps:
    """Rates, bit/s, with the time at which each begins, s."""

    times_s: list[float] = field(default_factory=list)
    rates_bps: list[float] = field(default_factory=list)

    def add(self, place: str, time_s: float, rate_bps: float) -> None:
        """Add a rate, which must begin after the one before."""
        if time_s > LONGEST_S:
            raise _TraceError(f"{place}: {time_s:g} s is later than {LONGEST_S:g} s")
        if self.times_s and time_s <= self.times_s[-1]:
            raise _TraceError(f"{place}: {time_s:g} s does not come after {self.times_s[-1]:g} s")
        try:
            check_number(rate_bps, "bps")
        except ValueError as error:
            raise _TraceError(f"{place}: rate in bit/s: {error}") from None
        self.times_s.append(time_s)
        self.rates_bps.append(rate_bps)

    def trace(self, *, period_s: float | None) -> Capacity:
        """Return the capacity, repeated after ``period_s`` or with a last rate that stays."""
        if not any(self.rates_bps):
            raise _TraceError("no rate is above 0")
        if period_s is None and self.rates_bps[-1] == 0:
            remedy = "end with a rate above 0 or give trace_period"
            raise _TraceError("the last rate, which stays, is 0", remedy)
        if period_s is not None and period_s < self.times_s[-1]:
            remedy = "make trace_period at least this long"
            raise _TraceError(f"goes on to {self.times_s[-1]:g} s", remedy)
        capacity = {"times_s": self.times_s, "rates_bps": self.rates_bps, "period_s": period_s}
        return Capacity({"steps": capacity}, self._mean_bps(period_s))

    def _mean_bps(self, period_s: float | None) -> float:
        """Return the mean rate over the file or its period; the first rate holds from 0 on."""
        end_s = self.times_s[-1] if period_s is None else period_s
        if end_s <= 0:
            return self.rates_bps[-1]
        spans_s = pairwise([0.0, *self.times_s[1:], end_s])
        pairs = zip(self.rates_bps, spans_s, strict=True)
        return sum(rate * (end - begin) for rate, (begin, end) in pairs) / end_s


def _parse_mahimahi(lines: Sequence[str]) -> Capacity:
    times_ms: list[int] = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit()):
            raise _TraceError(f"line {number}: no whole number of milliseconds")
        if len(text) > _LONGEST_DIGITS or s_from_ms(int(text)) > LONGEST_S:
            raise _TraceError(f"line {number}: the time is later than {LONGEST_S:g} s")
        times_ms.append(int(text))
        if len(times_ms) > 1 and times_ms[-1] < times_ms[-2]:
            raise _TraceError(f"line {number}: {text} ms comes after {times_ms[-2]} ms")
    if times_ms[-1] == 0:
        raise _TraceError("all opportunities are at 0 ms")
    times_s, period_s = [s_from_ms(time) for time in times_ms], s_from_ms(times_ms[-1])
    capacity = {"times_s": times_s, "bytes": OPPORTUNITY_BYTES, "period_s": period_s}
    mean_bps = bps_from_bytes(len(times_ms) * OPPORTUNITY_BYTES, period_s)
    return Capacity({"opportunities": capacity}, mean_bps, TUNNEL_HEADER_BYTES)


def _parse_csv(lines: Sequence[str], *, period_s: float | None) -> Capacity:
    try:
        numbered = list(enumerate(csv.reader(lines), start=1))
    except csv.Error as error:
        raise _TraceError(f"is not CSV ({error})") from error
    rows = [(number, row) for number, row in numbered if any(cell.strip() for cell in row)]
    if not rows:
        raise _TraceError("is empty")
    header = [cell.strip() for cell in rows[0][1]]
    rate_columns = [
        name for name in header if name == "rate" or name.removeprefix("rate_") in RATE_UNITS_BPS
    ]
    if "time_s" not in header or len(rate_columns) != 1:
        raise _TraceError(f"line 1: has {name_columns(header)}")
    at_time, at_rate = header.index("time_s"), header.index(rate_columns[0])
    unit = rate_columns[0].removeprefix("rate").removeprefix("_")
    steps = _Steps()
    for number, row in rows[1:]:
        if len(row) != len(header):
            raise _TraceError(f"line {number}: {len(row)} fields under {len(header)} columns")
        time = number_and_unit(row[at_time])
        rate_bps = _rate(row[at_rate], unit)
        if time is None or time[1] or time[0] < 0 or rate_bps is None or rate_bps < 0:
            raise _TraceError(f"line {number}: no time and rate of 0 or more")
        steps.add(f"line {number}", time[0], rate_bps)
    return steps.trace(period_s=period_s)


def _rate(text: str, unit: str) -> float | None:
    if not unit:
        return rate_from_text(text)
    parts = number_and_unit(text)
    return parts[0] * RATE_UNITS_BPS[unit] if parts is not None and not parts[1] else None


def _parse_json(text: str, *, file: str, period_s: float | None, way: Way) -> Capacity:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also numbers of many digits
        where = "nesting or numbers too large"
        if isinstance(error, json.JSONDecodeError):
            where = f"line {error.lineno}"
        raise _TraceError(f"is not valid JSON ({where})") from None
    if isinstance(found, list):
        return _trace_of_periods(found, file=file, period_s=period_s)
    if isinstance(found, dict) and "times_s" in found:
        return _trace_of_lists(found, period_s=period_s)
    pattern = _pattern(found, way) if isinstance(found, dict) else None
    if pattern is None:
        keys = ", ".join(map(str, found))[:60] if isinstance(found, dict) else type(found).__name__
        raise _TraceError(f"is JSON without a known form of traces ({keys or 'empty'})")
    return _trace_of_periods(pattern, file=file, period_s=period_s)


def _pattern(found: Mapping[str, Any], way: Way) -> list[Any] | None:
    """Return the periods for a direction, else for the other one."""
    for place in (found.get(_PATTERNS[way][0]), found.get(_PATTERNS[way][1]), found):
        pattern = place.get("trace_pattern") if isinstance(place, dict) else None
        if isinstance(pattern, list) and pattern:
            return pattern
    return None


def _trace_of_periods(periods: Sequence[Any], *, file: str, period_s: float | None) -> Capacity:
    if period_s is not None:
        raise _TraceError("a trace of periods repeats by itself", "leave trace_period out")
    steps, time_s = _Steps(), 0.0
    for number, period in enumerate(periods, start=1):
        place = f"entry {number}"
        if not isinstance(period, dict):
            raise _TraceError(f"{place} is not an object with a duration and a bandwidth")
        duration_s = s_from_ms(_number(place, period, _DURATIONS))
        rate_bps = bps_from_kbps(_number(place, period, _CAPACITIES_KBPS))
        if duration_s == 0:
            continue
        steps.add(place, time_s, rate_bps)
        time_s += duration_s
    if not steps.times_s:
        raise _TraceError("has no period that lasts")
    if time_s > LONGEST_S:
        raise _TraceError(f"goes on for {time_s:g} s, longer than {LONGEST_S:g} s")
    _warn_of_properties(file, periods)
    return steps.trace(period_s=time_s)


def _trace_of_lists(found: Mapping[str, Any], *, period_s: float | None) -> Capacity:
    name = next((name for name in ("rates_kbps", "rates_bps") if name in found), None)
    times_s, rates = found["times_s"], found.get(name or "")
    if not (
        isinstance(times_s, list) and isinstance(rates, list) and 0 < len(rates) == len(times_s)
    ):
        raise _TraceError(
            "times_s and rates_kbps (or rates_bps) must be lists of the same length, not empty"
        )
    steps = _Steps()
    for number, (time_s, rate) in enumerate(zip(times_s, rates, strict=True), start=1):
        place, values = f"entry {number}", {"times_s": time_s, "rates": rate}
        rate_bps = _number(place, values, ("rates",))
        if name == "rates_kbps":
            rate_bps = bps_from_kbps(rate_bps)
        steps.add(place, _number(place, values, ("times_s",)), rate_bps)
    return steps.trace(period_s=period_s)


def _number(place: str, entry: Mapping[str, Any], names: tuple[str, ...]) -> float:
    """Return a number from 0 on under the first of several names."""
    name = next((name for name in names if name in entry), None)
    if name is None:
        raise _TraceError(f"{place} has no {' or '.join(names[:2])}")
    value = entry[name]
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        number = float(value) if usable else math.nan
    except OverflowError:
        number = math.inf
    if not 0 <= number < math.inf:
        raise _TraceError(f"{place}: {name} is {str(value)[:30]}, no number from 0 on")
    return number


def _warn_of_properties(file: str, periods: Sequence[Any]) -> None:
    """Warn that properties of the trace other than its capacity are not played."""
    for name, (key, unit) in _OTHER_PROPERTIES.items():
        values = [period[name] for period in periods if isinstance(period.get(name), int | float)]
        if not any(values):
            continue
        low, high = min(values), max(values)
        shown = f"{low:g}{unit}" if low == high else f"{low:g} to {high:g}{unit}"
        remedy = f"set the path's {key}" if key != "no key" else "a path has none"
        warn(f"{file}: its {name} ({shown}) is not played; {remedy}", SimulationWarning)
