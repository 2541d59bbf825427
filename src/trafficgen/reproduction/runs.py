"""Runs of experiments, by several processes: the result does not depend on how many there are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

from trafficgen.capture.memory import COSTS
from trafficgen.errors import SimulationError
from trafficgen.formatting import size_text
from trafficgen.generation.timeline import machine_memory_bytes
from trafficgen.models.published import entry_digest, load_entry
from trafficgen.process_memory import memory_limit_bytes
from trafficgen.progress import report_each
from trafficgen.randomness import random_stream
from trafficgen.reproduction.finding import Experiment, Finding, Measures, Piece
from trafficgen.reproduction.results import FindingResult, mean_of_measured
from trafficgen.reproduction.testbed import Moves, with_moves
from trafficgen.worker_processes import defer_interrupts, report_results, worker_pool

#: Experiments, each with the findings that are wanted of it.
Chosen = Sequence[tuple[Experiment, tuple[Finding, ...]]]
#: Number of the setting, name of the experiment, repeat over all runs, number of the piece.
_Key = tuple[int, str, int, int]
#: Values by the key of the finding, of each experiment and repeat.
_Values = dict[tuple[str, int], dict[str, float]]
#: A piece, the seed of all of them, the entries that are moved, and by how much.
_Job = tuple[_Key, Piece, int, tuple[str, ...], Moves]
#: What a simulation and its measures take until the end, and a worker, bytes, measured.
_PIECE_BYTES, _WORKER_BYTES = 4000, 200_000_000
#: However little memory is allowed, this much is taken.
_LEAST_BYTES = 300_000_000
_SEEDS = 1 << 53  # JSON carries whole numbers below this exactly


def run_settings(
    chosen: Chosen,
    settings: Sequence[Moves],
    *,
    runs: int,
    seed: int,
    workers: int | None,
    repeated: bool = False,
) -> list[tuple[FindingResult, ...]]:
    """Run experiments under each setting of their open values, all with the same seeds.

    If ``repeated``, a run does each experiment as often as the experiment says.

    Returns:
        Rows of each setting; none where it cannot be simulated.

    Raises:
        SimulationError: If the entries as they are cannot be simulated.
        ValueError: If the number of runs or workers is not positive.
    """
    if runs < 1 or (workers is not None and workers < 1):
        raise ValueError(f"runs and workers must be at least 1, got {runs} and {workers}")
    if not repeated:
        chosen = [(replace(one, repeats=1), findings) for one, findings in chosen]
    workers = check_memory(chosen, len(settings) * runs, workers or os.cpu_count() or 1)
    jobs = [
        ((number, one.name, done, part), piece, seed, _entries_of(findings), moves)
        for number, moves in enumerate(settings)
        for run in range(runs)
        for one, findings in chosen
        for done in _number_repeats(one, run)
        for part, piece in enumerate(one.pieces)
    ]
    wanted = {one.name: (one, findings) for one, findings in chosen}
    measured: list[_Values] = [{} for _ in settings]
    refused: set[int] = set()
    pieces: list[Measures | None] = []
    for (number, name, done, part), piece in _measure_all(jobs, workers):
        pieces.append(piece)
        if part + 1 < len(wanted[name][0].pieces):
            continue
        values = _combine(*wanted[name], pieces, moves=settings[number])
        pieces = []  # they are large: of each experiment its values are kept
        if values is None:
            refused.add(number)
        else:
            measured[number][name, done] = values
    return [
        () if number in refused else tuple(_list_rows(chosen, measured[number], runs))
        for number in range(len(settings))
    ]


def _combine(
    one: Experiment, findings: Sequence[Finding], pieces: Sequence[Measures | None], *, moves: Moves
) -> dict[str, float] | None:
    """Return the values of findings by their keys; None where moved values do not let them be."""
    simulated = [piece for piece in pieces if piece is not None]
    if len(simulated) < len(pieces):
        return None
    try:
        measures = one.combine(simulated)
    except ArithmeticError:  # a session without what others are compared with
        if not moves:
            raise
        return None
    return {finding.key: float(measures[finding.key]) for finding in findings}


def check_memory(chosen: Chosen, times: int, workers: int = 1) -> int:
    """Return how many workers the memory that is allowed has room for, of those that are wanted.

    Raises:
        SimulationError: If the results of all experiments, done this often, do not fit.
    """
    limit_bytes, machine_bytes = memory_limit_bytes(), machine_memory_bytes()
    pieces = times * sum(one.repeats * len(one.pieces) for one, _ in chosen)
    needed_bytes = COSTS.program_bytes + pieces * _PIECE_BYTES
    room_bytes = min(limit_bytes or machine_bytes, machine_bytes)
    if needed_bytes > max(room_bytes, _LEAST_BYTES):
        raise SimulationError(
            f"{pieces:,} simulations need some {size_text(needed_bytes)} of memory; ask for fewer"
            " runs, seeds or draws"
        )
    if limit_bytes is None:
        return workers
    return max(1, min(workers, 1 + (limit_bytes - needed_bytes) // _WORKER_BYTES))


def _list_rows(chosen: Chosen, measured: _Values, runs: int) -> Iterator[FindingResult]:
    for one, findings in chosen:
        for finding in findings:
            values = (
                tuple(measured[one.name, done][finding.key] for done in _number_repeats(one, run))
                for run in range(runs)
            )
            yield FindingResult(
                finding=finding,
                values=tuple(map(mean_of_measured, values)),
                entry_digest=entry_digest(load_entry(finding.entry)),
                repeats=one.repeats,
            )


def _number_repeats(one: Experiment, run: int) -> range:
    """Return the numbers of all repeats of an experiment in a run, counted over all runs."""
    return range(run * one.repeats, (run + 1) * one.repeats)


def _entries_of(findings: Sequence[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.entry for finding in findings))


def _measure_all(jobs: Sequence[_Job], workers: int) -> Iterator[tuple[_Key, Measures | None]]:
    """Yield the key and the measures of each piece, in order."""
    workers = min(workers, len(jobs))
    if workers <= 1:
        for job in report_each(jobs, "simulating", total=len(jobs), unit="pieces"):
            yield _measure(*job)
        return
    try:
        with worker_pool(workers) as pool:
            with defer_interrupts():
                futures = [pool.submit(_measure, *job) for job in jobs]
            yield from report_results(futures, "simulating", unit="pieces")
    except BrokenProcessPool as error:
        raise SimulationError(
            "a process that simulates has ended: use fewer workers where memory is short, and"
            " in a script call this under `if __name__ == '__main__':`"
        ) from error


def _measure(
    key: _Key, piece: Piece, seed: int, entries: tuple[str, ...], moves: Moves
) -> tuple[_Key, Measures | None]:
    _, name, run, part = key
    stream = random_stream(seed, session=run, purpose=f"reproduce/{name}/{part}")
    with with_moves(entries, moves):
        try:
            return key, piece(int(stream.integers(_SEEDS)))
        except (SimulationError, ArithmeticError, LookupError, ValueError):
            if not moves:
                raise
            return key, None  # refused, or a session without what is measured
