"""The controls of the page with units, bounds and defaults, and presets: paths worth trying.

The page draws the controls from this table and the server checks requests by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from trafficgen.errors import ExploreError

#: Fastest path and fastest source: what is simulated in a moment.
FASTEST_KBPS = 100_000.0
#: Latest start and end of a competing flow and of loss, s.
LATEST_S = 300.0
#: Longest session, s: a captured one is mostly shorter, and plays whole.
LONGEST_S = 900.0
LARGEST_SEED = 2**32 - 1

Group = Literal["path", "competitor", "run"]


@dataclass(frozen=True)
class Control:
    """A number that can be set on the page; its meaning is in :data:`MEANINGS`.

    Attributes:
        name: Name in links and requests; it ends with the unit.
        label: Name for people, as ``unit`` is.
        group: Part of the page.
        default: Value of a request that does not name it.
        step: Distance between values of a linear scale.
        scale: Whether the slider moves by equal distances or by equal ratios.
        only_for: Competitors that it belongs to; empty: always.
    """

    name: str
    label: str
    unit: str
    group: Group
    low: float
    high: float
    default: float
    step: float = 1.0
    scale: Literal["linear", "log"] = "linear"
    whole: bool = False
    only_for: tuple[str, ...] = ()

    def check(self, value: object) -> float:
        """Return a requested value as a number; raise ExploreError if it is out of bounds."""
        unit = f" {self.unit}" if self.unit else ""
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise ExploreError(
                f"{self.label}: write a number from {self.low:,g} to {self.high:,.10g}{unit}",
                control=self.name,
            )
        if not self.low <= value <= self.high:
            where = f"below {self.low:,g}" if value < self.low else f"above {self.high:,.10g}"
            raise ExploreError(f"{self.label}: {value:,.10g} is {where}{unit}", control=self.name)
        if self.whole and value != round(value):
            raise ExploreError(
                f"{self.label}: {value:,.10g} is not a whole number", control=self.name
            )
        return float(value)

    def clip(self, value: float) -> float:
        """Return the nearest value within the bounds."""
        inside = min(max(value, self.low), self.high)
        return float(round(inside)) if self.whole else inside


#: Competing flows -> what they are.
COMPETITORS = {
    "none": "nothing",
    "tcp": "TCP as measured, else CUBIC",
    "tcp:reno": "TCP with Reno",
    "tcp:cubic": "TCP with CUBIC",
    "tcp:bbr": "TCP with BBR",
    "tcp:bbr3": "TCP with BBR version 3",
    "quic:cubic": "QUIC with CUBIC",
    "quic:bbr": "QUIC with BBR",
    "cbr": "UDP at a constant rate",
}
DEFAULT_COMPETITOR = "none"
_ANY = tuple(name for name in COMPETITORS if name != "none")

#: What each control is, in a sentence.
MEANINGS = {
    "rate_kbps": "Rate of the bottleneck towards the client, IP bytes.",
    "delay_ms": "Propagation from the server to the client; back it takes as long.",
    "queue_packets": "Drop-tail queue of the bottleneck; packets that find it full are lost.",
    "loss_percent": "Share of the packets to the client that is lost at random before the queue.",
    "loss_burst_packets": "Mean run of packets that random loss takes; 1: each by itself.",
    "loss_start_s": "Start of random loss after the first media packet; 0: always.",
    "compete_kbps": "Rate of the other flow, IP bytes.",
    "compete_start_s": "After the session's first packet; below 0 before it.",
    "compete_stop_s": "After the session's first packet; at the largest value it does not stop.",
    "duration_s": "Length of the session, unless it ends by itself before.",
    "seed": "Seed of everything random; the same seed gives the same result.",
}


#: Name, label, unit, group, smallest and largest value, default. The path is a home line of today:
#: 20 Mbit/s, a round-trip time of 30 ms, a queue of twice their product.
_TABLE = (
    Control("rate_kbps", "Capacity", "kbit/s", "path", 20, FASTEST_KBPS, 20_000, scale="log"),
    Control("delay_ms", "One-way delay", "ms", "path", 0, 1000, 15),
    Control("queue_packets", "Queue", "packets", "path", 1, 2000, 100, scale="log", whole=True),
    Control("loss_percent", "Random loss", "%", "path", 0, 50, 0, step=0.1),
    Control("loss_burst_packets", "Loss burst", "packets", "path", 1, 50, 1, step=0.5),
    Control("loss_start_s", "Loss begins", "s", "path", 0, LATEST_S, 0),
    Control(
        "compete_kbps",
        "Its rate",
        "kbit/s",
        "competitor",
        1,
        FASTEST_KBPS,
        300,
        scale="log",
        only_for=("cbr",),
    ),
    Control("compete_start_s", "It starts", "s", "competitor", -30, LATEST_S, 30, only_for=_ANY),
    Control("compete_stop_s", "It stops", "s", "competitor", -29, LATEST_S, 60, only_for=_ANY),
    Control("duration_s", "Longest session", "s", "run", 10, LONGEST_S, 120),
    Control("seed", "Seed", "", "run", 0, LARGEST_SEED, 0, whole=True),
)
CONTROLS: dict[str, Control] = {control.name: control for control in _TABLE}


@dataclass(frozen=True)
class Preset:
    """A path worth trying; controls without a value have their defaults."""

    label: str
    values: dict[str, float]
    competitor: str = "none"


PRESETS = (
    Preset("Home line", {}),
    Preset("Mobile, good", {"rate_kbps": 10_000, "delay_ms": 25, "queue_packets": 200}),
    Preset("A narrow link", {"rate_kbps": 250, "delay_ms": 45, "queue_packets": 50}),
    Preset(
        "TCP comes and goes",
        {
            "rate_kbps": 725,
            "delay_ms": 45,
            "queue_packets": 50,
            "compete_start_s": 30,
            "compete_stop_s": 60,
        },
        competitor="tcp",
    ),
    Preset(
        "Loss in bursts",
        {
            "rate_kbps": 2000,
            "delay_ms": 45,
            "queue_packets": 50,
            "loss_percent": 3,
            "loss_burst_packets": 4,
            "loss_start_s": 20,
        },
    ),
    Preset(
        "A deep queue", {"rate_kbps": 500, "delay_ms": 20, "queue_packets": 1000}, competitor="tcp"
    ),
)
