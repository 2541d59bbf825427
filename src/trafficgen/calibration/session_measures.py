"""Measures of a session apart from its model: laws, bursts, memory, levels, path and player log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trafficgen.calibration.paper_measures import Measures, measure_as_papers
from trafficgen.calibration.path.conditions import PathConditions
from trafficgen.calibration.path.pairing import Pairing
from trafficgen.calibration.phases.phase_rows import (
    FittedViews,
    PhaseRows,
    phase_rows,
    playout_gaps_s,
)
from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.calibration.player_log.events import PlayedLevels, PlayerLog, find_played_levels
from trafficgen.calibration.response.congestion_response import FoundResponse, find_response
from trafficgen.calibration.response.source_levels import keep_source_levels
from trafficgen.calibration.response.switch_hazards import LevelAssociation, associate_switches
from trafficgen.distributions.fitting.fit_law import FittedLaw, fit_split, split_sample
from trafficgen.distributions.fitting.ticks import Sample
from trafficgen.flows import (
    Bursts,
    SessionView,
    find_burst_threshold_s,
    gaps_s,
    rate_series,
    segment_bursts,
    select_rows,
    sum_in_bins,
)
from trafficgen.models import DispersionOfIntervals, Facts, FactsAtScale, PacketProcess, Stream
from trafficgen.processes.fractional_noise.fit import LongRange, judge_long_range, rate_and_noise
from trafficgen.processes.fractional_noise.hurst import Hurst, autocorrelation, estimate_hurst
from trafficgen.processes.semi_markov.rate_levels import Levels, find_levels
from trafficgen.randomness import random_stream
from trafficgen.tables import PacketTable, compact_ip_bytes
from trafficgen.units import BoolArray, FloatArray, IntArray, ns_from_s, s_from_ns


class FactLimits:
    """Scales and lags of the facts."""

    #: Shortest bins, s; each scale has twice the one before.
    shortest_bin_s: float = 0.01
    #: With more of the shortest bins, the scales begin higher: memory is bounded.
    most_bins: int = 1 << 22
    #: A variance of counts needs this many bins,
    fewest_bins: int = 8
    #: one of intervals this many sums of gaps.
    fewest_sums: int = 16
    #: More scales, and sums of more gaps, than these are not kept in a model.
    most_scales: int = 16
    most_gaps: int = 4096
    #: Bins of the rate's autocorrelation, s, and lags of both autocorrelations.
    rate_bin_s: float = 0.5
    lags: int = 20


_FACT_LIMITS = FactLimits()


def measure_facts(time_ns: IntArray, ip_bytes: IntArray, *, start_ns: int) -> Facts | None:
    """Measure second-order facts of packets; None for fewer than two times.

    The index of dispersion for counts is the variance over the mean of the packets in a bin; that
    for intervals is the variance of the sum of k successive gaps over k times the squared mean gap.
    Both are 1 for a Poisson process at all scales; dependence makes them grow with the scale. Times
    ascend, ``ip_bytes`` are total lengths, both of shape (n,); the first bin begins at
    ``start_ns``.

    Source: Gusella, "Characterizing the variability of arrival processes with indexes of
    dispersion", IEEE JSAC 9 (1991) 203; variance-time curve: Leland et al., IEEE/ACM Trans.
    Networking 2 (1994) 1.
    """
    if time_ns.size < 2 or time_ns[0] == time_ns[-1]:
        return None
    gap_s = gaps_s(time_ns)
    rate = rate_series(
        time_ns, ip_bytes, bin_s=_FACT_LIMITS.rate_bin_s, start_ns=start_ns
    ).size_bytes
    return Facts(
        scales=_scales(time_ns, ip_bytes, start_ns),
        dispersion_of_intervals=_dispersion_of_intervals(gap_s),
        gap_autocorrelation=_short(
            autocorrelation(gap_s, lags=min(_FACT_LIMITS.lags, gap_s.size // 4))
        ),
        rate_autocorrelation=_short(
            autocorrelation(rate, lags=min(_FACT_LIMITS.lags, rate.size // 4))
        ),
    )


def _scales(time_ns: IntArray, ip_bytes: IntArray, start_ns: int) -> tuple[FactsAtScale, ...]:
    bin_ns, end_ns = ns_from_s(_FACT_LIMITS.shortest_bin_s), int(time_ns[-1])
    while (end_ns - start_ns) // bin_ns > _FACT_LIMITS.most_bins:
        bin_ns *= 2
    whole = int((end_ns - start_ns) // bin_ns)
    first_ns = start_ns + min(0, (int(time_ns[0]) - start_ns) // bin_ns) * bin_ns
    counts = sum_in_bins(time_ns, None, start_ns=first_ns, bin_ns=bin_ns, bins=whole)
    size = sum_in_bins(time_ns, ip_bytes, start_ns=first_ns, bin_ns=bin_ns, bins=whole)
    facts: list[FactsAtScale] = []
    while counts.size >= _FACT_LIMITS.fewest_bins and len(facts) < _FACT_LIMITS.most_scales:
        mean, mean_bytes = float(counts.mean()), float(size.mean())
        if mean > 0 and mean_bytes > 0:
            facts.append(
                FactsAtScale(
                    bin_s=bin_ns / ns_from_s(1),
                    dispersion_of_counts=_digits(float(counts.var(ddof=1)) / mean),
                    relative_variance=_digits(float(size.var(ddof=1)) / mean_bytes**2),
                )
            )
        counts, size, bin_ns = _paired(counts), _paired(size), bin_ns * 2
    return tuple(facts)


def _paired(series: FloatArray) -> FloatArray:
    return np.asarray(series[: series.size // 2 * 2].reshape(-1, 2).sum(axis=1))


def _dispersion_of_intervals(gap_s: FloatArray) -> tuple[DispersionOfIntervals, ...]:
    facts: list[DispersionOfIntervals] = []
    mean_s, sums_s, gaps = float(gap_s.mean()), gap_s, 1
    while sums_s.size >= _FACT_LIMITS.fewest_sums and gaps <= _FACT_LIMITS.most_gaps:
        value = float(sums_s.var(ddof=1)) / (gaps * mean_s**2)
        facts.append(DispersionOfIntervals(gaps=gaps, value=_digits(value)))
        sums_s, gaps = _paired(sums_s), gaps * 2
    return tuple(facts)


def _short(values: list[float]) -> tuple[float, ...]:
    return tuple(round(value, 4) for value in values)


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


class MemoryLimits:
    """How long memory of the playout's rate and gaps is measured."""

    #: Width of the rate's bins, s: several packets of a video stream, and many bins in a minute.
    bin_s: float = 0.1
    #: Ten days: a capture whose clock jumps by years must not fill memory with empty bins.
    most_bins: int = 8_640_000
    #: Lags of the gaps' autocorrelation: as many as the summary shows.
    gap_lags: int = 10


