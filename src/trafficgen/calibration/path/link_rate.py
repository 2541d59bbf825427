"""Rate of the narrow link of a path, from packets that left it back to back."""

from __future__ import annotations

import numpy as np

from trafficgen import _core
from trafficgen.models import Estimate
from trafficgen.randomness import random_stream
from trafficgen.tables import PacketTable
from trafficgen.units import BITS_PER_BYTE, BoolArray, FloatArray, bps_from_bytes, s_from_ns


class LinkLimits:
    """Which pairs of packets show the narrow link, and when their mode is its rate."""

    #: Packets further apart did not queue behind each other, s.
    longest_gap_s: float = 0.1
    #: Shorter gaps, in ticks of the clock, are mostly rounding.
    fewest_ticks: int = 10
    #: A mode of fewer pairs is chance; more than the second number cost time and change nothing.
    fewest_pairs: int = 30
    most_pairs: int = 20_000
    #: Half of the width of a mode, as a ratio: the jitter of a capture's clock.
    mode_ratio: float = 1.05
    #: A mode with a smaller share of the pairs does not stand out.
    smallest_mode_share: float = 0.2
    #: A mode below this multiple of the mean rate is not a link's: the pairs were spread before.
    least_of_mean: float = 0.95
    #: A mode below this multiple of the mean rate may be the source's own pace.
    clear_of_mean: float = 1.5
    #: Resamples behind the interval.
    resamples: int = 100


_LIMITS = LinkLimits()


def dispersion_rates_bps(
    gap_s: FloatArray, second_bytes: FloatArray, *, tick_s: float = 1e-9
) -> FloatArray:
    """Return the rates of pairs of packets, the second one's bits over the gap, bit/s, shape (k,).

    Pairs whose gap is beyond 0.1 s or within ten ticks of the clock are left out, so k <= n.
    ``second_bytes`` is the size on the wire of the packet that ends each gap; both arrays have
    shape (n,).
    """
    use = choose_pairs(gap_s, second_bytes, tick_s=tick_s)
    rates: FloatArray = second_bytes[use] * BITS_PER_BYTE / gap_s[use]
    return rates


def choose_pairs(gap_s: FloatArray, second_bytes: FloatArray, *, tick_s: float) -> BoolArray:
    """Return which pairs may have queued behind each other; arguments as above, shape (n,)."""
    return np.asarray(
        (gap_s > _LIMITS.fewest_ticks * tick_s)
        & (gap_s <= _LIMITS.longest_gap_s)
        & (second_bytes > 0)
    )


def find_near(rates_bps: FloatArray, rate_bps: float) -> BoolArray:
    """Return which rates of pairs, bit/s, are within a mode around a rate, shape (n,)."""
    return np.asarray(np.abs(np.log(rates_bps / rate_bps)) <= 2 * np.log(_LIMITS.mode_ratio))


def may_be_of_source(mode_bps: float, mean_bps: float, *, has_loss: bool) -> bool:
    """Return whether a mode may be the source's pace: it is below or near the mean rate.

    With loss some queue was full, so that a mode near the mean rate is the link's.
    """
    least = _LIMITS.least_of_mean if has_loss else _LIMITS.clear_of_mean
    return mode_bps < least * mean_bps


def strongest_mode(
    rates_bps: FloatArray, *, fewest_pairs: int = _LIMITS.fewest_pairs
) -> tuple[float, float] | None:
    """Return the rate around which most dispersions lie, and their share; None if none stands out.

    The mode is the window of 10% width that holds most values, its estimate their median. It has to
    hold a fifth of them. The rates are those of packet pairs, shape (n,).
    """
    return strongest_modes(rates_bps, [0], [rates_bps.size], fewest_pairs=fewest_pairs)[0]


def strongest_modes(
    rates_bps: FloatArray, firsts: list[int], stops: list[int], *, fewest_pairs: int
) -> list[tuple[float, float] | None]:
    """Return :func:`strongest_mode` of each of many windows, which begin and end at such rows."""
    width = 2 * float(np.log(_LIMITS.mode_ratio))
    middle, held = _core.window_modes(np.log(rates_bps), firsts, stops, width)
    sizes = np.subtract(stops, firsts)
    shares = held / np.maximum(sizes, 1)
    stands_out = (sizes >= fewest_pairs) & (shares >= _LIMITS.smallest_mode_share)
    found = zip(stands_out.tolist(), np.exp(middle).tolist(), shares.tolist(), strict=True)
    return [(mode_bps, share) if is_one else None for is_one, mode_bps, share in found]


def estimate_link_rate(
    table: PacketTable, *, session: int, tick_s: float, seed: int, has_loss: bool
) -> tuple[Estimate | None, str]:
    """Estimate the rate of the narrow link, bit/s of frames on the wire; None with the reason.

    Packets that queue behind each other leave the narrow link as far apart as it takes to send the
    second one (Dovrolis, Ramanathan, Moore 2001, "What do packet dispersion techniques measure?"):
    at the receiver their dispersions have a mode at the link's rate. Cross traffic makes lower
    modes, bursts through a token bucket higher ones; the strongest is taken. At the sender a mode
    is that of its own link or pacing, so without loss a mode near the mean rate is not taken.
    Interval: 95% bootstrap of the pairs, 100 resamples; at most 20,000 pairs are used. ``session``
    and ``seed`` choose the resampling; with ``has_loss`` packets were lost, so some queue was full.
    """
    order = np.flatnonzero(table.to_client)
    gap_s = s_from_ns(np.diff(table.time_ns[order]))
    rates = dispersion_rates_bps(
        gap_s, table.frame_bytes[order][1:].astype(np.float64), tick_s=tick_s
    )
    generator = random_stream(seed, session=session, purpose="fit/conditions/link_rate")
    if rates.size > _LIMITS.most_pairs:
        rates = np.sort(generator.choice(rates, _LIMITS.most_pairs, replace=False))
    found = strongest_mode(rates)
    if found is None:
        return None, f"the dispersions of {rates.size} packet pairs have no mode"
    value, share = found
    time_ns = table.time_ns[order]
    mean_bps = bps_from_bytes(
        float(table.frame_bytes[order].sum()), s_from_ns(int(time_ns[-1] - time_ns[0]))
    )
    mode = "the strongest mode of packet-pair dispersion is"
    if value < _LIMITS.least_of_mean * mean_bps:
        return None, f"{mode} below the mean rate: the pairs were spread before"
    if value < _LIMITS.clear_of_mean * mean_bps and not has_loss:
        return None, f"{mode} near the mean rate, which may be the source's own"
    near = rates[find_near(rates, value)]
    modes = np.median(generator.choice(near, (_LIMITS.resamples, near.size)), axis=1)
    low, high = np.quantile(modes, [0.025, 0.975]).tolist()
    method = (
        f"strongest mode of packet-pair dispersion, {share:.0%} of {rates.size} pairs; bootstrap of"
        " the mode"
    )
    return Estimate(value=value, low=min(low, value), high=max(high, value), method=method), ""
