"""Findings of the thesis as rows."""

from __future__ import annotations

from typing import Literal

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.nichols.testbed import ENTRY


def row(
    identifier: str,
    quantity: str,
    unit: str,
    published: float | str | None,
    accept: tuple[float | None, float | None],
    *,
    key: str,
    role: Literal["predicted", "input"] = "predicted",
    gap: str | None = None,
) -> Finding:
    """Return a finding of this entry; `accept` is its lowest and highest value."""
    low, high = accept
    return Finding(
        id=identifier,
        quantity=quantity,
        unit=unit,
        published=published,
        low=low,
        high=high,
        role=role,
        entry=ENTRY,
        key=key,
        gap=gap,
    )
