"""Laws of models for ns-3; that its OnOffApplication draws them is shown in
``tests/real_tools/test_ns3.py``.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.unit.generation.conftest import (
    bursts,
    captured_model,
    model_with,
    phase,
    renewal,
    stream,
)

import trafficgen
from trafficgen.errors import ExportError
from trafficgen.export.targets.ns3.laws import exact_law, nearest_law, table_law
from trafficgen.models import Atom, Estimate, Law, MmppProcess, MmppState
from trafficgen.units import FloatArray


def law(family: str, **fields: object) -> Law:
    return Law.model_validate({"unit": "s", "family": family, "observations": 1, **fields})


@pytest.mark.parametrize(
    ("known", "variable"),
    [
        (law("expon", params={"scale": 0.5}), "ns3::ExponentialRandomVariable[Mean=0.5|Bound=0]"),
        (
            law("expon", params={"scale": 0.5}, maximum=2.0),
            "ns3::ExponentialRandomVariable[Mean=0.5|Bound=2.0]",
        ),
        (
            law("weibull_min", params={"c": 0.7, "scale": 2.0}),
            "ns3::WeibullRandomVariable[Scale=2.0|Shape=0.7|Bound=0]",
        ),
        (
            law("pareto", params={"b": 1.5, "scale": 0.1}),
            "ns3::ParetoRandomVariable[Scale=0.1|Shape=1.5|Bound=0]",
        ),
        (
            law("lognorm", params={"s": 0.4, "scale": 1.0}),
            "ns3::LogNormalRandomVariable[Mu=0.0|Sigma=0.4]",
        ),
        (
            law("gamma", params={"a": 3.0, "scale": 0.2}),
            "ns3::GammaRandomVariable[Alpha=3.0|Beta=0.2]",
        ),
        (
            law("atoms", atoms=[{"value": 0.02, "p": 1.0}]),
            "ns3::ConstantRandomVariable[Constant=0.02]",
        ),
    ],
    ids=lambda value: value.family if isinstance(value, Law) else "",
)
def test_a_law_that_ns3_has_is_the_same_random_variable(known: Law, variable: str) -> None:
    found = exact_law(known)
    assert found is not None
    assert found.variable == variable
    grid = np.linspace(0.05, 0.95, 19)
    quantiles = np.interp(grid, found.probability, found.value_s)
    if known.family != "atoms":
        np.testing.assert_allclose(known.distribution().cdf(quantiles), grid, atol=0.002)


@pytest.mark.parametrize(
    "known",
    [
        law("expon", params={"scale": 0.5, "loc": 0.1}),
        law("expon", params={"scale": 0.5}, minimum=0.1),
        law("gamma", params={"a": 3.0, "scale": 0.2}, maximum=1.0),
        law("expon", params={"scale": 0.5}, atoms=[{"value": 0.02, "p": 0.3}]),
        law("genpareto", params={"c": 0.2, "scale": 1.0}),
        law("quantiles", quantiles=[{"p": 0.0, "value": 0.1}, {"p": 1.0, "value": 0.2}]),
    ],
    ids=["shifted", "cut below", "gamma cut above", "with an atom", "no such family", "quantiles"],
)
def test_a_law_that_ns3_has_not_is_no_random_variable(known: Law) -> None:
    assert exact_law(known) is None


def test_a_table_keeps_atoms_and_what_lies_between() -> None:
    mixed = Law(
        unit="s",
        family="lognorm",
        params={"s": 0.5, "scale": 0.1},
        atoms=(Atom(value=0.04, p=0.4),),
        observations=1,
    ).distribution()
    table = table_law(mixed.sample(np.random.default_rng(1), 50_000))
    assert table.variable is None
    drawn = table.sample(np.random.default_rng(2), 20_000)
    assert np.mean(drawn == 0.04) == pytest.approx(0.4, abs=0.02)
    again = mixed.sample(np.random.default_rng(3), 20_000)
    assert stats.ks_2samp(drawn, again).statistic < 1.63 * np.sqrt(2 / 20_000) + 1.63 / np.sqrt(
        50_000
    )


def test_a_table_of_few_values_takes_no_others() -> None:
    table = table_law(np.repeat([0.1, 0.2, 0.5], [50, 30, 20]))
    drawn = table.sample(np.random.default_rng(1), 10_000)
    values, counts = np.unique(drawn.round(9), return_counts=True)
    assert values[counts > 1].tolist() == [0.1, 0.2, 0.5]
    np.testing.assert_allclose(counts[counts > 1] / 10_000, [0.5, 0.3, 0.2], atol=0.02)
    *_, last = table.table_text().splitlines()
    assert last == "0.5,1"


@pytest.mark.parametrize(
    ("name", "sample_s"),
    [
        ("Exponential", stats.expon.rvs(scale=0.2, size=20_000, random_state=1)),
        ("Gamma", stats.gamma.rvs(0.4, scale=0.2, size=20_000, random_state=1)),
        ("LogNormal", stats.lognorm.rvs(0.8, scale=0.2, size=20_000, random_state=1)),
        ("Normal", np.asarray(stats.norm.rvs(1.0, 0.1, size=20_000, random_state=1))),
        ("Uniform", stats.uniform.rvs(0.5, 1.0, size=20_000, random_state=1)),
        ("Weibull", stats.weibull_min.rvs(2.5, scale=0.2, size=20_000, random_state=1)),
        ("Constant", np.full(100, 0.25)),
    ],
)
def test_the_nearest_random_variable_is_the_one_that_made_the_sample(
    name: str, sample_s: FloatArray
) -> None:
    found = nearest_law(sample_s)
    assert found.variable is not None
    assert found.variable.startswith(f"ns3::{name}RandomVariable[")
    drawn = found.sample(np.random.default_rng(1), 20_000)
    assert drawn.mean() == pytest.approx(sample_s.mean(), rel=0.03)


def test_normal_random_variables_of_ns3_take_the_variance() -> None:
    variable = nearest_law(
        np.asarray(stats.norm.rvs(1.0, 0.1, size=20_000, random_state=1))
    ).variable
    assert variable is not None
    fields = dict(part.split("=") for part in variable.partition("[")[2].rstrip("]").split("|"))
    assert float(fields["Variance"]) == pytest.approx(0.01, rel=0.05)


def applications(folder: Path) -> list[dict[str, str]]:
    with (folder / "applications.csv").open(encoding="ascii") as lines:
        return list(csv.DictReader(lines))


def test_each_phase_is_an_application_with_its_own_times(tmp_path: Path) -> None:
    phases = (
        phase("buffering", 0.0, 5.0, renewal(mean_s=0.01)),
        phase("playout", 5.0, 20.0, bursts(spacing_s=0.5)),
    )
    report = trafficgen.export(model_with(stream(phases=phases)), to="ns3", directory=tmp_path)
    assert report.kind == "model"
    assert report.packets is None
    first, second = applications(tmp_path)
    assert (first["phase"], float(first["start_s"]), float(first["stop_s"])) == (
        "buffering",
        0.0,
        5.0,
    )
    assert (second["phase"], float(second["start_s"]), float(second["stop_s"])) == (
        "playout",
        5.0,
        25.0,
    )
    assert first["off_time"] == f"ns3::GammaRandomVariable[Alpha=0.7|Beta={0.01 / 0.7!r}]"
    assert second["on_time"] in report.files
    assert report.distances["video.buffering.gap_s.ks"] < 0.02
    assert report.distances["video.playout.burst_packets.ks"] < 0.03
    assert report.distances["video.playout.burst_spacing_s.ks"] < 0.05


@pytest.mark.parametrize(("link_bps", "at_once"), [(25e6, True), (40e6, False), (None, False)])
def test_bursts_as_fast_as_the_captured_link_are_written_at_once(
    link_bps: float | None, at_once: bool, tmp_path: Path
) -> None:
    sent = stream(phases=(phase("playout", 0.0, 200.0, bursts(spacing_s=0.5)),))
    rate = None if link_bps is None else Estimate(value=link_bps, method="by hand")
    for protocol, header_bytes, faster in (("tcp", 40, at_once), ("udp", 28, False)):
        transport = sent.transport.model_copy(
            update={"protocol": protocol, "header_bytes": header_bytes}
        )
        model = captured_model(sent.model_copy(update={"transport": transport}), link_rate_bps=rate)
        report = trafficgen.export(model, to="ns3", directory=tmp_path / protocol)
        (row,) = applications(tmp_path / protocol)
        assert (float(row["data_rate"].removesuffix("bps")) > 1e9) is faster
        assert report.distances["video.playout.burst_spacing_s.ks"] < 0.05


def test_variables_alone_leave_no_tables(tmp_path: Path) -> None:
    model = model_with(stream(phases=(phase("playout", 0.0, 20.0, bursts(spacing_s=0.5)),)))
    report = trafficgen.export(model, to="ns3", directory=tmp_path, settings={"laws": "variables"})
    (row,) = applications(tmp_path)
    assert row["on_time"].startswith("ns3::")
    assert row["off_time"].startswith("ns3::")
    assert not [name for name in report.files if name.endswith((".on.csv", ".off.csv"))]


def test_the_nearest_variable_is_refused_where_it_is_too_far(tmp_path: Path) -> None:
    atoms = (Atom(value=0.001, p=0.7), Atom(value=1.0, p=0.3))
    gaps = Law(unit="s", family="atoms", atoms=atoms, observations=1)
    process = renewal(mean_s=0.01).model_copy(update={"gap_s": gaps})
    model = model_with(stream(phases=(phase("playout", 0.0, 100.0, process),)))
    with pytest.raises(
        ExportError, match=r"gap_s of phase playout of stream video.*'largest_ks': 0\.\d\d"
    ):
        trafficgen.export(
            model, to="ns3", directory=tmp_path / "out", settings={"laws": "variables"}
        )
    assert not (tmp_path / "out").exists()
    settings: dict[str, str | float] = {"laws": "variables", "largest_ks": 1.0}
    trafficgen.export(model, to="ns3", directory=tmp_path / "out", settings=settings)
    tables = trafficgen.export(model, to="ns3", directory=tmp_path / "tables")
    assert tables.distances["video.playout.gap_s.ks"] < 0.02


def test_processes_with_a_memory_are_refused_until_they_may_lose_it(tmp_path: Path) -> None:
    states = tuple(
        MmppState(
            rate_per_s=Estimate(value=rate, method="by hand"),
            mean_sojourn_s=Estimate(value=1.0, method="by hand"),
        )
        for rate in (10.0, 100.0)
    )
    process = MmppProcess(
        states=states,
        transition=((0.0, 1.0), (1.0, 0.0)),
        packet_bytes=renewal(mean_s=1.0).packet_bytes,
        mean_rate_per_s=55.0,
        observed_s=100.0,
    )
    part = phase("playout", 0.0, 100.0, renewal(mean_s=1.0)).model_copy(update={"process": process})
    model = model_with(stream(phases=(part,)))
    with pytest.raises(
        ExportError, match=r"phase playout of stream video is of the kind mmpp.*'approximate': 'on'"
    ):
        trafficgen.export(model, to="ns3", directory=tmp_path / "out")
    report = trafficgen.export(
        model, to="ns3", directory=tmp_path / "out", settings={"approximate": True}
    )
    assert any(text.startswith("dependence:") for text in report.cannot_express)
