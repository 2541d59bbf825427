"""Operational measures of the papers beside the model's own: CCZ-B1 and CCZ-F1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.loss_measures import Loss
from trafficgen.calibration.phases import Phases
from trafficgen.calibration.tcp_models import tcp_friendly_kbps
from trafficgen.flows import SessionView, mean_rate_kbps, sliding_mean_rates_kbps
from trafficgen.units import ns_from_s

#: CCZ-B1: largest mean over 10 s windows that start every 0.5 s in the first 80 s; steady from 100 s on.
_WINDOW_S, _STEP_S, _BUFFERING_UNTIL_S, _STEADY_FROM_S, _SHORTEST_S = 10.0, 0.5, 80.0, 100.0, 110.0


@dataclass(frozen=True)
class Measures:
    """Operational measures of CCZ-B1 and CCZ-F1, kbit/s of IP bytes; None where they are not defined."""

    buffering_data_rate_kbps: float | None
    steady_playout_rate_kbps: float | None
    ratio: float | None
    tcp_friendly_kbps: float | None


def operational_measures(view: SessionView, phases: Phases, *, rtt_s: float | None, loss: Loss | None) -> Measures:
    """Return the buffering data rate, the steady playout rate and their ratio (CCZ-B1), and the bound of CCZ-F1.

    Zero is the first media packet; rates are of IP bytes of media. For media shorter than 110 s the first three are
    None.
    """
    friendly = tcp_friendly_kbps(rtt_s=rtt_s, loss_rate=loss.rate if loss else None)
    if phases.end_s < _SHORTEST_S:
        return Measures(None, None, None, friendly)
    time_ns, size_bytes, zero_ns = view.media_time_ns, view.media_ip_bytes, view.first_media_ns
    starts_s = np.arange(0, _BUFFERING_UNTIL_S - _WINDOW_S + _STEP_S / 2, _STEP_S)
    starts_ns = zero_ns + np.array([ns_from_s(start_s) for start_s in starts_s], dtype=np.int64)
    largest = float(sliding_mean_rates_kbps(time_ns, size_bytes, starts_ns=starts_ns, window_s=_WINDOW_S).max())
    steady = mean_rate_kbps(time_ns, size_bytes, start_ns=zero_ns + ns_from_s(_STEADY_FROM_S), end_ns=int(time_ns[-1]))
    return Measures(largest, steady, largest / steady if steady > 0 else None, friendly)
