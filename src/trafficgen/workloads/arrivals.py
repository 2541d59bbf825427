"""Arrivals that a workload file names: when sessions start."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, JsonValue, model_validator

from trafficgen.errors import WorkloadFileError
from trafficgen.generation.arrivals import (
    ARRIVALS,
    Arrivals,
    ListedArrivals,
    PoissonArrivals,
    RegisteredArrivals,
    TogetherArrivals,
)
from trafficgen.generation.intensities import (
    ConstantIntensity,
    FlashCrowd,
    HourlyIntensity,
    ListedIntensity,
)
from trafficgen.model_parts.estimate import ModelPart
from trafficgen.units import HOURS_PER_DAY, FloatArray
from trafficgen.workloads.column_files import ColumnFiles
from trafficgen.workloads.shorthand import (
    ChoicePart,
    KindPart,
    RateText,
    TimeText,
    parse_keys,
    parse_quantity,
    parse_rate_per_s,
    parse_time_s,
)


class PoissonPart(KindPart):
    """Sessions start independently of each other, at one rate."""

    rate: RateText | None = None
    """Sessions that start in a time; null: as many as `sessions` and `for` say."""

    def arrivals(self, files: ColumnFiles) -> Arrivals:
        """Return the process; without a rate only its shape is known."""
        del files
        rate = 1.0 if self.rate is None else parse_rate_per_s(self.rate)
        return PoissonArrivals(ConstantIntensity(rate), is_known=self.rate is not None)


class HourlyPart(KindPart):
    """Sessions start independently of each other, at a rate for each hour of the day."""

    hours: tuple[str | float, ...] | str
    """24 rates such as 0.5/s, or 24 plain numbers that are in proportion to them, from midnight
    on; or a file next to this one with such numbers, one a line or in the column `share`."""
    rate: RateText | None = None
    """Mean over a day, where the hours are plain numbers; null: as many as `sessions` and `for`
    say."""
    begins: TimeText = "0h"
    """Time of day at which the workload begins, such as 18h."""

    @model_validator(mode="after")
    def _a_day(self) -> Self:
        if isinstance(self.hours, str):
            return self
        if len(self.hours) != HOURS_PER_DAY:
            raise ValueError(
                f"a day has {HOURS_PER_DAY} hours, and there are {len(self.hours)} values; give"
                " each one"
            )
        if self._are_rates:
            for value in self.hours:
                parse_rate_per_s(str(value))
            if self.rate is not None:
                raise ValueError("the hours have rates already; leave rate out")
        elif any(parse_quantity(str(value))[1] != "1" for value in self.hours):
            raise ValueError("hours are neither rates nor plain numbers; write for example 0.5/s")
        return self

    @property
    def _are_rates(self) -> bool:
        return not isinstance(self.hours, str) and any("/" in str(value) for value in self.hours)

    def arrivals(self, files: ColumnFiles) -> Arrivals:
        """Return the process; without a rate only its shape is known."""
        if self._are_rates:
            rates, is_known = np.array([parse_rate_per_s(str(one)) for one in self.hours]), True
        else:
            weights, is_known = self._weights(files), self.rate is not None
            mean = 1.0 if self.rate is None else parse_rate_per_s(self.rate)
            rates = weights / weights.mean() * mean
        intensity = HourlyIntensity(tuple(rates.tolist()), begins_s=parse_time_s(self.begins))
        return PoissonArrivals(intensity, is_known=is_known)

    def _weights(self, files: ColumnFiles) -> FloatArray:
        if isinstance(self.hours, str):
            weights = files.read(self.hours, None, ("share", "rate"), most=HOURS_PER_DAY)
            if weights.size != HOURS_PER_DAY:
                raise ValueError(
                    f"{self.hours} has {weights.size} values; give {HOURS_PER_DAY}, one an hour"
                )
        else:
            weights = np.array([parse_quantity(str(value))[0] for value in self.hours])
        if weights.sum() <= 0:
            raise ValueError("no hour has a session; give at least one hour more than 0")
        return weights


class FlashPart(KindPart):
    """A flash crowd: a rate that surges once, rises in a straight line and decays exponentially."""

    base: RateText
    """Sessions that start in a time before the surge and long after it."""
    start: TimeText
    """When the rate begins to rise."""
    rise: TimeText = "0s"
    """From there to the peak; 0s is a jump."""
    peak: float = Field(ge=1, le=1e6)
    """Rate at the peak / rate before."""
    decay: TimeText
    """Time in which what the surge adds falls to 1/e."""

    def arrivals(self, files: ColumnFiles) -> Arrivals:
        """Return the process."""
        del files
        return PoissonArrivals(
            FlashCrowd(
                base_per_s=parse_rate_per_s(self.base),
                start_s=parse_time_s(self.start),
                rise_s=parse_time_s(self.rise),
                peak_factor=self.peak,
                decay_s=parse_time_s(self.decay),
            )
        )


class RatesPart(KindPart):
    """Sessions start independently of each other, at rates that a file lists."""

    name: str = Field(min_length=1)
    """CSV or Parquet file next to this one with the columns `time_s` and `rate_per_s`. Rates are
    linear between times and constant before and after; two lines of one time are a step."""
    scale: float = Field(default=1.0, gt=0)
    """Factor of all rates, such as 1/60 of rates a minute."""

    def arrivals(self, files: ColumnFiles) -> Arrivals:
        """Return the process."""
        try:
            knots_s = files.read(self.name, "time_s", ())
            rates = files.read(self.name, "rate_per_s", ()) * self.scale
        except WorkloadFileError as error:
            remedy = "give a CSV or Parquet file with the columns time_s and rate_per_s"
            raise WorkloadFileError(
                file=error.file, problem=error.problem, remedy=remedy
            ) from error
        intensity = ListedIntensity(tuple(knots_s.tolist()), tuple(rates.tolist()))
        return PoissonArrivals(intensity, label=f"rates of {self.name}")


class FilePart(KindPart):
    """Starts from a file."""

    name: str = Field(min_length=1)
    """File next to this one: a time in s a line, or a CSV or Parquet file with a column of them."""
    column: str | None = None
    """Column of that file; null: the only one, `start_s` or `time_s`."""

    def arrivals(self, files: ColumnFiles) -> Arrivals:
        """Return the starts that the file lists."""
        return ListedArrivals(np.sort(files.read(self.name, self.column, ("start_s", "time_s"))))


class RegisteredPart(ModelPart):
    """Starts from a function of a user."""

    name: str
    """Its name."""
    keys: dict[str, JsonValue] = Field(default_factory=dict)
    """Its keys -> value."""

    def arrivals(self, files: ColumnFiles) -> Arrivals:
        """Return the process."""
        del files
        return RegisteredArrivals(self.name, self.keys)


class ArrivalsPart(ChoicePart):
    """When sessions start; a text such as `poisson:0.5/s` names the kind before a colon."""

    noun: ClassVar[str] = "arrival process"

    together: dict[str, JsonValue] | None = Field(default=None, max_length=0, examples=["together"])
    """All sessions start at once; the value is {}."""
    poisson: PoissonPart | None = Field(default=None, examples=["poisson:0.5/s"])
    """A Poisson process of one rate."""
    hourly: HourlyPart | None = Field(default=None, examples=["hourly:FILE"])
    """A Poisson process with a rate for each hour."""
    flash: FlashPart | None = Field(
        default=None, examples=["flash:base=0.1/s,start=10min,peak=20,decay=5min"]
    )
    """A Poisson process with a surge."""
    rates: RatesPart | None = Field(default=None, examples=["rates:FILE"])
    """A Poisson process with the rates of a file."""
    file: FilePart | None = Field(default=None, examples=["file:FILE"])
    """Starts from a file."""
    registered: RegisteredPart | None = Field(default=None, examples=["NAME:key=value"])
    """A process of your own, registered under a name."""

    @classmethod
    def other_names(cls) -> list[str]:
        """Return the names of processes of users."""
        return list(ARRIVALS)

    @model_validator(mode="before")
    @classmethod
    def _find_registered(cls, value: Any) -> Any:
        """Take a name that is registered, as a text or as the only key, for a process."""
        given = value if isinstance(value, dict) else {}
        if isinstance(value, str):
            name, _, text = (part.strip() for part in value.partition(":"))
            given = {name: text}
        name, keys = next(iter(given.items()), ("", {}))
        if len(given) != 1 or name in cls.model_fields or name not in ARRIVALS:
            return value
        if isinstance(keys, str):
            keys = parse_keys(keys) if keys else {}
        if isinstance(keys, dict):
            keys = {key: _number_or_text(one) for key, one in keys.items()}
        return {"registered": {"name": name, "keys": keys}}

    def arrivals(self, files: ColumnFiles) -> Arrivals:
        """Return the arrivals to draw from; files next to the workload's are read.

        Raises:
            ValueError: If the parameters do not fit each other.
            WorkloadFileError: If a file cannot be used.
        """
        if self.together is not None:
            return TogetherArrivals()
        found: Arrivals = self.part.arrivals(files)
        return found


def _number_or_text(value: JsonValue) -> JsonValue:
    """Return a text that is a number as one."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
