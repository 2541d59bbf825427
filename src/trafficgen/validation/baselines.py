"""Baselines made from the reference: the simple sources in use today, for a candidate to beat."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen.flows import SessionView, order_by_group
from trafficgen.randomness import random_stream
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray, IntArray, ns_array_from_s, s_from_ns

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
