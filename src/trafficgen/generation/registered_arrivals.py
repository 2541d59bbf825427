"""Arrival processes of users: functions that draw when sessions start."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from trafficgen.errors import GenerationError
from trafficgen.formatting import describe_value, suggest_name
from trafficgen.generation.arrivals import Arrivals, ListedArrivals
from trafficgen.options import takes_name
from trafficgen.registry import Registry, calling_module, name_failures, require_function
from trafficgen.units import FloatArray

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
        times_s, found = np.zeros(0), f"{describe_value(given)}, which is no array of times"
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
