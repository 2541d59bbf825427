"""The report of a reproduction: published and simulated values, paper by paper."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.models.published import load_entry
from trafficgen.provenance import software_version
from trafficgen.reports.charts import Axis, Chart, Curve, Layer, Role, Rule
from trafficgen.reports.names import number
from trafficgen.reports.page import Block, Report, Section, Table, Text
from trafficgen.reproduction import FindingResult, Reproduction, experiments

#: Where a mean far outside its range is drawn: its note tells where it is.
_FARTHEST = 2.5
#: Where a mean is drawn that misses a range with one end only, which has no width to measure the
#: distance by.
_BEYOND = 1.5
_DIGEST_CHARACTERS = 12
#: A longer table is opened by its reader.
_LONGEST_OPEN_TABLE = 30


@dataclass(frozen=True)
class _Paper:
    """What a paper's section is called and how its references begin."""

    prefix: str
    title: str
    entries: tuple[str, ...]


_PAPERS = (
    _Paper(
        "CCZ",
        "RealPlayer 8 over UDP and TCP",
        ("realplayer8_chung2002", "realplayer8_tcp_chung2002"),
    ),
    _Paper("BMW", "RealVideo 10 and TurboPlay", ("realvideo10_boyden2005",)),
    _Paper("NIC", "Windows Media 9", ("wmedia9_nichols2004",)),
    _Paper("LJM", "Two-stream rate control", ("twostream_latecki2003",)),
)


def reproduction_report(found: Reproduction) -> Report:
    """Return the report of a reproduction."""
    papers = [(paper, rows) for paper in _PAPERS if (rows := _rows_of(paper, found.rows))]
    known = {paper.prefix for paper in _PAPERS}
    others = tuple(row for row in found.rows if _prefix(row.finding.id) not in known)
    sections = [
        Section(title="In words", blocks=tuple(_summary(found, papers))),
        *(
            Section(title=paper.title, blocks=tuple(_paper_blocks(paper, rows)))
            for paper, rows in papers
        ),
    ]
    if others:
        sections.append(Section(title="Others", blocks=(_table("All quantities", others),)))
    runs = f"{found.runs} run{'' if found.runs == 1 else 's'}"
    return Report(
        title="What the papers published, simulated again",
        subtitle=", ".join(_list_of_papers(papers)) + f"; means of {runs}",
        sections=(*sections, Section(title="Catalogue entries", blocks=(_entries(found.rows),))),
        made_by=(
            f"trafficgen {software_version()}: trafficgen reproduce {_chosen(found.rows)}--runs"
            f" {found.runs} --seed {found.seed}"
        ),
    )


def _chosen(rows: Sequence[FindingResult]) -> str:
    """Return the ids to ask for; none where everything was."""
    ids = dict.fromkeys(row.finding.id for row in rows)
    every = {finding.id for experiment in experiments() for finding in experiment.findings}
    return "" if every <= set(ids) else " ".join([*ids, ""])


def _prefix(identifier: str) -> str:
    return identifier.partition("-")[0]


def _rows_of(paper: _Paper, rows: Sequence[FindingResult]) -> tuple[FindingResult, ...]:
    return tuple(row for row in rows if _prefix(row.finding.id) == paper.prefix)


def _list_of_papers(papers: Sequence[tuple[_Paper, Sequence[FindingResult]]]) -> Iterator[str]:
    for paper, _ in papers:
        citation = load_entry(paper.entries[0]).provenance.citations[0]
        yield f"{_authors(citation.authors)} {citation.year}"


def _authors(authors: Sequence[str]) -> str:
    return authors[0] if len(authors) == 1 else f"{', '.join(authors[:-1])} and {authors[-1]}"


def _summary(
    found: Reproduction, papers: Sequence[tuple[_Paper, tuple[FindingResult, ...]]]
) -> Iterator[Block]:
    counts = found.summary()
    predicted, inputs = counts["predicted"], counts["inputs"]
    share = f" ({counts['predicted_ok'] / predicted:.0%})" if predicted else ""
    lines = [
        f"{counts['predicted_ok']} of {predicted} predicted quantities lie within the accepted"
        f" range{share}."
    ]
    if inputs:
        lines.append(
            f"{counts['inputs_ok']} of {inputs} inputs, which stand in the catalogue entries"
            " themselves, do so."
        )
    lines.append(f"{counts['findings_ok']} of {counts['findings']} findings hold in all they say.")
    yield Text(lines=(" ".join(lines),), kind="lead")
    if found.missed:
        yield Text(lines=("Outside their range:",))
        yield Text(lines=tuple(_misses_in_words(found.missed)), kind="warnings")
    yield _papers_table(papers)


