"""Run the set-ups of the papers: `trafficgen reproduce`.

Several processes share the work; the result does not depend on how many there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool

from trafficgen.errors import SelectionError, SimulationError
from trafficgen.formatting import suggest_name
from trafficgen.models.published import entry_digest, load_entry
from trafficgen.options import check_argument, checks_arguments
from trafficgen.progress import report_each
from trafficgen.randomness import random_stream
from trafficgen.reproduction.boyden import EXPERIMENTS as BOYDEN
from trafficgen.reproduction.chung.experiments import list_experiments as list_chung
from trafficgen.reproduction.experiment import Experiment, Measures, Piece
from trafficgen.reproduction.finding import Finding, PublishedFinding, papers
from trafficgen.reproduction.latecki import EXPERIMENTS as LATECKI
from trafficgen.reproduction.nichols.experiments import EXPERIMENTS as NICHOLS
from trafficgen.reproduction.results import FindingResult, Reproduction
from trafficgen.simulation.options import SimulateOptions
from trafficgen.worker_processes import defer_interrupts, report_results, worker_pool

#: Name of the experiment, run, number of the piece.
_Key = tuple[str, int, int]
#: A piece, and the seed of all of them.
_Job = tuple[_Key, Piece, int]
_SEEDS = 1 << 53  # JSON carries whole numbers below this exactly


def experiments() -> tuple[Experiment, ...]:
    """List the experiments of all papers in the order in which their findings are printed."""
    return (*list_chung(), *BOYDEN, *NICHOLS, *LATECKI)


@checks_arguments(like=SimulateOptions)
def reproduce(
    ids: str | Iterable[str] = (), *, runs: int = 5, seed: int = 0, workers: int | None = None
) -> Reproduction:
    """Run the set-ups of the papers and compare what they measure with what was published.

    Args:
        ids: Ids of findings or beginnings of them, such as ``BMW-T1`` or ``NIC``; empty: all.
        runs: Runs of each set-up, with seeds of their own.
        seed: Seed from which theirs are derived, >= 0.
        workers: Processes that share the work; None for one a core. The result does not depend on
            them. A script that asks for more than one calls this under ``if __name__ ==
            "__main__":``, as for any new process.

    Raises:
        SelectionError: If an id names nothing.
        SimulationError: If a set-up cannot be simulated.
        ValueError: If the number of runs or workers is not positive.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.reproduce("BMW-T1.1", runs=2, workers=1)
        >>> for row in found.rows:
        ...     finding = row.finding
        ...     print(finding.quantity_text, finding.published, f"{row.simulated:.2f}")
        buffering time, s 6.02 6.02
        buffering rate, kbit/s 45 43.90
        playback rate, kbit/s 32 34.63
        largest rate in 0.5 s, kbit/s 141 149.20
    """
    wanted = [ids] if isinstance(ids, str) else list(ids)
    for one in wanted:
        check_argument("each of ids", one, str)
    chosen = select_findings(experiments(), wanted)
    return run_experiments(chosen, runs=runs, seed=seed, workers=workers)


def run_experiments(
    chosen: Sequence[tuple[Experiment, tuple[Finding, ...]]],
    *,
    runs: int = 5,
    seed: int = 0,
    workers: int | None = None,
) -> Reproduction:
    """Run experiments and compare what they measure with what was published.

    Runs of each have seeds of their own. Seed, workers and errors are those of :func:`reproduce`.
    """
    if runs < 1 or (workers is not None and workers < 1):
        raise ValueError(f"runs and workers must be at least 1, got {runs} and {workers}")
    jobs = [
        ((one.name, run, number), piece, seed)
        for run in range(runs)
        for one, _ in chosen
        for number, piece in enumerate(one.pieces)
    ]
    measures = dict(_measure_all(jobs, workers or os.cpu_count() or 1))
    rows: list[FindingResult] = []
    for one, findings in chosen:
        values = [
            one.combine([measures[one.name, run, number] for number in range(len(one.pieces))])
            for run in range(runs)
        ]
        rows += (
            FindingResult(
                finding=finding,
                values=tuple(float(of_run[finding.key]) for of_run in values),
                entry_digest=entry_digest(load_entry(finding.entry)),
            )
            for finding in findings
        )
    return Reproduction(rows=tuple(rows), seed=seed, runs=runs)


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


def _measure_all(jobs: Sequence[_Job], workers: int) -> Iterator[tuple[_Key, Measures]]:
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


def _measure(key: _Key, piece: Piece, seed: int) -> tuple[_Key, Measures]:
    name, run, number = key
    stream = random_stream(seed, session=run, purpose=f"reproduce/{name}/{number}")
    return key, piece(int(stream.integers(_SEEDS)))


def _begins(name: str, text: str) -> bool:
    rest = name[len(text) :]
    return (
        text != ""
        and name.upper().startswith(text.upper())
        and not (text[-1:].isdigit() and rest[:1].isdigit())
    )
