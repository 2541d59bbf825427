"""The law of one random quantity: atoms plus a continuous part, with its goodness of fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from trafficgen.distributions import (
    FAMILIES,
    MIXTURES,
    BodyAndTail,
    Distribution,
    MixedLaw,
    Quantiles,
    check_family,
    distribution_of,
    truncate,
)
from trafficgen.formatting import format_count, number
from trafficgen.model_parts.estimate import ModelPart
from trafficgen.quantity_bounds import LEAST_SCALE, most_of

#: Names of scipy.stats, and mixtures with the parameters p1, scale1, ... of their components;
#: ``quantiles`` is an empirical distribution, ``atoms`` has no continuous part.
FAMILY_NAMES = (*FAMILIES, *MIXTURES, "quantiles", "atoms")
#: Places and scales may exceed the largest value of their unit by this factor.
_PLACES_BEYOND = 1e6


def _check_family(name: str) -> str:
    if name not in FAMILY_NAMES:
        check_family(name)
    return name


Family = Annotated[
    str,
    AfterValidator(_check_family),
    WithJsonSchema({"type": "string", "enum": list(FAMILY_NAMES)}),
]


class Atom(ModelPart):
    """A value with positive probability, such as the packet size that fills the MTU."""

    value: float
    """The value, in the law's unit."""
    p: float = Field(gt=0, le=1)
    """Its probability."""


class QuantilePoint(ModelPart):
    """A point of the distribution function; between points the law is linear."""

    p: float = Field(ge=0, le=1)
    """Cumulative probability within the continuous part."""
    value: float
    """Quantile, in the law's unit."""


class Tail(ModelPart):
    """Generalised Pareto tail of a smoothed empirical law, from its last point on."""

    p: float = Field(gt=0, lt=1)
    """Probability of the tail within the continuous part."""
    threshold: float
    """Where the tail starts: the last quantile, in the law's unit."""
    c: float = Field(lt=1)
    """Shape of scipy.stats genpareto; the tail index is 1 / c."""
    scale: float = Field(gt=0)
    """Scale of scipy.stats genpareto, in the law's unit."""


class Alternative(ModelPart):
    """Another family that was tried."""

    family: str
    """scipy.stats name."""
    delta_bic: float
    """Its BIC less that of the chosen family; larger is worse."""
    held_out: float | None = None
    """Its log-likelihood on held-out parts of the sample less that of the chosen family; smaller
    is worse. Null where it was not computed."""


class GoodnessOfFit(ModelPart):
    """How far the fitted law is from the sample."""

    ks: float = Field(ge=0, le=1)
    """Largest distance of the two distribution functions, atoms included."""
    p_value: float | None = Field(default=None, ge=0, le=1)
    """p-value of that distance; null where it was not computed."""
    anderson_darling: float | None = Field(default=None, ge=0)
    """Anderson-Darling statistic of the values that were tested, which weighs the tails; null
    where it was not computed."""
    anderson_darling_p_value: float | None = Field(default=None, ge=0, le=1)
    """p-value of the Anderson-Darling statistic; null where not computed."""
    method: str
    """How the p-value was obtained (never the naive one when parameters were estimated)."""


