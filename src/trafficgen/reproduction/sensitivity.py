"""How results depend on values that papers leave open, all together or without a section each."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trafficgen.data_frames import frame_rows
from trafficgen.errors import SimulationError
from trafficgen.formatting import format_count
from trafficgen.notebook import NotebookView
from trafficgen.options import checks_arguments
from trafficgen.randomness import random_stream
from trafficgen.reproduction.finding import Experiment, Finding
from trafficgen.reproduction.reproduce import Chosen, check_memory, choose, run_settings
from trafficgen.reproduction.results import FindingResult
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


#: Open values are drawn between those of the entry divided and multiplied by this.
LARGEST_FACTOR = 1.5
_SECTION_COLUMNS: dict[str, type] = {"section": str, "met": int, "quantities": int, "draw": int}


@dataclass(frozen=True, eq=False, kw_only=True)
class SectionScore:
    """A section of a paper, judged with open values that were chosen without it.

    Attributes:
        section: Beginning of the ids of its findings, such as ``CCZ-H``.
        rows: Its rows that are not inputs, with the values chosen.
        draw: Number of the draw that was chosen, from 0.
    """

    section: str
    rows: tuple[FindingResult, ...]
    draw: int

    @property
    def met(self) -> int:
        """Rows within their range."""
        return sum(row.ok for row in self.rows)

    def to_json(self) -> dict[str, object]:
        """Return the score as `trafficgen reproduce --leave-one-out --json` has it."""
        return {
            "section": self.section,
            "met": self.met,
            "quantities": len(self.rows),
            "draw": self.draw,
            "missed": [
                {"id": row.finding.id, "quantity": row.finding.quantity, "simulated": row.simulated}
                for row in self.rows
                if not row.ok
            ],
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class LeaveOneOut(NotebookView):
    """Result of `trafficgen reproduce --leave-one-out`.

    Attributes:
        sections: A score for each section.
        draws: Draws of the open values that were tried.
        seed: Seed of draws and runs.
        runs: Runs of each draw.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.leave_one_out(["LJM-D4", "LJM-E7"], draws=1, runs=1, workers=1)
        >>> [(one.section, one.met, len(one.rows)) for one in found.sections]
        [('LJM-D', 2, 2), ('LJM-E', 2, 2)]
    """

    sections: tuple[SectionScore, ...]
    draws: int
    seed: int
    runs: int

    def __repr__(self) -> str:
        return f"<LeaveOneOut: {self.met} of {self.quantities} quantities within range>"

    @property
    def met(self) -> int:
        """Rows of all sections within their range."""
        return sum(one.met for one in self.sections)

    @property
    def quantities(self) -> int:
        """Rows of all sections."""
        return sum(len(one.rows) for one in self.sections)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row a section: ``section``, ``met``, ``quantities``, ``draw``."""
        keys = tuple(_SECTION_COLUMNS)
        rows = [{key: one.to_json()[key] for key in keys} for one in self.sections]
        return frame_rows(rows, _SECTION_COLUMNS)

    def to_json(self) -> dict[str, object]:
        """Return what `trafficgen reproduce --leave-one-out --json` prints."""
        return {
            "sections": [one.to_json() for one in self.sections],
            "summary": {"met": self.met, "quantities": self.quantities},
            "draws": self.draws,
            "largest_factor": LARGEST_FACTOR,
            "seed": self.seed,
            "runs": self.runs,
        }


@checks_arguments(like=SimulateOptions)
def leave_one_out(
    ids: str | Iterable[str] = (),
    *,
    draws: int = 40,
    runs: int = 5,
    seed: int = 0,
    workers: int | None = None,
) -> LeaveOneOut:
    """Choose the open values of each paper without one of its sections, and judge that section.

    Args:
        ids: As of :func:`trafficgen.reproduce`; a paper needs two sections at least.
        draws: How many draws of the open values are tried; each value is drawn, uniform in its
            logarithm, between that of the entry divided and multiplied by 1.5. A whole number is
            rounded, and moves by one at least.
        runs: Runs of each draw; one is enough for a first look, and takes a fifth of the time.
        seed: Seed of draws and runs, >= 0.
        workers: As of :func:`trafficgen.reproduce`.

    Raises:
        SelectionError: If an id names nothing.
        SimulationError: If a set-up cannot be simulated.
        ValueError: If the number of draws, runs or workers is not positive.

    Example:
        >>> import trafficgen
        >>> trafficgen.leave_one_out(["LJM-D4", "LJM-E7"], draws=1, runs=1, workers=1)
        <LeaveOneOut: 4 of 4 quantities within range>
    """
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
    sections: list[SectionScore] = []
    for chosen in split_by_paper(choose(ids)):
        entries = dict.fromkeys(finding.entry for _, some in chosen for finding in some)
        check_memory(chosen, draws * runs)
        settings = _draw_settings(list_open_values(entries), draws, seed)
        found = run_settings(chosen, settings, runs=runs, seed=seed, workers=workers)
        tried = {
            number: tuple(row for row in rows if row.finding.role != "input")
            for number, rows in enumerate(found)
            if rows
        }
        if not tried:
            raise SimulationError("no draw of the open values can be simulated; try more draws")
        names = dict.fromkeys(_section(row) for row in next(iter(tried.values())))
        if len(names) > 1:
            sections += (_score_section(name, tried) for name in names)
    return LeaveOneOut(sections=tuple(sections), draws=draws, seed=seed, runs=runs)


def _score_section(name: str, tried: Mapping[int, Sequence[FindingResult]]) -> SectionScore:
    """Judge a section by the draw that meets most of the others."""
    best = max(
        tried, key=lambda number: _score([row for row in tried[number] if _section(row) != name])
    )
    rows = tuple(row for row in tried[best] if _section(row) == name)
    return SectionScore(section=name, rows=rows, draw=best)


def _draw_settings(names: Sequence[str], draws: int, seed: int) -> list[Moves]:
    stream = random_stream(seed, session=0, purpose="reproduce/leave-one-out")
    exponents = stream.uniform(-1, 1, (draws, len(names)))
    return [
        {name: LARGEST_FACTOR ** float(one) for name, one in zip(names, row, strict=True)}
        for row in exponents
    ]


def _section(row: FindingResult) -> str:
    return re.sub(r"[\d.]+$", "", row.finding.id)


def _score(rows: Sequence[FindingResult]) -> tuple[int, float]:
    """Count the rows within range; of equal counts those are best that miss by least."""
    return sum(row.ok for row in rows), -sum(min(_distance(row), 1.0) for row in rows)


def _distance(row: FindingResult) -> float:
    """Return how far a row is outside its range, over the size of its nearer end."""
    ends = [end for end in (row.finding.low, row.finding.high) if end is not None]
    if row.ok:
        return 0.0
    if math.isnan(row.simulated):
        return math.inf
    return min(abs(row.simulated - end) / max(abs(end), 1e-9) for end in ends)
