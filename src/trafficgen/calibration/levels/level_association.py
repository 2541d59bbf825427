"""What goes with a switch of the level: loss and goodput in the seconds before it, where the
capture shows them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.levels.rate_levels import Levels
from trafficgen.calibration.levels.switch_hazards import (
    FEWEST_SWITCHES,
    Direction,
    SwitchHazard,
    fit_switch_hazard,
)
from trafficgen.flows import SessionView, extend_sequence
from trafficgen.units import BoolArray, FloatArray, IntArray, ns_from_s

#: Intervals, and the time before each over which loss and goodput are taken.
_INTERVAL_S = 1.0
_RECENT_S = 5
_SEQUENCE_SPACE_BITS = 32
_LONGEST_GAP_PACKETS = 3000


@dataclass(frozen=True)
class LevelAssociation:
    """How steps between levels go with loss and goodput.

    Attributes:
        down: Hazard of stepping down, or why there is none.
        up: Hazard of stepping up, or why there is none.
    """

    down: SwitchHazard | str
    up: SwitchHazard | str


def associate(view: SessionView, levels: Levels) -> LevelAssociation | str:
    """Return how the steps of a session go with what was before them, or why that cannot be said.

    Time is cut into intervals of 1 s. Covariates of each are the loss (RTP numbers missing, or TCP
    segments sent again, over packets) and the goodput (over the rate of the level at the time) in
    the 5 s before it.

    Args:
        view: The session.
        levels: Its levels.
    """
    if levels.switches < FEWEST_SWITCHES:
        return f"{levels.switches} switches, {FEWEST_SWITCHES} are needed"
    lost = _losses(view)
    if lost is None:
        return "neither RTP nor TCP sequence numbers in the media flows"
    edges_ns = np.arange(levels.edge_ns[0], levels.edge_ns[-1], ns_from_s(_INTERVAL_S))
    if edges_ns.size < _RECENT_S + 2:
        return "the session is too short"
    time_ns = view.table.time_ns
    media = view.media
    packets = _recent(_counted(time_ns[media], np.ones(int(media.sum())), edges_ns))
    size = _recent(_counted(time_ns[media], view.media_ip_bytes.astype(np.float64), edges_ns))
    missing = _recent(_counted(time_ns[lost.rows], lost.packets, edges_ns))
    # The level just before each interval: a switch at its very start still comes from that level.
    dwell = np.maximum(np.searchsorted(levels.edge_ns, edges_ns[:-1], side="left") - 1, 0)
    level = levels.level[dwell]
    with np.errstate(invalid="ignore", divide="ignore"):
        covariates = {
            "loss": missing / (packets + missing),
            "goodput": size / _RECENT_S / _INTERVAL_S / levels.rate_bytes_per_s[level],
        }
    found: dict[Direction, SwitchHazard | str] = {}
    for direction in ("down", "up"):
        at_risk = level > 0 if direction == "down" else level < len(levels) - 1
        found[direction] = fit_switch_hazard(
            _steps(levels, edges_ns, direction), at_risk, covariates
        )
    return LevelAssociation(found["down"], found["up"])


@dataclass(frozen=True)
class _Losses:
    """Rows of the packets after which loss shows, shape (m,), and how many are lost before each,
    shape (m,).
    """

    rows: IntArray
    packets: FloatArray


def _losses(view: SessionView) -> _Losses | None:
    """Return where loss shows, flow by flow; None where there are no sequence numbers."""
    rows, counts = [], []
    table = view.table
    for flow in view.media_flows:
        mine = view.media & (table.flow == flow)
        for column, bits in (("rtp_sequence", 16), ("tcp_sequence", _SEQUENCE_SPACE_BITS)):
            index = np.flatnonzero(mine & table.known(column))
            if index.size < 2:
                continue
            number = extend_sequence(table.values(column).astype(np.int64)[index], bits=bits)
            if bits == _SEQUENCE_SPACE_BITS:
                end = number + table.payload_bytes[index]
                lost = (end[1:] <= np.maximum.accumulate(end)[:-1]).astype(np.float64)
            else:
                step = np.diff(np.maximum.accumulate(number))
                lost = np.where(step < _LONGEST_GAP_PACKETS, np.maximum(step - 1, 0), 0).astype(
                    np.float64
                )
            rows.append(index[1:])
            counts.append(lost)
            break
    return _Losses(np.concatenate(rows), np.concatenate(counts)) if rows else None


def _counted(time_ns: IntArray, weight: FloatArray, edges_ns: IntArray) -> FloatArray:
    """Return the sum of weights in each interval, shape (intervals,)."""
    place = np.searchsorted(edges_ns, time_ns, side="right") - 1
    inside = (place >= 0) & (place < edges_ns.size - 1)
    total = np.bincount(place[inside], weights=weight[inside], minlength=edges_ns.size - 1)
    return total.astype(np.float64)


def _recent(series: FloatArray) -> FloatArray:
    """Return the sums over the intervals before each; NaN where they are not all there."""
    total = np.concatenate(([0.0], np.cumsum(series)))
    recent = np.full(series.size, np.nan)
    recent[_RECENT_S:] = total[_RECENT_S : series.size] - total[: series.size - _RECENT_S]
    return recent


def _steps(levels: Levels, edges_ns: IntArray, direction: Direction) -> BoolArray:
    """Return in which intervals the source steps down or up."""
    change = np.diff(levels.level)
    at_ns = levels.edge_ns[1:-1][change < 0 if direction == "down" else change > 0]
    steps = np.zeros(edges_ns.size - 1, dtype=np.bool_)
    place = np.searchsorted(edges_ns, at_ns, side="right") - 1
    steps[place[(place >= 0) & (place < steps.size)]] = True
    return steps
