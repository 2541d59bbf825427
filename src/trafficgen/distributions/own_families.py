"""Families of users: objects with the functions of a ``scipy.stats`` distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, Literal, Protocol

import numpy as np

from trafficgen.distributions.base import Distribution
from trafficgen.distributions.starting_point import QUARTILES, fit_quartiles
from trafficgen.errors import TrafficgenError
from trafficgen.formatting import one_line
from trafficgen.options import check_argument, checks_arguments
from trafficgen.registry import Registry, calling_module
from trafficgen.units import FloatArray

_Unit = Literal["s", "bytes", "packets"]
#: How a parameter within bounds becomes a number without bounds.
_SCALES: Mapping[tuple[float, float], str] = {
    (0.0, inf): "log",
    (0.0, 1.0): "logit",
    (1.0, inf): "log_above_1",
    (-inf, inf): "identity",
}
#: Logarithms of small probabilities between which a tail shows whether a moment is finite; the
#: second pair is for functions that know no smaller ones.
_FAR_TAILS = ((400.0, 600.0), (20.0, 33.0))
#: The sample from which a new family is tried.
_TRIAL = -np.log1p(-np.linspace(0.01, 0.99, 99))


class FamilyFunctions(Protocol):
    """What a family needs; ``sf``, ``isf`` and ``support`` are used where it has them."""

    @property
    def cdf(self) -> Callable[..., Any]:
        """Function of x, the shapes, loc and scale: P(X <= x)."""

    @property
    def ppf(self) -> Callable[..., Any]:
        """Function of q, the shapes, loc and scale: the quantile of a probability."""


@dataclass(frozen=True, eq=False)
class OwnFamily:
    """A family that was registered."""

    functions: FamilyFunctions
    bounds: Mapping[str, tuple[float, float]]  #: of each estimated parameter
    start: Callable[[FloatArray], Mapping[str, float]]  #: first estimates from a sample
    units: tuple[str, ...]  #: of the quantities for which it is tried

    @cached_property
    def shapes(self) -> tuple[str, ...]:
        """Names of the parameters other than ``loc`` and ``scale``, in order."""
        return tuple(name for name in self.bounds if name not in {"loc", "scale"})

    @property
    def scales(self) -> dict[str, str]:
        """Estimated parameters and how each becomes a number without bounds."""
        found = {name: _SCALES[ends] for name, ends in self.bounds.items()}
        return found | ({"loc": "shift"} if "loc" in found else {})

    def tail(self, params: Iterable[float], x: FloatArray, *, upper: bool) -> FloatArray:
        """Return P(X > x) if ``upper``, else P(X <= x); parameters are shapes, loc, scale."""
        *shapes, loc, scale = params
        given = {"loc": loc, "scale": scale}
        if upper and hasattr(self.functions, "sf"):
            return np.asarray(self.functions.sf(x, *shapes, **given), np.float64)
        below = np.asarray(self.functions.cdf(x, *shapes, **given), np.float64)
        return 1.0 - below if upper else below

    def quantile(self, params: Iterable[float], p: FloatArray, *, upper: bool) -> FloatArray:
        """Return the values exceeded with probabilities if ``upper``, else the quantiles."""
        *shapes, loc, scale = params
        given = {"loc": loc, "scale": scale}
        if upper and hasattr(self.functions, "isf"):
            return np.asarray(self.functions.isf(p, *shapes, **given), np.float64)
        share = 1.0 - p if upper else p
        return np.asarray(self.functions.ppf(share, *shapes, **given), np.float64)


#: Families of users, by name.
OWN_FAMILIES: Registry[OwnFamily] = Registry("distributions")


@dataclass(frozen=True)
class OwnLaw(Distribution):
    """A family of a user with its parameters."""

    family: str  #: name in :data:`OWN_FAMILIES`
    params: tuple[float, ...]  #: shapes, loc, scale

    @property
    def _family(self) -> OwnFamily:
        return OWN_FAMILIES[self.family]

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        low, high = self._ppf(np.array([0.0, 1.0])).tolist()
        return low, high

    def _cdf(self, x: FloatArray) -> FloatArray:
        return self._family.tail(self.params, x, upper=False)

    def _sf(self, x: FloatArray) -> FloatArray:
        return self._family.tail(self.params, x, upper=True)

    def _ppf(self, p: FloatArray) -> FloatArray:
        return self._family.quantile(self.params, p, upper=False)

    def _isf(self, p: FloatArray) -> FloatArray:
        return self._family.quantile(self.params, p, upper=True)

    def partial_moment(self, order: int, *, low: float = -inf, high: float = inf) -> float:
        """Return E[X**order; low < X <= high] by integrating over the logarithm of each tail."""
        if low >= high:
            return 0.0
        if order == 0:
            return float(self.cdf(high) - self.cdf(low))
        return self._moment_of_tail(order, low, high, upper=False) + self._moment_of_tail(
            order, low, high, upper=True
        )

    def _moment_of_tail(self, order: int, low: float, high: float, *, upper: bool) -> float:
        """Return the part of a moment that lies below, or above, the median."""
        near, far = (low, high) if upper else (high, low)
        tail = self.sf if upper else self.cdf
        start, end = (-math.log(max(float(tail(x)), 1e-300)) for x in (near, far))
        start = max(start, math.log(2))
        if end <= start:
            return 0.0

        from scipy import integrate  # noqa: PLC0415 - 0.3 s, and few have families of their own

        def value(t: float) -> float:
            return float((self.isf if upper else self.ppf)(math.exp(-t)))

        def weighted(t: float) -> float:
            return value(t) ** order * math.exp(-t)

        if math.isinf(far):
            for one, other in _FAR_TAILS:
                sizes = abs(value(one)), abs(value(other))
                if min(sizes) > 0 and max(sizes) < inf:
                    if order * math.log(sizes[1] / sizes[0]) >= other - one:
                        return inf
                    end = min(end, 600.0 if (one, other) == _FAR_TAILS[0] else other)
                    break
        found, *_ = integrate.quad(weighted, start, end, limit=200, epsabs=0.0, epsrel=1e-10)
        return float(found)

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws by inversion, shape (count,)."""
        return self.ppf(generator.random(count))


