"""An estimate with its interval, and the base of every part of a model."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, Union, cast, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from trafficgen.errors import TrafficgenError
from trafficgen.formatting import interval, number
from trafficgen.model_parts.problems import describe_problem
from trafficgen.quantity_bounds import LEAST, most_of, unit_in


def _describe_file(schema: dict[str, Any], part: type) -> None:
    """Describe a part and its keys: the schema is of a file, so without examples in Python."""
    properties: dict[str, Any] = schema.get("properties", {})
    for described in part.__mro__:
        if isinstance(described, type(ModelPart)) and described not in (BaseModel, ModelPart):
            for key, text in _read_field_docstrings(described).items():
                if key in properties:
                    properties[key].setdefault("description", text)
    for item in (schema, *properties.values()):
        if "description" in item:
            item["description"] = " ".join(item["description"].partition("\n\nExample:")[0].split())


def _read_field_docstrings(part: type) -> dict[str, str]:
    """Return what stands below the fields of a class, from its source.

    pydantic can do it, when the class is made: that takes a tenth of a second of each start.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(part)))
    statements = cast("ast.ClassDef", tree.body[0]).body
    return {
        field.target.id: below.value.value
        for field, below in itertools.pairwise(statements)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }


class PartError(ValueError):
    """A value that no part of a model may have."""


@contextmanager
def refuse_odd_numbers(kind: type[TrafficgenError], problem: str, remedy: str) -> Iterator[None]:
    """Raise an error of a kind where a part that is made has a number that no model may have."""
    try:
        yield
    except PartError as error:
        raise kind(f"{problem} ({error}); {remedy}") from error


def _name_part(part: type[BaseModel], error: ValidationError) -> PartError:
    problems = filter(None, describe_problem(error, part))
    return PartError(f"{part.__name__}: {'; '.join(problems)}")


def _explain_errors(validate: Any) -> Any:
    """Return a class method of pydantic whose errors are one plain line."""

    @wraps(validate.__func__)
    def check(cls: Any, *given: Any, **how: Any) -> Any:
        try:
            return validate.__func__(cls, *given, **how)
        except ValidationError as error:
            raise cls._refuse(error, how.get("context")) from None

    check.__doc__ = """Return a part with these values, checked as those of a file are.

        Raises:
            ValueError: If a key is unknown, or no file may hold such a value.
    """
    return classmethod(cast("Any", check))


