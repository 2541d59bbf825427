"""What is compared of a standard model, its document and ns-3, and how each is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.verification.ns3_generators import sent
from tests.verification.standard_laws import Between, files_over_tcp, play, sendings

from trafficgen.units import FloatArray

pytestmark = pytest.mark.ns3
#: Draws whose Kolmogorov-Smirnov distance is below this are of one law.
SAME = 0.02
#: Draws of each side, of which chance makes less than a distance of ``SAME``.
DRAWS = 40_000
#: Longest session, s, and a short time between files that gives many of them.
LONGEST_S, WAIT_S = 21_000, 0.5

#: Why sizes differ by less than a byte.
WHOLE = "ns-3 cuts down to whole bytes"

Drawn = Callable[[], FloatArray]


@dataclass(frozen=True)
class Clipped:
    """A law of scipy.stats whose mass above an end sits on it."""

    law: Any
    high: float

    def cdf(self, x: FloatArray) -> FloatArray:
        return np.where(np.asarray(x) >= self.high, 1.0, self.law.cdf(x))

    def moments(self) -> tuple[float, float]:
        low = self.law.support()[0]
        first, second = (
            self.law.expect(lambda x, n=n: x**n, lb=low, ub=self.high, epsrel=1e-9)
            + self.high**n * self.law.sf(self.high)
            for n in (1, 2)
        )
        return float(first), math.sqrt(second - first**2)


@dataclass(frozen=True)
class Mixed:
    """A mixture of laws of scipy.stats."""

    parts: tuple[tuple[float, Any], ...]

    def cdf(self, x: FloatArray) -> FloatArray:
        return np.asarray(sum(weight * law.cdf(x) for weight, law in self.parts))

    def moments(self) -> tuple[float, float]:
        first = sum(weight * law.mean() for weight, law in self.parts)
        second = sum(weight * (law.mean() ** 2 + law.var()) for weight, law in self.parts)
        return first, math.sqrt(second - first**2)


@dataclass(frozen=True)
class Floored:
    """A law whose draws are cut down to whole steps."""

    law: Any
    step: float = 1.0

    def cdf(self, x: FloatArray) -> FloatArray:
        ends = (np.floor(np.asarray(x) / self.step + 1e-6) + 1) * self.step
        return np.asarray(self.law.cdf(ends * (1 - 1e-12)))

    def moments(self) -> tuple[float, float]:
        """Return moments; what is cut off is uniform, since steps are small beside the law."""
        mean, sd = self.law.moments()
        return mean - self.step / 2, math.sqrt(sd**2 - self.step**2 / 12)


@dataclass(frozen=True)
class ByMoments:
    """A quantity of which the mean and the SD count: a constant, if that is 0."""

    mean: float
    sd: float = 0.0

    def moments(self) -> tuple[float, float]:
        return self.mean, self.sd


@dataclass(frozen=True)
class Compared:
    """A quantity of an entry, of its document, of traffic here and of ns-3's generator.

    Attributes:
        entry: The entry, and settings that matter.
        what: The quantity, in the plural.
        document: Its law by the document.
        ours: Draws from traffic of the entry.
        ns3: Draws of ns-3's generator.
        unit: Unit of the figures that are noted, of which a draw is ``per_draw``.
        printed: Mean and SD that the document prints, where it does.
        ns3_law: What ns-3 draws from, where that is another law.
        why: What ns-3 does otherwise.
    """

    entry: str
    what: str
    document: Any
    ours: Drawn
    ns3: Drawn
    unit: str = "bytes"
    per_draw: float = 1.0
    printed: tuple[float | None, float | None] = (None, None)
    ns3_law: Any = None
    why: str = ""


def sizes_of(entry: str, flow: int = 0, *, up: bool = False, **settings: Any) -> Drawn:
    return lambda: sendings(play(entry, tuple(settings.items())), flow, up=up)[1][1:-1]


def gaps_of(entry: str, flow: int = 0, *, up: bool = False, **settings: Any) -> Drawn:
    def draw() -> FloatArray:
        return differences_of(sendings(play(entry, tuple(settings.items())), flow, up=up)[0][:-1])

    return draw


def differences_of(time_s: FloatArray) -> FloatArray:
    """Return the times between events, in whole ns."""
    return np.diff(np.round(time_s * 1e9)) / 1e9


def files_of(entry: str, **settings: Any) -> Drawn:
    return lambda: files_over_tcp(play(entry, tuple(settings.items())))[0][:-1]


def ns3_sizes_of(generator: str, seconds: float) -> Drawn:
    return lambda: sent(generator, seconds)[1][1:]


def ns3_gaps_of(generator: str, seconds: float) -> Drawn:
    return lambda: differences_of(sent(generator, seconds)[0])


def gumbel_from(loc: float, scale: float, low: float = 0.0) -> Between:
    return Between(stats.gumbel_r(loc, scale), low)