def _misses_in_words(missed: Sequence[FindingResult]) -> Iterator[str]:
    """Yield a line for each miss; those of one finding with one reason share a line."""
    of_reason: dict[tuple[str, str | None], list[FindingResult]] = {}
    for row in missed:
        of_reason.setdefault((row.finding.id, row.finding.gap), []).append(row)
    for (identifier, gap), rows in of_reason.items():
        quantities = "; ".join(_miss_in_words(row) for row in rows)
        yield f"{identifier}: {quantities}. {f'Why: {gap}' if gap else 'Why is not known'}."


def _miss_in_words(row: FindingResult) -> str:
    simulated = (
        "not measured in most runs"
        if math.isnan(row.simulated)
        else f"{number(row.simulated)}{_unit(row)}"
    )
    return f"{row.finding.quantity}: {simulated}, accepted {_accepted(row)}"


def _unit(row: FindingResult) -> str:
    """Return a unit after a number; a share needs none."""
    return (
        f" {row.finding.unit}"
        if row.finding.unit not in {"", "share"} and not math.isnan(row.simulated)
        else ""
    )


def _accepted(row: FindingResult) -> str:
    low, high = row.finding.low, row.finding.high
    if low is not None and low == high:
        return number(_real(low))
    if low is None:
        return f"at most {number(_real(high))}" if high is not None else "any"
    return (
        f"at least {number(_real(low))}"
        if high is None
        else f"{number(_real(low))} to {number(_real(high))}"
    )


def _real(value: float | None) -> float | None:
    """Return a number as a float, so that whole ones read as those beside them."""
    return None if value is None else float(value)


def _papers_table(papers: Sequence[tuple[_Paper, tuple[FindingResult, ...]]]) -> Table:
    rows = []
    for paper, results in papers:
        counts = Reproduction(rows=results, seed=0, runs=1).summary()
        rows.append(
            (
                paper.title,
                f"{counts['predicted_ok']} of {counts['predicted']}",
                f"{counts['inputs_ok']} of {counts['inputs']}",
                f"{counts['findings_ok']} of {counts['findings']}",
            )
        )
    return Table(
        title="Within range, paper by paper",
        header=("paper", "predicted quantities", "inputs", "whole findings"),
        rows=tuple(rows),
        numbers=(1, 2, 3),
    )


def _paper_blocks(paper: _Paper, rows: tuple[FindingResult, ...]) -> Iterator[Block]:
    for citation in load_entry(paper.entries[0]).provenance.citations:
        venue = f" {citation.venue}." if citation.venue else ""
        yield Text(
            lines=(f"{_authors(citation.authors)} ({citation.year}): {citation.title}.{venue}",)
        )
    yield from _overviews(paper, rows)
    yield _table(f"All quantities of {paper.title}", rows)


def _overviews(paper: _Paper, rows: tuple[FindingResult, ...]) -> Iterator[Chart]:
    yield _chart_positions(paper, rows)
    numbers = [
        row
        for row in rows
        if isinstance(row.finding.published, int | float) and row.finding.published > 0
    ]
    numbers = [row for row in numbers if row.simulated > 0]
    if numbers:
        yield _chart_scatter(paper, numbers)


def _chart_positions(paper: _Paper, rows: tuple[FindingResult, ...]) -> Chart:
    """Return where each mean lies in its accepted range: -1 is the lower end, 1 the upper one."""
    ids = list(dict.fromkeys(row.finding.id for row in rows))
    places = _places(ids, rows)
    closed = [(place, row) for place, row in places if _half_width(row) is not None]
    open_ = [(place, row) for place, row in places if _half_width(row) is None]
    layers: list[Layer] = [
        Rule(name="end of the accepted range", at=-1.0, role="law"),
        Rule(name="end of the accepted range", at=1.0, role="law"),
    ]
    if open_:
        layers.append(
            Curve(
                name="range with one end, or one value",
                x=[place for place, _ in open_],
                y=[_open_position(row) for _, row in open_],
                role="extra",
                shape="points",
                dashed=True,
                notes=tuple(_note(row) for _, row in open_),
            )
        )
    if closed:
        ends = [tuple(_position(row, end) for end in row.interval) for _, row in closed]
        layers.append(
            Curve(
                name="mean and 95% interval",
                x=[place for place, _ in closed],
                y=[_position(row, row.simulated) for _, row in closed],
                low=[low for low, _ in ends],
                high=[high for _, high in ends],
                role="synthetic",
                shape="points",
                notes=tuple(_note(row) for _, row in closed),
            )
        )
    return Chart(
        name=f"{paper.prefix.lower()}-ranges",
        title="Where the means lie in their accepted ranges",
        x=Axis(label="finding", categories=tuple(one.partition("-")[2] for one in ids)),
        y=Axis(label="-1 lower end, 1 upper end", low=-_FARTHEST - 0.1, high=_FARTHEST + 0.1),
        layers=tuple(layers),
        caption=(
            f"Each point is a quantity; its note says which. Farther out than {_FARTHEST:g} is"
            " drawn there. Where a range has one end only, accepted is drawn at 0 and missed"
            " beyond that end."
        ),
    )


