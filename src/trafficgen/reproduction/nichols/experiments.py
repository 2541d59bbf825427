"""Clips with one bit rate (section 4.1) and several (4.2), loss (4.3), latency (4.4), TCP (3.4)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy import stats

from trafficgen.calibration.response.congestion_response import tcp_friendly_kbps
from trafficgen.reproduction.finding import Experiment, Measures
from trafficgen.reproduction.nichols.testbed import (
    CAPACITIES_KBPS,
    LATENCY_S,
    QUEUE_PACKETS,
    RATES_KBPS,
    Session,
    Setting,
    play,
    play_tcp_alone,
)
from trafficgen.units import FloatArray

#: Gaps inside of bursts are milliseconds, those between them hundreds.
_BURST_GAP_S = 0.05
#: Windows in which the offered load is looked at, and how far "at first" goes, s.
_WINDOW_S, _AT_FIRST_S = 5.0, 20.0

#: Capacity and clip rate of each point, kbit/s, in the order of their numbers.
_GRID = tuple(itertools.product(CAPACITIES_KBPS, RATES_KBPS))


def play_grid(seed: int) -> Measures:
    """Simulate all points of figures 3 to 40 once and return the measures of each."""
    return {
        "points": [
            _measure_session(
                play(
                    Setting(capacity_kbps=capacity, clip={"encoding_rate_kbps": rate}),
                    seed=seed,
                    run=number,
                )
            )
            for number, (capacity, rate) in enumerate(_GRID)
        ]
    }


def measure_grids(grids: Sequence[Measures]) -> Measures:
    """Average over the runs of a point, as the thesis does, then derive the quantities."""
    mean = {
        name: {
            point: _mean([grid["points"][number][name] for grid in grids])
            for number, point in enumerate(_GRID)
        }
        for name in grids[0]["points"][0]
    }
    return {**_rates_and_losses(mean), **_playout(mean), **_samples(mean)}


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def _friendly_kbps(session: Session) -> float:
    """Return the TCP-friendly rate (CCZ-F1) for the clip's loss and delay while it buffered."""
    arrived = np.isfinite(session.media.arrival_s)
    queueing_s = float(np.mean(session.queueing_s[session.buffering & arrived]))
    bound_kbps = tcp_friendly_kbps(
        rtt_s=2 * LATENCY_S + queueing_s, loss_rate=session.buffering_loss
    )
    return math.inf if bound_kbps is None else bound_kbps


def _measure_session(session: Session) -> Measures:
    media, full_s, end_s = session.media, session.full_s, session.end_s
    first = ~session.again
    buffering_gaps_s = np.diff(media.sent_s[session.buffering])
    playout_gaps_s = np.diff(media.sent_s[~session.buffering])
    bursts = 1 + np.count_nonzero(buffering_gaps_s > _BURST_GAP_S)
    window_starts_s = np.arange(0.0, _AT_FIRST_S - _WINDOW_S + 1e-9)
    return {
        "silence_s": -session.request_s,
        "buffering_s": session.buffering_s,
        "buffering_kbps": session.buffering_rate_kbps,
        "offered_kbps": media.measure_offered_kbps(0.0, full_s),
        "first_kbps": media.select(first).measure_offered_kbps(0.0, full_s),
        "buffering_loss": session.buffering_loss,
        "peak_loss": media.peak_loss(full_s),
        "tcp_peak_loss": session.tcp.peak_loss(full_s, least_packets=5),
        "post_s": end_s - full_s,
        "post_kbps": session.post_rate_kbps,
        "post_loss": media.loss(full_s, math.inf),
        "last_kbps": session.last_rate_kbps,
        "thinned": session.thinned,
        "thinned_s": session.response_s,
        "loss_before_thinning": media.loss(
            0.0, session.response_s if session.answered else math.inf
        ),
        "largest_offered_kbps": max(
            media.measure_offered_kbps(start_s, start_s + _WINDOW_S) for start_s in window_starts_s
        ),
        "frames_kept": session.frames_kept,
        "gaps_below_5ms": np.mean(buffering_gaps_s < 0.005),
        "gap_ms": 1000 * _median(buffering_gaps_s[buffering_gaps_s <= _BURST_GAP_S]),
        "idle_s": _median(buffering_gaps_s[buffering_gaps_s > _BURST_GAP_S]),
        "idle_after_s": _median(playout_gaps_s[playout_gaps_s > _BURST_GAP_S]),
        # First sendings only (figures 36 and 37).
        "burst_bytes": media.ip_bytes[session.buffering & first].sum() / bursts,
        "friendly_kbps": _friendly_kbps(session),
    }


