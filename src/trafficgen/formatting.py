"""Format numbers, counts and texts for people, on one line."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trafficgen.units import NS_PER_S, SIZE_UNITS_BYTES, kbps_from_bps

_NOT_PRINTABLE = "�"
#: Numbers with more digits than wanted are written out to the whole, up to here.
_PLAIN_BELOW = 1e9
#: An interval whose ends have a larger ratio says nothing and is not shown.
WIDEST_SHOWN = 1000.0
_S_PER_MIN = _MIN_PER_H = 60
#: Units of times below a minute, s; below this time microseconds are easier to read.
_SHORT_S, _MICRO_S, _MICRO_BELOW_S = {"s": 1.0, "ms": 1e-3}, {"µs": 1e-6}, 1e-5
#: Longer times are in whole days.
_LONGEST_H, _S_PER_DAY = 1000, 86_400
#: What is cut word by word is at most this many times as long as what is left of it.
_LONGEST_LOOKED_AT = 100
#: A number by itself, not a part of a name.
_LONG_FIGURE = re.compile(r"(?<![\w./-])(?=[\d.]{21})\d+(?:\.\d+)?(?![\w/-]|\.\w)")


def number(value: object, *, digits: int = 4) -> str:
    """Return a number with a few significant digits and commas; ``-`` for None and NaN."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return "-"
    if isinstance(value, int):
        return f"{value:,d}"
    rounded = abs(float(f"{value:.{digits}g}"))
    return f"{value:,.0f}" if 10**digits <= rounded < _PLAIN_BELOW else f"{value:.{digits}g}"


def interval(low: object, high: object, text: Callable[[Any], str] = number) -> str:
    """Return both ends of an interval, each by ``text``; empty where it has none."""
    return "" if low is None and high is None else f"[{text(low)}, {text(high)}]"


def rate_text(rate_kbps: float | None) -> str:
    """Return a rate as people read it: ``386 Mbit/s``, ``64.2 kbit/s``, ``71 bit/s``."""
    units = {"Gbit/s": 1e6, "Mbit/s": 1e3, "kbit/s": 1.0, "bit/s": 1e-3}
    return "0 kbit/s" if rate_kbps == 0 else _scale(rate_kbps, units)


def size_text(size_bytes: float | None) -> str:
    """Return a number of bytes as people read it: ``1.5 GB``, ``340 kB``, ``12 B``."""
    return _scale(size_bytes, {unit: SIZE_UNITS_BYTES[unit] for unit in ("GB", "MB", "kB", "B")})


def format_duration(time_s: float | None) -> str:
    """Return a time as people read it: ``48.5 ms``, ``3.17 s``, ``3 min 20 s``, ``3 h 2 min``."""
    if not time_s or not math.isfinite(time_s) or float(f"{abs(time_s):.3g}") < _S_PER_MIN:
        units = _MICRO_S if time_s and abs(time_s) < _MICRO_BELOW_S else _SHORT_S
        return _scale(time_s, units) if time_s != 0 else "0 s"
    if time_s < 0:
        return f"-{format_duration(-time_s)}"
    minutes, seconds = divmod(round(time_s), _S_PER_MIN)
    if minutes < _MIN_PER_H:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(round(time_s / _S_PER_MIN), _MIN_PER_H)
    if hours < _LONGEST_H:
        return f"{hours} h {minutes} min"
    return f"{round(time_s / _S_PER_DAY):,} days"


def format_quantity(name: str, value: object) -> str:
    """Return a value in the unit that the end of its name says (``_bps``, ``_bytes``, ``_s``)."""
    if isinstance(value, int | float) and name.endswith("_bps"):
        return rate_text(kbps_from_bps(value))
    texts: dict[str, Callable[[Any], str]] = {
        "_kbps": rate_text,
        "_bytes": size_text,
        "_s": format_duration,
        "loss_rate": "{:.3%}".format,
    }
    text = next((one for ending, one in texts.items() if name.endswith(ending)), number)
    return text(value) if isinstance(value, int | float) else number(value)


def _scale(value: float | None, units: Mapping[str, float]) -> str:
    """Return a value with three digits in the largest unit that is not above it; ``-`` for none."""
    if value is None or not math.isfinite(value):
        return "-"
    rounded = float(f"{value:.3g}")
    unit = next((one for one, size in units.items() if abs(rounded) >= size), list(units)[-1])
    return f"{rounded / units[unit]:.3g} {unit}"


def format_count(count: int, noun: str, nouns: str | None = None) -> str:
    """Return a count with its noun, ``1 flow``, ``2,000 flows``; ``nouns``: irregular plural."""
    return f"{count:,d} {noun if count == 1 else nouns or f'{noun}s'}"


