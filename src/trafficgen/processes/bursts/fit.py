"""Fit independent gaps (renewal) or bursts, with or without dependence between the bursts."""

from __future__ import annotations

from functools import partial

import numpy as np

from trafficgen.distributions.law import Law
from trafficgen.distributions.two_samples import rank_correlation
from trafficgen.flows import Bursts, gamma_to_exponential, segment_bursts
from trafficgen.flows.cycles import CYCLE_LIMITS
from trafficgen.processes.autocorrelated_series import sample_autocorrelation
from trafficgen.processes.bursts.model import BurstDependence, BurstProcess
from trafficgen.processes.bursts.sample import rank_scores
from trafficgen.processes.fitting import FittedProcess, LawFitter, PhasePackets, Proposal
from trafficgen.processes.renewal.model import RenewalProcess
from trafficgen.units import FloatArray, IntArray, s_from_ns


class BurstLimits:
    """When packets come in bursts, and when bursts depend on one another."""

    #: Fewer bursts could be chance, and these hold more than this many packets on average.
    fewest: int = 5
    smallest_mean_packets: float = 1.05
    #: 1% point of the chi-squared law of one degree: below, pauses are rare gaps of a renewal.
    pauses_chi_squared: float = 6.635
    #: Fewer bursts than this say nothing about dependence.
    fewest_dependent: int = 16
    #: The autocorrelation has lags up to this share of the bursts, and at most this many.
    largest_lag_share: float = 1 / 3
    most_lags: int = 24
    #: A first burst that has this many times the packets of any other fills a buffer.
    far_larger: float = 2.0
    #: Pauses are drawn where their variance is at most this share of that of the spacings.
    steadier_pauses: float = 0.5
    #: Correlations within this many standard errors of 0 count as 0.
    standard_errors: float = 2.0


_LIMITS = BurstLimits()
_DIGITS = 4


def fit_simple(packets: PhasePackets, fit: LawFitter) -> FittedProcess:
    """Fit bursts where the gaps are of two kinds and make up more than a few, else a renewal."""
    bursts = propose_bursts(packets, fit)
    if bursts is not None:
        return bursts
    process = RenewalProcess(
        gap_s=fit.law("gap_s", packets.gap_s, "s"),
        packet_bytes=fit.law("packet_bytes", packets.ip_bytes, "bytes"),
    )
    return FittedProcess(process, fit.problems)


def propose_bursts(
    packets: PhasePackets,
    fit: LawFitter,
    *,
    threshold_s: float | None = None,
    dependent: bool = False,
) -> FittedProcess | None:
    """Fit bursts; None where the phase has fewer than five, or one packet in each on average.

    The threshold is the largest gap within a burst; that of the stream, if none is given. With
    ``dependent``, dependence is fitted too, and None is returned where the bursts look independent.
    """
    threshold_s = packets.threshold_s if threshold_s is None else threshold_s
    if threshold_s is None:
        return None
    bursts = segment_bursts(packets.time_ns, packets.ip_bytes, threshold_s=threshold_s)
    many = bursts.packets.size >= _LIMITS.fewest
    if not many or float(bursts.packets.mean()) <= _LIMITS.smallest_mean_packets:
        return None
    dependence = fit_dependence(bursts, packets) if dependent else None
    if dependent and dependence is None:
        return None
    last = np.zeros(packets.time_ns.size, dtype=np.bool_)
    last[bursts.last] = True
    process = BurstProcess(
        threshold_s=bursts.threshold_s,
        spacing_s=fit.law("spacing_s", _close_spacings(bursts, packets.span_ns), "s"),
        pause_s=None if dependent else fit_pauses(bursts, fit),
        burst_packets=fit.law("burst_packets", bursts.packets.astype(np.float64), "packets"),
        gap_within_s=fit.law("gap_within_s", packets.gap_s[bursts.within], "s"),
        packet_bytes=fit.law("packet_bytes", packets.ip_bytes[~last], "bytes"),
        last_packet_bytes=fit.law("last_packet_bytes", packets.ip_bytes[last], "bytes"),
        largest_first=_begins_with_largest(bursts.packets),
        dependence=dependence,
    )
    return FittedProcess(process, fit.problems)


def fit_pauses(bursts: Bursts, fit: LawFitter, *, independent: bool = True) -> Law | None:
    """Fit the pauses between bursts where these wait for one another; None where starts do not.

    A sender that has a path to itself sends a burst, waits for an answer, and sends the next: the
    pause hardly varies and, if ``independent``, does not depend on the burst; the spacing does.
    """
    pause_s = s_from_ns(bursts.start_ns[1:] - bursts.end_ns[:-1])
    if pause_s.size < _LIMITS.fewest_dependent:
        return None
    share = _LIMITS.steadier_pauses if independent else 1.0
    steadier = pause_s.var() <= share * bursts.spacing_s.var()
    if not independent:
        # Bursts of a clock start late now and then: most of their spacings are the same.
        steadier &= _range_of_half(pause_s) <= _range_of_half(bursts.spacing_s)
    correlated = independent and _correlate(bursts.packets[:-1].astype(np.float64), pause_s)
    if not steadier or correlated:
        return None
    return fit.law("pause_s", pause_s, "s")


def _range_of_half(values: FloatArray) -> float:
    return float(np.subtract(*np.quantile(values, (0.75, 0.25))))