def _median(values: FloatArray) -> float:
    return float(np.median(values)) if values.size else math.nan


_Means: TypeAlias = dict[str, dict[tuple[int, int], float]]


def _column(
    mean: _Means, name: str, capacity: int, rates: Sequence[int] = RATES_KBPS
) -> FloatArray:
    return np.array([mean[name][capacity, rate] for rate in rates])


def _rates_and_losses(mean: _Means) -> Measures:
    loss = {capacity: _column(mean, "buffering_loss", capacity) for capacity in CAPACITIES_KBPS}
    at_725 = mean["buffering_loss"]
    low = [rate for rate in RATES_KBPS if rate < 548]
    multiples = _column(mean, "offered_kbps", 725, low) / np.array(low)
    kbps = mean["buffering_kbps"]
    return {
        "silence": mean["silence_s"][725, 340],
        "buffering_rate": kbps[725, 340],
        "buffering_length": mean["buffering_s"][725, 340],
        "playout_rate": mean["post_kbps"][725, 340],
        "smallest_multiple": multiples.min(),
        "largest_multiple": multiples.max(),
        "multiple_548": mean["first_kbps"][725, 548] / 548,
        "growth": stats.spearmanr(RATES_KBPS, _column(mean, "buffering_kbps", 1500)).statistic,
        "ratio_340_548": kbps[725, 340] / kbps[725, 548],
        "largest_loss": max(values.max() for values in loss.values()),
        "peak_340": mean["peak_loss"][725, 340],
        "tcp_peak_340": mean["tcp_peak_loss"][725, 340],
        "rise_to_340": stats.spearmanr(low, _column(mean, "buffering_loss", 725, low)).statistic,
        "dip_548": at_725[725, 548] / min(at_725[725, 340], at_725[725, 764]),
        "loss_1500": loss[1500].mean(),
        "loss_1500_ratio": loss[1500].mean() / loss[725].mean(),
        "friendly_ratio": kbps[725, 340] / mean["friendly_kbps"][725, 340],
    }


def _playout(mean: _Means) -> Measures:
    # "Below capacity": the whole clip fits the link with its headers.
    below = {
        capacity: [rate for rate in RATES_KBPS if rate < capacity] for capacity in CAPACITIES_KBPS
    }
    above_250 = [rate for rate in RATES_KBPS if rate > 250]
    lengths = [_column(mean, "buffering_s", capacity) for capacity in CAPACITIES_KBPS]
    slopes = []
    for capacity, rates in below.items():
        encoded = np.array(rates, dtype=float)
        post_kbps = _column(mean, "post_kbps", capacity, rates)
        slopes.append(np.sum(encoded * post_kbps) / np.sum(encoded**2))
    post_s = _column(mean, "post_s", 725, below[725])
    thinned = [rate for rate in RATES_KBPS if mean["thinned"][725, rate] > 0.5]
    kept = [rate for rate in below[725] if rate not in thinned]
    thinned_s, kept_s = (_mean(_column(mean, "post_s", 725, some)) for some in (thinned, kept))
    return {
        "length_correlation": min(np.corrcoef(RATES_KBPS, one)[0, 1] for one in lengths),
        "post_spread": np.ptp(post_s) / post_s.mean(),
        "post_shorter": thinned_s / kept_s,
        "smallest_slope": min(slopes),
        "largest_slope": max(slopes),
        "post_loss_250": _column(mean, "post_loss", 250).max(),
        "last_share_250": _column(mean, "last_kbps", 250, above_250).mean() / 250,
        "thinned_1500": _column(mean, "thinned", 1500).mean(),
        "higher_again": mean["post_kbps"][250, 1128] / mean["post_kbps"][250, 764],
        "order": _order_share(mean),
    }


