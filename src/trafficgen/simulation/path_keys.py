"""Keys of a path: how each kind is read, written and explained, and presets by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

from trafficgen.errors import SimulationError
from trafficgen.formatting import suggest_name
from trafficgen.models import read_yaml
from trafficgen.quantity_bounds import check_number
from trafficgen.units import (
    bytes_from_text,
    number_and_unit,
    rate_from_text,
    s_from_text,
    share_from_text,
)

#: Longer ago or later than anything that is simulated.
LONGEST_S = 1e6


@dataclass(frozen=True)
class Kind:
    """A kind of values; a field of a path or link names its kind, and is set by a key."""

    unit: str  #: end of the field's name, which the key leaves out
    read: Callable[[str], object | None]  #: returns the value of a text; None: invalid
    write: Callable[[object], str]  #: returns the text of a value
    remedy: str  #: what to write instead of something invalid
    names: tuple[str, ...] = ()  #: all values, where they are names

    def value(self, key: str, text: str) -> object:
        """Return the value of a text; raise SimulationError with key, value and remedy."""
        value = self.read(text)
        if value is None:
            guess = suggest_name(text, self.names)
            raise SimulationError(f"path: {key}={text}: not understood{guess}; {self.remedy}")
        return value


def _number(value: object) -> str:
    return repr(value).removesuffix(".0")


def _zero_or(read: Callable[[str], float | None]) -> Callable[[str], float | None]:
    """Read a bare 0 too: it is the same in all units."""
    return lambda text: 0.0 if number_and_unit(text) == (0.0, "") else read(text)


def _queue(text: str) -> dict[str, int] | None:
    if (size_bytes := _whole_bytes(text)) is not None:
        return {"size_bytes": size_bytes}
    parts = number_and_unit(text)
    if parts is not None and parts[1] in ("p", "packets") and parts[0].is_integer():
        return {"packets": int(parts[0])}
    return None


def _queue_text(value: object) -> str:
    packets = getattr(value, "packets", None)
    return f"{packets}p" if packets is not None else f"{getattr(value, 'size_bytes', 0)}B"


def _whole_bytes(text: str) -> int | None:
    size_bytes = bytes_from_text(text)
    return int(size_bytes) if size_bytes is not None and size_bytes.is_integer() else None


def _packets(text: str) -> float | None:
    parts = number_and_unit(text)
    return parts[0] if parts is not None and parts[1] in ("", "p", "packets") else None


def _steps(text: str) -> list[tuple[float, float]] | None:
    pairs = [part.partition(":") for part in text.split("/")]
    steps = [(_zero_or(s_from_text)(time), rate_from_text(rate)) for time, _, rate in pairs]
    known = [(time_s, rate_bps) for time_s, rate_bps in steps if None not in (time_s, rate_bps)]
    return cast("list[tuple[float, float]]", known) if len(known) == len(steps) else None


def check_steps(steps: Sequence[tuple[float, float]]) -> None:
    """Raise ValueError for steps that do not begin at 0, do not ascend, or end with no capacity."""
    for (before_s, _), (time_s, _) in pairwise([(-1.0, 0.0), *steps]):
        if not before_s < time_s <= LONGEST_S:
            raise ValueError(f"steps must ascend, up to {LONGEST_S:g} s; {time_s:g} s does not")
    if steps and steps[0][0] != 0:
        raise ValueError(f"steps begin at {steps[0][0]:g} s; begin them at 0s")
    for _, rate_bps in steps:
        if not 0 <= rate_bps < math.inf:
            raise ValueError("steps have a rate that is not a number from 0 on")
        check_number(rate_bps, "bps")
    if steps and steps[-1][1] == 0:
        raise ValueError("steps end with a rate of 0, which stays; end them with another")


def _steps_text(value: object) -> str:
    steps = cast("tuple[tuple[float, float], ...]", value)
    return "/".join(f"{_number(time_s)}s:{_number(rate_bps)}bps" for time_s, rate_bps in steps)


RATE = Kind(
    "_bps",
    rate_from_text,
    lambda value: f"{_number(value)}bps",
    "write a number with its unit, such as 725kbps or 10Mbps",
)
TIME = Kind(
    "_s",
    _zero_or(s_from_text),
    lambda value: f"{_number(value)}s",
    "write a number with its unit, such as 45ms or 1.5s",
)
TIME_AFTER_MEDIA = replace(TIME, read=partial(s_from_text, bare="s"))
SIZE = Kind(
    "_bytes",
    _zero_or(_whole_bytes),
    lambda value: f"{value}B",
    "write a number with its unit, such as 500B or 10kB",
)
SHARE = Kind(
    "", share_from_text, _number, "write a share from 0 to 1 or a percentage, such as 0.03 or 3%"
)
STEPS = Kind(
    "", _steps, _steps_text, "write times and the rate from each on, such as 0s:2Mbps/30s:500kbps"
)
FILE = Kind("", lambda text: text or None, str, "name a file")
QUEUE = Kind("", _queue, _queue_text, "write packets or bytes, such as 80p or 10kB")
PACKETS = Kind("_packets", _packets, _number, "write a number of packets from 1 on")
IN_FLIGHT = Kind(
    "_in_flight",
    lambda text: True if text == "in_flight" else None,
    lambda _: "in_flight",
    "the one value is in_flight",
)
AqmName = Literal["red", "pie", "codel", "fq_codel", "dualpi2", "priority"]
AQM_NAMES: tuple[str, ...] = get_args(AqmName)
AQM = Kind(
    "",
    lambda text: text if text in AQM_NAMES else None,
    str,
    f"write one of {', '.join(AQM_NAMES)}",
    names=AQM_NAMES,
)
SWITCH = Kind(
    "",
    {"on": True, "True": True, "off": False, "False": False}.get,  # YAML reads on as True
    lambda value: "on" if value else "off",
    "write on or off",
)
#: Fields of a link of which one at most is set: capacities, to the client and to the server.
CAPACITIES = (("rate_bps", "steps", "trace"), ("reverse_rate_bps", "reverse_trace"))
#: Fields of a link that say how its active queue management acts.
AQM_SETTINGS = ("aqm_target_s", "aqm_interval_s", "ecn")
#: Keys of a link -> keys of which each of them needs one.
NEEDS = {
    ("trace_period_s",): ("trace",),
    ("burst_bytes",): ("rate_bps",),
    ("queue", "hold_in_flight", "aqm"): CAPACITIES[0],
    AQM_SETTINGS: ("aqm",),
    ("policer",): ("rate_bps",),
    ("loss_start_s", "loss_stop_s", "loss_burst_packets"): ("loss",),
    ("reorder_delay_s",): ("reorder",),
    ("fade_every_s",): ("fade_s",),
    ("fade_s",): ("fade_loss",),
    ("fade_loss",): ("fade_every_s",),
    ("harq_delay_s",): ("harq",),
    ("handover_every_s",): ("handover_s",),
    ("handover_s",): ("handover_every_s",),
}


#: What a path begins with that takes a preset.
PRESET = "preset:"
#: Keys of which a link has one: to give one replaces the others of a preset.
_ALTERNATIVES = [{field.removesuffix(RATE.unit) for field in part} for part in CAPACITIES]


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A path that has a name.

    Attributes:
        name: What ``preset:`` is followed by.
        description: What kind of connection it is.
        source: Where its numbers are from.
        link: Keys of its link and their values, as in a path file.

    Example:
        >>> import trafficgen
        >>> [preset.name for preset in trafficgen.Path.presets()][:4]
        ['dial', '2g', 'edge', '3g-slow']
        >>> trafficgen.Path.presets()[0].text
        'rate=49kbps,reverse_rate=30kbps,delay=60ms'
    """

    name: str
    description: str
    source: str
    link: Mapping[str, str]

    @property
    def text(self) -> str:
        """Its keys on one line."""
        return ",".join(f"{key}={value}" for key, value in self.link.items())


@cache
def load_presets() -> Mapping[str, Preset]:
    """Load all presets -> by name, from slow to fast within a kind."""
    text = Path(__file__).with_name("presets.yaml").read_text(encoding="utf-8")
    found: Any = read_yaml(text)
    return MappingProxyType({name: Preset(name=name, **part) for name, part in found.items()})


def apply_preset(settings: Mapping[str, object]) -> dict[str, object]:
    """Return the keys of a link, with those of its ``preset`` where it gives none of its own.

    Raises:
        SimulationError: If there is no such preset.
    """
    own = dict(settings)
    name = own.pop("preset", None)
    if name is None:
        return own
    presets = load_presets()
    if name not in presets:
        guess = suggest_name(str(name), presets)
        raise SimulationError(
            f"path: unknown preset {str(name)!r}{guess}; presets are {', '.join(presets)}"
        )
    return change_link(presets[str(name)].link, own)


def change_link(link: Mapping[str, object], own: Mapping[str, object]) -> dict[str, object]:
    """Return the keys of a link with some that are changed, without those that they replace."""
    replaced = set().union(*(keys for keys in _ALTERNATIVES if keys & own.keys()))
    return {**{key: value for key, value in link.items() if key not in replaced}, **own}