def _places(ids: Sequence[str], rows: Sequence[FindingResult]) -> list[tuple[float, FindingResult]]:
    """Return the quantities with their places along the axis: side by side around that of their
    finding.
    """
    places = []
    for place, identifier in enumerate(ids):
        some = [row for row in rows if row.finding.id == identifier]
        offsets = np.linspace(-0.3, 0.3, len(some)) if len(some) > 1 else np.zeros(1)
        places += [(place + float(offset), row) for offset, row in zip(offsets, some, strict=True)]
    return places


def _half_width(row: FindingResult) -> float | None:
    """Return half the width of a range with two ends; None of others."""
    low, high = row.finding.low, row.finding.high
    if low is None or high is None or high <= low:
        return None
    return (high - low) / 2


def _position(row: FindingResult, value: float) -> float:
    low, half = row.finding.low, _half_width(row)
    assert low is not None
    assert half is not None
    return float(np.clip((value - low) / half - 1, -_FARTHEST, _FARTHEST))


def _open_position(row: FindingResult) -> float:
    if row.ok or math.isnan(row.simulated):
        return 0.0 if row.ok else math.nan
    low = row.finding.low
    return -_BEYOND if low is not None and row.simulated < low else _BEYOND


def _note(row: FindingResult) -> str:
    return (
        f"{row.finding.id}, {row.finding.quantity}: {number(row.simulated)}{_unit(row)}, accepted"
        f" {_accepted(row)}"
    )


def _chart_scatter(paper: _Paper, rows: Sequence[FindingResult]) -> Chart:
    """Return simulated against published numbers of every unit on logarithmic axes."""
    published = [float(row.finding.published or 0) for row in rows]
    ends = [min(published), max(published)]
    layers: list[Layer] = [Curve(name="equal", x=ends, y=ends, role="baseline", dashed=True)]
    kinds: tuple[tuple[str, Role, str], ...] = (
        ("inputs", "extra", "input"),
        ("predicted, mean and 95% interval", "synthetic", "predicted"),
    )
    for name, role, wanted in kinds:
        some = [
            (x, row) for x, row in zip(published, rows, strict=True) if row.finding.role == wanted
        ]
        if some:
            intervals = [row.interval for _, row in some]
            layers.append(
                Curve(
                    name=name,
                    x=[x for x, _ in some],
                    y=[row.simulated for _, row in some],
                    low=[low if low > 0 else math.nan for low, _ in intervals],
                    high=[high if low > 0 else math.nan for low, high in intervals],
                    role=role,
                    shape="points",
                    dashed=wanted == "input",
                    notes=tuple(_note(row) for _, row in some),
                )
            )
    return Chart(
        name=f"{paper.prefix.lower()}-published",
        title="Simulated against published numbers",
        x=Axis(label="published, each in its own unit", log=True),
        y=Axis(label="simulated, in the same unit", log=True),
        layers=tuple(layers),
        caption=(
            "On the dashed line both are equal. Quantities of which the paper gives a number"
            " above 0."
        ),
    )


def _table(title: str, rows: Sequence[FindingResult]) -> Table:
    header = (
        "finding and quantity",
        "published",
        "accepted",
        "simulated",
        "95% interval",
        "role",
        "verdict",
        "entry digest",
    )
    return Table(
        title=f"{title}: {len(rows)}",
        header=header,
        rows=tuple(_cells(row) for row in rows),
        numbers=(2, 3, 4),
        marks=tuple((place, "good" if row.ok else "bad") for place, row in enumerate(rows)),
        folded=len(rows) > _LONGEST_OPEN_TABLE,
    )


def _cells(row: FindingResult) -> tuple[str, ...]:
    finding = row.finding
    published = (
        finding.published
        if isinstance(finding.published, str)
        else number(_real(finding.published))
    )
    low, high = row.interval
    verdict = "ok" if row.ok else "MISS" + (f": {finding.gap}" if finding.gap else "")
    return (
        f"{finding.id}: {finding.quantity}" + (f", {finding.unit}" if finding.unit else ""),
        published,
        _accepted(row),
        number(row.simulated),
        "-" if math.isnan(low) else f"{number(_real(low))} to {number(_real(high))}",
        finding.role,
        verdict,
        row.entry_digest.removeprefix("sha256:")[:_DIGEST_CHARACTERS],
    )


def _entries(rows: Sequence[FindingResult]) -> Table:
    digests = {row.finding.entry: row.entry_digest for row in rows}
    return Table(
        title=(
            "One digest behind all findings of an entry says that one set of numbers serves"
            " them all"
        ),
        header=("entry", "digest"),
        rows=tuple(digests.items()),
    )
