"""Laws that a workload file names: of lengths, rates, and of when viewers leave."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import AfterValidator, Field, field_validator, model_validator

from trafficgen.distributions import MixedLaw, Quantiles, distribution_of, truncated
from trafficgen.units import FloatArray
from trafficgen.workloads.shorthand import ChoicePart, KindPart
from trafficgen.workloads.values import QuantityText, Unit, quantity

#: Values of a law are sent to other processes.
MOST_VALUES = 100_000


class ExponentialPart(KindPart):
    """An exponential law."""

    first_key = "mean"
    mean: QuantityText
    """Mean."""


class LognormalPart(KindPart):
    """A log-normal law."""

    first_key = "median"
    median: QuantityText
    """Median."""
    sigma: float = Field(gt=0, le=10)
    """Standard deviation of the logarithm."""


class UniformPart(KindPart):
    """A uniform law."""

    first_key = "low"
    low: QuantityText
    """Smallest value."""
    high: QuantityText
    """Largest value."""


class TablePart(KindPart):
    """Values that were observed or counted: each is drawn as often as its weight says."""

    first_key = "values"
    values: tuple[QuantityText, ...] = Field(default=(), max_length=MOST_VALUES)
    """The values; a file stands instead of them."""
    weights: tuple[float, ...] = Field(default=(), max_length=MOST_VALUES)
    """A weight for each value; empty: all alike."""
    file: str | None = None
    """File beside this one with a value a line, or a CSV or Parquet file with a column of them;
    times in s."""
    column: str | None = None
    """Column of that file; null: the only one, or `value`."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if (self.file is None) == (not self.values):
            raise ValueError("a table has either values or a file; give one of them")
        if self.weights and len(self.weights) != len(self.values):
            raise ValueError(
                f"{len(self.values)} values have {len(self.weights)} weights; give each value one"
            )
        if any(weight < 0 for weight in self.weights) or (self.weights and sum(self.weights) <= 0):
            raise ValueError("weights must not be negative, and one must be positive; correct them")
        return self


class LawPart(ChoicePart):
    """A law: one value, a family, or a table."""

    kinds: ClassVar[tuple[str, ...]] = ("fixed", "exponential", "lognormal", "uniform", "table")

    fixed: QuantityText | None = None
    """One value for all; `180s` alone says the same."""
    exponential: ExponentialPart | None = None
    """Exponential."""
    lognormal: LognormalPart | None = None
    """Log-normal."""
    uniform: UniformPart | None = None
    """Uniform."""
    table: TablePart | None = None
    """From a table."""
    least: QuantityText | None = None
    """Draws below are drawn anew; null: no bound."""
    most: QuantityText | None = None
    """Draws above are drawn anew; null: no bound."""

    @model_validator(mode="before")
    @classmethod
    def _one_value(cls, value: Any) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_value = isinstance(value, str) and value[:1] in set("0123456789+-.")
        return {"fixed": value} if is_number or is_value else value

    @field_validator("fixed", mode="before")
    @classmethod
    def _not_empty(cls, value: Any) -> Any:
        return None if value == {} else value

    @model_validator(mode="after")
    def _possible(self) -> Self:
        self.unit  # noqa: B018 - all values must be of one unit
        if self.table is None or self.table.file is None:
            self.distribution()
        return self

    @property
    def unit(self) -> Unit | None:
        """Unit of its values; None where only a file has them."""
        units = {quantity(text)[1] for text in self._texts()}
        if len(units) > 1:
            raise ValueError(
                "some of the values are times and some are plain numbers; give all of them units of"
                " time"
            )
        return next(iter(units), None)

    def distribution(self, values: FloatArray | None = None) -> MixedLaw:
        """Return the law to draw from.

        Args:
            values: What the file of a table holds.

        Raises:
            ValueError: If the parameters are out of range.
        """
        if self.fixed is not None:
            return MixedLaw(
                continuous=None, values=(quantity(self.fixed)[0],), probabilities=(1.0,)
            )
        if self.table is not None:
            return self._tabled(self.table, values)
        low, high = (
            None if text is None else quantity(text)[0] for text in (self.least, self.most)
        )
        if low is not None and high is not None and low > high:
            raise ValueError(f"least {self.least} is above most {self.most}; exchange them")
        return MixedLaw(continuous=truncated(self._family(), minimum=low, maximum=high))

    def _family(self) -> Any:
        if self.exponential is not None:
            return distribution_of("expon", {"scale": quantity(self.exponential.mean)[0]})
        if self.lognormal is not None:
            parameters = {"s": self.lognormal.sigma, "scale": quantity(self.lognormal.median)[0]}
            return distribution_of("lognorm", parameters)
        assert self.uniform is not None
        low, high = quantity(self.uniform.low)[0], quantity(self.uniform.high)[0]
        if low >= high:
            raise ValueError(
                f"low {self.uniform.low} is not below high {self.uniform.high}; correct them"
            )
        return Quantiles(probabilities=(0.0, 1.0), values=(low, high))

    def _tabled(self, table: TablePart, values: FloatArray | None) -> MixedLaw:
        if values is None:
            values = np.array([quantity(text)[0] for text in table.values])
        weights = np.array(table.weights) if table.weights else np.ones(values.size)
        keep = weights > 0
        for bound, within in ((self.least, np.greater_equal), (self.most, np.less_equal)):
            keep &= True if bound is None else within(values, quantity(bound)[0])
        if not keep.any():
            raise ValueError("no value of the table lies within its bounds; correct least and most")
        distinct, place = np.unique(values[keep], return_inverse=True)
        counts = np.bincount(place, weights=weights[keep])
        return MixedLaw(
            continuous=None,
            values=tuple(distinct.tolist()),
            probabilities=tuple((counts / counts.sum()).tolist()),
        )

    def _texts(self) -> list[str]:
        texts = [self.fixed, self.least, self.most]
        if self.exponential is not None:
            texts.append(self.exponential.mean)
        if self.lognormal is not None:
            texts.append(self.lognormal.median)
        if self.uniform is not None:
            texts += [self.uniform.low, self.uniform.high]
        if self.table is not None:
            texts += self.table.values
        return [text for text in texts if text is not None]


def _in(unit: Unit, example: str) -> AfterValidator:
    def checked(law: LawPart) -> LawPart:
        if law.unit not in (unit, None):
            wanted = "a time with its unit" if unit == "s" else "a plain number"
            raise ValueError(f"{wanted} is wanted; write for example {example}")
        return law

    return AfterValidator(checked)


LawOfLength = Annotated[LawPart, _in("s", "20min or exponential:20min")]
LawOfShare = Annotated[LawPart, _in("1", "0.5 or uniform:0,high=1")]
