"""Measure one side of a comparison; baselines are sides that are made from the reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen.calibration.phases.session_phases import Phases, find_phases
from trafficgen.flows import (
    SessionView,
    clock_tick_ns,
    find_burst_threshold_s,
    gaps_within_flows_s,
    order_by_group,
    rate_series,
    segment_bursts,
)
from trafficgen.flows.measures import successive_ratios
from trafficgen.processes.fractional_noise.hurst import Hurst, estimate_hurst
from trafficgen.randomness import random_stream
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray, IntArray, ns_array_from_s, ns_from_s, s_from_ns
from trafficgen.validation.distances import MOST_BINS, autocorrelation, span_s

#: Bins of the compared rate series, s, by their name in the output.
RATE_BINS_S = {"0.1": 0.1, "0.5": 0.5, "1": 1.0, "10": 10.0}
_SMOOTHNESS_BIN = "0.5"
_LAGS = 20
_HURST_BIN_S = 0.1


@dataclass(frozen=True)
class Totals:
    """Totals of the media packets to the client on one side.

    Attributes:
        ip_bytes: Sum of their IP total lengths, bytes.
        payload_bytes: Sum of their transport payloads, bytes.
        duration_s: First to last packet, s.
    """

    packets: int
    ip_bytes: int
    payload_bytes: int
    duration_s: float


@dataclass(frozen=True)
class Measurement:
    """What one side looks like on its media packets to the client.

    Attributes:
        samples: Samples in ascending order, by the flat name of their metric: ``packet_bytes`` (IP
            total lengths, bytes), ``gap_s`` (between successive packets of a flow, pooled over
            flows), ``rate.0.1`` and so on (kbit/s), ``smoothness`` (ratios of successive 0.5 s
            rates), ``burst_packets`` and ``burst_spacing_s`` (pooled over flows; empty without a
            threshold).
        rate_acf: Autocorrelation of the 0.5 s rates at lags 1 to 20, shape (20,).
        hurst: Hurst parameter of the bytes in bins of 0.1 s of the playout; None where it cannot be
            estimated.
        buffering_end_s: End of the start-up burst after the first media packet, s; NaN without one.
        buffering_ratio: Buffering rate / playout rate; NaN without a start-up burst.
    """

    view: SessionView
    samples: dict[str, FloatArray]
    rate_acf: FloatArray
    totals: Totals
    hurst: Hurst | None
    buffering_end_s: float
    buffering_ratio: float

    @property
    def span_s(self) -> float:
        """First to last media packet, s."""
        return self.totals.duration_s

    def share_until(self, end_s: float) -> float:
        """Return the share of the bytes until a time after the first media packet, s."""
        until_ns = self.view.first_media_ns + ns_from_s(end_s)
        size_bytes = self.view.media_ip_bytes
        packets = int(np.searchsorted(self.view.media_time_ns, until_ns, side="right"))
        return float(size_bytes[:packets].sum() / size_bytes.sum())


def measure(view: SessionView, *, burst_threshold_s: float | None, seed: int) -> Measurement:
    """Measure one side of a comparison: its sizes, gaps, rates, bursts and phases.

    ``burst_threshold_s`` is the largest gap within a burst, None where the reference has no bursts.
    The seed draws the resamples of the search for phases and is the same for both sides.
    """
    rates = {name: _rate_kbps(view, bin_s=bin_s) for name, bin_s in RATE_BINS_S.items()}
    burst_packets, burst_spacing_s = _bursts(view, burst_threshold_s)
    samples = {
        "packet_bytes": view.media_ip_bytes.astype(np.float64),
        "gap_s": gaps_within_flows_s(view.table, view.media)[0],
        **{f"rate.{name}": rate for name, rate in rates.items()},
        "smoothness": successive_ratios(rates[_SMOOTHNESS_BIN]),
        "burst_packets": burst_packets,
        "burst_spacing_s": burst_spacing_s,
    }
    generator = random_stream(seed, session=0, purpose="compare/phases")
    phases = find_phases(view, tick_s=_tick_s(view), generator=generator)
    return Measurement(
        view=view,
        samples={name: np.sort(sample) for name, sample in samples.items()},
        rate_acf=autocorrelation(rates[_SMOOTHNESS_BIN], lags=_LAGS),
        totals=sum_media(view),
        hurst=_playout_hurst(view, phases),
        buffering_end_s=math.nan if phases.buffering_end_s is None else phases.buffering_end_s,
        buffering_ratio=math.nan if phases.ratio is None else phases.ratio,
    )


def sum_media(view: SessionView) -> Totals:
    """Sum up the media packets of a session."""
    return Totals(
        packets=int(view.media_ip_bytes.size),
        ip_bytes=int(view.media_ip_bytes.sum()),
        payload_bytes=int(view.table.values("payload_bytes")[view.media].sum(dtype=np.int64)),
        duration_s=span_s(view.media_time_ns),
    )


def burst_threshold_s(view: SessionView) -> float | None:
    """Find the gap that separates the bursts of a session's flows, s; None without bursts."""
    gap_s, _ = gaps_within_flows_s(view.table, view.media)
    return find_burst_threshold_s(gap_s, tick_s=_tick_s(view))


def _rate_kbps(view: SessionView, *, bin_s: float) -> FloatArray:
    """Return the rate series, kbit/s; empty where it would have more than MOST_BINS bins."""
    if span_s(view.media_time_ns) > MOST_BINS * bin_s:
        return np.zeros(0)
    return rate_series(view.media_time_ns, view.media_ip_bytes, bin_s=bin_s).rate_kbps