def propose_pauses(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Fit bursts between pauses of a second and more, as those of a player that fetches segments.

    None where such bursts are known already, or where pauses come as the rare gaps of a renewal
    process do: after numbers of packets that follow a geometric law.
    """
    pause_s = CYCLE_LIMITS.pause_s
    known = packets.threshold_s is not None and packets.threshold_s >= pause_s / 3
    counts = segment_bursts(packets.time_ns, packets.ip_bytes, threshold_s=pause_s).packets
    if known or gamma_to_exponential(counts.astype(np.float64)) < _LIMITS.pauses_chi_squared:
        return None
    dependent = propose_bursts(packets, fit, threshold_s=pause_s, dependent=True)
    return dependent or propose_bursts(packets, fit, threshold_s=pause_s)


def _begins_with_largest(packets: IntArray) -> bool:
    """Return whether the first of many bursts is far larger than any other: hardly by chance."""
    largest = float(packets[1:].max(initial=0))
    many = packets.size >= _LIMITS.fewest_dependent
    return many and bool(packets[0] >= _LIMITS.far_larger * largest)


def _close_spacings(bursts: Bursts, span_ns: tuple[int, int]) -> FloatArray:
    """Return the spacings, s, with the last burst's where it is longer than their mean.

    The burst after the last one is not observed. The phase is closed to a ring: what is left of it
    after the last burst's start and before the first one's is the last spacing, so that all
    spacings together are the phase. Left out, it would give a few bursts of which the last fills
    half of the phase twice the phase's rate.
    """
    spacing_s = bursts.spacing_s
    last_s = s_from_ns(int(bursts.end_ns[-1] - bursts.start_ns[-1])) + bursts.threshold_s
    start_ns, end_ns = span_ns
    ring_ns = end_ns - int(bursts.start_ns[-1]) + int(bursts.start_ns[0]) - start_ns
    last_s = max(last_s, s_from_ns(ring_ns))
    longer = spacing_s.size and last_s > float(spacing_s.mean())
    return np.append(spacing_s, last_s) if longer else spacing_s


def fit_dependence(bursts: Bursts, packets: PhasePackets) -> BurstDependence | None:
    """Fit the dependence between bursts; None where they are too few or look independent.

    Autocorrelations and correlations are those of the ranks (normal scores), which is what playing
    restores; those of no more than two standard errors are 0. Gaps of one burst resemble one
    another where segments come at different rates, by the path and by the level that was fetched.
    """
    count = bursts.packets.size
    if count < _LIMITS.fewest_dependent:
        return None
    sizes, limit = bursts.packets.astype(np.float64), _LIMITS.standard_errors / np.sqrt(count)
    gap_correlation, of_burst, gap_score = _correlate_gaps(bursts, packets)
    found = BurstDependence(
        packets_autocorrelation=_autocorrelate(sizes, limit=limit),
        spacing_autocorrelation=_autocorrelate(bursts.spacing_s, limit=limit),
        packets_to_spacing=_correlate(sizes[:-1], bursts.spacing_s),
        gap_correlation=gap_correlation,
        packets_to_gap=_correlate(sizes[of_burst], gap_score),
    )
    return None if found == BurstDependence() else found


def _autocorrelate(values: FloatArray, *, limit: float) -> tuple[float, ...]:
    """Return the autocorrelation of the normal scores, empty where no lag stands out."""
    lags = min(_LIMITS.most_lags, int(values.size * _LIMITS.largest_lag_share))
    found = sample_autocorrelation(rank_scores(values), lags)
    if np.max(np.abs(found), initial=0.0) <= limit:
        return ()
    return tuple(round(float(value), _DIGITS) for value in found)


def _correlate(one: FloatArray, other: FloatArray) -> float:
    if one.size < _LIMITS.fewest_dependent or np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    found = rank_correlation(one, other)
    significant = abs(found) > _LIMITS.standard_errors / np.sqrt(one.size)
    return round(found, _DIGITS) if significant else 0.0


def _correlate_gaps(bursts: Bursts, packets: PhasePackets) -> tuple[float, IntArray, FloatArray]:
    """Return the rank correlation of gaps of one burst, the bursts with gaps, and their mean score.

    The intraclass correlation by the analysis of variance with one factor (Fisher 1925; Donner
    1986).
    """
    with_gaps = np.flatnonzero(bursts.packets > 1)
    counts, groups = bursts.packets[with_gaps] - 1, with_gaps.size
    if groups < _LIMITS.fewest_dependent or counts.sum() <= 2 * groups:
        return 0.0, with_gaps[:0], np.zeros(0)
    scores = rank_scores(packets.gap_s[bursts.within])
    mean = np.add.reduceat(scores, np.cumsum(counts) - counts) / counts
    between = float(np.dot(counts, (mean - scores.mean()) ** 2)) / (groups - 1)
    within = float(((scores - np.repeat(mean, counts)) ** 2).sum()) / (scores.size - groups)
    typical = (scores.size - float(np.dot(counts, counts)) / scores.size) / (groups - 1)
    found = (between - within) / (between + (typical - 1) * within)
    return round(float(np.clip(found, 0.0, 1.0)), _DIGITS), with_gaps, mean


#: What `fit` tries.
PROPOSALS = (
    Proposal("dependent bursts", 6, partial(propose_bursts, dependent=True)),
    Proposal("pauses", 7, propose_pauses),
)
