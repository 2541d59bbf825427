"""Measures of the papers on plain series and packets: the same for captures and for simulations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trafficgen.units import FloatArray, IntArray, kbps_from_bytes

#: Bins that the measures of CCZ02 are made of, s.
MEASURE_BIN_S = 0.5
#: CCZ-B1: largest mean over 10 s windows that start every 0.5 s in the first 80 s; steady from 100
#: s on.
_WINDOW_S, BUFFERING_UNTIL_S, STEADY_FROM_S = 10.0, 80.0, 100.0
#: A playout has both rates when it lasts this long, s.
SHORTEST_PLAYOUT_S = 110.0


@dataclass(frozen=True)
class DataRates:
    """The two rates of CCZ-B1, kbit/s of IP bytes.

    Attributes:
        buffering_kbps: Buffering data rate: largest mean over 10 s within the first 80 s.
        steady_kbps: Steady playout rate: mean from 100 s to the end.
    """

    buffering_kbps: float
    steady_kbps: float

    @property
    def ratio(self) -> float | None:
        """Buffering over steady rate; None where nothing comes after 100 s."""
        return self.buffering_kbps / self.steady_kbps if self.steady_kbps > 0 else None


def measure_data_rates(
    size_bytes: FloatArray | IntArray, *, span_s: float, late_bytes: float | None = None
) -> DataRates | None:
    """Measure buffering and steady rate (CCZ-B1); None for a playout shorter than 110 s.

    Args:
        size_bytes: IP bytes in bins of :data:`MEASURE_BIN_S` from the first media packet on, the
            last partial bin included, shape (n,).
        span_s: First to last media packet, s.
        late_bytes: IP bytes from :data:`STEADY_FROM_S` to the last media packet, which counts,
            where the bins end at :data:`BUFFERING_UNTIL_S`; None takes them from the bins.
    """
    if span_s < SHORTEST_PLAYOUT_S:
        return None
    if late_bytes is None:
        late = size_bytes[round(STEADY_FROM_S / MEASURE_BIN_S) :]
        late_bytes = float(np.sum(late, dtype=np.float64))
    window, early = round(_WINDOW_S / MEASURE_BIN_S), round(BUFFERING_UNTIL_S / MEASURE_BIN_S)
    total = np.concatenate(([0.0], np.cumsum(size_bytes[:early], dtype=np.float64)))
    in_windows = total[window:] - total[:-window]
    return DataRates(
        buffering_kbps=kbps_from_bytes(float(in_windows.max()), _WINDOW_S),
        steady_kbps=kbps_from_bytes(late_bytes, span_s - STEADY_FROM_S),
    )


def successive_ratios(rates: FloatArray | IntArray) -> FloatArray:
    """Return the ratio of each rate to the one before; pairs with an empty bin are left out.

    Args:
        rates: Rates, or bytes, in successive bins, shape (n,).

    Source: smoothness as in CCZ-V1, there with bins of 0.5 s.
    """
    rates = np.asarray(rates, dtype=np.float64)
    both = (rates[:-1] > 0) & (rates[1:] > 0)
    return np.asarray(rates[1:][both] / rates[:-1][both])


def spread(ratios: FloatArray) -> float:
    """Return the 90% over the 10% quantile, 1 if all ratios are the same (CCZ-V1); NaN if empty."""
    if ratios.size == 0:
        return math.nan
    low, high = np.quantile(ratios, [0.1, 0.9])
    return float(high / low)


def rate_differences(
    tcp_kbps: FloatArray, udp_kbps: FloatArray, *, bottleneck_kbps: float
) -> FloatArray:
    """Return (TCP - UDP rate) / bottleneck of pairs: 0 if equal, -1 if UDP has all (CCZ-H1).

    Mean rates of the two streams that compete have shape (n,); the bottleneck is above 0.
    """
    return np.asarray((tcp_kbps - udp_kbps) / bottleneck_kbps, dtype=np.float64)


def time_to_share_of_peak_s(size_bytes: FloatArray | IntArray, *, share: float = 0.9) -> float:
    """Return when the rate first reaches a share of its peak, s (CCZ-B4); NaN if empty.

    Bytes are in bins of :data:`MEASURE_BIN_S`, shape (n,); the share is of the largest bin.
    """
    if size_bytes.size == 0 or not size_bytes.max() > 0:
        return math.nan
    return float(np.argmax(size_bytes >= share * size_bytes.max())) * MEASURE_BIN_S


def count_rate_changes(rates_bps: FloatArray) -> int:
    """Return how often the encoded rate changes (CCZ-M1).

    There is a rate for each piece of a playout, in order, shape (n,).
    """
    return int(np.count_nonzero(np.diff(rates_bps)))


def adaptation_time_s(time_s: FloatArray, rates_bps: FloatArray, *, limit_bps: float) -> float:
    """Return when the encoded rate first falls to the limit or below, s (CCZ-M2).

    Each rate holds from its ``time_s`` on, s from the first media packet, ascending, shape (n,). It
    is 0 where the first rate is below already, infinity where none ever is.
    """
    below = np.flatnonzero(np.asarray(rates_bps) <= limit_bps)
    if below.size == 0:
        return math.inf
    return 0.0 if below[0] == 0 else max(0.0, float(time_s[below[0]]))
