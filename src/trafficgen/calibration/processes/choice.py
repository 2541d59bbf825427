"""The packet process of one stream in one phase: the simplest that, when played, looks like what
was measured.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from trafficgen.calibration.levels.cycles import CYCLE_LIMITS
from trafficgen.calibration.processes.burst_dependence import burst_dependence
from trafficgen.calibration.processes.fractional_noise import propose_fgn
from trafficgen.calibration.processes.frames import propose_frames
from trafficgen.calibration.processes.mmpp import propose_mmpp
from trafficgen.calibration.processes.modulated import propose_modulated
from trafficgen.calibration.processes.phase_packets import (
    FittedProcess,
    GeneratorOf,
    LawFitter,
    PhasePackets,
)
from trafficgen.calibration.processes.self_checks import Check, check_process
from trafficgen.calibration.processes.semi_markov import propose_semi_markov
from trafficgen.flows import Bursts, gamma_to_exponential, segment_bursts
from trafficgen.models import BurstProcess, ProcessChoice, RenewalProcess, TriedProcess
from trafficgen.units import FloatArray, s_from_ns

_log = logging.getLogger(__name__)

#: Fewer packets say nothing about rates.
_FEWEST_CHECKED = 50
#: Bursts need this many to be told from chance, and more than this many packets on average.
_FEWEST_BURSTS = 5
_SMALLEST_MEAN_PACKETS = 1.05
_DIGITS = 4
#: 1% point of the chi-squared law with one degree of freedom.
_CHI_SQUARED_99 = 6.635


def fit_process(packets: PhasePackets, *, generator_of: GeneratorOf) -> FittedProcess:
    """Fit the packet process of one stream in one phase: the simplest one that passes a posterior
    predictive check.

    First come bursts where a threshold was found in the stream's gaps, else independent gaps
    (renewal). A process passes when sessions that it plays differ from the packets, in rates at
    several scales and their autocorrelation, no more than from one another. Where it fails, the
    others are fitted in order of their complexity until one passes; where all fail, the one that
    comes closest is taken. Fractional noise is tried even after rate states passed: two states
    follow many a swinging rate, and the nearer of the two is taken.

    Args:
        packets: The stream's media packets in the phase.
        generator_of: Gives the random stream of each quantity's bootstrap.
    """
    _log.info(
        "%s: fitting independent gaps or bursts of %d packets", packets.name, packets.time_ns.size
    )
    simple = _simple(packets, generator_of)
    if packets.time_ns.size < _FEWEST_CHECKED:
        return simple
    fitted = [simple]
    checks = [check_process(simple.process, packets, generator_of=generator_of, independent=True)]
    best, settled = 0, checks[0].passed
    for number, propose in enumerate(_PROPOSALS, start=1):
        if settled and not (best and propose is propose_fgn):
            continue
        tried = propose.__name__.removeprefix("propose_").replace("_", " ")
        _log.info("%s: trying %s (%d of %d)", packets.name, tried, number, len(_PROPOSALS))
        proposal = propose(packets, LawFitter(generator_of, packets.tick_s))
        if proposal is None:
            continue
        varies = propose in _VARYING
        check = check_process(
            proposal.process, packets, generator_of=generator_of, independent=not varies
        )
        fitted.append(proposal)
        checks.append(check)
        passed = check.passed or (propose in _PROVEN and _is_tolerable(check))
        if check.score < (1.0 if passed else _CLEARLY_BETTER) * checks[best].score:
            best, settled = len(fitted) - 1, passed
    return replace(fitted[best], choice=_choice(fitted, checks, best))


def _choice(fitted: list[FittedProcess], checks: list[Check], best: int) -> ProcessChoice:
    """Return what was tried, for the model."""
    return ProcessChoice(
        chosen=best,
        tried=tuple(
            TriedProcess(
                kind=found.process.kind,
                passed=check.passed,
                score=round(check.score, _DIGITS),
                distances={
                    name: round(distance, _DIGITS) for name, distance in check.distances.items()
                },
            )
            for found, check in zip(fitted, checks, strict=True)
        ),
    )


def _is_tolerable(check: Check) -> bool:
    """Return whether rates and their autocorrelation are not far beyond what chance makes of
    them.
    """
    return all(
        distance <= _TOLERABLE * check.chance[name] + _TOLERABLE_SLACK
        for name, distance in check.distances.items()
        if "rate" in name
    )


def _simple(packets: PhasePackets, generator_of: GeneratorOf) -> FittedProcess:
    """Return bursts where the gaps are of two kinds and make up more than a few of them, else a
    renewal process.
    """
    return propose_bursts(
        packets, LawFitter(generator_of, packets.tick_s), threshold_s=packets.threshold_s
    ) or _renewal(packets, LawFitter(generator_of, packets.tick_s))


def propose_bursts(
    packets: PhasePackets, fit: LawFitter, *, threshold_s: float | None, dependent: bool = False
) -> FittedProcess | None:
    """Return bursts of packets, or None where the phase has fewer than five, or these have one
    packet on average.

    Args:
        packets: The stream's media packets in the phase.
        fit: Fits the laws.
        threshold_s: Largest gap within a burst, s, or None.
        dependent: Whether the bursts are to hang together; None is returned where they look
            independent.
    """
    if threshold_s is None:
        return None
    bursts = segment_bursts(packets.time_ns, packets.ip_bytes, threshold_s=threshold_s)
    many = bursts.packets.size >= _FEWEST_BURSTS
    if not many or float(bursts.packets.mean()) <= _SMALLEST_MEAN_PACKETS:
        return None
    process = _bursts(bursts, packets, fit)
    if dependent:
        dependence = burst_dependence(bursts, packets)
        if dependence is None:
            return None
        process = process.model_copy(update={"dependence": dependence})
    return FittedProcess(process, fit.problems)


def propose_dependent_bursts(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Return bursts that hang together, or None where there are none or they look independent."""
    return propose_bursts(packets, fit, threshold_s=packets.threshold_s, dependent=True)


