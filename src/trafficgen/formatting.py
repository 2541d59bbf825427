"""Format numbers, counts and texts for people, on one line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from trafficgen.units import NS_PER_S, SIZE_UNITS_BYTES

_NOT_PRINTABLE = "�"
#: Numbers from here to there are written out, to the whole.
_PLAIN_FROM, _PLAIN_BELOW = 1e4, 1e9


def number(value: object, *, digits: int = 4) -> str:
    """Return a number with a few significant digits and commas; ``-`` for None and NaN."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return "-"
    if isinstance(value, int):
        return f"{value:,d}"
    return f"{value:,.0f}" if _PLAIN_FROM <= abs(value) < _PLAIN_BELOW else f"{value:.{digits}g}"


def interval(low: object, high: object) -> str:
    """Return both ends of an interval; an empty text where it has none."""
    return "" if low is None and high is None else f"[{number(low)}, {number(high)}]"


def rate_text(rate_kbps: float) -> str:
    """Return a rate as people read it: ``386 Mbit/s``, ``64.2 kbit/s``."""
    units = (("Gbit/s", 1e6), ("Mbit/s", 1e3), ("kbit/s", 1.0))
    unit, kbps = next((one for one in units if rate_kbps >= one[1]), units[-1])
    return f"{rate_kbps / kbps:.3g} {unit}"


def size_text(size_bytes: float) -> str:
    """Return a number of bytes as people read it: ``1.5 GB``, ``340 MB``."""
    unit = "GB" if size_bytes >= SIZE_UNITS_BYTES["GB"] else "MB"
    return f"{size_bytes / SIZE_UNITS_BYTES[unit]:.3g} {unit}"


def format_duration(time_s: float) -> str:
    """Return a time in words that are read at a glance, such as ``3 min 20 s``."""
    minutes, seconds = divmod(round(time_s), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def format_count(count: int, noun: str, nouns: str | None = None) -> str:
    """Return a count with its noun, ``1 flow``, ``2,000 flows``; ``nouns``: irregular plural."""
    return f"{count:,d} {noun if count == 1 else nouns or f'{noun}s'}"


def format_share(share: float) -> str:
    """Return a share as a percentage; one above 0 is never written as 0."""
    return "< 0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def count_warnings(warnings: Sequence[str]) -> str:
    """Return the number of warnings to end a line with; an empty text without any."""
    return f", {format_count(len(warnings), 'warning')}" if warnings else ""


def one_line(text: object, *, longest: int = 100) -> str:
    """Return a text that prints as one line of ``longest`` characters at most."""
    line = printable(" ".join(str(text).split()))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def printable(line: str) -> str:
    """Return a line as a terminal may have it.

    Names of files and texts of captures come from captures: what would move the cursor, turn the
    direction of writing or break an encoding is shown as a question mark in a diamond.
    """
    return "".join(character if character.isprintable() else _NOT_PRINTABLE for character in line)


def endpoint(address: object, port: object) -> str:
    """Return an address with its port, IPv6 in brackets (RFC 3986)."""
    host = f"[{address}]" if ":" in str(address) else str(address)
    return f"{host}:{port}" if port else host


def day_and_time(time_ns: int) -> str:
    """Return a time since 1970 as day and time of day, UTC; in ns where no calendar has it."""
    try:
        return f"{datetime.fromtimestamp(time_ns // NS_PER_S, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):
        return f"{time_ns:,d} ns since 1970"


def find_name(wanted: str, known: Iterable[str]) -> str | None:
    """Return the known name that is meant: ``NS-3`` is ``ns3``, ``iperf`` the newest ``iperf3``."""
    plain = {_plain(name): name for name in known}
    newest = max((one for one in plain if one.rstrip("0123456789") == _plain(wanted)), default=None)
    return plain.get(_plain(wanted)) or (None if newest is None else plain[newest])


def suggest_name(wanted: str, known: Iterable[str]) -> str:
    """Return `` (did you mean ns3?)`` for a name that resembles known ones; empty for others."""
    from difflib import get_close_matches  # noqa: PLC0415 - of errors alone

    plain = {_plain(name): name for name in known}
    key = _plain(wanted)
    close = [one for one in plain if len(key) > 1 and one.startswith(key)][:3]
    close = close or get_close_matches(key, plain, n=1)
    return f" (did you mean {' or '.join(plain[one] for one in close)}?)" if close else ""


def _plain(name: str) -> str:
    """Return a name without what people write differently: case, hyphens, underscores, spaces."""
    return "".join(character for character in name.casefold() if character.isalnum())
