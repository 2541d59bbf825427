"""How far results depend on values that the papers leave open.

Each open value is moved by itself, with the same seeds. A row that such a move takes out of its
range is fragile: it says as much of the choice as of the paper.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trafficgen.data_frames import frame_rows
from trafficgen.formatting import format_count
from trafficgen.notebook import NotebookView
from trafficgen.options import checks_arguments
from trafficgen.reproduction.finding import Experiment, Finding
from trafficgen.reproduction.reproduce import choose
from trafficgen.reproduction.results import FindingResult
from trafficgen.reproduction.runs import Chosen, run_settings
from trafficgen.reproduction.testbed import Moves, list_open_values
from trafficgen.simulation.options import SimulateOptions

if TYPE_CHECKING:
    import pandas as pd

#: Factors by which an open value is moved.
FACTORS = (0.8, 1.2)
_COLUMNS: dict[str, type] = {
    **dict.fromkeys(("value", "id", "quantity"), str),
    **{"factor": float, "simulated": float, "ok": bool, "role": str},
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Flip:
    """A row whose verdict changes where an open value is moved.

    Attributes:
        value: Name of the open value, such as ``clear_s``.
        factor: Factor by which it is moved.
        row: The row as it comes out then.
    """

    value: str
    factor: float
    row: FindingResult

    def to_json(self) -> dict[str, object]:
        """Return the flip as `trafficgen reproduce --sensitivity --json` has it."""
        finding = self.row.finding
        return {
            "value": self.value,
            "factor": self.factor,
            "id": finding.id,
            "quantity": finding.quantity,
            "simulated": self.row.simulated,
            "ok": self.row.ok,
            "role": finding.role,
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Sensitivity(NotebookView):
    """Result of `trafficgen reproduce --sensitivity`.

    Attributes:
        rows: Rows with the values of the entries.
        values: Names of the open values that were moved.
        flips: Rows whose verdict a move changes.
        refused: Open values with factors that the simulation refuses.
        seed: Seed of all runs.
        runs: Runs of each setting.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.measure_sensitivity("LJM-E7", runs=1, workers=1)
        >>> len(found.values), found.flips
        (16, ())
    """

    rows: tuple[FindingResult, ...]
    values: tuple[str, ...]
    flips: tuple[Flip, ...]
    refused: tuple[tuple[str, float], ...]
    seed: int
    runs: int

    def __repr__(self) -> str:
        values = format_count(len(self.values), "open value")
        fragile = len(self.fragile)
        return f"<Sensitivity: {values} moved, {fragile} of {len(self.rows)} rows are fragile>"

    @property
    def fragile(self) -> tuple[FindingResult, ...]:
        """Rows within their range that some move takes out of it."""
        lost = {flip.row.finding for flip in self.flips if not flip.row.ok}
        return tuple(row for row in self.rows if row.finding in lost)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row a flip; columns as in :meth:`Flip.to_json`."""
        return frame_rows([flip.to_json() for flip in self.flips], _COLUMNS)

    def to_json(self) -> dict[str, object]:
        """Return what `trafficgen reproduce --sensitivity --json` prints."""
        fragile = set(self.fragile)
        return {
            "findings": [{**row.to_json(), "fragile": row in fragile} for row in self.rows],
            "open_values": list(self.values),
            "flips": [flip.to_json() for flip in self.flips],
            "refused": [{"value": value, "factor": factor} for value, factor in self.refused],
            "factors": list(FACTORS),
            "seed": self.seed,
            "runs": self.runs,
        }


@checks_arguments(like=SimulateOptions)
def measure_sensitivity(
    ids: str | Iterable[str] = (), *, runs: int = 5, seed: int = 0, workers: int | None = None
) -> Sensitivity:
    """Move each value that the papers leave open by 20% either way, and see which rows flip.

    Arguments and errors are those of :func:`trafficgen.reproduce`. It takes as long as that for
    each open value, twice.

    Example:
        >>> import trafficgen
        >>> trafficgen.measure_sensitivity("LJM-E7", runs=1, workers=1)
        <Sensitivity: 16 open values moved, 0 of 2 rows are fragile>
    """
    rows: list[FindingResult] = []
    flips: list[Flip] = []
    refused: list[tuple[str, float]] = []
    values: dict[str, None] = {}
    for chosen in split_by_paper(choose(ids)):
        entries = dict.fromkeys(finding.entry for _, some in chosen for finding in some)
        names = list_open_values(entries)
        moved = [(name, factor) for name in names for factor in FACTORS]
        settings: list[Moves] = [{}, *({name: factor} for name, factor in moved)]
        first, *others = run_settings(chosen, settings, runs=runs, seed=seed, workers=workers)
        rows += first
        values |= dict.fromkeys(names)
        for (name, factor), found in zip(moved, others, strict=True):
            if not found:
                refused.append((name, factor))
                continue
            flips += (
                Flip(value=name, factor=factor, row=then)
                for now, then in zip(first, found, strict=True)
                if now.ok != then.ok
            )
    return Sensitivity(
        rows=tuple(rows),
        values=tuple(values),
        flips=tuple(flips),
        refused=tuple(refused),
        seed=seed,
        runs=runs,
    )


def split_by_paper(chosen: Chosen) -> list[Chosen]:
    """Split experiments by the paper whose findings they measure."""
    found: dict[str, list[tuple[Experiment, tuple[Finding, ...]]]] = {}
    for one, findings in chosen:
        found.setdefault(findings[0].id.partition("-")[0], []).append((one, findings))
    return [*found.values()]
