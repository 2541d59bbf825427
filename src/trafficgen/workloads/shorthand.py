"""Notation of a workload file: values with units, and shorthand such as ``poisson:0.5/s``."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, model_validator

from trafficgen.formatting import describe_value, suggest_name
from trafficgen.generation.addresses import Network
from trafficgen.model_parts.estimate import ModelPart
from trafficgen.options import parse_pairs
from trafficgen.quantity_bounds import LONGEST_S, check_number
from trafficgen.units import number_and_unit, per_s_from_text, s_from_text, share_from_text

Unit = Literal["s", "1"]
#: Standard deviation / mean of log-normal factors; with more, a few sessions have nearly all.
LARGEST_SPREAD = 10


def parse_time_s(text: str) -> float:
    """Return the seconds of a text such as ``20min``; raise ValueError for any other."""
    time_s = _check(s_from_text(text), text, "write a time such as 45s, 20min or 24h")
    if time_s > LONGEST_S:
        raise ValueError(f"{text!r} is longer than {LONGEST_S:g} s; write a shorter time")
    return time_s


def parse_rate_per_s(text: str) -> float:
    """Return the sessions per second of a text such as ``30/min``; raise ValueError for others."""
    remedy = "write sessions in a time, such as 0.5/s or 30/min"
    return _check(per_s_from_text(text), text, remedy, unit="per_s")


def parse_share(text: str) -> float:
    """Return the share of a text such as ``0.3`` or ``30%``; raise ValueError for any other."""
    value = share_from_text(text)
    if value is None or not 0 <= value <= 1:
        raise ValueError(f"invalid share {text!r}; write 0 to 1 or a percentage, such as 30%")
    return value


def parse_spread(text: str) -> float:
    """Return the spread of a text such as ``0.3`` or ``150%``; raise ValueError for any other."""
    value = share_from_text(text)
    if value is not None and value > 1 and "%" not in text:
        raise ValueError(f"invalid spread {text!r}; write a percentage, such as {text.strip()}%")
    if value is None or not 0 <= value <= LARGEST_SPREAD:
        raise ValueError(
            f"invalid spread {text!r}; write a percentage from 0% to {LARGEST_SPREAD:.0%}"
        )
    return value


def parse_quantity(text: str) -> tuple[float, Unit]:
    """Return a number and its unit: ``s`` for a time, ``1`` for a plain number or percentage.

    Raises:
        ValueError: If the text is neither, or negative.
    """
    parts = number_and_unit(text)
    if parts is not None and parts[1] in ("", "%"):
        return _check(share_from_text(text), text, "write a number, such as 0.5"), "1"
    return parse_time_s(text), "s"


def parse_network(text: str) -> Network:
    """Return the network of a text such as ``10.1.0.0/16``.

    Raises:
        ValueError: If it is invalid, or the address has bits beyond its prefix.
    """
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise ValueError(
            f"invalid range of addresses {text!r} ({error}); write for example 10.1.0.0/16"
        ) from error


def _check(value: float | None, text: str, remedy: str, *, unit: str = "") -> float:
    if value is None or not math.isfinite(value):
        raise ValueError(f"{text!r} is not understood; {remedy}")
    if value < 0:
        raise ValueError(f"{text!r} is negative; {remedy}")
    check_number(value, unit)
    return value


def _keep_text(parse: Callable[[str], object]) -> BeforeValidator:
    """Check a value by parsing it, and keep it as it is written."""

    def check(value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"{describe_value(value)} is neither a text nor a number")
        text = value if isinstance(value, str) else repr(value)
        parse(text)
        return text

    return BeforeValidator(check)


TimeText = Annotated[str, _keep_text(parse_time_s)]
RateText = Annotated[str, _keep_text(parse_rate_per_s)]
ShareText = Annotated[str, _keep_text(parse_share)]
SpreadText = Annotated[str, _keep_text(parse_spread)]
QuantityText = Annotated[str, _keep_text(parse_quantity)]
NetworkText = Annotated[str, _keep_text(parse_network)]


class KindPart(ModelPart):
    """One kind with its keys; a value that is not an object is that of its first key."""

    @model_validator(mode="before")
    @classmethod
    def _long_form(cls, value: Any) -> Any:
        first_key = next(iter(cls.model_fields))
        if isinstance(value, str):
            return parse_keys(value, first_key=first_key)
        return value if isinstance(value, dict | KindPart) else {first_key: value}


class ChoicePart(ModelPart):
    """Exactly one of several kinds, each a key; a text names the kind before a colon.

    The kinds are the fields that have examples: a new one is a field here and nothing else.
    """

    noun: ClassVar[str]

    @classmethod
    def kinds(cls) -> dict[str, str]:
        """Return an example of each kind by its name."""
        return {
            name: str(field.examples[0])
            for name, field in cls.model_fields.items()
            if field.examples
        }

    @classmethod
    def other_names(cls) -> list[str]:
        """Return names that a text may begin with besides those of kinds."""
        return []

    @model_validator(mode="before")
    @classmethod
    def _long_form(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        kind, _, rest = (part.strip() for part in value.partition(":"))
        kinds = cls.kinds()
        if kind not in kinds:
            guess = suggest_name(kind, [*kinds, *cls.other_names()])
            raise ValueError(f"unknown {cls.noun} {kind!r}{guess}; use {', '.join(kinds.values())}")
        return {kind: rest or {}}

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [kind for kind in self.kinds() if getattr(self, kind) is not None]
        if len(given) != 1:
            problem = f"{' and '.join(given)} exclude each other" if given else "no kind is given"
            raise ValueError(f"{problem}; give one of {', '.join(self.kinds())}")
        return self

    @property
    def kind(self) -> str:
        """Name of the kind that is given."""
        return next(kind for kind in self.kinds() if getattr(self, kind) is not None)

    @property
    def part(self) -> Any:
        """Value of the kind that is given."""
        return getattr(self, self.kind)


def parse_keys(text: str, *, first_key: str | None = None) -> dict[str, str]:
    """Return keys and values of ``0.8,clips=100``; the first item may be the first key's value."""
    first, *rest = text.split(",")
    if "=" not in first and first_key is not None:
        first = f"{first_key}={first}"
    return parse_pairs((first, *rest), remedy=f"; write for example {first_key or 'key'}=...")