def propose_pauses(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Return bursts that are parted by pauses of a second and more, as those of a player that
    fetches chunks.

    None where such bursts are known already, or where pauses come as the rare gaps of a renewal
    process do: after numbers of packets that follow a geometric law.
    """
    known = packets.threshold_s is not None and packets.threshold_s >= CYCLE_LIMITS.pause_s / 3
    bursts = segment_bursts(packets.time_ns, packets.ip_bytes, threshold_s=CYCLE_LIMITS.pause_s)
    if known or gamma_to_exponential(bursts.packets.astype(np.float64)) < _CHI_SQUARED_99:
        return None
    return propose_bursts(
        packets, fit, threshold_s=CYCLE_LIMITS.pause_s, dependent=True
    ) or propose_bursts(packets, fit, threshold_s=CYCLE_LIMITS.pause_s)


def _renewal(packets: PhasePackets, fit: LawFitter) -> FittedProcess:
    process = RenewalProcess(
        gap_s=fit.law("gap_s", packets.gap_s, "s"),
        packet_bytes=fit.law("packet_bytes", packets.ip_bytes.astype(np.float64), "bytes"),
    )
    return FittedProcess(process, fit.problems)


def _bursts(bursts: Bursts, packets: PhasePackets, fit: LawFitter) -> BurstProcess:
    last = np.zeros(packets.time_ns.size, dtype=np.bool_)
    last[bursts.last] = True
    sizes = packets.ip_bytes.astype(np.float64)
    return BurstProcess(
        threshold_s=bursts.threshold_s,
        spacing_s=fit.law("spacing_s", _spacings_s(bursts, span_ns=packets.span_ns), "s"),
        burst_packets=fit.law("burst_packets", bursts.packets.astype(np.float64), "packets"),
        gap_within_s=fit.law("gap_within_s", packets.gap_s[bursts.within], "s"),
        packet_bytes=fit.law("packet_bytes", sizes[~last], "bytes"),
        last_packet_bytes=fit.law("last_packet_bytes", sizes[last], "bytes"),
    )


def _spacings_s(bursts: Bursts, *, span_ns: tuple[int, int]) -> FloatArray:
    """Return the spacings, s, with that of the last burst where it is longer than the mean of the
    others.

    The burst after the last one is not seen. The phase is closed to a ring: what is left of it
    after the last burst's start and before the first one's is the last spacing, so that all
    spacings together are the phase. Left out, it would give a few bursts of which the last fills
    half of the phase twice the phase's rate.
    """
    seen_s = bursts.spacing_s
    last_s = s_from_ns(int(bursts.end_ns[-1] - bursts.start_ns[-1])) + bursts.threshold_s
    start_ns, end_ns = span_ns
    last_s = max(
        last_s, s_from_ns(end_ns - int(bursts.start_ns[-1]) + int(bursts.start_ns[0]) - start_ns)
    )
    return np.append(seen_s, last_s) if seen_s.size and last_s > float(seen_s.mean()) else seen_s


def propose_rate_states(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Return semi-Markov rate states, each with bursts or independent gaps, or None where the rate
    has one level.
    """
    return propose_semi_markov(packets, fit, simple=_simple)


Propose = Callable[[PhasePackets, LawFitter], FittedProcess | None]

#: Processes that pass a test of their own before they are proposed: they need not pass the check,
#: which has few bins of 10 s, but must be better than independent gaps and not far beyond chance in
#: any rate.
_PROVEN: tuple[Propose, ...] = (propose_mmpp, propose_rate_states)
#: Processes of which sessions truly differ from one another, since a few long states or slow swings
#: make up each. Of the others, sessions that differ much are a sign of laws that do not hold
#: together.
_VARYING: tuple[Propose, ...] = (*_PROVEN, propose_fgn)
_TOLERABLE = 1.5
_TOLERABLE_SLACK = 0.02
#: Processes are tried in this order, those with fewer assumptions and numbers first.
_PROPOSALS: tuple[Propose, ...] = (
    *_PROVEN,
    propose_fgn,
    propose_frames,
    propose_dependent_bursts,
    propose_pauses,
    propose_modulated,
)
#: A process that fails its check is left for another one that fails too only where the score falls
#: by this share.
_CLEARLY_BETTER = 0.85
