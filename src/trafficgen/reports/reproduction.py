"""Report of a reproduction: published and simulated values, paper by paper."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from trafficgen.formatting import format_count, number
from trafficgen.models.published import load_entry
from trafficgen.provenance import software_version
from trafficgen.reports.page import (
    Axis,
    Block,
    Chart,
    Curve,
    Headline,
    Layer,
    Mark,
    Report,
    Role,
    Rule,
    Table,
    Text,
    build_report,
    tabulate,
)
from trafficgen.reproduction import FindingResult, Reproduction, experiments
from trafficgen.reproduction.finding import Paper, papers

#: Where a mean far outside its range is drawn.
_FARTHEST = 2.5
#: Where a mean is drawn that misses a range with one end only, which has no width.
_BEYOND = 1.5
_DIGEST_CHARACTERS = 12
#: Longer tables are folded.
_LONGEST_OPEN_TABLE = 30


def report_reproduction(found: Reproduction) -> Report:
    """Make the report of a reproduction."""
    by_prefix: dict[str, list[FindingResult]] = {}
    for row in found.rows:
        by_prefix.setdefault(row.finding.id.partition("-")[0], []).append(row)
    known = {paper.prefix: paper for paper in papers()}
    studies = [(known[key], tuple(rows)) for key, rows in by_prefix.items() if key in known]
    others = [row for key, rows in by_prefix.items() if key not in known for row in rows]
    names = ", ".join(_list_papers(studies))
    return build_report(
        "What the papers published, simulated again",
        f"{names}; means of {format_count(found.runs, 'run')}",
        _judge(found),
        {
            "Summary": _summarise(found, studies),
            **{paper.title: _describe_paper(paper, rows) for paper, rows in studies},
            "Others": (_tabulate("All quantities", others),),
            "Catalogue entries": (_tabulate_entries(found.rows),),
        },
        made_by=(
            f"trafficgen {software_version()}: trafficgen reproduce {_chosen(found.rows)}--runs"
            f" {found.runs} --seed {found.seed}"
        ),
    )


def _chosen(rows: Sequence[FindingResult]) -> str:
    """Return the ids that were chosen; none where all were."""
    ids = dict.fromkeys(row.finding.id for row in rows)
    every = {finding.id for experiment in experiments() for finding in experiment.findings}
    return "" if every <= set(ids) else " ".join([*ids, ""])


def _list_papers(studies: Sequence[tuple[Paper, Sequence[FindingResult]]]) -> Iterator[str]:
    for paper, _ in studies:
        citation = load_entry(paper.entry).provenance.citations[0]
        yield f"{_authors(citation.authors)} {citation.year}"


def _authors(authors: Sequence[str]) -> str:
    return authors[0] if len(authors) == 1 else f"{', '.join(authors[:-1])} and {authors[-1]}"


def _judge(found: Reproduction) -> Headline:
    """Judge by the quantities that are predicted: bad where half of them or more miss."""
    counts = found.summary()
    predicted, hit = counts["predicted"], counts["predicted_ok"]
    share = f" ({hit / predicted:.0%})" if predicted else ""
    mark: Mark = "warn" if found.missed else "good"
    return Headline(
        mark="bad" if predicted and 2 * hit <= predicted else mark,
        sentence=f"{hit} of {predicted} predicted quantities lie within the accepted range{share}.",
        figures={
            "predicted, within range": f"{hit} of {predicted}",
            "calibrated, within range": f"{counts['calibrated_ok']} of {counts['calibrated']}",
            "inputs, within range": f"{counts['inputs_ok']} of {counts['inputs']}",
            "findings that hold": f"{counts['findings_ok']} of {counts['findings']}",
            "runs of each set-up": number(found.runs),
        },
    )


def _summarise(
    found: Reproduction, studies: Sequence[tuple[Paper, tuple[FindingResult, ...]]]
) -> Iterator[Block | None]:
    text = (
        "Inputs are in the catalogue entries themselves. Of calibrated quantities a value of the"
        " entry was taken, or chosen with them in view. Predicted quantities had no part in it."
    )
    yield Text((text,))
    if found.missed:
        misses = tuple(_describe_misses(found.missed))
        yield Text(misses, kind="warnings", title="Outside their range")
    yield _tabulate_papers(studies)


def _describe_misses(missed: Sequence[FindingResult]) -> Iterator[str]:
    """Yield a line for each finding and reason of misses."""
    of_reason: dict[tuple[str, str | None], list[FindingResult]] = {}
    for row in missed:
        of_reason.setdefault((row.finding.id, row.finding.gap), []).append(row)
    for (identifier, gap), rows in of_reason.items():
        quantities = "; ".join(_describe_miss(row) for row in rows)
        yield f"{identifier}: {quantities}. {f'Why: {gap}' if gap else 'Why is not known'}."


def _describe_miss(row: FindingResult) -> str:
    finding, simulated = row.finding, number(row.simulated)
    simulated = "not measured in most runs" if math.isnan(row.simulated) else simulated
    return f"{finding.quantity_text}: {simulated}, accepted {finding.accepted_text}"


def _tabulate_papers(studies: Sequence[tuple[Paper, tuple[FindingResult, ...]]]) -> Table | None:
    records = []
    for paper, results in studies:
        counts = Reproduction(rows=results, seed=0, runs=1).summary()
        names = {"predicted quantities": "predicted", "calibrated": "calibrated"}
        names |= {"inputs": "inputs", "findings": "findings"}
        shares = {name: f"{counts[f'{key}_ok']} of {counts[key]}" for name, key in names.items()}
        records.append({"paper": paper.title, **shares})
    return tabulate("Within range, paper by paper", records)


def _describe_paper(paper: Paper, rows: tuple[FindingResult, ...]) -> Iterator[Block | None]:
    for citation in load_entry(paper.entry).provenance.citations:
        venue = f" {citation.venue}." if citation.venue else ""
        yield Text((f"{_authors(citation.authors)} ({citation.year}): {citation.title}.{venue}",))
    yield _chart_positions(paper, rows)
    numbers = [
        row
        for row in rows
        if isinstance(published := row.finding.published, int | float)
        and published > 0
        and row.simulated > 0
    ]
    if numbers:
        yield _chart_scatter(paper, numbers)
    yield _tabulate(f"All quantities of {paper.title}", rows)


def _chart_positions(paper: Paper, rows: tuple[FindingResult, ...]) -> Chart:
    """Chart where each mean lies in its accepted range: -1 is the lower end, 1 the upper one."""
    ids = list(dict.fromkeys(row.finding.id for row in rows))
    places = _places(ids, rows)
    closed = [(place, row) for place, row in places if _half_width(row) is not None]
    opened = [(place, row) for place, row in places if _half_width(row) is None]
    name = "end of the accepted range"
    layers: list[Layer] = [Rule(name=name, at=at, role="law") for at in (-1.0, 1.0)]
    if opened:
        curve = Curve(
            name="range with one end, or one value",
            x=[place for place, _ in opened],
            y=[_open_position(row) for _, row in opened],
            role="extra",
            shape="points",
            dashed=True,
        )
        layers.append(curve)
    if closed:
        x, positions = [], []
        for place, row in closed:
            x.append(place)
            values = (row.interval[0], row.simulated, row.interval[1])
            positions.append([_position(row, value) for value in values])
        low, mean, high = zip(*positions, strict=True)
        ends: Any = {"low": low, "high": high}
        name = "mean and 95% interval"
        layers.append(Curve(name=name, x=x, y=mean, role="synthetic", shape="points", **ends))
    return Chart(
        name=f"{paper.prefix.lower()}-ranges",
        title="Where the means lie in their accepted ranges",
        x=Axis(label="finding", categories=tuple(one.partition("-")[2] for one in ids)),
        y=Axis(label="-1 lower end, 1 upper end", low=-_FARTHEST - 0.1, high=_FARTHEST + 0.1),
        layers=tuple(layers),
        caption=(
            f"Each point is a quantity, in the order of the table. Beyond {_FARTHEST:g} it is drawn"
            " there. Where a range has one end only, accepted is drawn at 0 and missed"
            " beyond that end."
        ),
    )


def _places(ids: Sequence[str], rows: Sequence[FindingResult]) -> list[tuple[float, FindingResult]]:
    """Place quantities along the axis, side by side around the place of their finding."""
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


def _chart_scatter(paper: Paper, rows: Sequence[FindingResult]) -> Chart:
    """Chart simulated against published numbers of every unit on logarithmic axes."""
    published = [float(row.finding.published or 0) for row in rows]
    ends = [min(published), max(published)]
    layers: list[Layer] = [Curve(name="equal", x=ends, y=ends, role="baseline", dashed=True)]
    kinds: tuple[tuple[str, Role, str], ...] = (
        ("inputs", "extra", "input"),
        ("calibrated, mean and 95% interval", "measured", "calibrated"),
        ("predicted, mean and 95% interval", "synthetic", "predicted"),
    )
    for name, role, wanted in kinds:
        some = [
            pair for pair in zip(published, rows, strict=True) if pair[1].finding.role == wanted
        ]
        if some:
            x, found = zip(*some, strict=True)
            # An interval that reaches 0 has no place on a logarithmic axis.
            low = [end if end > 0 else math.nan for end, _ in (row.interval for row in found)]
            high = [end if one > 0 else math.nan for one, end in (row.interval for row in found)]
            style: Any = {"role": role, "shape": "points", "dashed": wanted == "input"}
            y = [row.simulated for row in found]
            layers.append(Curve(name=name, x=x, y=y, low=low, high=high, **style))
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


def _tabulate(title: str, rows: Sequence[FindingResult]) -> Table | None:
    records, marks = [], {}
    for place, row in enumerate(rows):
        finding, (low, high), mark = row.finding, row.interval, ("good" if row.ok else "bad")
        published = finding.published
        missed = "MISS" + (f": {finding.gap}" if finding.gap else "")
        marks[place] = cast("Mark", mark)
        records.append(
            {
                "finding and quantity": f"{finding.id}: {finding.quantity_text}",
                "published": float(published) if isinstance(published, int) else published,
                "accepted": row.finding.accepted_text,
                "simulated": row.simulated,
                "95% interval": "-" if math.isnan(low) else f"{number(low)} to {number(high)}",
                "role": finding.role,
                "verdict": "ok" if row.ok else missed,
                "entry digest": row.entry_digest.removeprefix("sha256:")[:_DIGEST_CHARACTERS],
            }
        )
    folded = len(rows) > _LONGEST_OPEN_TABLE
    return tabulate(f"{title}: {len(rows)}", records, folded=folded, marks=marks)


def _tabulate_entries(rows: Sequence[FindingResult]) -> Table | None:
    digests = {row.finding.entry: row.entry_digest for row in rows}
    title = "One digest for all findings of an entry: one set of numbers serves them all"
    return tabulate(title, ({"entry": name, "digest": one} for name, one in digests.items()))
