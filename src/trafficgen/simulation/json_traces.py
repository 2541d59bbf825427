"""Capacities from JSON: periods with a bandwidth (Sabre), trace patterns (AlphaRTC), plain
lists.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from trafficgen.errors import SimulationWarning
from trafficgen.simulation.trace_steps import LONGEST_S, Steps, Trace, trace_error
from trafficgen.units import bps_from_kbps, s_from_ms

Way = Literal["to_client", "to_server"]
_PATTERNS: dict[Way, tuple[str, str]] = {
    "to_client": ("downlink", "uplink"),
    "to_server": ("uplink", "downlink"),
}
_DURATIONS = ("duration_ms", "duration")
_CAPACITIES_KBPS = ("bandwidth_kbps", "capacity", "bandwidth", "throughput_kbps")
#: What such traces tell of a path beside its capacity -> the key of a path that says it, and the
#: unit.
_OTHER_PROPERTIES = {
    "latency_ms": ("delay (or half of it, where it is a round trip)", " ms"),
    "rtt": ("delay (half of it)", " ms"),
    "delay": ("delay", " ms"),
    "jitter": ("no key", ""),
    "loss": ("loss", ""),
    "loss_rate": ("loss", ""),
}


def json_trace(file: str, text: str, *, period_s: float | None, way: Way) -> Trace:
    """Return the capacity in a JSON file.

    Three forms are known: a list of periods with ``duration_ms`` and ``bandwidth_kbps``; an object
    with such a list (``duration`` in ms, ``capacity`` in kbit/s) as ``trace_pattern`` under
    ``downlink``, ``uplink`` or both; an object with ``times_s`` and ``rates_kbps`` (or
    ``rates_bps``). Periods repeat after the last one; lists do as CSV does.

    Args:
        file: Name of the file.
        text: Its text.
        period_s: The lists repeat after this time, s; None: their last rate stays.
        way: Towards whom: a pattern for the one direction serves for both where the other is
            missing.

    Raises:
        InputFileError: If it is none of these; the message names the entry.

    Warns:
        SimulationWarning: If the file has latency, loss or jitter, which a path does not take from
            a trace.
    """
    try:
        found = json.loads(text)
    except (
        ValueError,
        RecursionError,
    ) as error:  # a ValueError too for numbers of thousands of digits
        where = (
            f"line {error.lineno}"
            if isinstance(error, json.JSONDecodeError)
            else "nesting or numbers too large"
        )
        raise trace_error(file, f"is no valid JSON ({where})") from None
    if isinstance(found, list):
        return _of_periods(file, found, period_s=period_s)
    if isinstance(found, dict) and "times_s" in found:
        return _of_lists(file, found, period_s=period_s)
    pattern = _pattern(found, way) if isinstance(found, dict) else None
    if pattern is None:
        keys = ", ".join(map(str, found))[:60] if isinstance(found, dict) else type(found).__name__
        raise trace_error(file, f"is JSON without a known form of traces ({keys or 'empty'})")
    return _of_periods(file, pattern, period_s=period_s)


def _pattern(found: Mapping[str, Any], way: Way) -> list[Any] | None:
    """Return the periods for a direction, or for the other one where it has none."""
    for place in (found.get(_PATTERNS[way][0]), found.get(_PATTERNS[way][1]), found):
        pattern = place.get("trace_pattern") if isinstance(place, dict) else None
        if isinstance(pattern, list) and pattern:
            return pattern
    return None


def _of_periods(file: str, periods: Sequence[Any], *, period_s: float | None) -> Trace:
    if period_s is not None:
        raise trace_error(
            file, "a trace of periods repeats by itself", remedy="leave trace_period out"
        )
    steps, time_s = Steps.of(file), 0.0
    for number, period in enumerate(periods, start=1):
        place = f"entry {number}"
        if not isinstance(period, dict):
            raise trace_error(file, f"{place} is no object with a duration and a bandwidth")
        duration_s = s_from_ms(_number(file, place, period, _DURATIONS))
        rate_bps = bps_from_kbps(_number(file, place, period, _CAPACITIES_KBPS))
        if duration_s == 0:
            continue
        steps.add(place, time_s, rate_bps)
        time_s += duration_s
    if not steps.times_s:
        raise trace_error(file, "has no period that lasts")
    if time_s > LONGEST_S:
        raise trace_error(file, f"goes on for {time_s:g} s, longer than {LONGEST_S:g} s")
    _tell_properties(file, periods)
    return steps.trace(period_s=time_s)


def _of_lists(file: str, found: Mapping[str, Any], *, period_s: float | None) -> Trace:
    name = next((name for name in ("rates_kbps", "rates_bps") if name in found), None)
    times_s, rates = found["times_s"], found.get(name or "")
    if (
        not isinstance(times_s, list)
        or not isinstance(rates, list)
        or len(times_s) != len(rates)
        or not rates
    ):
        raise trace_error(
            file, "times_s and rates_kbps (or rates_bps) are no lists of the same length above 0"
        )
    steps = Steps.of(file)
    for number, pair in enumerate(zip(times_s, rates, strict=True), start=1):
        values = dict(zip(("times_s", "rates"), pair, strict=True))
        place = f"entry {number}"
        rate = _number(file, place, values, ("rates",))
        steps.add(
            place,
            _number(file, place, values, ("times_s",)),
            bps_from_kbps(rate) if name == "rates_kbps" else rate,
        )
    return steps.trace(period_s=period_s)


def _number(file: str, place: str, entry: Mapping[str, Any], names: tuple[str, ...]) -> float:
    """Return a number from 0 on under the first of some names."""
    name = next((name for name in names if name in entry), None)
    if name is None:
        raise trace_error(file, f"{place} has no {' or '.join(names[:2])}")
    value = entry[name]
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        number = float(value) if usable else math.nan
    except OverflowError:
        number = math.inf
    if not 0 <= number < math.inf:
        raise trace_error(file, f"{place}: {name} is {str(value)[:30]}, no number from 0 on")
    return number


def _tell_properties(file: str, periods: Sequence[Any]) -> None:
    """Warn about what the trace says of the path beside its capacity, where it says more than
    nothing.
    """
    for name, (key, unit) in _OTHER_PROPERTIES.items():
        values = [period[name] for period in periods if isinstance(period.get(name), int | float)]
        if not any(values):
            continue
        low, high = min(values), max(values)
        shown = f"{low:g}{unit}" if low == high else f"{low:g} to {high:g}{unit}"
        said = f"say it with the path's {key}" if key != "no key" else "a path has none"
        warnings.warn(
            f"{file}: its {name} ({shown}) is not played, capacity alone is; {said}",
            SimulationWarning,
            stacklevel=2,
        )