def own_law(family: str, params: Mapping[str, float]) -> OwnLaw:
    """Build the law of a registered family.

    Raises:
        ValueError: If a parameter is missing, unknown or out of range.
    """
    own = OWN_FAMILIES[family]
    known = (*own.shapes, "loc", "scale")
    given = {"loc": 0.0, "scale": 1.0} | dict(params)
    if set(given) != set(known):
        got = ", ".join(params) or "none"
        raise ValueError(f"{family} takes the parameters {', '.join(known)}; got {got}")
    for name, (low, high) in own.bounds.items():
        if not (low < given[name] < high and math.isfinite(given[name])):
            raise ValueError(
                f"{name} of {family} must lie between {low:g} and {high:g}, got {given[name]}"
            )
    return OwnLaw(family, tuple(float(given[name]) for name in known))


@checks_arguments
def register_distribution(
    name: str,
    functions: FamilyFunctions,
    *,
    bounds: Mapping[str, tuple[float, float]],
    start: Callable[[FloatArray], Mapping[str, float]] | None = None,
    units: Iterable[_Unit] = ("s", "bytes"),
) -> None:
    """Let `fit` try a distribution family of your own, and models play it.

    `fit` takes it where it describes gaps, sizes or counts better than trafficgen's own families.
    Whoever plays a model with it needs the registration too; from the command line, an entry point
    of the group ``trafficgen.distributions`` with this name gives the module that registers it.

    Args:
        name: Its name in model files.
        functions: A continuous distribution of ``scipy.stats``, or any object with ``cdf(x,
            *shapes, loc, scale)`` and ``ppf(q, *shapes, loc, scale)`` of arrays. Tails keep more
            digits where it has ``sf`` and ``isf`` too.
        bounds: Estimated parameter -> its range: (0, inf), (0, 1), (1, inf) or (-inf, inf). Shapes
            come in the order of the functions; ``scale`` is one of them, so that laws can be
            scaled; ``loc`` is 0 where it is left out.
        start: First estimates from a sorted sample, shape (n,), where the search for the largest
            likelihood starts; by default the median fits and shapes are 1 (0.5 or 2 if that is out
            of range).
        units: Unit of the quantities for which it is tried.

    Raises:
        TrafficgenError: If the name is invalid or one of trafficgen's own, functions are missing or
            fail where the search starts, shapes have other names, or a range is another one.

    Example:
        >>> from math import inf
        >>> import scipy.stats
        >>> import trafficgen
        >>> from trafficgen.models import Law
        >>> positive = (0, inf)
        >>> trafficgen.register_distribution(
        ...     "burr12",
        ...     scipy.stats.burr12,
        ...     bounds={"c": positive, "d": positive, "scale": positive},
        ... )
        >>> params = {"c": 2.0, "d": 3.0, "scale": 0.02}
        >>> law = Law(unit="s", family="burr12", params=params, observations=0)
        >>> round(law.distribution().mean, 4)
        0.0118
    """
    OWN_FAMILIES.check_name(name)
    _check_functions(name, functions)
    for key, one in bounds.items():
        if one not in [*_SCALES, *map(list, _SCALES)]:
            raise TrafficgenError(
                f"distribution {name}: the bounds of {key} are {one!r}; use (0, inf), (0, 1),"
                " (1, inf) or (-inf, inf)"
            )
    ends = {key: (float(low), float(high)) for key, (low, high) in bounds.items()}
    if ends.get("scale") != (0.0, inf) or ends.get("loc", (-inf, inf)) != (-inf, inf):
        raise TrafficgenError(
            f"distribution {name}: the bounds need scale between 0 and inf, and loc, if it is"
            " estimated, between -inf and inf"
        )
    units = (*units,)
    for unit in units:
        check_argument("register_distribution: each of units", unit, _Unit)
    own = OwnFamily(functions, ends, start or (lambda sample: _fit_quartiles(own, sample)), units)
    _check_shapes(name, own)
    _try_out(name, own)
    OWN_FAMILIES.register(name, own, module=calling_module())


