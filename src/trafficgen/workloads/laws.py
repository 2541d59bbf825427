"""Laws that a workload file names: of lengths, of rates, and of when viewers leave."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import AfterValidator, Field, field_validator, model_validator

from trafficgen.distributions import Distribution, MixedLaw, Quantiles, distribution_of, truncate
from trafficgen.units import FloatArray
from trafficgen.workloads.column_files import ColumnFiles
from trafficgen.workloads.shorthand import ChoicePart, KindPart, QuantityText, Unit, parse_quantity

#: Values of a law are sent to other processes.
MOST_VALUES = 100_000


class FamilyPart(KindPart):
    """A family of laws; its texts are values with a unit."""

    def quantities(self) -> tuple[str, ...]:
        """Return the values that have a unit."""
        return tuple(value for value in vars(self).values() if isinstance(value, str))

    def distribution(self) -> Distribution:
        """Return the law without its bounds.

        Raises:
            ValueError: If the parameters are out of range.
        """
        raise NotImplementedError


class ExponentialPart(FamilyPart):
    """An exponential law."""

    mean: QuantityText
    """Mean."""

    def distribution(self) -> Distribution:
        """Return the law without its bounds."""
        return distribution_of("expon", {"scale": parse_quantity(self.mean)[0]})


class LognormalPart(FamilyPart):
    """A log-normal law."""

    median: QuantityText
    """Median."""
    sigma: float = Field(gt=0, le=10)
    """Standard deviation of the logarithm."""

    def distribution(self) -> Distribution:
        """Return the law without its bounds."""
        scale = parse_quantity(self.median)[0]
        return distribution_of("lognorm", {"s": self.sigma, "scale": scale})


class UniformPart(FamilyPart):
    """A uniform law."""

    low: QuantityText
    """Smallest value."""
    high: QuantityText
    """Largest value."""

    def distribution(self) -> Distribution:
        """Return the law without its bounds."""
        low, high = parse_quantity(self.low)[0], parse_quantity(self.high)[0]
        if low >= high:
            raise ValueError(f"low {self.low} is not below high {self.high}; correct them")
        return Quantiles(probabilities=(0.0, 1.0), values=(low, high))


class TablePart(KindPart):
    """Observed values, each drawn in proportion to its weight."""

    values: tuple[QuantityText, ...] = Field(default=(), max_length=MOST_VALUES)
    """The values; or give `file`."""
    weights: tuple[float, ...] = Field(default=(), max_length=MOST_VALUES)
    """A weight for each value; empty: all alike."""
    file: str | None = None
    """File next to this one with a value a line, or a CSV or Parquet file with a column of them;
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

    def quantities(self) -> tuple[str, ...]:
        """Return the values that have a unit."""
        return self.values


class LawPart(ChoicePart):
    """A law: one value, a family, or a table."""

    noun: ClassVar[str] = "law"

    fixed: QuantityText | None = Field(default=None, examples=["fixed:180s"])
    """One value for all; `180s` alone means the same."""
    exponential: ExponentialPart | None = Field(default=None, examples=["exponential:20min"])
    """Exponential."""
    lognormal: LognormalPart | None = Field(default=None, examples=["lognormal:20min,sigma=1"])
    """Log-normal."""
    uniform: UniformPart | None = Field(default=None, examples=["uniform:5min,high=1h"])
    """Uniform."""
    table: TablePart | None = Field(default=None, examples=["table:file=FILE"])
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
        self.unit  # noqa: B018 - all values must have one unit
        if self.table is None or self.table.file is None:
            self.distribution()
        return self

    @property
    def unit(self) -> Unit | None:
        """Unit of its values; None if only a file has them."""
        own = (self.fixed,) if self.fixed is not None else self.part.quantities()
        bounds = [text for text in (self.least, self.most) if text is not None]
        units = {parse_quantity(text)[1] for text in (*own, *bounds)}
        if len(units) > 1:
            raise ValueError("times and plain numbers are mixed; give all values units of time")
        return next(iter(units), None)

    def distribution(self, values: FloatArray | None = None) -> MixedLaw:
        """Return the law to draw from.

        ``values`` are those of the file of a table.

        Raises:
            ValueError: If the parameters are out of range.
        """
        if self.fixed is not None:
            value = parse_quantity(self.fixed)[0]
            return MixedLaw(continuous=None, values=(value,), probabilities=(1.0,))
        low, high = (
            None if text is None else parse_quantity(text)[0] for text in (self.least, self.most)
        )
        if self.table is not None:
            return _law_of_table(self.table, values, low=low, high=high)
        if low is not None and high is not None and low > high:
            raise ValueError(f"least {self.least} is above most {self.most}; exchange them")
        return MixedLaw(continuous=truncate(self.part.distribution(), minimum=low, maximum=high))


def read_law(files: ColumnFiles, part: LawPart | None, at: str) -> MixedLaw | None:
    """Return the law of a part, with the values of its file; None if there is no part."""
    if part is None:
        return None
    values, table = None, part.table
    if table is not None and table.file is not None:
        name, column = table.file, table.column
        values = files.check(at, lambda: files.read(name, column, ("value",), most=MOST_VALUES))
        if values.min() < 0:
            raise files.error(at, f"{table.file} has negative values", "correct them")
    return files.check(at, lambda: part.distribution(values))


def _law_of_table(
    table: TablePart, values: FloatArray | None, *, low: float | None, high: float | None
) -> MixedLaw:
    if values is None:
        values = np.array([parse_quantity(text)[0] for text in table.values])
    weights = np.array(table.weights) if table.weights else np.ones(values.size)
    keep = weights > 0
    keep &= True if low is None else values >= low
    keep &= True if high is None else values <= high
    if not keep.any():
        raise ValueError("no value of the table lies within its bounds; correct least and most")
    distinct, place = np.unique(values[keep], return_inverse=True)
    counts = np.bincount(place, weights=weights[keep])
    return MixedLaw(
        continuous=None,
        values=tuple(distinct.tolist()),
        probabilities=tuple((counts / counts.sum()).tolist()),
    )


def _in(unit: Unit, example: str) -> AfterValidator:
    def check(law: LawPart) -> LawPart:
        if law.unit not in (unit, None):
            wanted = "a time with its unit" if unit == "s" else "a plain number"
            raise ValueError(f"{wanted} is needed; write for example {example}")
        return law

    return AfterValidator(check)


LawOfLength = Annotated[LawPart, _in("s", "20min or exponential:20min")]
LawOfShare = Annotated[LawPart, _in("1", "0.5 or uniform:0,high=1")]
