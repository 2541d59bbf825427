"""Findings are data: every id of the papers has its statement, every quantity its experiment."""

from __future__ import annotations

from pathlib import Path

import pytest

from trafficgen.models.published import entry_names
from trafficgen.reproduction import experiments
from trafficgen.reproduction.finding import Paper, findings_by_experiment, papers

IDS = Path(__file__).parents[2] / "catalogue_qc" / "finding_ids.txt"


def paper(**quantity: object) -> Paper:
    given = {"key": "value", "quantity": "rate", "published": 5.0, "accept": "10%", **quantity}
    finding = {"statement": "It sends.", "source": "Table I", "experiment": "all"}
    findings = {"AAA-1": {**finding, "quantities": [given]}}
    return Paper.model_validate(
        {"prefix": "AAA", "title": "A paper", "entry": "cbr", "findings": findings}
    )


def test_every_finding_of_the_papers_is_in_the_data_and_no_other() -> None:
    ids = [name for one in papers() for name in one.findings]
    assert len(ids) == len(set(ids))
    assert set(ids) == set(IDS.read_text(encoding="utf-8").split())


def test_every_quantity_has_an_experiment_and_every_experiment_a_quantity() -> None:
    names = {one.name for one in experiments()}
    assert set(findings_by_experiment()) == names


def test_rows_are_of_entries_in_the_catalogue() -> None:
    rows = [row for one in papers() for _, row in one.rows()]
    assert {row.entry for row in rows} <= set(entry_names())


def test_statements_are_sentences_with_a_source() -> None:
    for one in papers():
        for name, finding in one.findings.items():
            assert finding.statement[0].isupper(), name
            assert finding.statement.endswith((".", ").")), name
            assert "kbps" not in finding.statement, name
            assert finding.source, name


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        ({"accept": "10%"}, (4.5, 5.5)),
        ({"published": 0.4, "unit": "share", "accept": "8 points"}, (0.32, 0.48)),
        ({"published": "some", "accept": [1, None]}, (1, None)),
    ],
)
def test_a_range_is_given_or_follows_from_the_published_number(
    quantity: dict[str, object], expected: tuple[float | None, float | None]
) -> None:
    [(experiment, row)] = paper(**quantity).rows()
    assert experiment == "all"
    for limit, wanted in zip((row.low, row.high), expected, strict=True):
        assert limit == (wanted if wanted is None else pytest.approx(wanted))


@pytest.mark.parametrize(
    ("quantity", "message"),
    [
        ({"accept": [None, None]}, "any value would be accepted"),
        ({"accept": [2, 1]}, "is empty"),
        ({"published": "about 5"}, "not a number"),
        ({"unti": "s"}, "quantities.0.unti: unknown key .did you mean unit"),
    ],
)
def test_a_quantity_that_could_not_be_judged_is_refused(
    quantity: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        paper(**quantity)
