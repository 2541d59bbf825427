"""Rows of `trafficgen reproduce` in short form, for tables of them."""

from __future__ import annotations

from typing import Literal

from trafficgen.reproduction.base import Finding

#: Lowest and highest value that is accepted; None: no limit.
Range = tuple[float | None, float | None]
Role = Literal["predicted", "input"]


def around(published: float, *, share: float = 0.1) -> Range:
    """Return the range that is accepted around a published number: 10% unless said otherwise."""
    return published * (1 - share), published * (1 + share)


def row(
    identifier: str,
    quantity: str,
    unit: str,
    published: float | str | None,
    accept: Range,
    *,
    key: str,
    entry: str,
    role: Role = "predicted",
    gap: str | None = None,
) -> Finding:
    """Return a finding of a catalogue entry; see :class:`~trafficgen.reproduction.base.Finding` for
    what it has.
    """
    low, high = accept
    return Finding(
        id=identifier,
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
