"""Piecewise constant projection of a flow: in each epoch so many packets of one size, evenly
spaced.

It is what tools can be told that know a rate and a size alone (iperf, MGEN's PERIODIC, Open Traffic
Generator).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.export.flow_schedule import FlowSchedule
from trafficgen.units import FloatArray, IntArray, ns_from_s, s_from_ns


@dataclass(frozen=True)
class Epochs:
    """Successive epochs of a flow that have packets; shape (e,) each.

    Attributes:
        start_ns: Start of each, ns on the schedule's clock.
        length_ns: Length of each.
        packets: Packets in each, at least 1.
        payload_bytes: Their payload in all.
    """

    start_ns: IntArray
    length_ns: IntArray
    packets: IntArray
    payload_bytes: IntArray

    def __len__(self) -> int:
        return int(self.start_ns.size)

    @property
    def start_s(self) -> FloatArray:
        """Start of each, s."""
        return s_from_ns(self.start_ns)

    @property
    def length_s(self) -> FloatArray:
        """Length of each, s."""
        return s_from_ns(self.length_ns)

    @property
    def packet_rate_per_s(self) -> FloatArray:
        """Packets a second in each."""
        return np.asarray(self.packets / self.length_s)

    @property
    def mean_payload_bytes(self) -> IntArray:
        """Payload of each packet, rounded to whole bytes, at least 1."""
        return np.maximum(1, np.rint(self.payload_bytes / self.packets).astype(np.int64))

    def packet_times_ns(self) -> IntArray:
        """Return when the packets leave that stand for those of the schedule, shape (sum of
        packets,).

        In an epoch of n packets the k-th (from 0) leaves after k / n of it.
        """
        row = np.repeat(np.arange(len(self)), self.packets)
        place = np.arange(row.size) - np.repeat(
            np.cumsum(self.packets) - self.packets, self.packets
        )
        return np.asarray(
            self.start_ns[row] + place * self.length_ns[row] // self.packets[row], dtype=np.int64
        )


def epochs_of(flow: FlowSchedule, *, epoch_s: float) -> Epochs:
    """Return the epochs of equal length of a flow, from the schedule's origin on; empty ones are
    left out.

    Args:
        flow: What is sent.
        epoch_s: Length of an epoch, s, > 0.
    """
    length_ns = max(1, ns_from_s(epoch_s))
    numbers, index = np.unique(flow.time_ns // length_ns, return_inverse=True)
    lengths_ns = np.full(numbers.size, length_ns, dtype=np.int64)
    return _counted(flow, index, start_ns=numbers * length_ns, length_ns=lengths_ns)


def epochs_between(flow: FlowSchedule, *, edges_ns: IntArray) -> Epochs:
    """Return the epochs of a flow from edge to edge; empty ones are left out.

    Args:
        flow: What is sent; all of it lies between the first edge and the last.
        edges_ns: Starts of the epochs and the end of the last, ns, ascending, shape (e + 1,).
    """
    numbers, index = np.unique(
        np.searchsorted(edges_ns, flow.time_ns, side="right") - 1, return_inverse=True
    )
    return _counted(flow, index, start_ns=edges_ns[numbers], length_ns=np.diff(edges_ns)[numbers])


def _counted(
    flow: FlowSchedule, index: IntArray, *, start_ns: IntArray, length_ns: IntArray
) -> Epochs:
    payload = np.bincount(index, weights=flow.payload_bytes, minlength=start_ns.size)
    return Epochs(
        start_ns=start_ns,
        length_ns=length_ns,
        packets=np.bincount(index, minlength=start_ns.size).astype(np.int64),
        payload_bytes=np.rint(payload).astype(np.int64),
    )