def _check_functions(name: str, functions: FamilyFunctions) -> None:
    """Refuse what is not a continuous distribution whose parameters can be estimated."""
    missing = [one for one in ("cdf", "ppf") if not callable(getattr(functions, one, None))]
    problem = f"its functions have no {missing[0]}" if missing else ""
    if hasattr(functions, "dist") and hasattr(functions, "kwds"):
        problem = "its parameters are fixed (a frozen law of scipy.stats), and a fit estimates them"
    elif hasattr(functions, "pmf") and not hasattr(functions, "pdf"):
        problem = "it is a law of whole numbers, which cannot be registered"
    if problem:
        raise TrafficgenError(
            f"distribution {name}: {problem}; pass a continuous distribution of scipy.stats, such"
            " as scipy.stats.burr12, or an object with cdf and ppf"
        )


def _check_shapes(name: str, own: OwnFamily) -> None:
    """Refuse bounds of other shapes than a distribution of scipy.stats has."""
    text = getattr(own.functions, "shapes", 0)  # of scipy.stats a text, None where it has none
    if text is not None and not isinstance(text, str):
        return
    known = tuple((text or "").replace(",", " ").split())
    if own.shapes != known:
        raise TrafficgenError(
            f"distribution {name}: the bounds have the shapes {', '.join(own.shapes) or 'none'},"
            f" the law has {', '.join(known) or 'none'}; give bounds of"
            f" {', '.join((*known, 'scale'))}, in this order"
        )


def _try_out(name: str, own: OwnFamily) -> None:
    """Refuse a family whose functions fail where a search would start."""
    given: dict[str, float] = {}
    problem = "cdf does not undo ppf"
    try:
        with np.errstate(all="ignore"):
            given = {"loc": 0.0} | {key: float(one) for key, one in own.start(_TRIAL).items()}
            params = [given[key] for key in (*own.shapes, "loc", "scale")]
            again = [
                own.tail(params, own.quantile(params, QUARTILES, upper=upper), upper=upper)
                for upper in (False, True)
            ]
        if np.allclose(again, QUARTILES, rtol=0, atol=1e-3):
            return
    except KeyError as error:
        problem = f"start gives no {error}"
    except Exception as error:  # whatever functions of a user do
        problem = f"its functions fail ({type(error).__name__}: {one_line(error)})"
    at = ", ".join(f"{key}={one:g}" for key, one in given.items() if key in own.bounds)
    raise TrafficgenError(
        f"distribution {name}: {problem}{f' at {at}' if at else ''}; correct its functions, the"
        " bounds of its parameters, or start"
    )


def _fit_quartiles(own: OwnFamily, sample: FloatArray) -> dict[str, float]:
    def quartiles_of(params: dict[str, float]) -> FloatArray:
        shapes = [params[name] for name in own.shapes]
        return own.quantile([*shapes, 0.0, 1.0], QUARTILES, upper=False)

    return fit_quartiles(own.scales, quartiles_of, np.quantile(sample, QUARTILES))
