"""Ten clips with one bit rate each, at three capacities with one TCP flow (section 4.1)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from trafficgen.reproduction.experiment import Measures
from trafficgen.reproduction.nichols.session import (
    Session,
    median_gap_between_bursts_s,
    median_gap_in_bursts_s,
)
from trafficgen.reproduction.nichols.testbed import (
    CAPACITIES_KBPS,
    LATENCY_S,
    RATES_KBPS,
    Setting,
    play,
)

#: Of CCZ-F1: bytes of a TCP packet.
_FRIENDLY_BYTES = 1500
#: Windows in which the offered load is looked at, and how far "at first" goes, s.
_WINDOW_S, _AT_FIRST_S = 5.0, 20.0

#: Capacity and clip rate of each point, kbit/s, in the order of their numbers.
_GRID = tuple(itertools.product(CAPACITIES_KBPS, RATES_KBPS))


def play_grid(seed: int) -> Measures:
    """Simulate all points of figures 3 to 40 once."""
    sessions = {
        (capacity_kbps, rate_kbps): play(
            Setting(capacity_kbps=capacity_kbps, clip={"encoding_rate_kbps": rate_kbps}),
            seed=seed,
            run=number,
        )
        for number, (capacity_kbps, rate_kbps) in enumerate(_GRID)
    }
    return {
        name: {point: measure(session) for point, session in sessions.items()}
        for name, measure in _OF_SESSION.items()
    }


def measure_grids(grids: Sequence[Measures]) -> Measures:
    """Average over the runs of a point, as the thesis does, then derive the quantities."""
    mean = {
        name: {point: _mean([grid[name][point] for grid in grids]) for point in _GRID}
        for name in _OF_SESSION
    }
    return {**_rates_and_losses(mean), **_playout(mean), **_samples(mean), **_bursts(mean)}


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def _friendly_kbps(session: Session) -> float:
    """Return the TCP-friendly rate (CCZ-F1) for the clip's loss and delay while it buffered."""
    loss = session.buffering_loss
    if loss <= 0:
        return math.inf
    round_trip_s = 2 * LATENCY_S + session.mean_queueing_s
    return 1.5 * math.sqrt(2 / 3) * _FRIENDLY_BYTES * 8 / (round_trip_s * math.sqrt(loss)) / 1000


_OF_SESSION: dict[str, Callable[[Session], float]] = {
    "silence_s": lambda one: -one.request_s,
    "buffering_s": lambda one: one.buffering_s,
    "buffering_kbps": lambda one: one.buffering_rate_kbps,
    "offered_kbps": lambda one: one.measure_offered_kbps(0.0, one.full_s),
    "first_kbps": lambda one: one.measure_offered_kbps(0.0, one.full_s, first_sendings=True),
    "buffering_loss": lambda one: one.buffering_loss,
    "peak_loss": lambda one: one.peak_loss(0.0, one.full_s),
    "tcp_peak_loss": lambda one: one.tcp_peak_loss(0.0, one.full_s),
    "post_s": lambda one: one.post_s,
    "post_kbps": lambda one: one.post_rate_kbps,
    "post_loss": lambda one: one.post_loss,
    "last_kbps": lambda one: one.last_rate_kbps,
    "thinned": lambda one: float(one.thinned),
    "thinned_s": lambda one: one.response_s,
    "loss_before_thinning": lambda one: one.loss(0.0, one.response_s if one.answered else math.inf),
    "largest_offered_kbps": lambda one: one.largest_offered_kbps(_WINDOW_S, _AT_FIRST_S),
    "frames_kept": lambda one: one.frames_kept,
    "gaps_below_5ms": lambda one: float(np.mean(one.buffering_gaps_s < 0.005)),
    "gap_ms": lambda one: 1000 * median_gap_in_bursts_s(one.buffering_gaps_s),
    "idle_s": lambda one: median_gap_between_bursts_s(one.buffering_gaps_s),
    "idle_after_s": lambda one: median_gap_between_bursts_s(one.playout_gaps_s),
    "burst_bytes": lambda one: one.burst_bytes,
    "friendly_kbps": _friendly_kbps,
}