def _order_share(mean: _Means) -> float:
    """Share of pairs of thinned clips in which the higher rate keeps no more of its frames."""
    pairs = [
        mean["frames_kept"][capacity, high] <= mean["frames_kept"][capacity, low] + 1e-9
        for capacity in CAPACITIES_KBPS
        for low, high in itertools.combinations(RATES_KBPS, 2)
        if mean["thinned"][capacity, low] > 0.5 and mean["thinned"][capacity, high] > 0.5
    ]
    return float(np.mean(pairs)) if pairs else math.nan


def _samples(mean: _Means) -> Measures:
    """Return what the thesis shows of single clips, and of the bursts in which they are sent."""
    offered = mean["largest_offered_kbps"]
    return {
        "thinned_548_s": mean["thinned_s"][250, 548],
        "thinned_548_kbps": mean["last_kbps"][250, 548],
        "loss_548": mean["loss_before_thinning"][250, 548],
        "offered_548": offered[250, 548] / 548,
        "post_548": mean["post_kbps"][725, 548],
        "thinned_548_at_725": mean["thinned"][725, 548],
        "post_340": mean["post_kbps"][725, 340],
        "offered_1128": offered[725, 1128] / 1128,
        "peak_1128": mean["peak_loss"][725, 1128],
        "last_1128": mean["last_kbps"][725, 1128],
        "gaps_below_5ms": min(mean["gaps_below_5ms"][725, 340], mean["gaps_below_5ms"][725, 548]),
        "gap_difference_ms": mean["gap_ms"][725, 548] - mean["gap_ms"][725, 340],
        "idle_340": mean["idle_s"][725, 340],
        "idle_548": mean["idle_s"][725, 548],
        "idle_after": mean["idle_after_s"][725, 340] / mean["idle_after_s"][725, 548],
        "burst_ratio": mean["burst_bytes"][725, 548] / mean["burst_bytes"][725, 340],
    }


_SINGLE = Setting(capacity_kbps=725, clip={"encoding_rate_kbps": 548})
_MULTIPLE = Setting(capacity_kbps=725, clip={"ladder_kbps": [548, 340, 282, 148, 109, 58, 43, 28]})
_HIGHEST_LEVEL = 7
_LOSSES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)
_NEVER, _ALWAYS = (0.0, 0.01, 0.02), (0.05, 0.07, 0.1, 0.15, 0.2)
#: Loss that starts or stops 15 s into the stream (NIC-L3).
_CHANGE_S, _CHANGED_LOSS = 15.0, 0.1
_LATENCIES_S = (0.15, 0.45, 0.75, 1.05, 1.35)


def _induce_loss(seed: int) -> Measures:
    """Simulate every loss rate with one level and with several, and loss that changes."""
    single, multiple = (
        [
            play(replace(setting, loss=loss), seed=seed, run=first + number)
            for number, loss in enumerate(_LOSSES)
        ]
        for first, setting in ((0, _SINGLE), (100, _MULTIPLE))
    )
    late = play(replace(_SINGLE, loss=_CHANGED_LOSS, loss_start_s=_CHANGE_S), seed=seed, run=200)
    early = play(replace(_SINGLE, loss=_CHANGED_LOSS, loss_stop_s=_CHANGE_S), seed=seed, run=201)
    return {
        "thinned": [one.thinned for one in single],
        "lower": [one.level[-1] < _HIGHEST_LEVEL and not one.thinned for one in multiple],
        "multiple_thinned": [one.thinned for one in multiple],
        "post_kbps": [one.post_rate_kbps for one in single],
        "offered_kbps": [one.media.measure_offered_kbps(0.0, one.full_s) for one in single],
        "tcp_kbps": [one.tcp.rate_kbps(0.0, one.full_s) for one in single],
        "late": late.answered,
        "early": early.answered,
    }