def _bound(hint: Any, unit: str, metadata: Sequence[object]) -> Any:
    """Return a type whose numbers, at any depth, have the bounds of a unit besides their own."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint in (int, float):
        bounds = _bounds_of(hint, unit, metadata)
        return Annotated[hint, Field(**bounds)] if bounds else hint
    if origin is Annotated:
        return Annotated[_bound(parts[0], unit, hint.__metadata__), *hint.__metadata__]
    if getattr(hint, "has_unit_of_field", False):
        return Annotated[hint, AfterValidator(partial(_check_estimate, unit=unit))]
    if origin in (UnionType, Union):
        return Union[tuple(_bound(one, unit, metadata) for one in parts)]  # noqa: UP007
    if origin in (tuple, dict):
        inner = tuple(one if one is ... else _bound(one, unit, ()) for one in parts)
        return origin[inner]
    return hint


def _bounds_of(kind: type, unit: str, metadata: Sequence[object]) -> dict[str, Any]:
    """Return the bounds of numbers of a unit, but for the side on which they have narrower ones."""
    own = [one for part in metadata for one in getattr(part, "metadata", (part,))]
    above, below, strictly = (
        any(hasattr(one, key) for one in own for key in keys)
        for keys in (("le", "lt"), ("ge", "gt"), ("gt",))
    )
    bounds: dict[str, Any] = {} if above else {"le": kind(most_of(unit))}
    if strictly and unit in LEAST:
        bounds["ge"] = kind(LEAST[unit])
    elif not below:
        bounds["ge"] = kind(-most_of(unit))
    return bounds


def _check_estimate(estimate: Estimate, *, unit: str) -> Estimate:
    if abs(estimate.value) > most_of(unit):
        raise ValueError(f"its value must be at most {most_of(unit):.15g}, not {estimate.value:g}")
    return estimate


class ModelPart(BaseModel):
    """Base of all parts: frozen, closed to unknown keys, no NaN or infinity."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        json_schema_extra=_describe_file,
        defer_build=True,  # of what is never validated, such as published models in a fit
    )
    #: Whether its value has the unit that the field which holds it ends on.
    has_unit_of_field: ClassVar[bool] = False
    #: Fields with ends of intervals: any finite number, where a sample says nearly nothing.
    interval_fields: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __pydantic_init_subclass__(cls, **keywords: Any) -> None:
        """Bound each number by the unit that the name of its field ends on."""
        super().__pydantic_init_subclass__(**keywords)
        for name, field in cls.model_fields.items():
            if name not in cls.interval_fields:
                field.annotation = _bound(field.annotation, unit_in(name), field.metadata)

    if not TYPE_CHECKING:  # which know the fields

        def __init__(self, *given: object, **values: object) -> None:
            if given:
                keys = ", ".join(f"{key}=..." for key in type(self).model_fields)
                raise TypeError(f"{type(self).__name__} takes its keys by name: {keys}")
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise _name_part(type(self), error) from None

        __init__.__pydantic_base_init__ = True  # pydantic need not call it for nested parts
        __init__.__signature__ = inspect.signature(BaseModel.__init__)

        model_validate = _explain_errors(BaseModel.model_validate)
        model_validate_json = _explain_errors(BaseModel.model_validate_json)
        model_validate_strings = _explain_errors(BaseModel.model_validate_strings)

        @classmethod
        def _refuse(cls, error: ValidationError, context: object) -> Exception:
            """Return the error about values that no part of this class may have."""
            return _name_part(cls, error)

        def __setattr__(self, name: str, value: object) -> None:
            try:
                super().__setattr__(name, value)
            except ValidationError:
                raise AttributeError(
                    f"{type(self).__name__}.{name} cannot be set, for models do not change; make a"
                    f" copy with model_copy(update={{{name!r}: ...}}), or play the model with"
                    " scale_rate, duration_s or settings (see 'Change a model' in"
                    " docs/how-to/use-from-python.md)"
                ) from None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other values of some keys, checked as those of a file are.

        Raises:
            ValueError: If a key is unknown, or the part would be one that no file may hold.
        """
        copied = super().model_copy(deep=deep)
        if not update:
            return copied
        kept = {name: getattr(copied, name) for name in copied.model_fields_set}
        return type(self)(**{**kept, **update})

    def __str__(self) -> str:
        return repr(self)


class Estimate(ModelPart):
    """A fitted quantity; its unit is in the name of the field that holds it.

    Example:
        >>> from trafficgen.models import Estimate
        >>> rtt_s = Estimate(value=0.045, low=0.043, high=0.048, method="handshakes")
        >>> rtt_s
        <Estimate 0.045, 95% [0.043, 0.048]>
    """

    has_unit_of_field: ClassVar[bool] = True
    interval_fields: ClassVar[frozenset[str]] = frozenset(("low", "high"))

    value: float
    """Point estimate."""
    low: float | None = None
    """Lower end of the confidence interval; null where none was computed."""
    high: float | None = None
    """Upper end of the confidence interval; null where none was computed."""
    level: float = Field(default=0.95, gt=0, lt=1)
    """Confidence level of the interval."""
    method: str
    """How value and interval were obtained."""

    def __repr__(self) -> str:
        ends = interval(self.low, self.high)
        return f"<Estimate {number(self.value)}{f', {100 * self.level:g}% {ends}' if ends else ''}>"

    def spans_more_than(self, factor: float) -> bool:
        """Return whether the upper end is above ``factor`` times the lower one; both positive."""
        return self.low is not None and self.high is not None and self.high > factor * self.low

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}")
        return self


def _check_not_negative(estimate: Estimate) -> Estimate:
    if estimate.value < 0:
        raise ValueError(f"its value must not be negative, not {estimate.value:g}")
    return estimate


#: An estimate of a length, a rate or a ratio.
NonNegativeEstimate = Annotated[Estimate, AfterValidator(_check_not_negative)]