def _bursts(view: SessionView, threshold_s: float | None) -> tuple[FloatArray, FloatArray]:
    """Return packets and spacings of the bursts of each flow, pooled."""
    if threshold_s is None:
        return np.zeros(0), np.zeros(0)
    flow, time_ns, ip_bytes = view.table.flow[view.media], view.media_time_ns, view.media_ip_bytes
    parts = [
        segment_bursts(time_ns[flow == one], ip_bytes[flow == one], threshold_s=threshold_s)
        for one in view.media_flows
    ]
    packets = np.concatenate([part.packets for part in parts]).astype(np.float64)
    return packets, np.concatenate([part.spacing_s for part in parts])


def _playout_hurst(view: SessionView, phases: Phases) -> Hurst | None:
    """Return the Hurst parameter of the playout, in bins that start where it starts."""
    if span_s(view.media_time_ns) > MOST_BINS * _HURST_BIN_S:
        return None
    start_ns = view.first_media_ns + ns_from_s(phases.playout_start_s)
    series = rate_series(
        view.media_time_ns, view.media_ip_bytes, bin_s=_HURST_BIN_S, start_ns=start_ns
    )
    return estimate_hurst(series.size_bytes)


def _tick_s(view: SessionView) -> float:
    return s_from_ns(clock_tick_ns(view.media_time_ns))


_BLOCK = 1 << 16

#: Times after the first packet, s, and sizes, bytes, from those of one flow of the reference.
Baseline = Callable[[IntArray, IntArray, np.random.Generator], tuple[FloatArray, IntArray]]


def make_constant_rate(
    time_ns: IntArray, ip_bytes: IntArray, generator: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Make packets of one size and one gap with the reference's means.

    Sizes one byte apart meet a fractional mean, so that the rate is the reference's.
    """
    del generator  # nothing is random here
    count = time_ns.size
    edges = np.floor(np.arange(count + 1) * (float(ip_bytes.sum()) / count) + 0.5).astype(np.int64)
    return np.linspace(0.0, s_from_ns(int(time_ns[-1] - time_ns[0])), count), np.diff(edges)


def make_poisson(
    time_ns: IntArray, ip_bytes: IntArray, generator: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Make packets with exponential gaps of the reference's mean and resampled sizes."""
    times_s = _draw_times(time_ns, lambda count, mean_s: generator.exponential(mean_s, count))
    return times_s, generator.choice(ip_bytes, times_s.size)


def make_renewal(
    time_ns: IntArray, ip_bytes: IntArray, generator: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Make packets with gaps and sizes resampled from the reference, independently."""
    gaps_s = s_from_ns(np.diff(time_ns))
    times_s = _draw_times(time_ns, lambda count, _: generator.choice(gaps_s, count))
    return times_s, generator.choice(ip_bytes, times_s.size)


#: Name in the output -> how one flow is made.
BASELINES: Mapping[str, Baseline] = {
    "cbr": make_constant_rate,
    "poisson": make_poisson,
    "renewal": make_renewal,
}
#: Samples that a baseline copies from the reference: a candidate can meet them, hardly beat them.
COPIED_SAMPLES: Mapping[str, frozenset[str]] = {
    "poisson": frozenset({"packet_bytes"}),
    "renewal": frozenset({"packet_bytes", "gap_s"}),
}


def generate_baseline(reference: SessionView, *, name: str, seed: int, run: int) -> SessionView:
    """Generate a session as a baseline sends it: each media flow by itself, over the same time.

    ``name`` is a key of :data:`BASELINES`; each run draws on its own.
    """
    order, places = order_by_group(reference.table.flow[reference.media], reference.media_flows)
    flows, times_ns, sizes = [], [], []
    for flow, place in zip(reference.media_flows, places, strict=True):
        rows = order[place]
        time_ns, ip_bytes = reference.media_time_ns[rows], reference.media_ip_bytes[rows]
        generator = random_stream(seed, session=run, purpose=f"baseline/{name}/{flow}")
        times_s, flow_sizes = BASELINES[name](time_ns, ip_bytes, generator)
        flows.append(np.full(times_s.size, flow, dtype=np.uint32))
        times_ns.append(int(time_ns[0]) + ns_array_from_s(times_s))
        sizes.append(flow_sizes.astype(np.uint32))
    packets = _to_client(np.concatenate(flows), np.concatenate(times_ns), np.concatenate(sizes))
    table = PacketTable(packets=packets, flows=reference.table.flows).sort_by_time()
    return SessionView(
        session=reference.session,
        flows=tuple(sorted(reference.media_flows)),
        media_flows=reference.media_flows,
        table=table,
        alone=reference.alone,
    )


def _draw_times(time_ns: IntArray, draw_gaps: Callable[[int, float], FloatArray]) -> FloatArray:
    """Draw times from 0 to the reference's length, s; gaps are drawn by number and mean, s."""
    end_s = s_from_ns(int(time_ns[-1] - time_ns[0]))
    mean_s = end_s / max(1, time_ns.size - 1)
    blocks = [np.zeros(1)]
    while mean_s > 0 and blocks[-1][-1] <= end_s:
        count = min(_BLOCK, 16 + int(1.1 * (end_s - blocks[-1][-1]) / mean_s))
        blocks.append(blocks[-1][-1] + np.cumsum(draw_gaps(count, mean_s)))
    times_s = np.concatenate(blocks)
    return times_s[times_s <= end_s]


def _to_client(
    flow: npt.NDArray[np.uint32], time_ns: IntArray, sizes: npt.NDArray[np.uint32]
) -> pa.Table:
    """Return packets of media to the client; baselines send no others."""
    columns = {
        "time_ns": time_ns,
        "flow": flow,
        "to_client": np.ones(sizes.size, dtype=np.bool_),
        "frame_bytes": sizes,
        "ip_bytes": sizes,
        "payload_bytes": np.maximum(sizes, np.uint32(1)),
    }
    return pa.table(columns)
