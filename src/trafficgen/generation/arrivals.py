"""Arrival processes: when sessions start, from all together to a daily profile or flash crowd.

Every process but a list is Poisson with an intensity that may change with time, drawn by inversion
(:mod:`trafficgen.generation.intensities`). All starts come from one random stream in order, so that
the start of session *k* is the same however many sessions follow it.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from trafficgen.errors import GenerationError
from trafficgen.formatting import (
    describe_value,
    format_count,
    format_duration,
    number,
    size_text,
    suggest_name,
)
from trafficgen.generation.intensities import ConstantIntensity, Intensity
from trafficgen.models import LONGEST_S
from trafficgen.options import takes_name
from trafficgen.process_memory import memory_limit_bytes
from trafficgen.randomness import random_stream
from trafficgen.registry import Registry, calling_module, name_failures, require_function
from trafficgen.units import FloatArray, IntArray, ns_array_from_s

#: Starts of all sessions are in memory: eight bytes each.
MOST_SESSIONS = 100_000_000
#: What the start of a session takes while all are put in order, bytes, measured.
_START_BYTES = 24


class Arrivals(ABC):
    """When the sessions of a workload start."""

    @abstractmethod
    def starts_s(
        self, *, sessions: int | None, window_s: float | None, generator: np.random.Generator
    ) -> FloatArray:
        """Return when each session starts, s from the workload's start, ascending.

        Without ``sessions`` as many start as fit into the window, without ``window_s`` it is as
        long as it takes; with both, exactly this many sessions start in this time. The generator is
        for the arrivals alone.

        Raises:
            GenerationError: If the process does not give such starts.
        """

    @property
    def is_counted(self) -> bool:
        """Whether it gives a number of sessions where neither a number nor a window is given."""
        return False

    @property
    def has_rate(self) -> bool:
        """Whether it gives a number of sessions in any window."""
        return True

    def explain(self, *, sessions: int | None, window_s: float | None) -> str:
        """Return what of it is changed to make this many sessions; empty if nothing is."""
        del sessions, window_s
        return ""


@dataclass(frozen=True)
class TogetherArrivals(Arrivals):
    """All sessions start at 0."""

    @property
    def has_rate(self) -> bool:
        """Whether it gives a number of sessions in any window."""
        return False

    def starts_s(
        self, *, sessions: int | None, window_s: float | None, generator: np.random.Generator
    ) -> FloatArray:
        """Return when each session starts, s."""
        del window_s, generator
        if sessions is None:
            raise GenerationError(
                "sessions that all start together need a number; give [--sessions] (in a workload"
                " file: sessions), or say when they start with [--arrivals] (arrivals); one session"
                " alone has a [--duration]"
            )
        return np.zeros(sessions)


class DefaultArrivals(TogetherArrivals):
    """Arrivals where no process is named: all at 0, or at random times in a window."""

    def starts_s(
        self, *, sessions: int | None, window_s: float | None, generator: np.random.Generator
    ) -> FloatArray:
        """Return when each session starts, s."""
        if sessions is None or window_s is None:
            return super().starts_s(sessions=sessions, window_s=window_s, generator=generator)
        at_random = PoissonArrivals(ConstantIntensity(1.0), is_known=False)
        return at_random.starts_s(sessions=sessions, window_s=window_s, generator=generator)


@dataclass(frozen=True)
class PoissonArrivals(Arrivals):
    """A Poisson process, homogeneous or not.

    Attributes:
        intensity: Its rate as a function of time.
        is_known: Whether the height of the rate is known; else only its shape is, and both a
            number of sessions and a window are needed.
        label: What its rates are called in messages.
    """

    intensity: Intensity
    is_known: bool = True
    label: str = "arrival rates"

    @property
    def is_constant(self) -> bool:
        """Whether it has one rate, which is known."""
        return self.is_known and isinstance(self.intensity, ConstantIntensity)

    @property
    def is_counted(self) -> bool:
        """Whether it gives a number of sessions where neither a number nor a window is given."""
        return self.is_known and self.intensity.covers_s is not None

    @property
    def has_rate(self) -> bool:
        """Whether it gives a number of sessions in any window."""
        return self.is_known

    def explain(self, *, sessions: int | None, window_s: float | None) -> str:
        """Return by how much its rates are scaled to make this many sessions in a window."""
        if sessions is None or window_s is None or not self.is_known:
            return ""
        factor = number(sessions / self._mass(window_s))
        made = f"to make {format_count(sessions, 'session')} in {format_duration(window_s)}"
        return "" if factor == "1" else f"{self.label} scaled by {factor} {made}"

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
                "'arrivals' has no rate; give one, such as poisson:0.5/s, or both [--sessions] and"
                " [--for] (in a workload file: sessions and for)"
            )
        if sessions is not None:
            self._check_span(sessions)
            return self.intensity.arrivals_s(generator.standard_exponential(sessions))
        window_s = self.intensity.covers_s if window_s is None else window_s
        if window_s is None:
            raise GenerationError("sessions would never end; give a number of sessions or a time")
        return self._within(window_s, generator)

    def _within(self, window_s: float, generator: np.random.Generator) -> FloatArray:
        mass = self._mass(window_s)
        if mass > MOST_SESSIONS:
            raise GenerationError(
                f"about {number(mass)} sessions start in {format_duration(window_s)}, more than"
                f" {MOST_SESSIONS:,}; ask for a shorter time or a lower rate"
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

    @property
    def is_counted(self) -> bool:
        """Whether it gives a number of sessions where neither a number nor a window is given."""
        return True

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


@dataclass(frozen=True)
class FirstArrivals(Arrivals):
    """The first part of a longer run, with the very starts of that run.

    Attributes:
        whole: Arrivals of the run.
    """

    whole: Arrivals
    sessions: int
    window_s: float

    def starts_s(
        self, *, sessions: int | None, window_s: float | None, generator: np.random.Generator
    ) -> FloatArray:
        """Return when each session starts, s: those of the run that start within the window."""
        times_s = self.whole.starts_s(
            sessions=self.sessions, window_s=self.window_s, generator=generator
        )
        end = None if window_s is None else int(np.searchsorted(times_s, window_s))
        return times_s[:end][:sessions]

    def explain(self, *, sessions: int | None, window_s: float | None) -> str:
        """Describe the part for people: how much of the run it is, and whether rates are scaled."""
        del sessions
        scaled = self.whole.explain(sessions=self.sessions, window_s=self.window_s)
        run = f"{format_count(self.sessions, 'session')} in {format_duration(self.window_s)}"
        part = f"the first {format_duration(window_s or self.window_s)} of"
        return f"{scaled}; {part} them" if scaled else f"{part} {run}"


def arrival_times_ns(
    arrivals: Arrivals,
    *,
    seed: int,
    sessions: int | None = None,
    window_s: float | None = None,
    purpose: str = "session arrivals",
    fewest: int = 1,
) -> IntArray:
    """Return when each session starts, ns from the origin, ascending, shape (number of sessions,).

    Without ``sessions`` as many start as fit into the window, without ``window_s`` it is as long as
    it takes. ``purpose`` names the random stream, for workloads with several processes, of which
    one may have no start (``fewest`` is 0).

    Raises:
        GenerationError: If the process does not give such starts, gives too few, or the last would
            come later than times can hold.
    """
    if sessions is not None and not 1 <= sessions <= MOST_SESSIONS:
        problem = "ask for at least 1" if sessions < 1 else f"ask for at most {MOST_SESSIONS:,}"
        raise GenerationError(f"{sessions} sessions cannot be generated; {problem}")
    limit_bytes = memory_limit_bytes()
    if limit_bytes is not None and (sessions or 0) * _START_BYTES > limit_bytes:
        raise GenerationError(
            f"the starts of {sessions:,} sessions do not fit in the {size_text(limit_bytes)} of"
            " memory that are allowed ([--memory|memory_bytes]); ask for fewer, or give more"
        )
    generator = random_stream(seed, session=0, purpose=purpose)
    times_s = arrivals.starts_s(sessions=sessions, window_s=window_s, generator=generator)
    if times_s.size < fewest:
        within = "" if window_s is None else f" in the first {window_s:g} s"
        raise GenerationError(
            f"no session starts{within}; ask for a longer time, more sessions or a higher rate"
        )
    if times_s.size and not (times_s[0] >= 0 and times_s[-1] <= LONGEST_S):
        raise GenerationError(
            f"sessions start from {times_s[0]:g} to {times_s[-1]:g} s, outside 0 to"
            f" {LONGEST_S:g} s; count times from the start of the workload"
        )
    return ns_array_from_s(times_s)


def session_starts(sessions: int, *, arrival_rate_per_s: float | None, seed: int) -> IntArray:
    """Return when each session starts, ns from the origin, shape (sessions,).

    They start as a Poisson process of this mean rate; None: all at 0.

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


