"""The papers' set-ups, run again: `trafficgen reproduce`."""

from __future__ import annotations

from collections.abc import Iterable

from trafficgen.reproduction import Reproduction, experiments, run_experiments, select_findings


def reproduce(
    ids: str | Iterable[str] = (), *, runs: int = 5, seed: int = 0, workers: int | None = None
) -> Reproduction:
    """Run the set-ups of the papers and return published beside simulated.

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
        ...     print(row.finding.quantity, row.finding.published, f"{row.simulated:.2f}", row.finding.unit)
        buffering time 6.02 6.02 s
        buffering rate 45 43.90 kbps
        playback rate 32 34.63 kbps
        largest rate in 0.5 s 141 149.20 kbps
    """
    wanted = [ids] if isinstance(ids, str) else list(ids)
    chosen = select_findings(experiments(), wanted)
    return run_experiments(chosen, runs=runs, seed=seed, workers=workers)
