"""Run experiments in several processes; the result does not depend on how many there are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from trafficgen.errors import SimulationError
from trafficgen.models.published import entry_digest, load_entry
from trafficgen.progress import report_each
from trafficgen.randomness import random_stream
from trafficgen.reproduction.base import Experiment, Finding
from trafficgen.reproduction.results import FindingResult, Reproduction
from trafficgen.worker_processes import interrupts_defer_signals, worker_pool

#: Name of the experiment, run, part.
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


def run_experiments(
    chosen: Sequence[tuple[Experiment, tuple[Finding, ...]]],
    *,
    runs: int = 5,
    seed: int = 0,
    workers: int | None = None,
) -> Reproduction:
    """Run experiments and compare what they measure with what was published.

    Args:
        chosen: Experiments, each with the findings to report of it.
        runs: Runs of each, >= 1, with seeds of their own.
        seed: Seed from which theirs are derived, >= 0.
        workers: Processes that share the pieces; None for one a core. A script that uses more
            than one calls this under ``if __name__ == "__main__":``, as for any new process.

    Raises:
        SimulationError: If an experiment cannot be simulated.
        ValueError: If the number of runs or workers is not positive.
    """
    if runs < 1 or (workers is not None and workers < 1):
        raise ValueError(f"runs and workers must be at least 1, got {runs} and {workers}")
    pieces = [
        piece
        for run in range(runs)
        for one, _ in chosen
        for piece in _pieces(one, run=run, seed=seed)
    ]
    work = _measure_all(pieces, workers or os.cpu_count() or 1)
    measures = dict(report_each(work, "simulating", total=len(pieces), unit="pieces"))
    rows = tuple(
        row for one, findings in chosen for row in _rows(one, findings, measures, runs=runs)
    )
    return Reproduction(rows=rows, seed=seed, runs=runs)


def _pieces(experiment: Experiment, *, run: int, seed: int) -> Iterator[_Piece]:
    for part in range(experiment.parts):
        stream = random_stream(seed, session=run, purpose=f"reproduce/{experiment.name}/{part}")
        yield _Piece(experiment, run, part, int(stream.integers(_SEEDS)))


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


def _measure_all(pieces: Sequence[_Piece], workers: int) -> Iterator[tuple[_Key, dict[str, Any]]]:
    """Yield each piece's key and measures, in the order in which they are done."""
    workers = min(workers, len(pieces))
    if workers <= 1:
        yield from map(_measure, pieces)
        return
    try:
        with worker_pool(workers) as pool:
            with interrupts_defer_signals():
                futures = [pool.submit(_measure, piece) for piece in pieces]
            for done in as_completed(futures):
                yield done.result()
    except BrokenProcessPool as error:
        raise SimulationError(
            "a process that simulates has ended: use fewer workers where memory is short, and"
            " in a script call this under `if __name__ == '__main__':`"
        ) from error


def _measure(piece: _Piece) -> tuple[_Key, dict[str, Any]]:
    return piece.key, piece.experiment.measure(piece.part, seed=piece.seed)