#: Draws the starts of sessions, s, from a generator, a number of sessions and a window in s (either
#: may be None), and keys of its own.
StartsFunction: TypeAlias = Callable[..., npt.ArrayLike]
_Starts = TypeVar("_Starts", bound=StartsFunction)
#: Arrival processes of users, by name.
ARRIVALS: Registry[StartsFunction] = Registry(
    "arrivals", taken=("together", "poisson", "hourly", "flash", "rates", "file", "registered")
)


@dataclass(frozen=True)
class RegisteredArrivals(Arrivals):
    """Starts that a function of a user draws.

    Attributes:
        name: Its name in :data:`ARRIVALS`.
    """

    name: str
    keys: Mapping[str, object]

    def starts_s(
        self, *, sessions: int | None, window_s: float | None, generator: np.random.Generator
    ) -> FloatArray:
        """Return when each session starts, s."""
        function = ARRIVALS[self.name]
        self._check_keys(list(inspect.signature(function).parameters.values())[3:])
        try:
            inspect.signature(function).bind(generator, sessions, window_s, **self.keys)
        except TypeError as error:
            raise GenerationError(f"arrivals {self.name}: {error}; correct the keys") from error
        with name_failures(f"arrivals {self.name}", kind=GenerationError):
            given = function(generator, sessions, window_s, **self.keys)
        times_s, found = np.zeros(0), f"{describe_value(given)}, which is not an array of times"
        with suppress(TypeError, ValueError):
            times_s = np.asarray(given, np.float64)
            found = "" if times_s.ndim == 1 else found
        if not found and not np.all(np.isfinite(times_s) & (times_s >= 0)):
            found = "times that are negative or not finite"
        if found:
            raise GenerationError(
                f"arrivals {self.name}: the function gives {found}; return times in s, shape (n,)"
            )
        return ListedArrivals(np.sort(times_s)).starts_s(
            sessions=sessions, window_s=window_s, generator=generator
        )

    def _check_keys(self, takes: list[inspect.Parameter]) -> None:
        """Refuse keys that the function does not take, and texts where a default is a number."""
        defaults = {one.name: one.default for one in takes if one.kind is not one.VAR_KEYWORD}
        for key, value in self.keys.items():
            if key not in defaults and len(defaults) == len(takes):
                raise GenerationError(
                    f"arrivals {self.name}: unknown key {key!r}{suggest_name(key, defaults)}; its"
                    f" keys are {', '.join(defaults) or 'none'}"
                )
            if isinstance(defaults.get(key), int | float) and isinstance(value, str):
                raise GenerationError(f"arrivals {self.name}: {key}={value} is not a number")