_Means: TypeAlias = dict[str, dict[tuple[int, int], float]]


def _column(
    mean: _Means, name: str, capacity: int, rates: Sequence[int] = RATES_KBPS
) -> np.ndarray[Any, np.dtype[Any]]:
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
        "smallest_multiple": float(multiples.min()),
        "largest_multiple": float(multiples.max()),
        "multiple_548": mean["first_kbps"][725, 548] / 548,
        "growth": float(
            stats.spearmanr(RATES_KBPS, _column(mean, "buffering_kbps", 1500)).statistic
        ),
        "ratio_340_548": kbps[725, 340] / kbps[725, 548],
        "largest_loss": float(max(values.max() for values in loss.values())),
        "peak_340": mean["peak_loss"][725, 340],
        "tcp_peak_340": mean["tcp_peak_loss"][725, 340],
        "rise_to_340": float(
            stats.spearmanr(low, _column(mean, "buffering_loss", 725, low)).statistic
        ),
        "dip_548": at_725[725, 548] / min(at_725[725, 340], at_725[725, 764]),
        "loss_1500": float(loss[1500].mean()),
        "loss_1500_ratio": float(loss[1500].mean() / loss[725].mean()),
        "friendly_ratio": kbps[725, 340] / mean["friendly_kbps"][725, 340],
    }


def _playout(mean: _Means) -> Measures:
    # "Below capacity": the whole clip fits the link with its headers.
    below = {
        capacity: [rate for rate in RATES_KBPS if rate < capacity] for capacity in CAPACITIES_KBPS
    }
    above_250 = [rate for rate in RATES_KBPS if rate > 250]
    lengths = {capacity: _column(mean, "buffering_s", capacity) for capacity in CAPACITIES_KBPS}
    spreads, slopes = [], []
    for capacity, rates in below.items():
        post_s = _column(mean, "post_s", capacity, rates)
        spreads.append(float(np.ptp(post_s) / post_s.mean()))
        encoded = np.array(rates, dtype=float)
        slopes.append(
            float(
                np.sum(encoded * _column(mean, "post_kbps", capacity, rates)) / np.sum(encoded**2)
            )
        )
    thinned = [rate for rate in RATES_KBPS if mean["thinned"][725, rate] > 0.5]
    kept = [rate for rate in below[725] if rate not in thinned]
    shorter = _mean([mean["post_s"][725, rate] for rate in thinned]) / _mean(
        [mean["post_s"][725, rate] for rate in kept]
    )
    return {
        "length_correlation": min(
            float(np.corrcoef(RATES_KBPS, values)[0, 1]) for values in lengths.values()
        ),
        "post_spread": spreads[1],
        "post_shorter": shorter,
        "smallest_slope": min(slopes),
        "largest_slope": max(slopes),
        "post_loss_250": float(_column(mean, "post_loss", 250).max()),
        "last_share_250": float(_column(mean, "last_kbps", 250, above_250).mean() / 250),
        "thinned_1500": float(_column(mean, "thinned", 1500).mean()),
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
    }


def _bursts(mean: _Means) -> Measures:
    return {
        "gaps_below_5ms": min(mean["gaps_below_5ms"][725, 340], mean["gaps_below_5ms"][725, 548]),
        "gap_difference_ms": mean["gap_ms"][725, 548] - mean["gap_ms"][725, 340],
        "idle_340": mean["idle_s"][725, 340],
        "idle_548": mean["idle_s"][725, 548],
        "idle_after": mean["idle_after_s"][725, 340] / mean["idle_after_s"][725, 548],
        "burst_ratio": mean["burst_bytes"][725, 548] / mean["burst_bytes"][725, 340],
    }
