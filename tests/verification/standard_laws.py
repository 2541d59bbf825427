"""Laws of standard models, and the sendings of generated traffic that are compared with them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import integrate, stats

import trafficgen
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray

SEED = 20
#: Kolmogorov's distance times the root of the sample size that chance exceeds once in a thousand.
BY_CHANCE = 1.95
#: So many standard errors a mean may be off.
ERRORS = 4.0


@dataclass(frozen=True)
class Between:
    """A law of scipy.stats, of which draws beyond two ends are repeated."""

    law: Any
    low: float = -math.inf
    high: float = math.inf

    def cdf(self, x: FloatArray) -> FloatArray:
        below, mass = self.law.cdf(self.low), self.law.cdf(self.high) - self.law.cdf(self.low)
        return np.asarray(np.clip((self.law.cdf(x) - below) / mass, 0.0, 1.0))

    def moments(self) -> tuple[float, float]:
        """Return mean and standard deviation."""
        low, high = max(self.low, self.law.ppf(1e-12)), min(self.high, self.law.isf(1e-12))
        mass = self.law.cdf(self.high) - self.law.cdf(self.low)
        first, second = (
            integrate.quad(lambda x, n=n: x**n * self.law.pdf(x), low, high, limit=500)[0] / mass
            for n in (1, 2)
        )
        return first, math.sqrt(second - first**2)


def ks_distance(sample: npt.ArrayLike, law: Any) -> float:
    return float(stats.ks_1samp(np.asarray(sample), law.cdf).statistic)


@cache
def play(entry: str, settings: tuple[tuple[str, Any], ...] = ()) -> PacketTable:
    return trafficgen.generate(entry, seed=SEED, settings=dict(settings))


def sendings(
    table: PacketTable, flow: int = 0, *, up: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return times, s, and sizes, bytes: what leaves at one instant is one sending."""
    rows = (table.flow == flow) & (table.to_client != up)
    time_ns, place = np.unique(table.time_ns[rows], return_inverse=True)
    return time_ns / 1e9, np.bincount(place, weights=table.payload_bytes[rows]).astype(float)


def truncated_normal(mean: float, sd: float, low: float, high: float) -> Between:
    return Between(stats.norm(mean, sd * mean), low * mean, high * mean)


#: Packets of a file are less than this apart: a round trip of 20 ms, and delayed acknowledgements.
WITHIN_S = 0.05
ONE_WAY_S = 0.01


def files_over_tcp(table: PacketTable) -> tuple[FloatArray, FloatArray]:
    """Return sizes of files, bytes, and the time from the arrival of one to the next, s."""
    rows = table.to_client & (table.payload_bytes > 0)
    time_s, payload = table.time_ns[rows] / 1e9, table.payload_bytes[rows]
    gap_s = np.diff(time_s)
    starts = np.flatnonzero(gap_s > WITHIN_S) + 1
    return np.add.reduceat(payload, [0, *starts]), gap_s[gap_s > WITHIN_S] - ONE_WAY_S