_LIMITS = MemoryLimits()


@dataclass(frozen=True)
class SessionMeasures:
    """What a fit measures of the session as a whole, apart from the model.

    Attributes:
        duration_s: First to last media packet, s.
        packet_bytes: Law of the IP lengths in the playout.
        gap_s: Law of the gaps within flows in the playout.
        bursts_by_phase: Bursts of the media packets by phase; None without a threshold.
        path: Loss, round-trip time, delays and link rate of the path.
        response: How the source answers to congestion.
        hurst: Hurst parameter of the playout's byte rate in bins of 0.1 s.
        long_range: Whether that is long memory, or something that looks like it.
        facts: Dispersion, autocorrelation and variance-time curve of the playout.
        gap_acf: Autocorrelation of the heaviest flow's gaps in the playout, from lag 1.
        process: Process of the heaviest stream in its longest playout.
        levels: Levels of the session's rate; None where it has one, or where the path makes them.
        levels_absent: Why plateaus of the rate are not levels; None without such plateaus.
        association: How level switches go with loss and goodput, or why that is not known; None
            without levels.
        player_log: What the player logged, aligned; None without a log.
        played_levels: Levels of the player log.
    """

    packets: int
    duration_s: float
    phases: Phases
    packet_bytes: FittedLaw
    gap_s: FittedLaw
    bursts_by_phase: dict[str, Bursts] | None
    path: PathConditions
    response: FoundResponse
    hurst: Hurst | None
    long_range: LongRange | None
    facts: Facts | None
    gap_acf: list[float]
    process: PacketProcess
    levels: Levels | None
    levels_absent: str | None
    association: LevelAssociation | str | None
    measures: Measures
    player_log: PlayerLog | None = None
    played_levels: PlayedLevels | None = None


