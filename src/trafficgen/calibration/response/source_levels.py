"""Distinguish levels that a source chose from plateaus that its path makes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from trafficgen.calibration.path.conditions import PathConditions
from trafficgen.flows import SessionView, gaps_s
from trafficgen.models import CapacityStep
from trafficgen.processes.semi_markov.rate_levels import Levels
from trafficgen.units import BoolArray, IntArray, kbps_from_bytes, ns_from_s, s_from_ns


class PathLimits:
    """When the path sets the rate of a stretch of packets."""

    #: The link is full from this share of its rate on: intervals of its rate, and what is sent
    #: again, take less.
    full_link: float = 0.95
    #: A source that pauses for a smaller share of the time always had something to send:
    #: competing flows and lost packets make some pauses, waiting for the next segment more.
    smallest_idle: float = 0.2
    #: Pauses are longer than this many round trips, this time, s, and this many mean gaps: packets
    #: of a competing flow that queue in between make gaps that grow as the rate falls.
    round_trips: float = 2.0
    shortest_pause_s: float = 0.05
    mean_gaps: float = 8.0
    #: The round-trip time where it is not known, s.
    usual_rtt_s: float = 0.05
    #: A sender that has more to send fills its packets, all but this share of them.
    largest_partial: float = 0.1
    #: Packets of this share of the usual largest size are full: options of TCP differ.
    full_size: float = 0.98
    #: A level is of the source if less than this share of its time is the path's.
    largest_share: float = 0.5


_LIMITS = PathLimits()


def keep_source_levels(
    view: SessionView, levels: Levels, path: PathConditions, *, is_controlled: bool
) -> tuple[Levels | None, str | None]:
    """Return the levels where the source shows two of them or more, else None with the reason.

    A stretch at one level is the path's where the narrow link was full, and, where congestion
    control sets the rate (``is_controlled``: TCP, QUIC) and packets may have been lost, where the
    sender hardly paused and filled its packets: then it sent what the link and competing flows
    left.
    """
    may_fill = is_controlled and (path.loss is None or path.loss.rate > 0)
    of_path = _find_stretches_of_path(view, levels, path, may_fill=may_fill)
    length_s = s_from_ns(np.diff(levels.edge_ns))
    total_s, path_s = (
        np.bincount(levels.level, weights=length_s * weight, minlength=len(levels))
        for weight in (1.0, of_path)
    )
    chosen = int(np.count_nonzero(path_s < _LIMITS.largest_share * total_s))
    if chosen > 1:
        return levels, None
    share = float(path_s.sum() / total_s.sum())
    return None, (
        f"of {len(levels)} plateaus of the rate {len(levels) - chosen} are of the path: in"
        f" {share:.0%} of the time the source sent what the link and competing flows left"
    )


def _find_stretches_of_path(
    view: SessionView, levels: Levels, path: PathConditions, *, may_fill: bool
) -> BoolArray:
    """Return during which stretches at one level the path set the rate, shape (d,)."""
    time_ns, ip_bytes = view.media_time_ns, view.media_ip_bytes
    frame_bytes = view.table.frame_bytes[view.media]
    full_bytes = _LIMITS.full_size * float(np.quantile(ip_bytes, 0.95))
    rtt_s = _LIMITS.usual_rtt_s if path.rtt_s is None else path.rtt_s
    pause_s = max(_LIMITS.shortest_pause_s, _LIMITS.round_trips * rtt_s)
    edges = np.searchsorted(time_ns, levels.edge_ns)
    found = []
    for (start_ns, stop_ns), (first, stop) in zip(
        itertools.pairwise(levels.edge_ns.tolist()), itertools.pairwise(edges), strict=True
    ):
        length_s = s_from_ns(stop_ns - start_ns)
        kbps = kbps_from_bytes(float(frame_bytes[first:stop].sum()), length_s)
        middle_ns = (start_ns + stop_ns) // 2 - view.first_media_ns
        link_kbps = _find_link_kbps(path.conditions.capacity or (), middle_ns)
        is_full = link_kbps is not None and kbps >= _LIMITS.full_link * link_kbps
        always_sends = may_fill and _always_sends(
            time_ns[first : stop + 1],
            float(np.mean(ip_bytes[first:stop] < full_bytes)) if stop > first else 1.0,
            length_s=length_s,
            pause_s=pause_s,
        )
        found.append(is_full or always_sends)
    return np.array(found, dtype=np.bool_)


def _always_sends(time_ns: IntArray, partial: float, *, length_s: float, pause_s: float) -> bool:
    """Return whether a sender hardly paused and filled its packets, all but a share of them."""
    gap_s = gaps_s(time_ns)
    pause_s = max(pause_s, _LIMITS.mean_gaps * length_s / max(1, gap_s.size))
    idle_s = float(gap_s[gap_s > pause_s].sum())
    return partial <= _LIMITS.largest_partial and idle_s < _LIMITS.smallest_idle * length_s


def _find_link_kbps(steps: Sequence[CapacityStep], at_ns: int) -> float | None:
    """Return the rate of the link at a time after the first media packet; None if unknown."""
    passed = [step for step in steps if ns_from_s(step.start_s) <= at_ns]
    return passed[-1].kbps.value if passed and passed[-1].kbps is not None else None
