"""What came of a simulation: arrays and counters that can be stored, and sums over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from trafficgen._core import SimulationOutcome
from trafficgen._core.types import (
    SimulatedAgentDict,
    SimulatedFlowDict,
    SimulatedLinkDict,
    SimulatedSumsDict,
)
from trafficgen.tables import PHASES
from trafficgen.units import s_from_ns

_Mask = npt.NDArray[np.bool_]


class TotalsDict(TypedDict):
    """Sums over the packets of some flows that were sent, or arrived, in an interval."""

    sent_packets: int
    sent_bytes: int
    arrived_packets: int
    arrived_bytes: int
    dropped_packets: int
    retransmissions: int
    mean_delay_s: float | None
    first_sent_ns: int | None
    last_sent_ns: int | None
    first_arrived_ns: int | None
    last_arrived_ns: int | None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a simulation; times in ns from the scenario's zero.

    The engine's own object holds memory of the core: it can be neither pickled nor copied.
    """

    first_media_ns: int | None  #: when the first media packet was sent
    end_ns: int  #: when it ended
    packet_events: int  #: arrivals at and departures from sources, queues and endpoints
    under_way: int  #: packets whose fate is not known
    agents: list[SimulatedAgentDict]  #: logs and samples of the participants
    flows: list[SimulatedFlowDict]  #: all flows
    links: list[SimulatedLinkDict]  #: counters of the links, in the scenario's order
    #: All packets in the order of their sending, each column of shape (packets,).
    columns: dict[str, npt.NDArray[Any]]
    #: Sums over each flow; None: they were not wanted.
    sums: SimulatedSumsDict | None = None
    #: IP bytes that arrived in each half second, an array a series.
    series: tuple[npt.NDArray[np.uint64], ...] = ()

    @classmethod
    def from_engine(cls, found: SimulationOutcome, *, with_sums: bool = False) -> Outcome:
        """Take all that the engine found."""
        sums = found.sums() if with_sums else None
        return cls(
            first_media_ns=found.first_media_ns,
            end_ns=found.end_ns,
            packet_events=found.packet_events,
            under_way=found.under_way,
            agents=found.agents(),
            flows=found.flows(),
            links=found.links(),
            columns=found.take_columns(),
            sums=sums,
            series=tuple(found.series()),
        )

    @property
    def packets(self) -> int:
        """Number of packets."""
        return int(self.columns["time_ns"].size)

    def bin_packets(
        self,
        flows: list[int],
        *,
        by: Literal["sent", "arrived", "dropped"],
        origin_ns: int,
        interval_ns: int,
        bins: int,
        media_only: bool = False,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return IP bytes and packets to the client in bins, each of shape (bins,)."""
        counted, columns = self.select_packets(flows, media_only=media_only), self.columns
        if by != "sent":
            counted &= columns["arrived"] if by == "arrived" else columns["drop"] > 0
        selected = np.flatnonzero(counted)
        since_ns = columns["arrival_ns" if by == "arrived" else "time_ns"][selected] - origin_ns
        inside = (since_ns >= 0) & (since_ns < bins * interval_ns)
        bin_of, size_bytes = since_ns[inside] // interval_ns, columns["ip_bytes"][selected[inside]]
        size_in_bins = np.bincount(bin_of, size_bytes, bins).astype(np.float64)
        return size_in_bins, np.bincount(bin_of, minlength=bins).astype(np.float64)

    def totals(
        self,
        flows: list[int],
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        to_client: bool = True,
        media_only: bool = False,
    ) -> TotalsDict:
        """Return sums over some flows from ``start_ns`` to ``end_ns``, without the end."""
        selected = np.flatnonzero(
            self.select_packets(flows, to_client=to_client, media_only=media_only)
        )
        time_ns, arrival_ns, has_arrived, size_bytes, drop, again = (
            self.columns[name][selected]
            for name in ("time_ns", "arrival_ns", "arrived", "ip_bytes", "drop", "retransmission")
        )
        sent = _is_within(time_ns, start_ns, end_ns)
        arrived = has_arrived & _is_within(arrival_ns, start_ns, end_ns)
        sent_ns, arrived_ns = time_ns[sent], arrival_ns[arrived]
        delay_ns = (arrival_ns - time_ns)[sent & has_arrived]
        return {
            "sent_packets": int(sent.sum()),
            "sent_bytes": int(size_bytes[sent].sum()),
            "arrived_packets": int(arrived.sum()),
            "arrived_bytes": int(size_bytes[arrived].sum()),
            "dropped_packets": int((drop[sent] > 0).sum()),
            "retransmissions": int(again[sent].sum()),
            "mean_delay_s": float(np.mean(s_from_ns(delay_ns))) if delay_ns.size else None,
            "first_sent_ns": int(sent_ns[0]) if sent_ns.size else None,
            "last_sent_ns": int(sent_ns[-1]) if sent_ns.size else None,
            "first_arrived_ns": int(arrived_ns.min()) if arrived_ns.size else None,
            "last_arrived_ns": int(arrived_ns.max()) if arrived_ns.size else None,
        }

    def select_packets(
        self, flows: list[int], *, to_client: bool = True, media_only: bool = False
    ) -> _Mask:
        """Return which packets are of some flows in one direction; media carries payload."""
        columns, is_wanted = self.columns, np.zeros(len(self.flows), dtype=np.bool_)
        is_wanted[flows] = True
        selected: _Mask = is_wanted.take(columns["flow"])
        selected &= columns["to_client"] == to_client
        if media_only:
            selected &= columns["payload_bytes"] > 0
            selected &= columns["phase"] != PHASES.index("probe")
        return selected


def _is_within(time_ns: npt.NDArray[np.int64], start_ns: int | None, end_ns: int | None) -> _Mask:
    inside = np.ones(time_ns.size, dtype=np.bool_)
    if start_ns is not None:
        inside &= time_ns >= start_ns
    if end_ns is not None:
        inside &= time_ns < end_ns
    return inside
