"""Options of published models as fields of the page, and the settings that it sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from trafficgen.errors import ExploreError, SettingError
from trafficgen.explore.controls import FASTEST_KBPS
from trafficgen.models import Option, PublishedModel, format_value
from trafficgen.models.published import with_settings

#: Largest value of an option by its unit, where the entry has no smaller one.
_LARGEST = {"kbit/s": FASTEST_KBPS, "s": 3600.0}
_LONGEST_TEXT = 200
_LONGEST_LIST = 20

FieldKind = Literal["choice", "choices", "number", "list", "text"]


@dataclass(frozen=True)
class OptionField:
    """An option as the page draws it; values are texts, as after ``--set NAME=``.

    Attributes:
        name: Name of the option.
        kind: A choice, several choices, a number, a list of numbers, or a text.
        default: Value if not set; empty: none.
        choices: Values to choose from; empty: anything within the bounds.
        low: Smallest number; None: no limit.
        high: Largest number; None: no limit.
        unit: Unit for people.
        meaning: What it changes.
        source: Where it is from.
    """

    name: str
    kind: FieldKind
    default: str
    choices: tuple[str, ...]
    low: float | None
    high: float | None
    unit: str
    meaning: str
    source: str


def option_fields(model: PublishedModel) -> tuple[OptionField, ...]:
    """Return the options of a model in their order."""
    return tuple(
        OptionField(
            name=name,
            kind=_kind(option),
            default="" if option.default is None else format_value(option.default),
            choices=tuple(map(format_value, option.choices)),
            low=option.low,
            high=_high(option),
            unit=option.unit,
            meaning=option.description,
            source=option.source,
        )
        for name, option in model.options.items()
    )


def check_settings(model: PublishedModel, settings: Mapping[str, object]) -> dict[str, JsonValue]:
    """Check settings of a model's options: known, valid, and simulated in a moment.

    Raises:
        ExploreError: If an option is unknown or cannot have that value; it names the option.
    """
    checked: dict[str, JsonValue] = {}
    for name, value in settings.items():
        control = f"set.{name}"
        if name not in model.options:
            known = ", ".join(model.options) or "none"
            raise ExploreError(
                f"{model.name} has no option {name!r}; its options are {known}", control=control
            )
        if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
            raise ExploreError(
                f"{name}: write a text of at most {_LONGEST_TEXT} characters", control=control
            )
        try:
            option = with_settings(model, {name: value}).options[name]
        except SettingError as error:
            raise ExploreError(str(error), control=control) from error
        _check_size(name, option, control=control)
        checked[name] = value
    return checked


def _kind(option: Option) -> FieldKind:
    if option.choices:
        return "choices" if option.many else "choice"
    if option.many:
        return "list"
    return (
        "number"
        if isinstance(option.default, int | float) and not isinstance(option.default, bool)
        else "text"
    )


def _high(option: Option) -> float | None:
    largest = _LARGEST.get(option.unit)
    ends = [end for end in (option.high, largest) if end is not None]
    return min(ends) if ends and not option.choices else option.high


def _check_size(name: str, option: Option, *, control: str) -> None:
    values = option.default if isinstance(option.default, list) else [option.default]
    if len(values) > _LONGEST_LIST:
        raise ExploreError(
            f"{name}: at most {_LONGEST_LIST} values are simulated here", control=control
        )
    high = _high(option)
    for value in values:
        if high is not None and isinstance(value, int | float) and value > high:
            raise ExploreError(
                f"{name}: {value:,.10g} is above {high:,.10g} {option.unit}".rstrip(),
                control=control,
            )