class Law(ModelPart):
    """Distribution of one quantity: atoms with their probabilities, and a continuous family.

    Example:
        >>> from trafficgen.models import Atom, Law
        >>> full = Atom(value=1500, p=0.25)
        >>> params = {"s": 0.5, "scale": 400}
        >>> law = Law(
        ...     unit="bytes", family="lognorm", params=params, atoms=(full,), observations=1000
        ... )
        >>> law
        <Law lognorm, bytes: s=0.5, scale=400; 1 atom; 1,000 observations>
        >>> mean_bytes = law.distribution().mean
        >>> print(f"{mean_bytes:.0f} bytes on average; {law.continuous_weight:.0%} are not full")
        715 bytes on average; 75% are not full
    """

    interval_fields: ClassVar[frozenset[str]] = frozenset(("low", "high"))

    unit: Literal["s", "bytes", "packets", "bps", "1"]
    """Unit of the values."""
    family: Family
    """scipy.stats name of the continuous part, or quantiles, or atoms without such a part."""
    params: dict[str, float] = Field(default_factory=dict)
    """scipy.stats parameters of the continuous part."""
    low: dict[str, float] = Field(default_factory=dict)
    """Lower ends of the 95% intervals of the parameters."""
    high: dict[str, float] = Field(default_factory=dict)
    """Upper ends of the 95% intervals of the parameters."""
    quantiles: tuple[QuantilePoint, ...] = ()
    """Points of the law where the family is quantiles."""
    tail: Tail | None = None
    """What follows the last quantile; null where the quantiles reach to the largest value."""
    atoms: tuple[Atom, ...] = ()
    """Values with positive probability; the continuous part has the rest."""
    minimum: float | None = None
    """Lower bound of the continuous part; draws stay within."""
    maximum: float | None = None
    """Upper bound of the continuous part; draws stay within."""
    integer: bool = False
    """Whether values are whole numbers (bytes, packets)."""
    observations: int = Field(ge=0)
    """Size of the sample that was fitted."""
    log_likelihood: float | None = None
    """Of the continuous part at the estimate."""
    alternatives: tuple[Alternative, ...] = ()
    """Other families tried, best first."""
    fit: GoodnessOfFit | None = None
    """Goodness of fit; null for published laws."""

    def __repr__(self) -> str:
        parts = [", ".join(f"{name}={number(value)}" for name, value in self.params.items())]
        parts += [format_count(len(self.quantiles), "point")] if self.quantiles else []
        parts += [format_count(len(self.atoms), "atom")] if self.atoms else []
        parts += [format_count(self.observations, "observation")]
        unit = "" if self.unit == "1" else f", {self.unit}"
        return f"<Law {self.family}{unit}: {'; '.join(filter(None, parts))}>"

    @model_validator(mode="after")
    def _complete(self) -> Self:
        weight = sum(atom.p for atom in self.atoms)
        if weight > 1 + 1e-9:
            raise ValueError(f"the atoms' probabilities add up to {weight}, more than 1")
        if self.family == "atoms" and abs(weight - 1) > 1e-6:
            raise ValueError(
                f"a law of atoms alone needs probabilities that add up to 1, not {weight}"
            )
        if self.family == "quantiles" and len(self.quantiles) < 2:
            raise ValueError("a law of quantiles needs at least two points")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError(f"minimum {self.minimum} is above maximum {self.maximum}")
        self._check_bounds()
        # A model file that loads can also be played: whole numbers need one between the ends.
        self.distribution().support  # noqa: B018 - raises ValueError
        return self

    def _check_bounds(self) -> None:
        """Raise ValueError for a value, place or scale beyond the bounds of the unit."""
        most = most_of(self.unit)
        own = {key: value for key, value in self.params.items() if key.startswith(("loc", "scale"))}
        scales = [value for key, value in own.items() if key.startswith("scale")]
        # Of a law with a long tail they may be far beyond its values.
        places = [value / _PLACES_BEYOND for value in own.values()]
        values = [*places, *(atom.value for atom in self.atoms)]
        values += [point.value for point in self.quantiles]
        values += [value for value in (self.minimum, self.maximum) if value is not None]
        if self.tail is not None:
            scales.append(self.tail.scale)
            values += [self.tail.threshold, self.tail.scale]
        if (largest := max(map(abs, values), default=0.0)) > most:
            raise ValueError(f"its values must be at most {most:.15g}, not {largest:g}")
        if 0 < (smallest := min(scales, default=1.0)) < LEAST_SCALE:
            raise ValueError(f"a scale must be at least {LEAST_SCALE:g}, not {smallest:g}")

    @property
    def continuous_weight(self) -> float:
        """Probability of the continuous part."""
        return max(0.0, 1.0 - sum(atom.p for atom in self.atoms))

    def distribution(self) -> MixedLaw:
        """Return the law as something to draw from and to compare samples with.

        Raises:
            ValueError: If the parameters are not those of the family, or are out of range.
        """
        return MixedLaw(
            continuous=self._continuous(),
            values=tuple(atom.value for atom in self.atoms),
            probabilities=tuple(atom.p for atom in self.atoms),
            integer=self.integer,
        )

    def _continuous(self) -> Distribution | None:
        if self.family == "atoms":
            return None
        is_empirical = self.family == "quantiles"
        whole = self._empirical() if is_empirical else distribution_of(self.family, self.params)
        minimum, maximum = self.bounds
        return truncate(whole, minimum=minimum, maximum=maximum)

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Bounds of the continuous part; a whole number includes what rounds to it."""
        if not self.integer or self.family == "quantiles":
            return self.minimum, self.maximum
        minimum = None if self.minimum is None else math.ceil(self.minimum) - 0.5
        maximum = None if self.maximum is None else math.floor(self.maximum) + 0.5
        if minimum is not None and maximum is not None and minimum > maximum:
            return self.minimum, self.maximum  # there is no whole number between them
        return minimum, maximum

    def _empirical(self) -> Distribution:
        body = Quantiles(
            probabilities=tuple(point.p for point in self.quantiles),
            values=tuple(point.value for point in self.quantiles),
        )
        if self.tail is None:
            return body
        params = {"c": self.tail.c, "loc": self.tail.threshold, "scale": self.tail.scale}
        beyond = distribution_of("genpareto", params)
        return BodyAndTail(body=body, tail=beyond, tail_probability=self.tail.p)


def _in(unit: str) -> Callable[[Law], Law]:
    def check(law: Law) -> Law:
        if law.unit != unit:
            raise ValueError(f"the unit must be {unit!r}, not {law.unit!r}")
        return law

    return check


def _check_not_negative(law: Law) -> Law:
    values = [*(atom.value for atom in law.atoms), *(point.value for point in law.quantiles)]
    lowest = min(values, default=0.0)
    if lowest < 0:
        raise ValueError(f"its values must not be negative, not {lowest:g}")
    return law


LawOfTime = Annotated[Law, AfterValidator(_in("s"))]
LawOfBytes = Annotated[Law, AfterValidator(_in("bytes")), AfterValidator(_check_not_negative)]
LawOfPackets = Annotated[Law, AfterValidator(_in("packets")), AfterValidator(_check_not_negative)]


Part = TypeVar("Part", bound=ModelPart)
_Changed = TypeVar("_Changed", bound=ModelPart)


def with_laws(part: Part, change: Callable[[Law], Law]) -> Part:
    """Return a part with every law in it, at any depth, changed by ``change``."""
    return with_parts(part, Law, change)


def with_parts(part: Part, kind: type[_Changed], change: Callable[[_Changed], Any]) -> Part:
    """Return a part with every part of a kind in it, at any depth, changed by ``change``."""
    updates: dict[str, object] = {}
    for name in type(part).model_fields:
        before = getattr(part, name)
        after = _change_within(before, kind, change)
        if after is not before:
            updates[name] = after
    return part.model_copy(update=updates) if updates else part


def _change_within(
    value: object, kind: type[_Changed], change: Callable[[_Changed], Any]
) -> object:
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, ModelPart):
        return with_parts(value, kind, change)
    if isinstance(value, tuple):
        after = tuple(_change_within(each, kind, change) for each in value)
        return (
            after if any(new is not old for new, old in zip(after, value, strict=True)) else value
        )
    if isinstance(value, dict):
        changed = {key: _change_within(each, kind, change) for key, each in value.items()}
        return changed if any(changed[key] is not value[key] for key in value) else value
    return value