@takes_name
def register_arrivals(name: str) -> Callable[[_Starts], _Starts]:
    """Let sessions start by a process of your own, ``arrivals="NAME:key=value,..."``.

    From the command line, an entry point of the group ``trafficgen.arrivals`` with this name gives
    the module that registers it.

    Args:
        name: Its name.

    Returns:
        A decorator of a function ``starts(generator, sessions, window_s, **keys)`` that returns
        times in s from the start of the workload, shape (n,). It gets a random generator, the
        number of sessions and the time in which they start; either may be None. Of more times than
        wanted the first are taken. Values of keys are numbers where they look like one, else texts.

    Raises:
        TrafficgenError: If the name is invalid, or that of a process of trafficgen.

    Example:
        >>> import numpy as np
        >>> import trafficgen
        >>> @trafficgen.register_arrivals("regular")
        ... def start_regularly(
        ...     generator: np.random.Generator,
        ...     sessions: int | None,
        ...     window_s: float | None,
        ...     every_s: float = 1.0,
        ... ) -> np.ndarray:
        ...     return np.arange(sessions or int((window_s or 0) / every_s) + 1) * every_s
        >>> written = trafficgen.generate_workload(
        ...     "cbr", "fleet", arrivals="regular:every_s=2", sessions=3, duration_s=5
        ... )
        >>> written.sessions
        3
    """
    module = calling_module()

    def register(starts: _Starts) -> _Starts:
        require_function(starts, "register_arrivals")
        ARRIVALS.register(name, starts, module=module)
        return starts

    return register
