"""The controls of the page with units, bounds and defaults: one table that the page draws and the
server checks by.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from trafficgen.errors import ExploreError

#: Fastest path and fastest source that may be asked for: what is simulated in a moment.
FASTEST_KBPS = 100_000.0
#: Longest session, s.
LONGEST_S = 300.0
LARGEST_SEED = 2**32 - 1

Group = Literal["path", "competitor", "run"]


@dataclass(frozen=True, kw_only=True)
class Control:
    """A number that can be set on the page.

    Attributes:
        name: Name in links and requests; its ending is the unit.
        label: Name for people.
        unit: Unit for people; empty where it has none.
        group: Part of the page that it stands in.
        low: Smallest value.
        high: Largest value.
        default: Value when nothing is said.
        step: Distance between values, where the scale is linear.
        scale: Whether the slider moves by equal distances or by equal ratios.
        whole: Whether it is a whole number.
        meaning: What it is, in a sentence.
        only_for: Competitors with which it counts; empty: always.
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
    meaning: str
    only_for: tuple[str, ...] = ()

    def checked(self, value: object) -> float:
        """Return a value that was asked for as a number within the bounds.

        Raises:
            ExploreError: If it is none.
        """
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
            raise ExploreError(f"{self.label}: {value:,.10g} is no whole number", control=self.name)
        return float(value)

    def clipped(self, value: float) -> float:
        """Return the value within the bounds that is nearest."""
        inside = min(max(value, self.low), self.high)
        return float(round(inside)) if self.whole else inside

    def to_json(self) -> dict[str, Any]:
        """Return the control as the page reads it."""
        return asdict(self)


#: Flows that may stand beside the session -> what they are.
COMPETITORS = {
    "none": "nothing",
    "tcp": "TCP as measured, else CUBIC",
    "tcp:reno": "TCP with Reno",
    "tcp:cubic": "TCP with CUBIC",
    "cbr": "UDP at a constant rate",
}
DEFAULT_COMPETITOR = "none"
_ANY_COMPETITOR = tuple(name for name in COMPETITORS if name != "none")

CONTROLS: dict[str, Control] = {
    control.name: control
    for control in (
        Control(
            name="rate_kbps",
            label="Capacity",
            unit="kbps",
            group="path",
            low=20,
            high=FASTEST_KBPS,
            default=725,
            scale="log",
            meaning="Rate of the bottleneck towards the client, IP bytes.",
        ),
        Control(
            name="delay_ms",
            label="One-way delay",
            unit="ms",
            group="path",
            low=0,
            high=1000,
            default=45,
            meaning="Propagation from the server to the client; back it takes as long.",
        ),
        Control(
            name="queue_packets",
            label="Queue",
            unit="packets",
            group="path",
            low=1,
            high=2000,
            default=50,
            scale="log",
            whole=True,
            meaning="Drop-tail queue before the bottleneck; what comes when it is full is lost.",
        ),
        Control(
            name="loss_percent",
            label="Random loss",
            unit="%",
            group="path",
            low=0,
            high=50,
            default=0,
            step=0.1,
            meaning="Share of the packets to the client that is lost at random before the queue.",
        ),
        Control(
            name="loss_burst_packets",
            label="Loss burst",
            unit="packets",
            group="path",
            low=1,
            high=50,
            default=1,
            step=0.5,
            meaning="Mean run of packets that random loss takes; 1: each by itself.",
        ),
        Control(
            name="loss_start_s",
            label="Loss begins",
            unit="s",
            group="path",
            low=0,
            high=LONGEST_S,
            default=0,
            meaning="When random loss begins, after the first media packet; 0: it is always there.",
        ),
        Control(
            name="compete_kbps",
            label="Its rate",
            unit="kbps",
            group="competitor",
            low=1,
            high=FASTEST_KBPS,
            default=300,
            scale="log",
            meaning="Rate of the other flow, IP bytes.",
            only_for=("cbr",),
        ),
        Control(
            name="compete_start_s",
            label="It starts",
            unit="s",
            group="competitor",
            low=-30,
            high=LONGEST_S,
            default=30,
            meaning="After the session's first packet; below 0 before it.",
            only_for=_ANY_COMPETITOR,
        ),
        Control(
            name="compete_stop_s",
            label="It stops",
            unit="s",
            group="competitor",
            low=-29,
            high=LONGEST_S,
            default=60,
            meaning="After the session's first packet; at the largest value it does not stop.",
            only_for=_ANY_COMPETITOR,
        ),
        Control(
            name="duration_s",
            label="Longest session",
            unit="s",
            group="run",
            low=10,
            high=LONGEST_S,
            default=120,
            meaning="When the session is stopped, unless it ends by itself before.",
        ),
        Control(
            name="seed",
            label="Seed",
            unit="",
            group="run",
            low=0,
            high=LARGEST_SEED,
            default=0,
            whole=True,
            meaning="Seed of everything random; the same seed gives the same result.",
        ),
    )
}
