"""Loss of a capture with its interval, and the two laws of its runs: Bernoulli and Gilbert."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from trafficgen.critical_values import NORMAL_95
from trafficgen.models import Estimate, LossModel
from trafficgen.units import BoolArray, IntArray

LossSource = Literal["rtp", "tcp", "rtcp", "pair", "arrival"]


@dataclass(frozen=True)
class Loss:
    """Loss seen in a capture.

    Attributes:
        rate: Lost / expected packets, or retransmitted / all data packets.
        source: RTP sequence numbers, TCP retransmissions, RTCP reports, a pair of captures or the
            arrival times of a packet table.
        packets: Packets that the rate refers to.
        low, high: 95% interval of the rate.
        model: Law of the runs; None if they are unknown or there is no loss.
        lost_runs: Lengths of the runs, shape (r,); empty if unknown.
    """

    rate: float
    source: LossSource
    packets: int
    low: float
    high: float
    model: LossModel | None = None
    lost_runs: IntArray = field(
        default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False, compare=False
    )

    @staticmethod
    def from_share(lost: int, packets: int, source: LossSource) -> Loss:
        """Return the loss of packets of which only the number of lost ones is known."""
        return Loss(lost / packets, source, packets, *wilson(lost / packets, packets))

    @property
    def mean_burst_packets(self) -> float | None:
        """Mean run of lost packets; None if there is no loss or only totals are known."""
        return float(self.lost_runs.mean()) if self.lost_runs.size else None

    def to_estimate(self) -> Estimate:
        """Return the rate with its interval."""
        method = f"share of {self.packets} packets; {_METHOD}"
        return Estimate(value=self.rate, low=self.low, high=self.high, method=method)


_TRANSITIONS = "share of transitions; Wilson interval"
_METHOD = "Wilson interval, as many independent packets as the runs of losses leave"


def estimate_loss(lost_runs: IntArray, *, packets: int, source: LossSource) -> Loss:
    """Estimate the loss rate and its burstiness from the lengths of runs of lost packets.

    The two-state chain of Gilbert (1960) loses every packet of its bad state. With r runs of loss
    among n_0 packets that arrived, the maximum likelihood estimates are r / n_0 for P(good to bad)
    and r / lost for P(bad to good). Loss is independent (Bernoulli) where the two add up to 1. The
    interval of the rate is Wilson's (1927) with an effective number of packets,
    n (1 - rho) / (1 + rho): rho is the chain's correlation, 1 - the sum of the two probabilities,
    or 0 without evidence for runs (BIC).

    Args:
        lost_runs: Length of each run, packets, shape (r,).
        packets: All packets, lost ones included; above 0.
        source: How the loss was seen.
    """
    lost, runs = int(lost_runs.sum()), int(lost_runs.size)
    came = packets - lost
    rate = lost / packets
    if not runs:
        return Loss.from_share(0, packets, source)
    to_bad, to_good = min(1.0, runs / max(came, 1)), runs / lost
    bernoulli_bic, gilbert_bic = _bics(runs=runs, lost=lost, came=came)
    has_runs = gilbert_bic < bernoulli_bic and came > 0
    rho = min(0.999, max(0.0, 1 - to_bad - to_good)) if has_runs else 0.0
    low, high = wilson(rate, max(1.0, packets * (1 - rho) / (1 + rho)))
    model = LossModel(
        kind="gilbert" if has_runs else "bernoulli",
        good_to_bad=estimate_share(to_bad, max(came, 1), _TRANSITIONS),
        bad_to_good=estimate_share(to_good, lost, _TRANSITIONS),
        mean_burst_packets=_mean_run(to_good, lost),
        delta_bic=float(abs(bernoulli_bic - gilbert_bic)),
    )
    return Loss(rate, source, packets, low, high, model, lost_runs)


def find_runs(flags: BoolArray) -> IntArray:
    """Return the lengths of the runs of true values, shape (r,)."""
    edges = np.diff(np.concatenate(([False], flags, [False])).astype(np.int8))
    return np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return the 95% interval of a share of ``n`` independent trials (Wilson 1927).

    statsmodels has it too, but takes 0.8 s to load and does not keep the share inside.
    """
    z2 = NORMAL_95**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL_95 * float(np.sqrt(share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def estimate_share(share: float, n: int, method: str) -> Estimate:
    """Return a share of ``n`` independent trials with its Wilson interval."""
    low, high = wilson(share, n)
    return Estimate(value=share, low=low, high=high, method=method)


def _mean_run(to_good: float, lost: int) -> Estimate:
    low, high = wilson(to_good, lost)
    return Estimate(
        value=1 / to_good,
        low=1 / high,
        high=1 / low,
        method="mean run of lost packets; interval of 1 / P(bad to good)",
    )


def _bics(*, runs: int, lost: int, came: int) -> tuple[float, float]:
    """Return the BIC of independent loss and of the Gilbert chain, on the same transitions."""
    n = lost + came
    log_n = float(np.log(n))
    bernoulli = _log_likelihood(lost, n)
    gilbert = _log_likelihood(min(runs, came), max(came, 1)) + _log_likelihood(runs, lost)
    return log_n - 2 * bernoulli, 2 * log_n - 2 * gilbert


def _log_likelihood(successes: int, trials: int) -> float:
    """Return the log-likelihood of this many successes at their own share."""
    parts = (count for count in (successes, trials - successes) if count)
    return sum((count * float(np.log(count / trials)) for count in parts), 0.0)
