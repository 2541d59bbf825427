"""What the derivations share: a range that a paper allows, and the arithmetic of rates, buffers and
resends.

The four modules beside this one derive, from the papers and their list of findings alone, the
numbers that a model of each source must have. They were written before anyone who wrote them had
seen a catalogue entry, so that a slip in an entry is not repeated here.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Header bytes by layer (RFC 768, 791, 9293; IEEE 802.3 without checksum and preamble).
UDP_BYTES = 8
TCP_BYTES = 20
IP_BYTES = 20
ETHERNET_BYTES = 14


@dataclass(frozen=True)
class Range:
    """The closed range of values that the published figures and their precision allow."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def meet(self, other: Range) -> Range:
        """Return what both ranges allow; two findings on one quantity must leave something."""
        met = Range(max(self.low, other.low), min(self.high, other.high))
        if met.low > met.high:
            message = f"{self} and {other} allow no common value"
            raise ValueError(message)
        return met

    def scaled(self, factor: float) -> Range:
        """Return the range times a positive factor, for a change of unit."""
        return Range(self.low * factor, self.high * factor)


def around(value: float, *, share: float) -> Range:
    """Return the range of a relative tolerance around a figure."""
    return Range(value * (1 - share), value * (1 + share))


def points_around(share: float, *, points: float) -> Range:
    """Return the range of so many percentage points around a share, cut to 0..1."""
    return Range(max(0.0, share - points / 100), min(1.0, share + points / 100))


def wire_kbps(payload_bytes: float, header_bytes: int, *, interval_ms: float) -> float:
    """Return the rate on the link of one packet each interval; bits per millisecond are kbps."""
    return (payload_bytes + header_bytes) * 8 / interval_ms


def sendings_per_packet(loss: float, sendings: int) -> float:
    """Return the mean number of sendings of a packet that is sent at most so often until it
    arrives.

    Sending k happens when the k - 1 before it were lost: 1 + p + ... + p^(n-1), losses independent.
    """
    return sum(loss**k for k in range(sendings))


def loss_when_link_is_full(media_kbps: float, share_kbps: float, *, sendings: int) -> float:
    """Return the loss at which a stream of so many sendings a packet just fills its share of a
    link.

    What arrives is 1 - p^n of the media (a packet is sent until it arrives, at most n times); it
    cannot exceed the share.
    """
    delivered = share_kbps / media_kbps
    if not 0 < delivered < 1:
        message = "the share must be below the media's rate"
        raise ValueError(message)
    return float((1 - delivered) ** (1 / sendings))
