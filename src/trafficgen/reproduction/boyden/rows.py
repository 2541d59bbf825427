"""Short forms of the rows of BMW05."""

from __future__ import annotations

from trafficgen.reproduction import rows
from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.boyden.setups import TURBOPLAY_ENTRY, UNASSISTED_ENTRY


def row(
    finding: str,
    key: str,
    quantity: str,
    unit: str,
    published: float | str | None,
    *,
    accept: rows.Range | None = None,
    turboplay: bool = False,
    is_input: bool = False,
    gap: str | None = None,
) -> Finding:
    """Return one row; without a range, 10% on either side of the published number."""
    if accept is None:
        if not isinstance(published, float | int):
            raise ValueError(f"{finding}: {quantity} needs a range")
        accept = rows.around(published)
    entry = TURBOPLAY_ENTRY if turboplay else UNASSISTED_ENTRY
    role: rows.Role = "input" if is_input else "predicted"
    return rows.row(
        finding, quantity, unit, published, accept, key=key, entry=entry, role=role, gap=gap
    )
