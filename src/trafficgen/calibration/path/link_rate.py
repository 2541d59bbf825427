"""Rate of the narrow link of a path, from packets that left it back to back."""

from __future__ import annotations

import numpy as np

from trafficgen.models import Estimate
from trafficgen.randomness import random_stream
from trafficgen.tables import PacketTable
from trafficgen.units import BITS_PER_BYTE, FloatArray, bps_from_bytes, s_from_ns

#: Pairs further apart than this did not queue behind each other, s.
_LONGEST_GAP_S = 0.1
_FEWEST_PAIRS = 30
_MOST_PAIRS = 20_000
#: Half of the width, as a ratio, in which dispersions count as one mode, and the share of all that
#: it must hold.
_MODE_RATIO = 1.05
_SMALLEST_MODE_SHARE = 0.2
_RESAMPLES = 100
#: A mode below this multiple of the mean rate is no link's; below the second it may be the source's
#: own pace.
_LEAST_OF_MEAN, _CLEAR_OF_MEAN = 0.95, 1.5
#: Gaps within this many ticks of the clock say nothing.
_FEWEST_TICKS = 10


def dispersion_rates_bps(
    gap_s: FloatArray, second_bytes: FloatArray, *, tick_s: float = 1e-9
) -> FloatArray:
    """Return the rates that pairs of packets show: the second packet's bits over the gap, bit/s,
    shape (k,), k <= n.

    Pairs whose gap is beyond 0.1 s or within ten ticks of the clock are left out.

    Args:
        gap_s: Gaps between successive packets, s, shape (n,).
        second_bytes: Size on the wire of the packet that ends each gap, bytes, shape (n,).
        tick_s: Granularity of the clock, s.
    """
    use = (gap_s > _FEWEST_TICKS * tick_s) & (gap_s <= _LONGEST_GAP_S) & (second_bytes > 0)
    rates: FloatArray = second_bytes[use] * BITS_PER_BYTE / gap_s[use]
    return rates


def strongest_mode(rates_bps: FloatArray) -> tuple[float, float] | None:
    """Return the rate around which most dispersions lie and the share that lies there; None where
    none stands out.

    The mode is the window of 10% width that holds most values, its estimate their median. It stands
    out when it holds a fifth of them.

    Args:
        rates_bps: Rates of packet pairs, bit/s, shape (n,).
    """
    if rates_bps.size < _FEWEST_PAIRS:
        return None
    log_rate = np.sort(np.log(rates_bps))
    end = np.searchsorted(log_rate, log_rate + 2 * np.log(_MODE_RATIO), side="right")
    held = end - np.arange(log_rate.size)
    first = int(held.argmax())
    share = float(held[first]) / log_rate.size
    if share < _SMALLEST_MODE_SHARE:
        return None
    return float(np.exp(np.median(log_rate[first : end[first]]))), share


def estimate_link_rate(
    table: PacketTable, *, session: int, tick_s: float, seed: int, has_loss: bool
) -> tuple[Estimate | None, str]:
    """Return the rate of the narrow link, bit/s of frames on the wire, or None and why.

    Packets that queue behind each other leave the narrow link as far apart as it takes to send the
    second one (Dovrolis, Ramanathan, Moore 2001, "What do packet dispersion techniques measure?"):
    on the receiver's side their dispersions have a mode at the link's rate. Cross traffic between
    them makes lower modes, a burst that a token bucket lets pass makes higher ones; the strongest
    is taken. On the sender's side the mode, if any, is that of the sender's own link or pacing, so
    without loss a mode near the mean rate is not taken. Interval: 95% bootstrap of the pairs, 100
    resamples; at most 20,000 pairs are used.

    Args:
        table: Packets in order of time; the more of those that share the link, the better.
        session: Number of the session, which the resampling depends on.
        tick_s: Granularity of the clock, s.
        seed: Seed of the resampling.
        has_loss: Whether packets were lost: then some queue was full.
    """
    order = np.flatnonzero(table.to_client)
    gap_s = s_from_ns(np.diff(table.time_ns[order]))
    rates = dispersion_rates_bps(
        gap_s, table.frame_bytes[order][1:].astype(np.float64), tick_s=tick_s
    )
    generator = random_stream(seed, session=session, purpose="fit/conditions/link_rate")
    if rates.size > _MOST_PAIRS:
        rates = np.sort(generator.choice(rates, _MOST_PAIRS, replace=False))
    found = strongest_mode(rates)
    if found is None:
        return None, f"the dispersions of {rates.size} packet pairs have no mode"
    value, share = found
    time_ns = table.time_ns[order]
    mean_bps = bps_from_bytes(
        float(table.frame_bytes[order].sum()), s_from_ns(int(time_ns[-1] - time_ns[0]))
    )
    if value < _LEAST_OF_MEAN * mean_bps:
        return (
            None,
            (
                "the strongest mode of packet-pair dispersion is below the mean rate: the pairs"
                " were spread before"
            ),
        )
    if value < _CLEAR_OF_MEAN * mean_bps and not has_loss:
        return (
            None,
            (
                "the strongest mode of packet-pair dispersion is near the mean rate, which may be"
                " the source's own"
            ),
        )
    near = rates[np.abs(np.log(rates / value)) <= 2 * np.log(_MODE_RATIO)]
    drawn = generator.choice(near, (_RESAMPLES, near.size))
    modes = np.median(drawn, axis=1)
    low, high = np.quantile(modes, [0.025, 0.975])
    method = (
        f"strongest mode of packet-pair dispersion, {share:.0%} of {rates.size} pairs; bootstrap of"
        " the mode"
    )
    return (
        Estimate(
            value=value, low=min(float(low), value), high=max(float(high), value), method=method
        ),
        "",
    )