def _measure_induced_loss(parts: Sequence[Measures]) -> Measures:
    """Shares and means over the runs."""
    mean = {key: np.mean([np.asarray(part[key]) for part in parts], axis=0) for key in parts[0]}
    at = _LOSSES.index
    never, always = ([at(loss) for loss in some] for some in (_NEVER, _ALWAYS))
    offered_kbps, tcp_kbps, post_kbps = mean["offered_kbps"], mean["tcp_kbps"], mean["post_kbps"]
    return {
        "never": mean["thinned"][never].mean(),
        "always": mean["thinned"][always].mean(),
        "offered_ratio": offered_kbps[at(0.2)] / offered_kbps[at(0.0)],
        "tcp_ratio": tcp_kbps[at(0.2)] / tcp_kbps[at(0.0)],
        "rate_10": post_kbps[at(0.1)] / post_kbps[at(0.05)],
        "rate_20": post_kbps[at(0.2)] / post_kbps[at(0.05)],
        "lower_above_5": mean["lower"][at(0.07) :].mean(),
        "lower_at_3": mean["lower"][at(0.03)],
        "lower_without": mean["lower"][never].mean(),
        "multiple_thinned": mean["multiple_thinned"].mean(),
        "late": mean["late"],
        "early": mean["early"],
    }


def _induce_latency(seed: int) -> Measures:
    """Simulate each latency with a queue that grows with it, and the longest with a fixed one.

    Delayed packets fill the fixed queue too, as in the emulator of the thesis.
    """
    grown = []
    for number, latency_s in enumerate(_LATENCIES_S, start=1):
        queue_packets = round(QUEUE_PACKETS * latency_s / LATENCY_S)
        setting = replace(_SINGLE, latency_s=latency_s, queue_packets=queue_packets)
        grown.append(play(setting, seed=seed, run=number))
    base = play(_SINGLE, seed=seed)
    fixed_queue = replace(_SINGLE, latency_s=_LATENCIES_S[-1], hold_in_flight=True)
    fixed = play(fixed_queue, seed=seed, run=100)
    ratios = [one.post_rate_kbps / base.post_rate_kbps for one in grown]
    return {
        "answered": np.mean([one.answered for one in grown]),
        "smallest": min(ratios),
        "largest": max(ratios),
        "tcp": grown[-1].tcp.rate_kbps(0.0, grown[-1].end_s) / base.tcp.rate_kbps(0.0, base.end_s),
        "fixed_loss": fixed.buffering_loss - base.buffering_loss,
        "fixed_rate": fixed.post_rate_kbps / base.post_rate_kbps,
    }


_DOWNWARDS = tuple(RATES_KBPS[-count:] for count in range(1, 11))
_UPWARDS = tuple(RATES_KBPS[:count] for count in range(1, 11))
_TRIPLES = ((548, 764, 1128), (340, 548, 764), (282, 340, 548), (148, 282, 340))
#: One level above 725 kbit/s and one below: the lower is taken always.
_PAIRS = ((340, 1128), (548, 1128), (340, 764), (282, 764))
#: Capacity and levels of each clip, kbit/s, in the order of their numbers.
_POINTS = (
    *(
        (capacity, ladder)
        for capacity in CAPACITIES_KBPS
        for ladder in dict.fromkeys((*_DOWNWARDS, *_UPWARDS))
    ),
    *((725, ladder) for ladder in (*_TRIPLES, *_PAIRS)),
)
#: The lists share some points: what counts is the later place.
_NUMBERS = {point: number for number, point in enumerate(_POINTS)}


