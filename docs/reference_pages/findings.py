"""The findings of the papers with their statements, from the data files of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

from reference_pages.markdown import page, table
from trafficgen.reproduction.finding import Paper, PublishedFinding, papers

_ABOUT = """Every finding has an id, by which the catalogue, `trafficgen reproduce` and these pages
cite it. The statements are in our words; the source is the place in the paper. *Measured* counts
the quantities that `trafficgen reproduce` measures of it: findings without any are set-ups,
definitions or context."""


def findings_page() -> str:
    """Make the page."""
    return page("Findings", _ABOUT, *(part for paper in papers() for part in _sections(paper)))


def _statement(finding: PublishedFinding) -> str:
    conflict = f" *Conflict in the paper:* {finding.conflict}" if finding.conflict else ""
    return finding.statement + conflict


def _sections(paper: Paper) -> Iterator[str]:
    yield f"## {paper.prefix}: {paper.title}"
    if paper.entry:
        yield f"Catalogue entry: [`{paper.entry}`](catalogue/{paper.entry}.md)."
    yield table(
        ("id", "finding", "source", "measured"),
        [
            (f"`{name}`", _statement(one), one.source, str(len(one.quantities) or "-"))
            for name, one in paper.findings.items()
        ],
    )
