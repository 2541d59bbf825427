"""Short forms of the rows of BMW05."""

from __future__ import annotations

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.boyden.setups import TURBOPLAY_ENTRY, UNASSISTED_ENTRY

Range = tuple[float | None, float | None]


def about(published: float, *, share: float = 0.1) -> Range:
    """Return the range that is accepted around a published number: 10% unless said otherwise."""
    return published * (1 - share), published * (1 + share)


def row(
    finding: str,
    key: str,
    quantity: str,
    unit: str,
    published: float | str | None,
    *,
    accept: Range | None = None,
    turboplay: bool = False,
    is_input: bool = False,
    gap: str | None = None,
) -> Finding:
    """Return one row; without a range, 10% on either side of the published number."""
    if accept is None:
        if not isinstance(published, float | int):
            raise ValueError(f"{finding}: {quantity} needs a range")
        accept = about(published)
    return Finding(
        id=finding,
        quantity=quantity,
        unit=unit,
        published=published,
        low=accept[0],
        high=accept[1],
        role="input" if is_input else "predicted",
        entry=TURBOPLAY_ENTRY if turboplay else UNASSISTED_ENTRY,
        key=key,
        gap=gap,
    )
