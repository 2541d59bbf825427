"""Intervals of the mean rates of a session's phases."""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.distributions.fitting.block_bootstrap import mean_with_interval
from trafficgen.flows import SessionView
from trafficgen.models import Estimate
from trafficgen.randomness import random_stream
from trafficgen.units import (
    FloatArray,
    IntArray,
    bps_from_bytes,
    bps_from_kbps,
    ns_from_s,
    s_from_ns,
)


class RateLimits:
    """Bins whose bytes are resampled for the interval of a mean rate."""

    #: More bins cost time and change nothing.
    most_bins: int = 1000
    #: Fewer bins leave too few blocks for an interval.
    fewest_bins: int = 20
    #: Packets of a bin on average, so that few bins are empty.
    packets_per_bin: int = 5


_LIMITS = RateLimits()
RATE_METHOD = (
    "IP bytes / duration; interval by moving-block bootstrap of the bytes in successive bins"
)


def estimate_phase_rates(
    view: SessionView, phases: Phases, *, seed: int
) -> tuple[Estimate | None, Estimate]:
    """Return the mean rates of buffering, if any, and playout with 95% intervals, bit/s."""
    time_ns, change, change_ns = view.media_time_ns, 0, view.first_media_ns
    if phases.buffering_end_s is not None:
        change_ns += ns_from_s(phases.playout_start_s)
        change = int(np.searchsorted(time_ns, change_ns, side=phases.side))

    def estimate(name: str, rows: slice, start_ns: int, stop_ns: int, rate_kbps: float) -> Estimate:
        generator = random_stream(seed, session=view.session, purpose=f"fit/rate/{name}")
        value, size_bytes = bps_from_kbps(rate_kbps), view.media_ip_bytes[rows]
        ends = _find_interval_bps(time_ns[rows], size_bytes, start_ns, stop_ns, generator)
        if ends is None:
            return Estimate(value=value, method="IP bytes / duration")
        low, high = min(max(0.0, ends[0]), value), max(ends[1], value)
        return Estimate(value=value, low=low, high=high, method=RATE_METHOD)

    end_ns = int(time_ns[-1])
    playout = estimate("playout", slice(change, None), change_ns, end_ns, phases.playout_kbps)
    if phases.buffering_kbps is None:
        return None, playout
    start_ns, rate_kbps = int(time_ns[0]), phases.buffering_kbps
    return estimate("buffering", slice(0, change), start_ns, change_ns, rate_kbps), playout


def _find_interval_bps(
    time_ns: IntArray,
    size_bytes: IntArray,
    start_ns: int,
    stop_ns: int,
    generator: np.random.Generator,
) -> tuple[float, float] | None:
    """Return the interval of a mean rate from the bytes in bins; None for too few packets."""
    bins = min(_LIMITS.most_bins, time_ns.size // _LIMITS.packets_per_bin)
    if bins < _LIMITS.fewest_bins or stop_ns <= start_ns:
        return None
    place = np.clip((time_ns - start_ns) * (bins / (stop_ns - start_ns)), 0, bins - 1)
    per_bin: FloatArray = np.bincount(place.astype(np.int64), size_bytes, bins).astype(np.float64)
    bin_s = s_from_ns(stop_ns - start_ns) / bins
    found = mean_with_interval(per_bin, generator)
    if found.low is None or found.high is None:
        return None
    return bps_from_bytes(found.low, bin_s), bps_from_bytes(found.high, bin_s)
