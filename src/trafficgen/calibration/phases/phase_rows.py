"""Which packets of a session, or of one of its streams, are in which phase."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.flows import SessionView, gaps_s, gaps_within_flows_s, select_rows
from trafficgen.models import PhaseName
from trafficgen.units import BoolArray, FloatArray, IntArray, ns_from_s, s_from_ns


@dataclass(frozen=True)
class FittedViews:
    """A session as it was measured, and as its source sent it.

    Attributes:
        captured: The measured session: at the sender or the only end, offload undone.
        phases: Its phases.
        sent: What the streams are fitted to: the same, with lost packets put back.
        sent_phases: Phases of ``sent``.
        tick_s: Granularity of the clock, s.
    """

    captured: SessionView
    phases: Phases
    sent: SessionView
    sent_phases: Phases
    tick_s: float


@dataclass(frozen=True)
class PhaseRows:
    """Which packets of a session's table are media of a phase, shape (n,) each.

    Attributes:
        playout: In the playout, stalls and refills between its parts included.
    """

    before: BoolArray
    playout: BoolArray


def phase_rows(view: SessionView, phases: Phases) -> PhaseRows:
    """Return which packets are in the playout, and which come before it.

    The phases may be those of another session, to divide both in the same way.
    """
    time_ns, zero_ns = view.table.time_ns, view.first_media_ns
    playout_ns = zero_ns + ns_from_s(phases.playout_start_s)
    begun = time_ns > playout_ns if phases.side == "right" else time_ns >= playout_ns
    return PhaseRows(
        before=view.media & ~begun,
        playout=view.media & begun & (time_ns <= zero_ns + ns_from_s(phases.playout_stop_s)),
    )


def playout_gaps_s(view: SessionView, rows: PhaseRows) -> FloatArray:
    """Return the gaps within flows that end in the playout, s; of all media without such gaps."""
    if len(view.media_flows) == 1:
        in_playout = gaps_s(view.media_time_ns)
        in_playout = select_rows(in_playout, select_rows(rows.playout, view.media)[1:])
    else:
        gap_s, ends = gaps_within_flows_s(view.table, view.media)
        in_playout = gap_s[rows.playout[ends]]
    return in_playout if in_playout.size else gaps_s(view.media_time_ns)


_Span = tuple[PhaseName, float, float, Literal["left", "right"]]


@dataclass(frozen=True)
class StreamPart:
    """One phase of a stream.

    Attributes:
        start_s: Start of the phase, s from the session's first media packet.
    """

    name: PhaseName
    start: int
    stop: int
    start_s: float
    end_s: float


def divide_stream(time_ns: IntArray, phases: Phases, *, zero_ns: int) -> list[StreamPart]:
    """Return the phases in which a stream sends, in order of time.

    A stall is the gap between two phases; its refill is the phase ``rebuffering``. The last phase,
    ``end``, begins with the packet before it, so that a single stray has a gap. Phases reach from
    boundary to boundary of the session, but not beyond the stream's own packets, and not over a
    silence at a boundary that is longer than all packets of the stream in that phase take: its gaps
    would be played for a time in which it sent nothing. ``time_ns`` are the stream's media packets,
    ascending, at least one; ``zero_ns`` is the session's first media packet.
    """
    first_s, last_s = (s_from_ns(int(time_ns[row]) - zero_ns) for row in (0, -1))
    parts = []
    for name, start_s, end_s, side in _spans(phases):
        start, stop = 0, int(time_ns.size)
        if start_s > 0:
            start = int(np.searchsorted(time_ns, zero_ns + ns_from_s(start_s), side=side))
        if end_s < phases.end_s:
            end_side = phases.side if end_s == phases.playout_start_s else "left"
            stop_side = end_side if name == "buffering" else "right"
            stop = int(np.searchsorted(time_ns, zero_ns + ns_from_s(end_s), side=stop_side))
        if stop <= start:
            continue
        if name == "end":
            start = max(0, start - 1)
        from_s = max(first_s, start_s)
        to_s = last_s if stop == time_ns.size else min(last_s, end_s)
        own_s = [s_from_ns(int(time_ns[row]) - zero_ns) for row in (start, stop - 1)]
        parts.append(StreamPart(name, start, stop, *_trim_silence((from_s, to_s), own_s)))
    return parts


def _trim_silence(span_s: tuple[float, float], own_s: Sequence[float]) -> tuple[float, float]:
    """Return the span of a phase without a silence at its ends longer than all of its packets.

    ``own_s`` are the first and the last packet of the stream in it.
    """
    (from_s, to_s), (first_s, last_s) = span_s, own_s
    length_s = last_s - first_s
    if length_s <= 0:
        return span_s
    return (
        first_s if first_s - from_s > length_s else from_s,
        last_s if to_s - last_s > length_s else to_s,
    )


def _spans(phases: Phases) -> list[_Span]:
    """Return name, start, end and the side of a packet at the start, of each phase of a session."""
    spans: list[_Span] = []
    at_s = phases.playout_start_s
    side: Literal["left", "right"] = phases.side
    if phases.buffering_end_s is not None:
        edges_s = (0.0, *(fall_s for fall_s in phases.falls_s if fall_s < at_s), at_s)
        for from_s, to_s in itertools.pairwise(edges_s):
            spans.append(("buffering", from_s, to_s, "left"))
    for stall in phases.stalls:
        spans.append(("playout", at_s, stall.start_s, side))
        at_s, side = stall.end_s, "left"
        if stall.refill_kbps is not None:
            spans.append(("rebuffering", at_s, stall.refill_end_s, side))
            at_s, side = stall.refill_end_s, "right"
    spans.append(("playout", at_s, phases.playout_stop_s, side))
    if phases.playout_end_s is not None:
        spans.append(("end", phases.playout_stop_s, phases.end_s, "right"))
    return spans
