"""Paths to begin with: situations in which sources behave differently, as values of the
controls.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Situation:
    """A path worth trying.

    Attributes:
        label: Name for people.
        values: Values of controls; those that are not named have their defaults.
        competitor: Flow beside the session.
    """

    label: str
    values: dict[str, float]
    competitor: str = "none"

    def to_json(self) -> dict[str, Any]:
        """Return the situation as the page reads it."""
        return asdict(self)


SITUATIONS = (
    Situation("Room enough", {"rate_kbps": 10_000, "delay_ms": 20, "queue_packets": 200}),
    Situation("A narrow link", {"rate_kbps": 250, "delay_ms": 45, "queue_packets": 50}),
    Situation(
        "TCP comes and goes",
        {"rate_kbps": 725, "delay_ms": 45, "compete_start_s": 30, "compete_stop_s": 60},
        competitor="tcp",
    ),
    Situation(
        "Loss in bursts",
        {"rate_kbps": 2000, "loss_percent": 3, "loss_burst_packets": 4, "loss_start_s": 20},
    ),
    Situation(
        "A deep queue", {"rate_kbps": 500, "delay_ms": 20, "queue_packets": 1000}, competitor="tcp"
    ),
)
