"""Run the set-ups of the papers: `trafficgen reproduce`.

Several processes share the work; the result does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from trafficgen.errors import SelectionError
from trafficgen.formatting import suggest_name
from trafficgen.options import check_argument, checks_arguments
from trafficgen.reproduction.boyden import EXPERIMENTS as BOYDEN
from trafficgen.reproduction.chung.experiments import list_experiments as list_chung
from trafficgen.reproduction.finding import Experiment, Finding, PublishedFinding, papers
from trafficgen.reproduction.latecki import EXPERIMENTS as LATECKI
from trafficgen.reproduction.nichols.experiments import EXPERIMENTS as NICHOLS
from trafficgen.reproduction.results import Reproduction
from trafficgen.reproduction.runs import Chosen, run_settings
from trafficgen.simulation.options import SimulateOptions


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