def _largest_that_fits(ladder: Sequence[int], capacity: int) -> int:
    return max((rate for rate in ladder if rate <= capacity), default=min(ladder))


def _play_multiple_rates(seed: int) -> Measures:
    """Simulate each clip at each of its capacities."""
    sessions = {
        (capacity_kbps, ladder): play(
            Setting(capacity_kbps=capacity_kbps, clip={"ladder_kbps": list(ladder)}),
            seed=seed,
            run=number,
        )
        for (capacity_kbps, ladder), number in _NUMBERS.items()
    }
    first_kbps, last_kbps = (
        {point: sorted(point[1])[session.level[place]] for point, session in sessions.items()}
        for place in (0, -1)
    )
    right = [
        rate == _largest_that_fits(ladder, capacity)
        for (capacity, ladder), rate in first_kbps.items()
    ]
    errors = [
        abs(session.estimate_kbps / capacity - 1) for (capacity, _), session in sessions.items()
    ]
    # Clips end at the last level that was not thinned alone (NIC-M5).
    ends = [
        last_kbps[capacity, ladder] == _largest_that_fits(ladder, unthinned)
        for capacity, unthinned in ((250, 148), (725, 548), (1500, 1128))
        for ladder in _UPWARDS
    ]
    probe = sessions[725, _TRIPLES[0]].probe
    ten, five = sessions[1500, RATES_KBPS], sessions[1500, RATES_KBPS[-5:]]
    return {
        "right_choice": np.mean(right),
        "lower_choice": np.mean([first_kbps[725, pair] == min(pair) for pair in _PAIRS]),
        "probe_error": np.mean(errors),
        "probe_packets": probe.sent_s.size,
        "probe_bytes": probe.ip_bytes.mean(),
        "audio_340": sessions[725, (340, 1128)].post_rate_kbps,
        "audio_548": sessions[725, (548, 764, 1128)].post_rate_kbps,
        "along_rate": ten.buffering_rate_kbps / five.buffering_rate_kbps,
        "along_loss": ten.buffering_loss - five.buffering_loss,
        "last_unthinned": np.mean(ends),
        **_reports(seed),
    }


def _reports(seed: int) -> Measures:
    """Measure the most reports in a second with loss, and their rate without."""
    lossy = play(Setting(capacity_kbps=250, clip={"encoding_rate_kbps": 548}), seed=seed, run=900)
    clean = play(
        Setting(capacity_kbps=1500, clip={"encoding_rate_kbps": 148}, tcp=None), seed=seed, run=901
    )
    a_second = np.bincount(lossy.report_s[lossy.report_s >= 0].astype(np.int64))
    return {
        "reports_lossy": a_second.max() if a_second.size else math.nan,
        "reports_clean": clean.report_s.size / clean.end_s,
    }


#: How often a set-up is done in a run of `reproduce`: by once the largest loss of a second (NIC-B3)
#: was within its range at nine seeds of ten, and NIC-M4 and NIC-L1 are hardly farther from an end.
_REPEATS = 8

EXPERIMENTS: tuple[Experiment, ...] = (
    # Figures 3 to 40; three runs of a point in the thesis, and more here, since the largest loss of
    # a second scatters much from run to run (NIC-B3).
    Experiment("nichols/single-rate", (play_grid,) * 6, measure_grids, _REPEATS),
    # Figures 41 to 72.
    Experiment("nichols/multiple-rates", (_play_multiple_rates,) * 3, repeats=_REPEATS),
    # Figures 73 to 84.
    Experiment("nichols/induced-loss", (_induce_loss,) * 8, _measure_induced_loss, _REPEATS),
    # Figures 85 to 92.
    Experiment("nichols/induced-latency", (_induce_latency,) * 3),
    # Figure 2.
    Experiment("nichols/tcp-alone", (play_tcp_alone,)),
)
