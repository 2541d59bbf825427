"""Rates, loss and delays of flows, and what arrived within their delay budgets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trafficgen.simulation.outcome import TotalsDict
from trafficgen.simulation.run import Run
from trafficgen.simulation.sources import Source
from trafficgen.units import FloatArray, kbps_from_bytes, ns_from_s, s_from_ns

#: Interval of all series (CCZ: rates over 0.5 s).
INTERVAL_S = 0.5
#: From a packet to the end of the interval that it ends: 1 ns, and rounding.
_ONE_PACKET_S = 1.5e-9


@dataclass(frozen=True)
class IntervalMeasure:
    """Flows to the client in an interval.

    Attributes:
        rate_kbps: IP bytes received in it.
        offered_kbps: IP bytes sent in it, before the first link.
        loss: Dropped / sent, of the packets sent in it; NaN where none was.
        retransmissions: Packets sent in it that repeat data.
    """

    duration_s: float
    rate_kbps: float
    offered_kbps: float
    loss: float
    retransmissions: int


@dataclass(frozen=True)
class Delay:
    """One-way delay of packets that arrived, s."""

    mean: float
    p95: float
    max: float

    @classmethod
    def from_samples(cls, delay_s: FloatArray) -> Delay:
        """Return mean, 95th percentile and maximum; NaN of an empty array."""
        if not delay_s.size:
            return cls(math.nan, math.nan, math.nan)
        return cls(float(delay_s.mean()), float(np.quantile(delay_s, 0.95)), float(delay_s.max()))


def interval_measure(
    run: Run,
    flows: list[int],
    *,
    received_s: tuple[float, float],
    sent_s: tuple[float, float],
    to_client: bool = True,
) -> IntervalMeasure:
    """Measure flows in intervals of arrivals and of sendings, s after time zero, without ends.

    The sendings end earlier if the interval ends with its last packet.
    """
    arrived = _totals(run, flows, received_s, to_client=to_client)
    sent = _totals(run, flows, sent_s, to_client=to_client)
    received_for_s, sent_for_s = received_s[1] - received_s[0], sent_s[1] - sent_s[0]
    return IntervalMeasure(
        duration_s=received_for_s,
        rate_kbps=_rate_kbps(arrived["arrived_bytes"], received_for_s),
        offered_kbps=_rate_kbps(sent["sent_bytes"], sent_for_s),
        loss=sent["dropped_packets"] / sent["sent_packets"] if sent["sent_packets"] else math.nan,
        retransmissions=sent["retransmissions"],
    )


def _rate_kbps(size_bytes: int, interval_s: float) -> float:
    """Return a rate; NaN in the interval of one packet, which ends right after it begins."""
    return kbps_from_bytes(size_bytes, interval_s) if interval_s > _ONE_PACKET_S else math.nan


def _totals(
    run: Run, flows: list[int], interval_s: tuple[float, float], *, to_client: bool
) -> TotalsDict:
    start_ns, end_ns = _limits_ns(run, interval_s)
    return run.outcome.totals(flows, start_ns=start_ns, end_ns=end_ns, to_client=to_client)


def _limits_ns(run: Run, interval_s: tuple[float, float]) -> tuple[int, int]:
    start_s, end_s = interval_s
    return run.time_zero_ns + ns_from_s(start_s), run.time_zero_ns + ns_from_s(end_s)


def delays(
    run: Run, flows: list[int], *, sent_s: tuple[float, float], to_client: bool = True
) -> Delay:
    """Return the delays of packets of one direction sent in an interval; NaN if none arrived."""
    rows = slice(*np.searchsorted(run.columns["time_ns"], _limits_ns(run, sent_s)).tolist())
    columns = {name: values[rows] for name, values in run.columns.items()}
    counted = np.isin(columns["flow"], flows) & columns["arrived"]
    counted &= columns["to_client"] == to_client
    delay_ns = (columns["arrival_ns"] - columns["time_ns"])[counted]
    return Delay.from_samples(np.asarray(s_from_ns(delay_ns), dtype=np.float64))


@dataclass(frozen=True)
class Bins:
    """Bins of half a second, aligned to the first media packet."""

    run: Run  #: the simulation
    first: int  #: number of the first bin; bin 0 begins with the first media packet
    count: int  #: number of bins

    @classmethod
    def from_times(cls, run: Run, start_s: float, end_s: float) -> Bins:
        """Return the bins from that of ``start_s`` to the last that is over at ``end_s``."""
        first = math.floor(start_s / INTERVAL_S)
        return cls(run, first, max(0, math.floor(end_s / INTERVAL_S) - first))

    @property
    def start_s(self) -> float:
        """Begin of the first bin, s after the first media packet."""
        return self.first * INTERVAL_S

    def rate_kbps(self, flows: list[int], by: Literal["sent", "arrived"]) -> FloatArray:
        """Return the rate sent or received in each bin, shape (count,)."""
        rates: FloatArray = self._binned(flows, by)[0] * kbps_from_bytes(1, INTERVAL_S)
        return rates

    def loss(self, flows: list[int]) -> FloatArray:
        """Return dropped / sent packets of each bin, shape (count,); NaN if none was sent."""
        sent, dropped = self._binned(flows, "sent")[1], self._binned(flows, "dropped")[1]
        shares = np.full(self.count, np.nan)
        np.divide(dropped, sent, out=shares, where=sent > 0)
        return shares

    def align_samples(self, values: FloatArray) -> FloatArray:
        """Return the sample at the begin of each bin, shape (count,); NaN if there is no sample.

        Samples were taken every half second from the first media packet on.
        """
        series = np.full(self.count, np.nan)
        taken = values[: max(0, self.first + self.count)]
        series[-self.first : -self.first + taken.size] = taken
        return series

    def _binned(
        self, flows: list[int], by: Literal["sent", "arrived", "dropped"]
    ) -> tuple[FloatArray, FloatArray]:
        return self.run.outcome.bin_packets(
            flows,
            by=by,
            origin_ns=self.run.time_zero_ns + ns_from_s(self.start_s),
            interval_ns=ns_from_s(INTERVAL_S),
            bins=self.count,
        )


@dataclass(frozen=True, kw_only=True)
class BudgetShare:
    """What of a flow arrived within its delay budget, as 3GPP TR 38.838 counts it.

    Attributes:
        flow: Name of the flow.
        budget_s: Its delay budget, s.
        sendings: Frames, or single packets, whose budget was over before the session.
        share: Share of them that arrived as a whole within it; NaN without sendings.
        wanted: Share that a satisfied user has; None: the source does not say.
    """

    flow: str
    budget_s: float
    sendings: int
    share: float
    wanted: float | None

    @property
    def is_met(self) -> bool:
        """Whether the share is at least the wanted one."""
        return self.wanted is None or self.share >= self.wanted

    def to_json(self) -> dict[str, object]:
        """Return it as in the JSON of `simulate`."""
        return {**vars(self), "is_met": self.is_met}


def judge_budgets(
    source: Source, facts: Mapping[str, Sequence[tuple[float, float]]]
) -> tuple[BudgetShare, ...]:
    """Return the share of each flow that has a delay budget, from the facts of a session's log."""
    flows = source.parameters.get("flows")
    known = [
        flow
        for flow in (flows if isinstance(flows, list) else ())
        if flow.get("delay_budget_s") is not None
    ]
    counts = zip(facts.get("budget_sent", ()), facts.get("budget_met", ()), strict=True)
    return tuple(
        BudgetShare(
            flow=flow["name"],
            budget_s=flow["delay_budget_s"],
            sendings=int(sent),
            share=met / sent if sent else math.nan,
            wanted=flow.get("success_share"),
        )
        for flow, ((_, sent), (_, met)) in zip(known, counts, strict=False)
    )