def measure_session(
    views: FittedViews,
    path: PathConditions,
    heaviest: Stream,
    *,
    pairing: Pairing | None,
    log: PlayerLog | None,
    seed: int,
) -> SessionMeasures:
    """Measure a session as a whole.

    ``heaviest`` is its heaviest stream as it was fitted, ``pairing`` its packets at both ends of
    the path, and ``log`` its player log, aligned; either may be unknown (None).
    """
    view, phases, tick_s = views.captured, views.phases, views.tick_s
    rows = phase_rows(view, phases)
    playout, playout_ns = rows.playout, view.first_media_ns + ns_from_s(phases.playout_start_s)

    def fit(quantity: str, sample: Sample, unit: Literal["s", "bytes"], tick: float) -> FittedLaw:
        generator = random_stream(seed, session=view.session, purpose=f"fit/session/{quantity}")
        split = split_sample(sample, unit=unit, tick=tick)
        del sample
        return fit_split(split, unit=unit, generator=generator)

    hurst, long_range, facts = _measure_memory(view, playout, playout_ns)
    levels, why_no_levels = _find_session_levels(view, playout, tick_s=tick_s), None
    if levels is not None:
        transport = heaviest.transport
        is_controlled = transport.protocol == "tcp" or transport.is_quic
        levels, why_no_levels = keep_source_levels(view, levels, path, is_controlled=is_controlled)
    played = _find_levels_of_log(view, log) if log else None
    of_heaviest = playout & (view.table.flow == view.heaviest_flow)
    of_heaviest_ns = select_rows(view.table.time_ns, of_heaviest)
    gap_acf = autocorrelation(gaps_s(of_heaviest_ns), lags=_LIMITS.gap_lags)
    return SessionMeasures(
        packets=int(np.count_nonzero(view.media)),
        duration_s=phases.end_s,
        phases=phases,
        packet_bytes=fit(
            "packet_bytes", select_rows(compact_ip_bytes(view.table), playout), "bytes", 1.0
        ),
        gap_s=fit("gap_s", playout_gaps_s(view, rows), "s", tick_s),
        bursts_by_phase=_segment_phases(view, rows, phases, tick_s=tick_s),
        path=path,
        response=find_response(path.records, rtt_s=path.rtt_s),
        hurst=hurst,
        long_range=long_range,
        facts=facts,
        gap_acf=gap_acf,
        process=_find_playout_process(heaviest),
        levels=levels,
        levels_absent=why_no_levels,
        association=None if levels is None else associate_switches(view, levels),
        measures=measure_as_papers(
            view, phases, path, pairing=pairing, levels=levels, log=log, played=played
        ),
        player_log=log,
        played_levels=played,
    )


def _find_levels_of_log(view: SessionView, log: PlayerLog) -> PlayedLevels | None:
    payload_bytes = view.table.payload_bytes[view.media].astype(np.float64)
    media_time_s = s_from_ns(view.media_time_ns - view.first_media_ns)
    return find_played_levels(log, media_time_s=media_time_s, payload_bytes=payload_bytes)


def _find_playout_process(stream: Stream) -> PacketProcess:
    """Return the process of a stream's longest playout, or of its last phase if it has none."""
    playouts = [phase for phase in stream.phases if phase.name == "playout"]
    return max(playouts, key=lambda phase: phase.duration_s, default=stream.phases[-1]).process


def _find_session_levels(view: SessionView, playout: BoolArray, *, tick_s: float) -> Levels | None:
    """Return the levels of all media from the session's start, or of the playout alone.

    A fast start is not a level: what comes before the playout counts where its level comes again.
    """
    table = view.table
    whole = find_levels(view.media_time_ns, view.media_ip_bytes, tick_s=tick_s)
    recurs = whole is not None and whole.level[0] in whole.level[1:]
    if playout.sum() == view.media.sum() or recurs:
        return whole
    time_ns, ip_bytes = _select(table, playout)
    return find_levels(time_ns, ip_bytes, tick_s=tick_s)


def _measure_memory(
    view: SessionView, playout: BoolArray, start_ns: int
) -> tuple[Hurst | None, LongRange | None, Facts | None]:
    """Return memory and facts of the playout; None where it is too short or its clock jumps."""
    time_ns, ip_bytes = _select(view.table, playout)
    longest_s = _LIMITS.most_bins * _LIMITS.bin_s
    if time_ns.size == 0 or s_from_ns(int(time_ns[-1]) - start_ns) > longest_s:
        return None, None, None
    bins, noise = rate_and_noise(time_ns, ip_bytes, bin_s=_LIMITS.bin_s, start_ns=start_ns)
    # The noise of bins that are mostly empty is not known.
    noise_variance = noise if time_ns.size >= bins.size else None
    long_range = judge_long_range(bins, noise_variance=noise_variance)
    hurst = estimate_hurst(bins, noise_variance=noise_variance)
    return hurst, long_range, measure_facts(time_ns, ip_bytes, start_ns=start_ns)


def _select(table: PacketTable, rows: BoolArray) -> tuple[IntArray, IntArray]:
    """Return times, ns, and IP total lengths, bytes, of some packets."""
    return select_rows(table.time_ns, rows), select_rows(compact_ip_bytes(table), rows)


def _segment_phases(
    view: SessionView, rows: PhaseRows, phases: Phases, *, tick_s: float
) -> dict[str, Bursts] | None:
    threshold_s = find_burst_threshold_s(gaps_s(view.media_time_ns), tick_s=tick_s)
    if threshold_s is None:
        return None
    parts = {"playout": rows.playout}
    if phases.buffering_end_s is not None:
        parts["buffering"] = rows.before
    table = view.table
    return {
        name: segment_bursts(*_select(table, inside), threshold_s=threshold_s)
        for name, inside in parts.items()
    }
