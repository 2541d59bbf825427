"""Values of a workload file as people write them: a number with its unit, a share, a network."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BeforeValidator

from trafficgen.generation.address_plan import Network
from trafficgen.units import number_and_unit, per_s_from_text, s_from_text, share_from_text

Unit = Literal["s", "1"]

_TIME = "write a number with its unit, such as 45s, 20min or 24h"
_RATE = "write sessions in a time, such as 0.5/s, 30/min or 1800/h"
_SHARE = "write a share from 0 to 1 or a percentage, such as 0.3 or 30%"


def time_s(text: str) -> float:
    """Return seconds from a text such as ``20min``.

    Raises:
        ValueError: If it is no time, or negative.
    """
    return _positive(s_from_text(text), text, _TIME)


def rate_per_s(text: str) -> float:
    """Return sessions per second from a text such as ``30/min``.

    Raises:
        ValueError: If it is no such rate, or negative.
    """
    return _positive(per_s_from_text(text), text, _RATE)


def share(text: str) -> float:
    """Return a share from a text such as ``0.3`` or ``30%``.

    Raises:
        ValueError: If it is none, or outside 0 to 1.
    """
    value = share_from_text(text)
    if value is None or not 0 <= value <= 1:
        raise ValueError(f"{text!r} is no share; {_SHARE}")
    return value


def quantity(text: str) -> tuple[float, Unit]:
    """Return a number and its unit: seconds where the text is a time, ``1`` where it is a plain
    number or percentage.

    Raises:
        ValueError: If it is neither, or negative.
    """
    parts = number_and_unit(text)
    if parts is not None and parts[1] in ("", "%"):
        plain = share_from_text(text)
        return _positive(plain, text, "write a number, such as 0.5"), "1"
    return time_s(text), "s"


def network(text: str) -> Network:
    """Return a network from a text such as ``10.1.0.0/16`` or ``2001:db8::/64``.

    Raises:
        ValueError: If it is none, or the address has bits beyond its prefix.
    """
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise ValueError(
            f"{text!r} is no range of addresses ({error}); write for example 10.1.0.0/16"
        ) from error


def _positive(value: float | None, text: str, remedy: str) -> float:
    if value is None or not math.isfinite(value):
        raise ValueError(f"{text!r} is not understood; {remedy}")
    if value < 0:
        raise ValueError(f"{text!r} is negative; {remedy}")
    return value


def _written(read: Callable[[str], object]) -> BeforeValidator:
    """Check a value and keep it as it is written, a number as its text."""

    def checked(value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"{value!r} is neither a text nor a number")
        text = value if isinstance(value, str) else repr(value)
        read(text)
        return text

    return BeforeValidator(checked)


TimeText = Annotated[str, _written(time_s)]
RateText = Annotated[str, _written(rate_per_s)]
ShareText = Annotated[str, _written(share)]
QuantityText = Annotated[str, _written(quantity)]
NetworkText = Annotated[str, _written(network)]
