"""Runs of experiments, shared by processes; the result does not depend on how many there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from trafficgen.catalogue import entry_digest, load_entry
from trafficgen.errors import SimulationError
from trafficgen.randomness import random_stream
from trafficgen.reproduction.base import Experiment, Finding
from trafficgen.reproduction.figures import Figure, MeasuredFigure, PlayedFigure
from trafficgen.reproduction.results import DrawnFigure, FindingResult, Reproduction
from trafficgen.worker_processes import interrupts_held_back, worker_pool

#: Name of the experiment or figure, run, part.
_Key = tuple[str, int, int]
_SEEDS = 1 << 53  # JSON carries whole numbers below this exactly


@dataclass(frozen=True)
class _Piece:
    """One piece of one run of an experiment."""

    experiment: Experiment
    run: int
    part: int
    seed: int

    @property
    def key(self) -> _Key:
        return self.experiment.name, self.run, self.part

    def work(self) -> Any:
        return self.experiment.measure(self.part, seed=self.seed)


@dataclass(frozen=True)
class _Plate:
    """A figure whose runs are played once more."""

    figure: PlayedFigure
    seeds: dict[str, tuple[int, ...]]

    @property
    def key(self) -> _Key:
        return f"figure {self.figure.name}", 0, 0

    def work(self) -> Any:
        return self.figure.draw(self.seeds)


def run_experiments(
    chosen: Sequence[tuple[Experiment, tuple[Finding, ...]]],
    *,
    runs: int = 5,
    seed: int = 0,
    figures: Sequence[Figure] | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Reproduction:
    """Run experiments and return the findings beside what was simulated.

    Args:
        chosen: Experiments, each with the findings that are wanted of it.
        runs: Runs of each, >= 1, with seeds of their own.
        seed: Seed from which theirs are derived, >= 0.
        figures: Figures to draw, of chosen experiments only; None: none are asked for.
        workers: Processes that share the pieces; None for one a core. A script that asks for more
            than one calls this under ``if __name__ == "__main__":``, as for any new process.
        progress: Called with the pieces done so far and in all.

    Raises:
        SimulationError: If an experiment cannot be simulated.
        ValueError: If the number of runs or workers is not positive.
    """
    if runs < 1 or (workers is not None and workers < 1):
        raise ValueError(f"runs and workers must be at least 1, got {runs} and {workers}")
    pieces: list[_Piece | _Plate] = [
        piece
        for run in range(runs)
        for one, _ in chosen
        for piece in _pieces(one, run=run, seed=seed)
    ]
    pieces += _plates(figures or (), [one for one, _ in chosen], seed=seed)
    results: dict[_Key, Any] = {}
    for done, (key, result) in enumerate(_worked(pieces, workers or os.cpu_count() or 1), start=1):
        results[key] = result
        if progress is not None:
            progress(done, len(pieces))
    rows = tuple(
        row for one, findings in chosen for row in _rows(one, findings, results, runs=runs)
    )
    drawn = None
    if figures is not None:
        of_first_run = {
            one.name: [results[one.name, 0, part] for part in range(one.parts)] for one, _ in chosen
        }
        drawn = tuple(_drawn(figure, results, of_first_run, rows) for figure in figures)
    return Reproduction(rows=rows, seed=seed, runs=runs, figures=drawn)


def _pieces(experiment: Experiment, *, run: int, seed: int) -> Iterator[_Piece]:
    for part in range(experiment.parts):
        stream = random_stream(seed, session=run, purpose=f"reproduce/{experiment.name}/{part}")
        yield _Piece(experiment, run, part, int(stream.integers(_SEEDS)))


def _plates(
    figures: Sequence[Figure], experiments: Sequence[Experiment], *, seed: int
) -> Iterator[_Plate]:
    for figure in figures:
        if isinstance(figure, PlayedFigure):
            seeds = {
                one.name: tuple(piece.seed for piece in _pieces(one, run=0, seed=seed))
                for one in experiments
                if one.name in figure.experiments
            }
            yield _Plate(figure, seeds)


def _drawn(
    figure: Figure,
    results: dict[_Key, Any],
    of_first_run: dict[str, list[dict[str, Any]]],
    rows: Sequence[FindingResult],
) -> DrawnFigure:
    if isinstance(figure, PlayedFigure):
        drawings = results[f"figure {figure.name}", 0, 0]
    elif isinstance(figure, MeasuredFigure):
        drawings = figure.draw(of_first_run)
    else:
        drawings = figure.draw([row for row in rows if row.finding.id in figure.findings])
    return DrawnFigure(name=figure.name, findings=figure.findings, drawings=drawings)


def _rows(
    experiment: Experiment,
    findings: tuple[Finding, ...],
    measures: dict[_Key, dict[str, Any]],
    *,
    runs: int,
) -> Iterator[FindingResult]:
    values = [
        experiment.quantities(
            [measures[experiment.name, run, part] for part in range(experiment.parts)]
        )
        for run in range(runs)
    ]
    for finding in findings:
        yield FindingResult(
            finding=finding,
            values=tuple(float(of_run[finding.key]) for of_run in values),
            entry_digest=entry_digest(load_entry(finding.entry)),
        )


def _worked(pieces: Sequence[_Piece | _Plate], workers: int) -> Iterator[tuple[_Key, Any]]:
    """Yield each piece's key with what came of it, in the order in which they are done."""
    workers = min(workers, len(pieces))
    if workers <= 1:
        yield from map(_work, pieces)
        return
    try:
        with worker_pool(workers) as pool:
            with interrupts_held_back():
                futures = [pool.submit(_work, piece) for piece in pieces]
            for done in as_completed(futures):
                yield done.result()
    except BrokenProcessPool as error:
        raise SimulationError(
            "a process that simulates has ended: ask for fewer workers where memory is short, and"
            " in a script call this under `if __name__ == '__main__':`"
        ) from error


def _work(piece: _Piece | _Plate) -> tuple[_Key, Any]:
    return piece.key, piece.work()
