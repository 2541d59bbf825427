"""Intervals of the mean rates of a session's phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.laws.block_bootstrap import mean_with_interval
from trafficgen.calibration.phases.session_phases import Phases
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


@dataclass(frozen=True)
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
    """Return the mean rates of buffering, if any, and playout with 95% intervals, bit/s.

    Args:
        view: The session.
        phases: Its phases.
        seed: Seed of the fit.
    """
    time_ns, size_bytes = view.media_time_ns, view.media_ip_bytes
    change_ns = view.first_media_ns + ns_from_s(phases.playout_start_s)
    change = (
        int(np.searchsorted(time_ns, change_ns, side=phases.side))
        if phases.buffering_end_s is not None
        else 0
    )
    end_ns = int(time_ns[-1])

    def estimate(
        rows: slice, start_ns: int, stop_ns: int, *, rate_kbps: float, name: str
    ) -> Estimate:
        generator = random_stream(seed, session=view.session, purpose=f"fit/rate/{name}")
        low, high = _interval_bps(
            time_ns[rows], size_bytes[rows], start_ns=start_ns, stop_ns=stop_ns, generator=generator
        )
        value = bps_from_kbps(rate_kbps)
        if low is None or high is None:
            return Estimate(value=value, method="IP bytes / duration")
        return Estimate(
            value=value, low=min(max(0.0, low), value), high=max(high, value), method=RATE_METHOD
        )

    playout = estimate(
        slice(change, None), change_ns, end_ns, rate_kbps=phases.playout_kbps, name="playout"
    )
    if phases.buffering_kbps is None:
        return None, playout
    first = slice(0, change)
    buffering = estimate(
        first, int(time_ns[0]), change_ns, rate_kbps=phases.buffering_kbps, name="buffering"
    )
    return buffering, playout


def _interval_bps(
    time_ns: IntArray,
    size_bytes: IntArray,
    *,
    start_ns: int,
    stop_ns: int,
    generator: np.random.Generator,
) -> tuple[float | None, float | None]:
    """Return the interval of a mean rate from the bytes in bins; None for too few packets."""
    bins = min(_LIMITS.most_bins, time_ns.size // _LIMITS.packets_per_bin)
    if bins < _LIMITS.fewest_bins or stop_ns <= start_ns:
        return None, None
    place = np.clip((time_ns - start_ns) * (bins / (stop_ns - start_ns)), 0, bins - 1)
    per_bin: FloatArray = np.bincount(place.astype(np.int64), size_bytes, bins).astype(np.float64)
    bin_s = s_from_ns(stop_ns - start_ns) / bins
    found = mean_with_interval(per_bin, generator)
    if found.low is None or found.high is None:
        return None, None
    return bps_from_bytes(found.low, bin_s), bps_from_bytes(found.high, bin_s)
