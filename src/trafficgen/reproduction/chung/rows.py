"""Short forms of the rows: shares, numbers and statements."""

from __future__ import annotations

from typing import Literal

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.chung.playlist import UDP_ENTRY

_POINTS, _RELATIVE = 0.08, 0.10
Role = Literal["predicted", "input"]


def share(
    finding: str,
    key: str,
    quantity: str,
    published: float | str | None,
    accept: tuple[float | None, float | None] | None = None,
    *,
    entry: str = UDP_ENTRY,
    role: Role = "predicted",
    gap: str | None = None,
) -> Finding:
    """Return a row for a share, 0 to 1; without a range, 8 points on either side of what was published."""
    if accept is None:
        if not isinstance(published, float):
            raise ValueError(f"{finding}: a share without a published figure needs a range")
        accept = published - _POINTS, published + _POINTS
    return number(finding, key, quantity, "share", published, accept, entry=entry, role=role, gap=gap)


def number(  # noqa: PLR0917 - a row reads as a row
    finding: str,
    key: str,
    quantity: str,
    unit: str,
    published: float | str | None,
    accept: tuple[float | None, float | None] | None = None,
    *,
    entry: str = UDP_ENTRY,
    role: Role = "predicted",
    gap: str | None = None,
) -> Finding:
    """Return a row for a number; without a range, 10% on either side of what was published."""
    if accept is None:
        if not isinstance(published, float):
            raise ValueError(f"{finding}: a number without a published figure needs a range")
        accept = published * (1 - _RELATIVE), published * (1 + _RELATIVE)
    low, high = accept
    return Finding(
        id=finding,
        quantity=quantity,
        unit=unit,
        published=published,
        low=low,
        high=high,
        role=role,
        entry=entry,
        key=key,
        gap=gap,
    )
