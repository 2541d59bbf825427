"""Results of a reproduction: published and simulated values, a row for each quantity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from trafficgen.data_frames import frame_rows
from trafficgen.formatting import format_count, number
from trafficgen.notebook import ChartView, NotebookView
from trafficgen.reproduction.finding import Finding

if TYPE_CHECKING:
    import pandas as pd

_LEVEL = 0.95
#: Columns of the data frame.
_COLUMNS: dict[str, type] = {
    **dict.fromkeys(("id", "quantity", "unit"), str),
    **dict.fromkeys(("published", "simulated"), float),
    **{"ok": bool, "role": str, "runs": int, "low": float, "high": float},
    **dict.fromkeys(("entry", "entry_digest", "published_words", "gap"), str),
    **dict.fromkeys(("accept_low", "accept_high"), float),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class FindingResult(NotebookView):
    """One published quantity and its value in each run.

    Attributes:
        finding: The quantity.
        values: Its value in each run; NaN where it could not be measured.
        entry_digest: Digest of the catalogue entry.

    Example:
        >>> import trafficgen
        >>> row = trafficgen.reproduce("BMW-T1.1", runs=2, workers=1).rows[1]
        >>> row
        <FindingResult BMW-T1.1: buffering rate, kbit/s, published 45, simulated 43.9, within range>
        >>> [round(value, 1) for value in row.values], row.ok
        ([44.6, 43.2], True)
    """

    finding: Finding
    values: tuple[float, ...]
    entry_digest: str

    def __repr__(self) -> str:
        verdict = "within range" if self.ok else "missed"
        return (
            f"<FindingResult {self.finding.id}: {self.finding.published_text},"
            f" simulated {number(self.simulated)}, {verdict}>"
        )

    @property
    def measured(self) -> tuple[float, ...]:
        """Values of the runs in which it could be measured."""
        return tuple(value for value in self.values if math.isfinite(value))

    @property
    def simulated(self) -> float:
        """Mean over the runs that could measure it; NaN if half of them or fewer could."""
        if 2 * len(self.measured) <= len(self.values):
            return math.nan
        return float(np.mean(self.measured))

    @property
    def interval(self) -> tuple[float, float]:
        """Student's 95% interval of the mean over runs; NaN where one run was measured."""
        values = self.measured
        if len(values) < 2 or math.isnan(self.simulated):
            return math.nan, math.nan
        half = (
            stdtrit(len(values) - 1, (1 + _LEVEL) / 2)
            * np.std(values, ddof=1)
            / math.sqrt(len(values))
        )
        return self.simulated - float(half), self.simulated + float(half)

    @property
    def ok(self) -> bool:
        """Whether the mean lies within the accepted range."""
        return self.finding.accepts(self.simulated)

    def to_json(self) -> dict[str, object]:
        """Return the row of `trafficgen reproduce --json`; a miss has its known reason."""
        finding = self.finding
        low, high = self.interval
        row: dict[str, object] = {
            "id": finding.id,
            "quantity": finding.quantity,
            "unit": finding.unit,
            "published": finding.published,
            "accept": [finding.low, finding.high],
            "simulated": self.simulated,
            "ok": self.ok,
            "role": finding.role,
            "runs": len(self.measured),
            "low": low,
            "high": high,
            "entry": finding.entry,
            "entry_digest": self.entry_digest,
        }
        return row if self.ok or finding.gap is None else {**row, "gap": finding.gap}


@dataclass(frozen=True, eq=False, kw_only=True)
class Reproduction(ChartView):
    """Result of `trafficgen reproduce`.

    Attributes:
        rows: A row for each quantity.
        seed: Seed from which those of the runs were derived.
        runs: Number of runs.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.reproduce("BMW-T1.1", runs=2, workers=1)
        >>> found
        <Reproduction: 4 of 4 quantities within range, 2 runs, seed 0>
        >>> found.ok, found.summary()["predicted"]
        (True, 3)
    """

    rows: tuple[FindingResult, ...]
    seed: int
    runs: int

    def __repr__(self) -> str:
        within = len(self.rows) - len(self.missed)
        quantities = format_count(len(self.rows), "quantity", "quantities")
        runs = format_count(self.runs, "run")
        return f"<Reproduction: {within:,d} of {quantities} within range, {runs}, seed {self.seed}>"

    def _notebook_data(self) -> dict[str, object]:
        rows = [*self.missed, *(row for row in self.rows if row.ok)]
        return {**self.summary(), "findings, misses first": [row.to_json() for row in rows]}

    def to_pandas(self) -> pd.DataFrame:
        """Return a row a quantity; columns as in :meth:`FindingResult.to_json`.

        The accepted range is in ``accept_low`` and ``accept_high``, what a paper says in words in
        ``published_words``; what is unknown is ``pd.NA``.
        """
        rows = []
        for one in self.rows:
            row, published = one.to_json(), one.finding.published
            is_number = isinstance(published, int | float)
            row["published"] = published if is_number else None
            row["published_words"] = None if is_number or published is None else str(published)
            row["accept_low"], row["accept_high"] = one.finding.low, one.finding.high
            rows.append(row)
        return frame_rows(rows, _COLUMNS)

    @property
    def predicted(self) -> tuple[FindingResult, ...]:
        """Rows that are no inputs."""
        return tuple(row for row in self.rows if row.finding.role == "predicted")

    @property
    def missed(self) -> tuple[FindingResult, ...]:
        """Rows outside their range, inputs included."""
        return tuple(row for row in self.rows if not row.ok)

    @property
    def ok(self) -> bool:
        """Whether every row is within its range."""
        return not self.missed

    def summary(self) -> dict[str, int]:
        """Count quantities and findings, and those within range."""
        missed = {row.finding.id for row in self.missed}
        findings = {row.finding.id for row in self.rows}
        return {
            "predicted": len(self.predicted),
            "predicted_ok": _number_ok(self.predicted),
            "inputs": len(self.rows) - len(self.predicted),
            "inputs_ok": _number_ok(self.rows) - _number_ok(self.predicted),
            "findings": len(findings),
            "findings_ok": len(findings - missed),
        }

    def to_json(self) -> dict[str, object]:
        """Return what `trafficgen reproduce --json` prints."""
        rows = [row.to_json() for row in self.rows]
        return {"findings": rows, "summary": self.summary(), "seed": self.seed, "runs": self.runs}


def _number_ok(rows: Sequence[FindingResult]) -> int:
    return sum(row.ok for row in rows)
