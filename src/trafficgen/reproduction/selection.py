"""Which findings are asked for: ids, or beginnings of ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trafficgen.errors import SelectionError
from trafficgen.reproduction.base import Experiment, Finding


def select_findings(
    experiments: Iterable[Experiment], wanted: Sequence[str]
) -> list[tuple[Experiment, tuple[Finding, ...]]]:
    """Return the experiments that measure a wanted finding, each with those of its findings that
    are wanted.

    Args:
        experiments: The experiments.
        wanted: Ids or beginnings of them, in capitals or not; a number is taken whole, so that
            ``BMW-B1`` is not ``BMW-B10``. Empty: all.

    Raises:
        SelectionError: If one of them names nothing.
    """
    known = [(one, one.findings) for one in experiments]
    for text in wanted:
        if not any(_begins(finding.id, text) for _, findings in known for finding in findings):
            papers = sorted(
                {finding.id.partition("-")[0] for _, findings in known for finding in findings}
            )
            raise SelectionError(
                what=f"finding {text!r}",
                available=f"ids begin with {', '.join(papers) or 'nothing yet'}",
            )
    chosen = [
        (one, tuple(finding for finding in findings if _is_wanted(finding, wanted)))
        for one, findings in known
    ]
    return [(one, findings) for one, findings in chosen if findings]


def _is_wanted(finding: Finding, wanted: Sequence[str]) -> bool:
    return not wanted or any(_begins(finding.id, text) for text in wanted)


def _begins(name: str, text: str) -> bool:
    rest = name[len(text) :]
    return (
        text != ""
        and name.upper().startswith(text.upper())
        and not (text[-1:].isdigit() and rest[:1].isdigit())
    )
