"""Everything that a comparison measures on one side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.phases.session_phases import Phases, find_phases
from trafficgen.calibration.processes.hurst import Hurst, estimate_hurst
from trafficgen.flows import (
    SessionView,
    clock_tick_ns,
    find_burst_threshold_s,
    gaps_within_flows_s,
    rate_series,
    segment_bursts,
    successive_ratios,
)
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, ns_from_s, s_from_ns
from trafficgen.validation.time_scales import MOST_BINS, autocorrelation, span_s

#: Bins of the rate series that are compared, s, by their name in the output.
RATE_BINS_S = {"0.1": 0.1, "0.5": 0.5, "1": 1.0, "10": 10.0}
_SMOOTHNESS_BIN = "0.5"
_LAGS = 20
_HURST_BIN_S = 0.1


@dataclass(frozen=True)
class Measurement:
    """What one side looks like on its media packets to the client.

    Attributes:
        samples: Samples in ascending order, by the flat name of their metric: ``packet_bytes`` (IP
            total lengths, bytes), ``gap_s`` (between successive packets of the same flow, pooled
            over flows), ``rate.0.1`` and so on (kbit/s), ``smoothness`` (ratios of successive 0.5 s
            rates), ``burst_packets`` and ``burst_spacing_s`` (pooled over flows; empty where there
            is no threshold).
        rate_acf: Autocorrelation of the 0.5 s rates at lags 1 to 20, shape (20,).
        span_s: First to last media packet, s.
        hurst: Hurst parameter of the bytes in bins of 0.1 s of the playout, None where it cannot be
            estimated.
        buffering_end_s: End of the buffering after the first media packet, s, NaN where there is
            none.
        buffering_ratio: Buffering rate / playout rate, NaN where there is no buffering.
    """

    samples: dict[str, FloatArray]
    rate_acf: FloatArray
    span_s: float
    hurst: Hurst | None
    buffering_end_s: float
    buffering_ratio: float


def measure(view: SessionView, *, burst_threshold_s: float | None, seed: int) -> Measurement:
    """Return what a session looks like.

    Args:
        view: The session.
        burst_threshold_s: Largest gap within a burst, s; None where the reference has no bursts.
        seed: Seed of what the search for phases draws; the same on both sides.
    """
    time_ns, ip_bytes = view.media_time_ns, view.media_ip_bytes
    rates = {name: _rate_kbps(view, bin_s=bin_s) for name, bin_s in RATE_BINS_S.items()}
    burst_packets, burst_spacing_s = _bursts(view, burst_threshold_s)
    samples = {
        "packet_bytes": ip_bytes.astype(np.float64),
        "gap_s": gaps_within_flows_s(view.table, view.media)[0],
        **{f"rate.{name}": rate for name, rate in rates.items()},
        "smoothness": successive_ratios(rates[_SMOOTHNESS_BIN]),
        "burst_packets": burst_packets,
        "burst_spacing_s": burst_spacing_s,
    }
    phases = find_phases(
        view,
        tick_s=_tick_s(view),
        generator=random_stream(seed, session=0, purpose="compare/phases"),
    )
    return Measurement(
        samples={name: np.sort(sample) for name, sample in samples.items()},
        rate_acf=autocorrelation(rates[_SMOOTHNESS_BIN], lags=_LAGS),
        span_s=span_s(time_ns),
        hurst=_playout_hurst(view, phases),
        buffering_end_s=math.nan if phases.buffering_end_s is None else phases.buffering_end_s,
        buffering_ratio=math.nan if phases.ratio is None else phases.ratio,
    )


def burst_threshold_s(view: SessionView) -> float | None:
    """Return the gap that parts the bursts of a session's flows, s, or None where its gaps are of
    one kind.
    """
    gap_s, _ = gaps_within_flows_s(view.table, view.media)
    return find_burst_threshold_s(gap_s, tick_s=_tick_s(view))


def _rate_kbps(view: SessionView, *, bin_s: float) -> FloatArray:
    """Return the rate series, kbit/s; without a value where it would have more bins than memory is
    worth.
    """
    if span_s(view.media_time_ns) > MOST_BINS * bin_s:
        return np.zeros(0)
    return rate_series(view.media_time_ns, view.media_ip_bytes, bin_s=bin_s).rate_kbps


def _bursts(view: SessionView, threshold_s: float | None) -> tuple[FloatArray, FloatArray]:
    """Return packets and spacings of the bursts of each flow, pooled."""
    if threshold_s is None:
        return np.zeros(0), np.zeros(0)
    flow = view.table.flow[view.media]
    parts = [
        segment_bursts(
            view.media_time_ns[flow == one],
            view.media_ip_bytes[flow == one],
            threshold_s=threshold_s,
        )
        for one in view.media_flows
    ]
    packets = np.concatenate([part.packets for part in parts]).astype(np.float64)
    return packets, np.concatenate([part.spacing_s for part in parts])


def _playout_hurst(view: SessionView, phases: Phases) -> Hurst | None:
    """Return the Hurst parameter of the playout, in bins that start where it starts."""
    if span_s(view.media_time_ns) > MOST_BINS * _HURST_BIN_S:
        return None
    playout_ns = view.first_media_ns + ns_from_s(phases.playout_start_s)
    series = rate_series(
        view.media_time_ns, view.media_ip_bytes, bin_s=_HURST_BIN_S, start_ns=playout_ns
    )
    return estimate_hurst(series.size_bytes)


def _tick_s(view: SessionView) -> float:
    return s_from_ns(clock_tick_ns(view.media_time_ns))
