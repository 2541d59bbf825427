"""Which packets of a fitted session are in which phase."""

from __future__ import annotations

from dataclasses import dataclass

from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.flows import SessionView, gaps_s, gaps_within_flows_s
from trafficgen.units import BoolArray, FloatArray, ns_from_s


@dataclass(frozen=True)
class FittedViews:
    """A session as it was measured, and as its source sent it.

    Attributes:
        captured: The measured session: at the sender or the only end, offload undone.
        sent: What the streams are fitted to: the same, with lost packets put back.
        sent_phases: Phases of ``sent``.
        tick_s: Granularity of the clock, s.
    """

    captured: SessionView
    sent: SessionView
    sent_phases: Phases
    tick_s: float


@dataclass(frozen=True)
class PhaseRows:
    """Which packets of a session's table are media of a phase, shape (n,) each.

    Attributes:
        before: Before the playout.
        playout: In the playout, stalls and refills between its parts included.
    """

    before: BoolArray
    playout: BoolArray


def phase_rows(view: SessionView, phases: Phases) -> PhaseRows:
    """Return which packets are in the playout, and which come before it.

    Args:
        view: The session.
        phases: Its phases, or those of a session that is to be cut in the same way.
    """
    time_ns, zero_ns = view.table.time_ns, view.first_media_ns
    playout_ns = zero_ns + ns_from_s(phases.playout_start_s)
    begun = time_ns > playout_ns if phases.side == "right" else time_ns >= playout_ns
    return PhaseRows(
        before=view.media & ~begun,
        playout=view.media & begun & (time_ns <= zero_ns + ns_from_s(phases.playout_stop_s)),
    )


def playout_gaps_s(view: SessionView, rows: PhaseRows) -> FloatArray:
    """Return the gaps within flows that end in the playout, s; of all media if there are none."""
    gap_s, ends = gaps_within_flows_s(view.table, view.media)
    in_playout = gap_s[rows.playout[ends]]
    return in_playout if in_playout.size else gaps_s(view.media_time_ns)
