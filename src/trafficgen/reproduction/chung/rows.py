"""Short forms of the rows: shares, numbers and statements."""

from __future__ import annotations

from typing import TypedDict, Unpack

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.chung.playlist import UDP_ENTRY
from trafficgen.reproduction.rows import Range, Role, around, row

_POINTS = 0.08


class Options(TypedDict, total=False):
    """What most rows do not say: the entry (that over UDP), the role (predicted), why the
    simulation misses.
    """

    entry: str
    role: Role
    gap: str | None


def share(
    finding: str,
    key: str,
    quantity: str,
    published: float | str | None,
    accept: Range | None = None,
    **options: Unpack[Options],
) -> Finding:
    """Return a row for a share, 0 to 1; without a range, 8 points on either side of what was
    published.
    """
    if accept is None:
        figure = _figure(finding, published)
        accept = figure - _POINTS, figure + _POINTS
    return number(finding, key, quantity, "share", published, accept, **options)


def number(  # noqa: PLR0917 - a row reads as a row
    finding: str,
    key: str,
    quantity: str,
    unit: str,
    published: float | str | None,
    accept: Range | None = None,
    **options: Unpack[Options],
) -> Finding:
    """Return a row for a number; without a range, 10% on either side of what was published."""
    return row(
        finding,
        quantity,
        unit,
        published,
        accept or around(_figure(finding, published)),
        key=key,
        entry=options.get("entry", UDP_ENTRY),
        role=options.get("role", "predicted"),
        gap=options.get("gap"),
    )


def _figure(finding: str, published: float | str | None) -> float:
    if not isinstance(published, float):
        raise ValueError(f"{finding}: without a published figure a row needs a range")
    return published