def list_first(names: Sequence[str], *, most: int = 3) -> str:
    """Return names as a list, the first ones and a count: ``a, b, c and 53 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def name_columns(names: Sequence[str]) -> str:
    """Name the columns of a list in a message; say so where its first line holds no names."""
    if all(re.fullmatch(r"[\w .()/-]{1,40}", name) for name in names):
        return f"the columns {list_first(names, most=20)}"
    return "no names of columns in its first line"


def format_share(share: float) -> str:
    """Return a share as a percentage; one above 0 is never written as 0."""
    return "< 0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def count_warnings(warnings: Sequence[str]) -> str:
    """Return how a line ends that counts warnings (", 2 warnings"); an empty text without any."""
    return f", {format_count(len(warnings), 'warning')}" if warnings else ""


def clean_text(text: str) -> str:
    """Return a text of other people as one line without control characters."""
    return printable(" ".join(text.split()))


def one_line(text: object, *, longest: int = 100) -> str:
    """Return a text that prints as one line of ``longest`` characters at most."""
    line = clean_text(str(text))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def list_or(words: Sequence[str]) -> str:
    """Return words, at least one, as a choice: ``a, b or c``."""
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def markdown_text(text: str, *, longest: int = 1000) -> str:
    """Return a text of other people as one line of Markdown without links, HTML or cells."""
    return re.sub(r"([\\<\[\]|])", r"\\\1", cut_middle(clean_text(text), longest=longest))


def cut_middle(line: str, *, longest: int) -> str:
    """Return a line of ``longest`` characters at most, its longest words first cut in the middle.

    So the sentence around a value of thousands of digits stays whole. Of a text that is a hundred
    times as long only the ends are looked at.
    """
    if len(line) > (most := _LONGEST_LOOKED_AT * longest):
        line = f"{line[: most // 2]} … {line[-most // 2 :]}"
    while len(line) > longest and len(word := max(line.split(" "), key=len)) > longest // 4:
        kept = max(longest // 4, len(word) - (len(line) - longest)) - 1
        line = line.replace(word, f"{word[: (kept + 1) // 2]}…{word[len(word) - kept // 2 :]}")
    if len(line) <= longest:
        return line
    before, after = line[: longest // 2], line[len(line) - (longest - 1) // 2 :]
    return f"{before.rpartition(' ')[0] or before} … {after.partition(' ')[2] or after}"


def shorten_figures(line: str) -> str:
    """Return a line in which numbers of more than twenty characters have an exponent.

    The engine and Python write 1e300 with all of its digits.
    """

    def shorten(found: re.Match[str]) -> str:
        text = f"{float(found[0]):g}"
        return found[0] if text == "inf" else text

    return _LONG_FIGURE.sub(shorten, line)


def describe_value(value: object) -> str:
    """Return a value of Python's own types as it is written, cut; of another its type's name."""
    if type(value).__module__ != "builtins":
        return type(value).__name__
    return clean_text(reprlib.repr(value))


def printable(line: str, *, kept: str = "") -> str:
    """Return a line as a terminal may have it, but for characters that are kept.

    Names of files and texts of captures come from captures: what would move the cursor, turn the
    direction of writing or break an encoding is shown as a question mark in a diamond.
    """
    if line.isprintable():
        return line
    return "".join(one if one.isprintable() or one in kept else _NOT_PRINTABLE for one in line)


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
    return _suggest(_find_close(wanted, {name: name for name in known}))


def suggest_file(path: Path) -> str:
    """Return `` (did you mean ramp.csv?)`` for a missing file with a similar one in its folder."""
    try:
        missing = not path.exists()
        # A link to nothing is there itself, but is not a remedy.
        others = [one for one in sorted(path.parent.iterdir()) if one.exists()] if missing else []
    except (OSError, ValueError):
        return ""
    known = {one.stem: one.name for one in others if one.suffix == path.suffix}
    same = {one.suffix: one.name for one in others if one.stem == path.stem}
    alike = _find_close(path.suffix, same) or list(same.values())[:1]
    return _suggest(alike[:1] or _find_close(path.stem, known))


def _find_close(wanted: str, known: Mapping[str, str]) -> list[str]:
    """Return the values of keys that begin like a name, or else of the one that resembles it."""
    from difflib import get_close_matches  # noqa: PLC0415 - of errors alone

    plain = {_plain(name): value for name, value in known.items()}
    key = _plain(wanted)
    close = [one for one in plain if len(key) > 1 and one.startswith(key)][:3]
    return [plain[one] for one in close or get_close_matches(key, plain, n=1)]


def _suggest(names: list[str]) -> str:
    return f" (did you mean {' or '.join(names)}?)" if names else ""


def _plain(name: str) -> str:
    """Return a name without what people write differently: case, hyphens, underscores, spaces."""
    return "".join(character for character in name.casefold() if character.isalnum())
