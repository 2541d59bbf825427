"""Clips with several bit rates (section 4.2), induced loss (4.3) and latency (4.4), TCP (3.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trafficgen.reproduction.experiment import Experiment, Measures
from trafficgen.reproduction.nichols.single_rate import measure_grids, play_grid
from trafficgen.reproduction.nichols.testbed import (
    CAPACITIES_KBPS,
    LATENCY_S,
    QUEUE_PACKETS,
    RATES_KBPS,
    Setting,
    play,
    play_tcp_alone,
)

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


EXPERIMENTS: tuple[Experiment, ...] = (
    # Figures 3 to 40; three runs of a point in the thesis, and more here, since the largest loss of
    # a second scatters much from run to run.
    Experiment("nichols/single-rate", (play_grid,) * 6, measure_grids),
    # Figures 41 to 72.
    Experiment("nichols/multiple-rates", (_play_multiple_rates,) * 3),
    # Figures 73 to 84.
    Experiment("nichols/induced-loss", (_induce_loss,) * 8, _measure_induced_loss),
    # Figures 85 to 92.
    Experiment("nichols/induced-latency", (_induce_latency,) * 3),
    # Figure 2.
    Experiment("nichols/tcp-alone", (play_tcp_alone,)),
)
