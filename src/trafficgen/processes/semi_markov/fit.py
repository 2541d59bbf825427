"""Fit the semi-Markov process of a phase: levels of the rate, each with packets of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from trafficgen.processes.bursts.fit import fit_simple
from trafficgen.processes.fitting import FittedProcess, LawFitter, PhasePackets, Proposal
from trafficgen.processes.semi_markov.dwells import dwell_law
from trafficgen.processes.semi_markov.model import RateState, SemiMarkovProcess, StatePackets
from trafficgen.processes.semi_markov.plateaus import burst_threshold_s
from trafficgen.processes.semi_markov.rate_levels import Levels, find_levels
from trafficgen.processes.trains.fit import add_trains
from trafficgen.units import bps_from_bytes, bps_from_kbps, s_from_ns

#: One change of the level and back is not yet a source that switches.
_FEWEST_SWITCHES = 3
_FEWEST_PACKETS = 8


def propose_rate_states(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Fit rate states with dwells of any law; None where the packets do not support them.

    They do not where the rate has a single level, or where it changed fewer than three times. The
    evidence is the BIC of a single level with correlated noise less that of the levels. Where gaps
    and dwells are exponential, a Markov-modulated Poisson process needs fewer numbers and is tried
    before.

    A session starts at the level at which the capture did. The packets of a state are those of all
    its dwells, one after another.
    """
    levels = find_levels(packets.time_ns, packets.ip_bytes, tick_s=packets.tick_s)
    if levels is None or levels.switches < _FEWEST_SWITCHES:
        return None
    states: list[RateState] = []
    problems: dict[str, str] = {}
    for level, kbps in enumerate(levels.kbps.tolist()):
        mine = _packets_at(packets, levels, level)
        if mine is None:
            return None

        def generator_of(quantity: str, place: str = f"state {level}") -> np.random.Generator:
            return fit.generator_of(f"{place} {quantity}")

        found = fit_simple(mine, LawFitter(generator_of, mine.tick_s))
        problems |= {f"state {level} {name}": why for name, why in found.problems.items()}
        state = RateState(
            rate_bps=bps_from_kbps(kbps),
            dwell_s=dwell_law(levels.dwells(level)),
            # fit_simple's are renewals or bursts
            process=cast("StatePackets", add_trains(found.process, mine) or found.process),
        )
        states.append(state)
    jumps = levels.transition_rows()
    rows = [None if row is None else tuple((row / row.sum()).tolist()) for row in jumps]
    process = SemiMarkovProcess(
        states=tuple(states),
        transition=tuple(rows),
        first_state=int(levels.level[0]),
        mean_rate_bps=bps_from_bytes(float(packets.ip_bytes.sum()), packets.span_s),
        observed_s=packets.span_s,
        evidence_bic=levels.evidence_bic,
    )
    return FittedProcess(process, problems)


def _packets_at(packets: PhasePackets, levels: Levels, level: int) -> PhasePackets | None:
    """Return the packets of a level on a clock that runs only in its dwells; None if too few."""
    first = np.searchsorted(packets.time_ns, levels.edge_ns[:-1])
    end = np.append(first[1:], packets.time_ns.size)
    edges = levels.edge_ns.copy()
    edges[-1] = max(int(edges[-1]), packets.span_ns[1], int(packets.time_ns[-1]))
    edges[0], first[0] = min(int(edges[0]), packets.span_ns[0]), 0
    parts, rows, total = [], [], 0
    for dwell in np.flatnonzero(levels.level == level):
        here = np.arange(first[dwell], end[dwell])
        parts.append(packets.time_ns[here] - edges[dwell] + total)
        rows.append(here)
        total += int(edges[dwell + 1] - edges[dwell])
    time_ns, index = np.concatenate(parts), np.concatenate(rows)
    if time_ns.size < _FEWEST_PACKETS or time_ns[0] == time_ns[-1]:
        return None
    return replace(
        packets,
        time_ns=time_ns,
        ip_bytes=packets.ip_bytes[index],
        span_ns=(0, total),
        threshold_s=burst_threshold_s(s_from_ns(np.diff(time_ns)), tick_s=packets.tick_s),
        rtp_timestamp=None,
    )


#: What `fit` tries.
PROPOSALS = (Proposal("rate states", 2, propose_rate_states, proven=True, varies=True),)
