"""Results of a reproduction: published and simulated values, a row for each quantity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from trafficgen.calibration.path.loss_measures import wilson
from trafficgen.data_frames import frame_rows
from trafficgen.formatting import format_count, number
from trafficgen.notebook import NotebookView
from trafficgen.options import checks_arguments
from trafficgen.reproduction.finding import Finding, Role

if TYPE_CHECKING:
    import pandas as pd

_LEVEL = 0.95
#: Key of the summary -> role, what proves most first.
ROLES: dict[str, Role] = {"predicted": "predicted", "calibrated": "calibrated", "inputs": "input"}
#: Columns of the data frame.
_COLUMNS: dict[str, type] = {
    **dict.fromkeys(("id", "quantity", "unit"), str),
    **dict.fromkeys(("published", "simulated"), float),
    **{"ok": bool, "role": str, "runs": int, "repeats": int},
    **{"low": float, "high": float},
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
        repeats: How often the set-up was done in each run, whose value is the mean.
        runs: Runs that one verdict takes the mean of; None: all of them.

    Example:
        >>> import trafficgen
        >>> row = trafficgen.reproduce("BMW-T1.1", runs=2, workers=1).rows[0]
        >>> row
        <FindingResult BMW-T1.1: buffering time, s, published 6.02, simulated 6.02, within range>
        >>> [round(value, 2) for value in row.values], row.ok
        ([6.02, 6.02], True)
    """

    finding: Finding
    values: tuple[float, ...]
    entry_digest: str
    repeats: int = 1
    runs: int | None = None

    def __repr__(self) -> str:
        verdict = "within range" if self.ok else "missed"
        return (
            f"<FindingResult {self.finding.id}: {self.finding.published_text},"
            f" simulated {number(self.simulated)}, {verdict}>"
        )

    @property
    def measured(self) -> tuple[float, ...]:
        """Values of the runs in which it could be measured."""
        return _select_measured(self.values)

    @property
    def simulated(self) -> float:
        """Mean over the runs that could measure it; NaN if half of them or fewer could."""
        return mean_of_measured(self.values)

    @property
    def passing(self) -> tuple[float, float, float] | None:
        """Share of verdicts within range, and its 95% interval (Wilson); None: one verdict."""
        size = self.runs or len(self.values)
        parts = [self.values[at : at + size] for at in range(0, len(self.values), size)]
        if len(parts) < 2:
            return None
        passed = sum(self.finding.accepts(mean_of_measured(part)) for part in parts)
        return passed / len(parts), *wilson(passed / len(parts), len(parts))

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
            "repeats": self.repeats,
            **self._passing_json(),
            "low": low,
            "high": high,
            "entry": finding.entry,
            "entry_digest": self.entry_digest,
        }
        return row if self.ok or finding.gap is None else {**row, "gap": finding.gap}

    def _passing_json(self) -> dict[str, object]:
        if self.passing is None:
            return {}
        value, low, high = self.passing
        return {"passes": {"value": value, "low": low, "high": high}}


@dataclass(frozen=True, eq=False, kw_only=True)
class Reproduction(NotebookView):
    """Result of `trafficgen reproduce`.

    Attributes:
        rows: A row for each quantity.
        seed: Seed from which those of the runs were derived.
        runs: Runs whose mean a verdict takes.
        seeds: How many times the runs were repeated, each time with another seed.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.reproduce("BMW-T1.1", runs=2, workers=1)
        >>> found
        <Reproduction: 4 of 4 quantities within range, 2 runs, seed 0>
        >>> found.ok, found.summary()["predicted"]
        (True, 0)
    """

    rows: tuple[FindingResult, ...]
    seed: int
    runs: int
    seeds: int = 1

    def __repr__(self) -> str:
        within = len(self.rows) - len(self.missed)
        quantities = format_count(len(self.rows), "quantity", "quantities")
        runs = format_count(self.runs * self.seeds, "run")
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

    @checks_arguments
    def with_role(self, role: Role) -> tuple[FindingResult, ...]:
        """Return the rows of a role: predicted, calibrated or input."""
        return tuple(row for row in self.rows if row.finding.role == role)

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
        counts: dict[str, int] = {}
        for key, role in ROLES.items():
            rows = self.with_role(role)
            counts |= {key: len(rows), f"{key}_ok": sum(row.ok for row in rows)}
        return {**counts, "findings": len(findings), "findings_ok": len(findings - missed)}

    def to_json(self) -> dict[str, object]:
        """Return what `trafficgen reproduce --json` prints."""
        rows = [row.to_json() for row in self.rows]
        draws = {"seed": self.seed, "runs": self.runs, "seeds": self.seeds}
        return {"findings": rows, "summary": self.summary(), **draws}


def _select_measured(values: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(value for value in values if math.isfinite(value))


def mean_of_measured(values: tuple[float, ...]) -> float:
    """Return the mean of the values that are numbers; NaN if half of them or fewer are."""
    measured = _select_measured(values)
    return math.nan if 2 * len(measured) <= len(values) else float(np.mean(measured))
