"""Run the set-ups of the papers: `trafficgen reproduce`.

Several processes share the work; the result does not depend on how many there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

from trafficgen.capture.memory import COSTS
from trafficgen.errors import SelectionError, SimulationError
from trafficgen.formatting import size_text, suggest_name
from trafficgen.generation.timeline import machine_memory_bytes
from trafficgen.models.published import entry_digest, load_entry
from trafficgen.options import check_argument, checks_arguments
from trafficgen.process_memory import memory_limit_bytes
from trafficgen.progress import report_each
from trafficgen.randomness import random_stream
from trafficgen.reproduction.boyden import EXPERIMENTS as BOYDEN
from trafficgen.reproduction.chung.experiments import list_experiments as list_chung
from trafficgen.reproduction.finding import (
    Experiment,
    Finding,
    Measures,
    Piece,
    PublishedFinding,
    papers,
)
from trafficgen.reproduction.latecki import EXPERIMENTS as LATECKI
from trafficgen.reproduction.nichols.experiments import EXPERIMENTS as NICHOLS
from trafficgen.reproduction.results import FindingResult, Reproduction, mean_of_measured
from trafficgen.reproduction.testbed import Moves, with_moves
from trafficgen.simulation.options import SimulateOptions
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


def experiments() -> tuple[Experiment, ...]:
    """List the experiments of all papers in the order in which their findings are printed."""
    return (*list_chung(), *BOYDEN, *NICHOLS, *LATECKI)


@checks_arguments(like=SimulateOptions)
def reproduce(
    ids: str | Iterable[str] = (),
    *,
    runs: int = 5,
    seeds: int = 1,
    seed: int = 0,
    workers: int | None = None,
) -> Reproduction:
    """Run the set-ups of the papers and compare what they measure with what was published.

    Args:
        ids: Ids of findings or beginnings of them, such as ``BMW-T1`` or ``NIC``; empty: all.
        runs: Runs of each set-up, with seeds of their own: a row is judged by their mean. Set-ups
            whose figures differ much from run to run are done several times in each (``repeats``
            of a row).
        seeds: How often all that is done anew, so that rows have a probability of passing.
        seed: Seed from which theirs are derived, >= 0.
        workers: Processes that share the work; None for one a core. The result does not depend on
            them. A script that asks for more than one calls this under ``if __name__ ==
            "__main__":``, as for any new process.

    Raises:
        SelectionError: If an id names nothing.
        SimulationError: If a set-up cannot be simulated.
        ValueError: If the number of runs, seeds or workers is not positive.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.reproduce("BMW-T1.1", runs=2, workers=1)
        >>> for row in found.rows:
        ...     finding = row.finding
        ...     print(finding.quantity_text, finding.published, f"{row.simulated:.2f}")
        buffering time, s 6.02 6.02
        buffering rate, kbit/s 45 46.81
        playback rate, kbit/s 32 34.49
        largest rate in 0.5 s, kbit/s 141 148.45
    """
    return run_experiments(choose(ids), runs=runs, seeds=seeds, seed=seed, workers=workers)


def choose(ids: str | Iterable[str]) -> list[tuple[Experiment, tuple[Finding, ...]]]:
    """Select experiments of all papers by ids of findings or their beginnings; empty: all.

    Raises:
        SelectionError: If an id names nothing.
    """
    wanted = [ids] if isinstance(ids, str) else list(ids)
    for one in wanted:
        check_argument("each of ids", one, str)
    return select_findings(experiments(), wanted)


def run_experiments(
    chosen: Chosen, *, runs: int = 5, seeds: int = 1, seed: int = 0, workers: int | None = None
) -> Reproduction:
    """Run experiments and compare what they measure with what was published.

    Runs of each have seeds of their own. Arguments and errors are those of :func:`reproduce`.
    """
    if seeds < 1:
        raise ValueError(f"seeds must be at least 1, got {seeds}")
    (rows,) = run_settings(
        chosen, [{}], runs=runs * seeds, seed=seed, workers=workers, repeated=True
    )
    judged = tuple(replace(row, runs=runs) for row in rows)
    return Reproduction(rows=judged, seed=seed, runs=runs, seeds=seeds)


def select_findings(
    candidates: Iterable[Experiment], wanted: Sequence[str]
) -> list[tuple[Experiment, tuple[Finding, ...]]]:
    """Select the experiments that measure a wanted finding, each with its wanted findings.

    ``wanted`` has ids or beginnings of them, in capitals or not; a number is taken whole, so that
    ``BMW-B1`` is not ``BMW-B10``. Without any, all are selected.

    Raises:
        SelectionError: If one of them names nothing.
    """
    known = [(one, one.findings) for one in candidates]
    ids = _select_ids([finding.id for _, findings in known for finding in findings], wanted)
    chosen = [
        (one, tuple(finding for finding in findings if finding.id in ids))
        for one, findings in known
    ]
    return [(one, findings) for one, findings in chosen if findings]


def select_statements(wanted: Sequence[str]) -> list[tuple[str, PublishedFinding]]:
    """Select findings of all kinds by ids or their beginnings; raise SelectionError for others."""
    known = {name: finding for paper in papers() for name, finding in paper.findings.items()}
    ids = _select_ids(known, wanted)
    return [(name, finding) for name, finding in known.items() if name in ids]


def _select_ids(known: Iterable[str], wanted: Sequence[str]) -> set[str]:
    ids = set(known)
    for text in wanted:
        if not any(_begins(name, text) for name in ids):
            papers = ", ".join(sorted({name.partition("-")[0] for name in ids}))
            raise SelectionError(
                what=f"finding {text!r}{suggest_name(text, ids)}",
                available=f"ids look like {min(ids)} and begin with {papers};"
                " [`trafficgen reproduce --list` lists them|docs/reference/findings.md lists them]",
            )
    return {name for name in ids if not wanted or any(_begins(name, text) for text in wanted)}


def _begins(name: str, text: str) -> bool:
    rest = name[len(text) :]
    return (
        text != ""
        and name.upper().startswith(text.upper())
        and not (text[-1:].isdigit() and rest[:1].isdigit())
    )
