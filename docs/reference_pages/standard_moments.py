"""The table "document, ours, ns-3" of the catalogue, from the results in ``docs/verification``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reference_pages.markdown import Rows, table

_RESULTS = Path(__file__).resolve().parents[1] / "verification"
#: Where a figure stands in a record, and its column.
_COLUMNS = {
    "printed": "document prints",
    "expected": "document's law",
    "measured": "ours",
    "ns3": "ns-3",
}
#: From here on figures are written out.
_LONG = 10_000
#: Which entries have no generator in ns-3 and its modules, and what there is.
_WITHOUT = (
    "*Without an entry under ns-3* are quantities that its generators do not have apart, and models"
    " of which neither ns-3 3.44 and its newer sources nor its modules 5G-LENA, vr-app and rmcat"
    " (whose encoders are syncodecs) have a generator: FTP models 2 and 3 (5G-LENA has model 1 and"
    " NGMN's files), haptics and the other models of Rel-20, speech of P.59, devices of TR 37.868."
    " Two streams of one video (slices, groups of pictures) have none either, and sessions of XR"
    " put together there what is compared here stream by stream."
)
_HEADER = ("model, quantity", "unit", *_COLUMNS.values(), "KS", "what ns-3 does otherwise")


@dataclass
class _Quantity:
    """A quantity of a model: its mean and its standard deviation, or one figure."""

    unit: str
    distance: float | None
    note: str
    figures: dict[str, list[float]] = field(default_factory=dict)


def moments_section() -> str:
    """Return the section: each moment by the document, in our traffic and in ns-3's."""
    compared, standards = (_records(part) for part in ("ns3-models", "standards"))
    quantities: dict[str, _Quantity] = {}
    for check in compared["checks"]:
        _note(quantities, check)
    known = tuple(quantities)
    for check in standards["checks"]:
        if not any(name.startswith(_quantity_of(check)) for name in known):
            _note(quantities, check)
    rows: Rows = [(name, *_cells(one)) for name, one in sorted(quantities.items())]
    *others, last = (f"{one['project']} {one['revision']}" for one in compared["sources"])
    revisions = f"{', '.join(others)} and {last}"
    variables = " ".join(f"{one['variable']}=FOLDER" for one in compared["sources"])
    command = f"`{standards['command'].split()[0]} verification-results PARTS=standards`"
    return "\n\n".join(
        [
            "## Document, ours, ns-3",
            "Mean and standard deviation of each quantity: as the document prints them, by the"
            " document's law (truncation included), in traffic made here, and in what ns-3's"
            " generator of the same model sends. *KS* is the Kolmogorov-Smirnov distance of the"
            " last two; below 0.02 they are one law, and 1 stands for another constant. Each"
            " difference is checked: ns-3's draws have the law that its last column describes.",
            table(_HEADER, rows),
            _WITHOUT,
            f"Made by {command} and `{variables} {compared['command']}`, which compiles the"
            f" generators of {revisions} against ns-3 3.44; those of web pages are in its wheel.",
        ]
    )


def _records(part: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((_RESULTS / f"{part}.json").read_text(encoding="utf-8"))
    return loaded


def _quantity_of(check: dict[str, Any]) -> str:
    """Return the name of the quantity whose moment a figure is."""
    found = re.fullmatch(r"(`.*), (?:mean|SD) of (.*)", check["what"])
    return f"{found[1]}, {found[2]}" if found else str(check["what"])


def _note(quantities: dict[str, _Quantity], check: dict[str, Any]) -> None:
    name = _quantity_of(check)
    fresh = _Quantity(check["unit"], check.get("distance"), check.get("note", ""))
    figures = quantities.setdefault(name, fresh).figures
    for key in _COLUMNS:
        if check.get(key) is not None:
            figures.setdefault(key, []).append(check[key])


def _cells(one: _Quantity) -> tuple[str, ...]:
    figures = (" / ".join(map(_format, one.figures.get(key, ()))) for key in _COLUMNS)
    distance = "" if one.distance is None else f"{one.distance:.3f}"
    return (one.unit, *figures, distance, one.note)


def _format(value: float) -> str:
    return f"{value:,.0f}" if value >= _LONG else f"{value:.4g}"
