"""Bounds of quantities: numbers that no network, player or capture has are refused.

The last word of a number's name is its unit (``rate_bps``, ``arrival_rate_per_s``), and each unit
has a largest magnitude here; what has no unit has that of plain numbers. The bounds are far beyond
any use, and small enough that times fit in 64 bits of ns and that sizes are exact as floats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trafficgen.formatting import describe_value

#: Over thirty years: longer than any session, and short enough that times in ns fit in 64 bits.
LONGEST_S = 1e9
#: A thousand times the fastest links.
_HIGHEST_BPS = 1e15
#: One in the longest session, and one a femtosecond.
_LEAST_PER_S, _MOST_PER_S = 1 / LONGEST_S, 1e15
#: Floats are exact for all whole numbers up to here.
_MOST_COUNTED = 2**53
#: Largest magnitude of numbers without a unit, such as ratios and likelihoods.
MOST_PLAIN = 1e18
#: Smallest scale of a law, in its unit; a part of a mixture may have nearly one value.
LEAST_SCALE = 1e-200
#: Unit, as names end on it -> largest magnitude.
MOST: dict[str, float] = {
    **{"s": LONGEST_S, "ms": LONGEST_S * 1e3, "us": LONGEST_S * 1e6, "ns": 2**63 - 1},
    **{"bps": _HIGHEST_BPS, "kbps": _HIGHEST_BPS / 1e3, "mbps": _HIGHEST_BPS / 1e6},
    **dict.fromkeys(("hz", "fps", "per_s"), _MOST_PER_S),
    **dict.fromkeys(("bits", "bytes", "packets", "frames", "count"), _MOST_COUNTED),
    "seed": 2**1000,
}
#: Unit -> smallest magnitude of what must not be 0: 1 ns, one in the longest session.
LEAST: dict[str, float] = {
    **{"s": 1e-9, "ms": 1e-6, "us": 1e-3},
    **{"bps": _LEAST_PER_S, "kbps": _LEAST_PER_S / 1e3, "mbps": _LEAST_PER_S / 1e6},
    **dict.fromkeys(("hz", "fps", "per_s"), _LEAST_PER_S),
}
#: Units as tables of published models write them -> as names end on them.
_WRITTEN = {"kbit/s": "kbps", "Mbit/s": "mbps", "bit/s": "bps", "1/s": "per_s", "frame/s": "fps"}


def unit_in(name: str) -> str:
    """Return the unit on which a name ends; empty without one."""
    last = "per_s" if name.endswith("_per_s") else name.rpartition("_")[2]
    return last if last in MOST else ""


def most_of(unit: str) -> float:
    """Return the largest magnitude of numbers of a unit; ``""`` and unknown ones: of plain ones."""
    return MOST.get(_WRITTEN.get(unit, unit), MOST_PLAIN)


def check_number(value: float, unit: str) -> None:
    """Raise ValueError for a number beyond the bounds of its unit; 0 and NaN pass."""
    unit = _WRITTEN.get(unit, unit)
    most, least = most_of(unit), LEAST.get(unit, 0.0)
    if abs(value) > most:
        end = f"at least -{most:.15g}" if value < 0 else f"at most {most:.15g}"
        raise ValueError(f"it must be {end}, not {_written(value)}")
    if 0 < abs(value) < least:
        raise ValueError(f"it must be 0 or at least {least:g}, not {_written(value)}")


def _written(value: float) -> str:
    try:
        return f"{value:g}"
    except OverflowError:  # a whole number of hundreds of digits
        return describe_value(value)


def check_numbers(value: object, name: str, unit: str | None = None) -> None:
    """Check each number in lists and tables by its key, or else by what has it.

    ``unit`` is that of numbers whose names end on none.

    Raises:
        ValueError: If a number is beyond the bounds of its unit; the message names its key.
    """
    if isinstance(value, Mapping):
        for key, one in value.items():
            check_numbers(one, str(key), unit_in(name) or unit)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for one in value:
            check_numbers(one, name, unit)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        check_number(value, unit_in(name) or unit or "")
