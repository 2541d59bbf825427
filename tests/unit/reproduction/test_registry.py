"""Findings of all papers: named once, of an entry that there is, in a range that can be met."""

from __future__ import annotations

import pickle
from collections import Counter

from trafficgen.models.published import entry_names
from trafficgen.reproduction import experiments

FINDINGS = [finding for experiment in experiments() for finding in experiment.findings]


def test_experiments_have_names_of_their_own() -> None:
    assert [
        name for name, count in Counter(each.name for each in experiments()).items() if count > 1
    ] == []


def test_no_quantity_of_a_finding_is_there_twice() -> None:
    names = Counter((finding.id, finding.quantity) for finding in FINDINGS)
    assert [name for name, count in names.items() if count > 1] == []


def test_no_key_stands_for_two_quantities_of_an_experiment() -> None:
    for experiment in experiments():
        keys = Counter((finding.id, finding.key) for finding in experiment.findings)
        assert [key for key, count in keys.items() if count > 1] == []


def test_findings_are_of_entries_in_the_catalogue() -> None:
    assert {finding.entry for finding in FINDINGS} - set(entry_names()) == set()


def test_accepted_ranges_can_be_met_and_can_be_missed() -> None:
    for finding in FINDINGS:
        assert (finding.low, finding.high) != (None, None), finding.id
        if finding.low is not None and finding.high is not None:
            assert finding.low <= finding.high, finding.id


def test_published_figures_lie_in_the_range_that_is_accepted() -> None:
    outside = [
        (finding.id, finding.quantity)
        for finding in FINDINGS
        if isinstance(finding.published, float | int)
        and not finding.accepts(float(finding.published))
    ]
    assert outside == []


def test_experiments_can_be_handed_to_other_processes() -> None:
    for experiment in experiments():
        # Two partials of a function are never equal; their texts are.
        assert repr(pickle.loads(pickle.dumps(experiment.pieces))) == repr(experiment.pieces)
