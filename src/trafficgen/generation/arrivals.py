"""Arrival processes: when sessions start, from all together to a daily profile or flash crowd.

Every process but a list is Poisson with an intensity that may change with time. It is drawn by
inversion: unit exponential gaps, summed, are times of a Poisson process of rate 1, and the inverse
of the cumulated intensity carries them over exactly (Cinlar, "Introduction to Stochastic
Processes", 1975, section 4.7). All starts come from one random stream in order, so that the start
of session *k* is the same however many sessions follow it.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.errors import GenerationError
from trafficgen.models import LONGEST_S
from trafficgen.randomness import random_stream
from trafficgen.units import HOURS_PER_DAY, S_PER_HOUR, FloatArray, IntArray, ns_array_from_s

#: Starts of all sessions are in memory: eight bytes each.
MOST_SESSIONS = 100_000_000
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


@dataclass(frozen=True)
class ConstantIntensity(Intensity):
    """A homogeneous Poisson process.

    Attributes:
        rate_per_s: Mean number of sessions that start in a second.
    """

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
            raise ValueError(f"a day has {HOURS_PER_DAY} hours, got {len(self.rates_per_s)} rates")
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


class Arrivals(ABC):
    """When the sessions of a workload start."""

    @abstractmethod
    def starts_s(
        self, *, sessions: int | None, window_s: float | None, generator: np.random.Generator
    ) -> FloatArray:
        """Return when each session starts, s from the workload's start, ascending.

        Args:
            sessions: Number of sessions; None: as many as start in the window.
            window_s: Time in which they start, s; None: as long as it takes. With both, exactly so
                many sessions start in this time.
            generator: Random stream of the arrivals alone.

        Raises:
            GenerationError: If the process does not give such starts.
        """


@dataclass(frozen=True)
class TogetherArrivals(Arrivals):
    """All sessions start at 0."""

    def starts_s(
        self, *, sessions: int | None, window_s: float | None, generator: np.random.Generator
    ) -> FloatArray:
        """Return when each session starts, s."""
        del window_s, generator
        if sessions is None:
            raise GenerationError(
                "sessions that all start together need a number; give --sessions (in a workload"
                " file: sessions), or say when they start with --arrivals (arrivals)"
            )
        return np.zeros(sessions)


@dataclass(frozen=True)
class PoissonArrivals(Arrivals):
    """A Poisson process, homogeneous or not.

    Attributes:
        intensity: Its rate as a function of time.
        is_known: Whether the height of the rate is known; else only its shape is, and both a
            number of sessions and a window are needed.
    """

    intensity: Intensity
    is_known: bool = True

    def starts_s(
        self, *, sessions: int | None, window_s: float | None, generator: np.random.Generator
    ) -> FloatArray:
        """Return when each session starts, s."""
        if sessions is not None and window_s is not None:
            # Given their number, the times of a Poisson process are independent, with its
            # intensity as density.
            mass = self._mass(window_s)
            if mass <= 0:
                raise GenerationError(
                    f"no session ever starts in the first {window_s:g} s; ask for a longer time"
                )
            times_s = self.intensity.times_s(np.sort(generator.random(sessions)) * mass)
            return np.minimum(times_s, window_s)
        if not self.is_known:
            raise GenerationError(
                "'arrivals' has no rate; give one, such as poisson:0.5/s, or both --sessions and"
                " --for (in a workload file: sessions and for)"
            )
        if sessions is not None:
            self._check_span(sessions)
            return self.intensity.arrivals_s(generator.standard_exponential(sessions))
        if window_s is None:
            raise GenerationError("sessions would never end; give a number of sessions or a time")
        return self._within(window_s, generator)

    def _within(self, window_s: float, generator: np.random.Generator) -> FloatArray:
        mass = self._mass(window_s)
        if mass > MOST_SESSIONS:
            raise GenerationError(
                f"about {mass:.3g} sessions start in {window_s:g} s, more than {MOST_SESSIONS:,};"
                " ask for a shorter time or a lower rate"
            )
        gaps = generator.standard_exponential(_enough(mass))
        while (times_s := self.intensity.arrivals_s(gaps))[-1] < window_s:
            gaps = np.concatenate((gaps, generator.standard_exponential(_enough(mass))))
        return times_s[: int(np.searchsorted(times_s, window_s))]

    def _mass(self, window_s: float) -> float:
        return float(self.intensity.expected(np.array(window_s)))

    def _check_span(self, sessions: int) -> None:
        with np.errstate(over="ignore"):  # infinity is too long
            span_s = float(self.intensity.times_s(np.array([float(sessions)]))[0])
        if span_s > LONGEST_S:
            raise GenerationError(
                f"{sessions} sessions at this arrival rate take {span_s:g} s, longer than"
                f" {LONGEST_S:g} s; ask for a higher arrival rate"
            )


@dataclass(frozen=True)
class ListedArrivals(Arrivals):
    """Starts that were observed, or made elsewhere.

    Attributes:
        times_s: Times from the start of the workload, s, ascending.
    """

    times_s: tuple[float, ...] | FloatArray

    def starts_s(
        self, *, sessions: int | None, window_s: float | None, generator: np.random.Generator
    ) -> FloatArray:
        """Return when each session starts, s: the first ones within the window."""
        del generator
        times_s = np.asarray(self.times_s, dtype=np.float64)
        if window_s is not None:
            times_s = times_s[: int(np.searchsorted(times_s, window_s))]
        if sessions is not None and sessions > times_s.size:
            within = "" if window_s is None else f" within {window_s:g} s"
            raise GenerationError(
                f"{sessions} sessions are requested, {times_s.size} starts are listed{within};"
                " ask for fewer"
            )
        return times_s[:sessions]


def arrival_times_ns(
    arrivals: Arrivals,
    *,
    seed: int,
    sessions: int | None = None,
    window_s: float | None = None,
    purpose: str = "session arrivals",
) -> IntArray:
    """Return when each session starts, ns from the origin, ascending, shape (number of sessions,).

    Args:
        arrivals: The process.
        seed: Seed of the run.
        sessions: Number of sessions; None: as many as start in the window.
        window_s: Time in which sessions start, s; None: as long as it takes.
        purpose: Name of the random stream, for workloads with several processes.

    Raises:
        GenerationError: If the process does not give such starts, gives none, or the last would
            come later than times can hold.
    """
    if sessions is not None and not 1 <= sessions <= MOST_SESSIONS:
        problem = "ask for at least 1" if sessions < 1 else f"ask for at most {MOST_SESSIONS:,}"
        raise GenerationError(f"{sessions} sessions cannot be generated; {problem}")
    generator = random_stream(seed, session=0, purpose=purpose)
    times_s = arrivals.starts_s(sessions=sessions, window_s=window_s, generator=generator)
    if not times_s.size:
        within = "" if window_s is None else f" in the first {window_s:g} s"
        raise GenerationError(
            f"no session starts{within}; ask for a longer time, more sessions or a higher rate"
        )
    if not (times_s[0] >= 0 and times_s[-1] <= LONGEST_S):
        raise GenerationError(
            f"sessions start from {times_s[0]:g} to {times_s[-1]:g} s, outside 0 to"
            f" {LONGEST_S:g} s; count times from the start of the workload"
        )
    return ns_array_from_s(times_s)


def session_starts(sessions: int, *, arrival_rate_per_s: float | None, seed: int) -> IntArray:
    """Return when each session starts, ns from the origin, shape (sessions,).

    Args:
        sessions: Number of sessions.
        arrival_rate_per_s: Mean number of sessions that start in a second, a Poisson process; None:
            all start at 0.
        seed: Seed of the run.

    Raises:
        GenerationError: If the last would start later than times can hold.
    """
    arrivals: Arrivals = TogetherArrivals()
    if arrival_rate_per_s is not None:
        arrivals = PoissonArrivals(ConstantIntensity(arrival_rate_per_s))
    return arrival_times_ns(arrivals, sessions=sessions, seed=seed)


def _enough(mass: float) -> int:
    """Return a number of gaps that nearly always spans a mean number of arrivals."""
    return int(mass + 6 * math.sqrt(mass)) + 16


def _require_positive(name: str, value: float) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{name} must be positive and finite, got {value}")
