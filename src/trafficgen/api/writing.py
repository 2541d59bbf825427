"""Writing a packet table to a file whose ending says in which format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trafficgen.errors import ExportError
from trafficgen.export import TARGETS, ProjectionReport, Target, View, target_for
from trafficgen.tables import PacketTable


def write_to(
    table: PacketTable, target: Target, path: Path, *, at: View, snaplen_bytes: int | None
) -> ProjectionReport:
    """Write a table with the options that the target takes.

    Packets too small for their headers, such as later IP fragments that a capture counts for the flow of the first, are
    made just large enough where the target builds headers; the report counts them.

    Raises:
        ExportError: If an option was given that the target does not take.
    """
    options: dict[str, Any] = {}
    if target.takes_view:
        options["view"] = at
    elif at != "sender":
        raise ExportError(f"{target.name} holds both views; leave --at out")
    if snaplen_bytes is not None:
        if not target.takes_snaplen:
            raise ExportError(f"{target.name} has no snapshot length; leave --snaplen out")
        options["snaplen_bytes"] = snaplen_bytes
    if target.takes_raise_small:
        options["raise_small"] = True
    return target.write(table, path, **options)


def target_of(out: str | Path) -> Target:
    """Return the target that a file's ending names.

    Raises:
        ExportError: If it names none.
    """
    target = target_for(Path(out).suffix)
    if target is None:
        endings = ", ".join(target.suffix for target in TARGETS.values())
        raise ExportError(f"{out}: the ending says what is written; use one of {endings}")
    return target
