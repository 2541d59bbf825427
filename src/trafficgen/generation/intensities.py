"""Rates of arrival processes as functions of time, and their inverse.

Times of a Poisson process of rate 1, sums of unit exponential gaps, are carried over to any other
by the inverse of its cumulated intensity, exactly (Cinlar, "Introduction to Stochastic Processes",
1975, section 4.7).
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from trafficgen.imports import special
from trafficgen.units import HOURS_PER_DAY, S_PER_HOUR, FloatArray

_DAY_S = HOURS_PER_DAY * S_PER_HOUR


class Intensity(ABC):
    """Sessions that start in a second on average, as a function of time from 0 on."""

    @abstractmethod
    def expected(self, time_s: FloatArray) -> FloatArray:
        """Return the mean number of sessions that start before a time, any shape."""

    @abstractmethod
    def times_s(self, expected: FloatArray) -> FloatArray:
        """Return when the mean number of sessions reaches a value, s: inverse of ``expected``."""

    def arrivals_s(self, gaps: FloatArray) -> FloatArray:
        """Return times from unit exponential gaps, s, shape (n,)."""
        return self.times_s(np.cumsum(gaps))

    @property
    def covers_s(self) -> float | None:
        """Time that it is given for, s; None: it never ends."""
        return None


@dataclass(frozen=True)
class ConstantIntensity(Intensity):
    """A homogeneous Poisson process."""

    rate_per_s: float

    def __post_init__(self) -> None:
        _require_positive("the arrival rate", self.rate_per_s)

    def expected(self, time_s: FloatArray) -> FloatArray:
        """Return the mean number of sessions that start before a time, any shape."""
        return self.rate_per_s * time_s

    def times_s(self, expected: FloatArray) -> FloatArray:
        """Return when the mean number of sessions reaches a value, s."""
        return expected / self.rate_per_s

    def arrivals_s(self, gaps: FloatArray) -> FloatArray:
        """Return times from unit exponential gaps, s, shape (n,)."""
        # Gap by gap, as numpy scales its exponential draws.
        return np.cumsum(gaps * (1 / self.rate_per_s))


@dataclass(frozen=True)
class HourlyIntensity(Intensity):
    """A rate for each hour of the day, every day the same.

    Attributes:
        rates_per_s: Mean number of sessions that start in a second of each hour, from midnight on;
            24 values.
        begins_s: Time of day at which the workload begins, s after midnight.
    """

    rates_per_s: tuple[float, ...]
    begins_s: float = 0.0

    def __post_init__(self) -> None:
        if len(self.rates_per_s) != HOURS_PER_DAY:
            raise ValueError(
                f"give {HOURS_PER_DAY} rates, one an hour, not {len(self.rates_per_s)}"
            )
        if not all(rate >= 0 and math.isfinite(rate) for rate in self.rates_per_s):
            raise ValueError("the rates of the hours must be finite and not negative")
        _require_positive("the rate of at least one hour", max(self.rates_per_s))
        if not 0 <= self.begins_s < _DAY_S:
            raise ValueError(f"begins must be within a day, got {self.begins_s:g} s")

    def expected(self, time_s: FloatArray) -> FloatArray:
        """Return the mean number of sessions that start before a time, any shape."""
        return self._since_midnight(time_s + self.begins_s) - self._before

    def times_s(self, expected: FloatArray) -> FloatArray:
        """Return when the mean number of sessions reaches a value, s."""
        days, rest = np.divmod(expected + self._before, self._cumulated[-1])
        rest_s = np.interp(rest, self._cumulated, self._edges_s)
        return np.asarray(days * _DAY_S + rest_s - self.begins_s)

    def _since_midnight(self, time_s: FloatArray) -> FloatArray:
        days, rest_s = np.divmod(time_s, _DAY_S)
        rest = np.interp(rest_s, self._edges_s, self._cumulated)
        return np.asarray(days * self._cumulated[-1] + rest)

    @property
    def _edges_s(self) -> FloatArray:
        return np.arange(HOURS_PER_DAY + 1, dtype=np.float64) * S_PER_HOUR

    @property
    def _cumulated(self) -> FloatArray:
        return np.concatenate(([0.0], np.cumsum(np.array(self.rates_per_s) * S_PER_HOUR)))

    @property
    def _before(self) -> float:
        return float(self._since_midnight(np.array(self.begins_s)))


@dataclass(frozen=True)
class ListedIntensity(Intensity):
    """A rate that is given at some times and linear between them, constant before and after.

    Two rates at one time are a step.

    Attributes:
        knots_s: Times, s, ascending, >= 0.
        rates_per_s: Rate at each, sessions/s.
    """

    knots_s: tuple[float, ...]
    rates_per_s: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.knots_s) != len(self.rates_per_s) or not self.knots_s:
            raise ValueError(
                f"{len(self.knots_s)} times and {len(self.rates_per_s)} rates; give each time a"
                " rate"
            )
        if self.knots_s[0] < 0 or any(a > b for a, b in itertools.pairwise(self.knots_s)):
            raise ValueError("the times of the rates do not ascend from 0; put them in order")
        if not all(rate >= 0 and math.isfinite(rate) for rate in self.rates_per_s):
            raise ValueError("the rates must be finite and not negative; correct them")
        _require_positive("the highest rate", max(self.rates_per_s))

    def expected(self, time_s: FloatArray) -> FloatArray:
        """Return the mean number of sessions that start before a time, any shape."""
        place = np.clip(np.searchsorted(self._knots_s, time_s, side="right") - 1, 0, None)
        since_s = time_s - self._knots_s[place]
        rising = self._rates[place] * since_s + self._slopes[place] * since_s**2 / 2
        return np.asarray(self._expected[place] + rising)

    def times_s(self, expected: FloatArray) -> FloatArray:
        """Return when the mean number of sessions reaches a value, s; infinity if it never does."""
        place = np.clip(np.searchsorted(self._expected, expected, side="right") - 1, 0, None)
        more, rate, slope = (
            expected - self._expected[place],
            self._rates[place],
            self._slopes[place],
        )
        # The root of rate t + slope t**2 / 2 = more, in the form that does not cancel.
        root = np.sqrt(np.maximum(rate**2 + 2 * slope * more, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            since_s = np.where(more > 0, 2 * more / (rate + root), 0.0)
        return np.asarray(self._knots_s[place] + since_s)

    @property
    def covers_s(self) -> float | None:
        """Time of the last rate, s; None if that is the only one."""
        return self.knots_s[-1] or None

    @property
    def _knots_s(self) -> FloatArray:
        """Times of the rates, from 0 on, shape (k,)."""
        return np.array([0.0, *self.knots_s], dtype=np.float64)

    @property
    def _rates(self) -> FloatArray:
        """Rate from each of them on, sessions/s, shape (k,)."""
        return np.array([self.rates_per_s[0], *self.rates_per_s], dtype=np.float64)

    @property
    def _slopes(self) -> FloatArray:
        """Change of the rate from each on, sessions/s^2, shape (k,); 0 after the last."""
        lengths_s, rises = np.diff(self._knots_s), np.diff(self._rates)
        slopes = np.divide(rises, lengths_s, out=np.zeros_like(rises), where=lengths_s > 0)
        return np.append(slopes, 0.0)

    @property
    def _expected(self) -> FloatArray:
        """Mean number of sessions before each, shape (k,)."""
        means = (self._rates[1:] + self._rates[:-1]) / 2
        return np.concatenate(([0.0], np.cumsum(means * np.diff(self._knots_s))))


@dataclass(frozen=True)
class FlashCrowd(Intensity):
    """A constant rate with one surge, which rises linearly and decays exponentially.

    Attributes:
        base_per_s: Rate before the surge, and long after it, sessions/s.
        start_s: When the rate begins to rise, s.
        rise_s: From there to the peak, s; 0 for a jump.
        peak_factor: Rate at the peak / rate before.
        decay_s: Time in which what the surge adds falls to 1/e, s.
    """

    base_per_s: float
    start_s: float
    rise_s: float
    peak_factor: float
    decay_s: float

    def __post_init__(self) -> None:
        _require_positive("the rate before a flash crowd", self.base_per_s)
        _require_positive("the decay of a flash crowd", self.decay_s)
        for name in ("start_s", "rise_s"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                raise ValueError(
                    f"{name} of a flash crowd must be finite and not negative, got {value}"
                )
        if not (self.peak_factor >= 1 and math.isfinite(self.peak_factor)):
            raise ValueError(
                "the peak of a flash crowd must be at least its base, got a ratio of"
                f" {self.peak_factor}"
            )

    def expected(self, time_s: FloatArray) -> FloatArray:
        """Return the mean number of sessions that start before a time, any shape."""
        rising_s = np.clip(time_s - self.start_s, 0.0, self.rise_s)
        falling_s = np.maximum(time_s - self._peak_s, 0.0)
        surge_s = self.decay_s * -np.expm1(-falling_s / self.decay_s)
        if self.rise_s > 0:
            surge_s = surge_s + rising_s**2 / (2 * self.rise_s)
        return np.asarray(self.base_per_s * (time_s + (self.peak_factor - 1) * surge_s))

    def times_s(self, expected: FloatArray) -> FloatArray:
        """Return when the mean number of sessions reaches a value, s."""
        calm = expected / self.base_per_s
        times_s = np.array(calm)
        rising = (calm > self.start_s) & (calm <= self._at_peak)
        falling = calm > self._at_peak
        times_s[rising] = self.start_s + self._rising_s(calm[rising] - self.start_s)
        times_s[falling] = self._peak_s + self._falling_s(calm[falling] - self._at_peak)
        return times_s

    @property
    def _peak_s(self) -> float:
        return self.start_s + self.rise_s

    @property
    def _at_peak(self) -> float:
        """Mean number of sessions before the peak over the base rate, s."""
        return self._peak_s + (self.peak_factor - 1) * self.rise_s / 2

    def _rising_s(self, more_s: FloatArray) -> FloatArray:
        """Return u with u + (peak - 1) u**2 / (2 rise) = more, in the form that does not cancel."""
        bend = 2 * (self.peak_factor - 1) / self.rise_s if self.rise_s > 0 else 0.0
        return np.asarray(2 * more_s / (1 + np.sqrt(1 + bend * more_s)))

    def _falling_s(self, more_s: FloatArray) -> FloatArray:
        """Return u with u + (peak - 1) decay (1 - exp(-u / decay)) = more, by Wright's omega."""
        excess = self.peak_factor - 1
        if excess == 0:
            return more_s
        end = more_s / self.decay_s - excess
        return np.maximum(0.0, self.decay_s * (end + special.wrightomega(math.log(excess) - end)))


def _require_positive(name: str, value: float) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{name} must be positive and finite, got {value}")
