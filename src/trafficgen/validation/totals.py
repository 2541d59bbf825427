"""Totals of a comparison: how many packets, how many bytes, over how long; distributions alone do
not tell.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from trafficgen.flows import SessionView
from trafficgen.validation.time_scales import span_s

#: Metric -> total that it compares.
_COMPARED = {"packets": "packets", "bytes": "ip_bytes", "duration": "duration_s"}


@dataclass(frozen=True)
class Totals:
    """Totals of the media packets to the client on one side.

    Attributes:
        packets: How many there are.
        ip_bytes: Sum of their IP total lengths, bytes.
        payload_bytes: Sum of their transport payloads, bytes.
        duration_s: First to last of them, s.
    """

    packets: int
    ip_bytes: int
    payload_bytes: int
    duration_s: float


def totals_of(view: SessionView) -> Totals:
    """Return the totals of a session's media packets."""
    return Totals(
        packets=int(view.media_ip_bytes.size),
        ip_bytes=int(view.media_ip_bytes.sum()),
        payload_bytes=int(view.table.payload_bytes[view.media].sum()),
        duration_s=span_s(view.media_time_ns),
    )


def total_metrics(reference: Totals, candidate: Totals) -> dict[str, dict[str, float]]:
    """Return |candidate - reference| / reference of packets, IP bytes and duration; NaN where the
    reference has 0.
    """
    one, other = asdict(reference), asdict(candidate)
    return {
        metric: {
            "relative_difference": (
                abs(other[name] - one[name]) / one[name] if one[name] else math.nan
            )
        }
        for metric, name in _COMPARED.items()
    }


def paired_totals(reference: Totals, candidate: Totals) -> dict[str, list[float]]:
    """Return each total as the pair of reference and candidate, as `compare --json` prints it."""
    other = asdict(candidate)
    return {name: [value, other[name]] for name, value in asdict(reference).items()}
