"""Fit how many packets of media a client acknowledges at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from trafficgen.distributions.two_samples import rank_correlation
from trafficgen.flows import extend_sequence, pace_around_s
from trafficgen.models import MOST_ACKNOWLEDGED, Acknowledgements, AcknowledgementsAtPace
from trafficgen.models.stream import DELAYED_ACK_S
from trafficgen.processes.base import LARGEST_IP_BYTES
from trafficgen.tables import PacketTable
from trafficgen.units import BoolArray, FloatArray, IntArray, ns_from_s

_TCP_SEQUENCE_BITS = 32


class AcknowledgementLimits:
    """When acknowledgements have laws, and of what these depend."""

    #: With fewer acknowledgements, how many packets they are for cannot be estimated.
    fewest: int = 50
    most_repeated: float = 0.99
    #: They depend on the pace of packets where the rank correlation of both is more than so many
    #: standard errors; so many paces have a law each, where their mean gaps, of at least this, s,
    #: differ by this factor.
    standard_errors: float = 4.0
    paces: int = 4
    shortest_gap_s: float = 1e-6
    pace_apart: float = 1.5
    #: Packets at the start, or after so many pauses, are acknowledged one by one where at least
    #: this share of them is, and this much more than of the others.
    fewest_pauses: int = 3
    singly_share: float = 0.8
    more_often: float = 0.2


_LIMITS = AcknowledgementLimits()


@dataclass(frozen=True)
class _Heard:
    """Media packets, and the packets of the client that acknowledge them.

    Attributes:
        media_ns: Times of the media packets, ns, shape (n,).
        packets: How many of them each acknowledgement is for, shape (m,).
        rows: The last of them, shape (m,).
        client_rows: The last media packet before each packet of the client, shape (k,).
    """

    media_ns: IntArray
    packets: IntArray
    rows: IntArray
    client_rows: IntArray


def fit_acknowledgements(
    table: PacketTable, media: BoolArray, *, flow: int, over_quic: bool
) -> Acknowledgements | None:
    """Return how many media packets the client acknowledges at once; None with few such packets.

    Over QUIC all packets of the client count: what they hold is encrypted, and nearly all that it
    sends while it receives acknowledges (RFC 9000, section 13.2). At the client times show it,
    duplicate acknowledgements of packets behind a loss among them. At the server, where
    acknowledgements arrive after later packets, numbers do. The way that finds fewer
    acknowledgements of no packet is taken. Packets of the client that acknowledge no new packet,
    requests and duplicate acknowledgements, count as if they were for one: a session has as many
    packets to the server for each of the media as the capture.
    """
    of_client = (table.flow == flow) & ~table.to_client
    pure = of_client if over_quic else of_client & (table.payload_bytes == 0)
    if np.count_nonzero(pure) < _LIMITS.fewest:
        return None
    heard = _match(table, media, of_client, pure)
    acknowledged = int(heard.packets.sum())
    requests = int(np.count_nonzero(of_client)) - int(np.count_nonzero(pure))
    count = heard.packets.size + requests
    at_start, after_pause, singly = _find_singly(heard)
    own = singly[heard.rows]
    alone = int(np.count_nonzero(singly))
    found = _fit_numbers(heard.packets[~own], (acknowledged - alone) / max(1, count - alone))
    if found is None:
        at_start, after_pause, singly = 0, 0, np.zeros_like(singly)
        found = _fit_numbers(heard.packets, acknowledged / count)
    if found is None:
        return None
    return Acknowledgements(
        **found,
        ip_bytes=_typical_bytes(table, pure) if over_quic else None,
        singly_at_start=at_start,
        singly_after_pause=after_pause,
        at_paces=_fit_paces(heard, singly),
    )


def _match(table: PacketTable, media: BoolArray, of_client: BoolArray, pure: BoolArray) -> _Heard:
    """Find the media packets that acknowledgements are for, by times or by numbers."""
    media_ns = table.time_ns[media]
    until = np.searchsorted(media_ns, table.time_ns[pure], side="right")
    if table.is_known("tcp_acknowledgement")[pure].all():
        covered = _count_covered(table, media, pure)
        if np.count_nonzero(np.diff(covered)) > np.count_nonzero(np.diff(until)):
            until = covered
    before = np.searchsorted(media_ns, table.time_ns[of_client], side="right")
    return _Heard(
        media_ns=media_ns,
        packets=np.diff(until),
        rows=np.clip(until[1:] - 1, 0, media_ns.size - 1),
        client_rows=np.maximum(before - 1, 0),
    )


def _count_covered(table: PacketTable, media: BoolArray, pure: BoolArray) -> IntArray:
    """Return how many media packets each acknowledgement and those before it cover."""
    sent = table.values("tcp_sequence")[media].astype(np.int64) + table.payload_bytes[media]
    sent = np.unique(extend_sequence(sent, bits=_TCP_SEQUENCE_BITS))
    # The first is of a handshake, perhaps without a number.
    heard = table.values("tcp_acknowledgement")[pure].astype(np.int64)[1:]
    heard = extend_sequence(heard, bits=_TCP_SEQUENCE_BITS)
    space = 1 << _TCP_SEQUENCE_BITS
    heard -= round(float(heard[0] - sent[0]) / space) * space
    return np.searchsorted(sent, np.maximum.accumulate(heard), side="right")


def _find_singly(heard: _Heard) -> tuple[int, int, BoolArray]:
    """Find how many packets are acknowledged one by one at the start, and after each pause.

    A receiver does not wait for a second packet while its sender may be in slow start, as Linux at
    the start of a connection and after pauses.

    Returns:
        Both numbers, and which media packets are among them, shape (n,).
    """
    count = heard.media_ns.size
    alone = np.zeros(count, dtype=np.bool_)
    alone[heard.rows[heard.packets == 1]] = True
    pauses = np.diff(heard.media_ns) > ns_from_s(DELAYED_ACK_S)
    starts = np.flatnonzero(np.append(True, pauses))
    place = np.arange(count) - np.repeat(starts, np.diff(np.append(starts, count)))
    at_start, after_pause = _count_singly(alone, np.arange(count)), 0
    begun = max(at_start, int(starts[1]) if starts.size > 1 else count)
    if np.count_nonzero(starts >= begun) >= _LIMITS.fewest_pauses:
        after_pause = _count_singly(alone[begun:], place[begun:])
    singly = place < after_pause
    singly[:begun] = np.arange(begun) < at_start
    return at_start, after_pause, singly


def _count_singly(alone: BoolArray, place: IntArray) -> int:
    """Return up to which place packets are acknowledged one by one; 0 where others are too.

    It is where the sum of what they are more often than all others is largest (Page 1954).
    """
    times, singly = np.bincount(place), np.bincount(place, weights=alone)
    until, alone_until = np.cumsum(times), np.cumsum(singly)
    share = float(alone.mean())
    often = alone_until >= _LIMITS.singly_share * until
    excess = np.where(often, alone_until - share * until, 0.0)
    last = int(excess.argmax())
    others = (alone_until[-1] - alone_until[last]) / max(1, int(until[-1] - until[last]))
    by_chance = _LIMITS.standard_errors * math.sqrt(alone.size * share * (1 - share))
    rarer = others <= alone_until[last] / until[last] - _LIMITS.more_often
    return last + 1 if excess[last] > by_chance and rarer else 0


def _fit_numbers(packets: IntArray, mean_packets: float) -> dict[str, Any] | None:
    """Fit a law with a mean to numbers of packets acknowledged at a time; None for few of them.

    Those that acknowledge none count as if they were for one.
    """
    packets = packets[packets > 0]
    if packets.size < _LIMITS.fewest:
        return None
    shares = np.bincount(np.minimum(packets, MOST_ACKNOWLEDGED))[1:] / packets.size
    if packets.mean() > 1:
        excess = (packets.mean() - max(mean_packets, 1.0)) / (packets.mean() - 1)
        excess = min(max(excess, 0.0), 1.0)
        shares *= 1 - excess
        shares[0] += excess
    a, b = packets[:-1] - packets[:-1].mean(), packets[1:] - packets[1:].mean()
    power = math.sqrt(float(a @ a) * float(b @ b))
    repeated = min(max(float(a @ b) / power, 0.0), _LIMITS.most_repeated) if power else 0.0
    return {"packet_shares": tuple(shares.tolist()), "repeat_probability": repeated}


def _fit_paces(heard: _Heard, singly: BoolArray) -> tuple[AcknowledgementsAtPace, ...]:
    """Fit how many packets are acknowledged at each pace of the media; empty where all are alike.

    A receiver that waits for its timer acknowledges fewer at a time where packets come slowly.
    ``singly`` are the media packets that are acknowledged one by one at any pace.
    """
    own = (heard.packets > 0) & ~singly[heard.rows]
    rows, packets = heard.rows[own], heard.packets[own]
    if packets.size < _LIMITS.fewest:
        return ()
    pace_s = pace_around_s(heard.media_ns)
    bounds = _find_bounds(pace_s[rows], packets)
    if not bounds.size:
        return ()
    place = np.searchsorted(bounds, pace_s)
    of_client = np.bincount(place[heard.client_rows], minlength=bounds.size + 1)
    of_client -= np.bincount(place[singly], minlength=bounds.size + 1)
    media = np.bincount(place[~singly], minlength=bounds.size + 1)
    found = []
    for number, bound in enumerate([*bounds.tolist(), None]):
        mean = float(media[number]) / max(1, int(of_client[number]))
        law = _fit_numbers(packets[place[rows] == number], mean)
        if law is None:
            return ()
        found.append(AcknowledgementsAtPace(**law, up_to_gap_s=bound))
    return tuple(found)


def _find_bounds(pace_s: FloatArray, packets: IntArray) -> FloatArray:
    """Return the bounds between paces at which other numbers are acknowledged, s, ascending."""
    if np.ptp(pace_s) == 0 or np.ptp(packets) == 0:
        return np.zeros(0)
    correlation = rank_correlation(pace_s, packets.astype(np.float64))
    if abs(correlation) * math.sqrt(packets.size) <= _LIMITS.standard_errors:
        return np.zeros(0)
    ranks = (np.arange(_LIMITS.paces) + 0.5) / _LIMITS.paces
    middle_s = np.maximum(np.quantile(pace_s, ranks), _LIMITS.shortest_gap_s)
    apart = middle_s[1:] > _LIMITS.pace_apart * middle_s[:-1]
    return np.asarray(np.sqrt(middle_s[:-1] * middle_s[1:])[apart])


def _typical_bytes(table: PacketTable, rows: BoolArray) -> int:
    """Return the median IP total length of some packets, those that a card has joined cut."""
    return min(int(np.median(table.ip_bytes[rows])), LARGEST_IP_BYTES)
