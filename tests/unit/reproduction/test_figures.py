"""The papers' figures show what the experiments measure, and belong to findings that there are."""

from __future__ import annotations

import math
import pickle
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trafficgen.drawings import Curve, Drawing
from trafficgen.reproduction import (
    experiments,
    figures,
    run_experiments,
    select_figures,
    select_findings,
)
from trafficgen.reproduction.chung import Alone, Population
from trafficgen.reproduction.figures import Figure, MeasuredFigure, PlayedFigure, TabledFigure
from trafficgen.reproduction.nichols.single_rate import GRID

EXPERIMENTS = {one.name: one for one in experiments()}
FIGURES = {one.name: one for one in figures()}
SEED = 11


@pytest.fixture
def dice(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module of the dice, imported as other processes import it."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return import_module("dice_experiment")


def played(name: str) -> dict[str, Drawing]:
    """Return the drawings of a figure by name, each of its experiments with one seed for all
    pieces.
    """
    figure = FIGURES[name]
    assert isinstance(figure, PlayedFigure)
    given = {one: (SEED,) * EXPERIMENTS[one].parts for one in figure.experiments}
    return {drawing.name: drawing for drawing in figure.draw(given)}


def measured(name: str, parts: list[dict[str, Any]]) -> dict[str, Drawing]:
    """Return the drawings of a figure by name from measures."""
    figure = FIGURES[name]
    assert isinstance(figure, MeasuredFigure)
    return {drawing.name: drawing for drawing in figure.draw({figure.experiments[0]: parts})}


def curve_of(drawing: Drawing, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return places and values of a curve."""
    found = next(
        layer for layer in drawing.layers if isinstance(layer, Curve) and layer.name == name
    )
    return np.asarray(found.x, dtype=float), np.asarray(found.y, dtype=float)


def step_at(drawing: Drawing, name: str, place: float) -> float:
    """Return the value that a curve of steps has at a place."""
    x, y = curve_of(drawing, name)
    return float(y[np.searchsorted(x, place, side="right") - 1])


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_a_figure_belongs_to_findings_of_its_experiments(figure: Figure) -> None:
    of_each = [
        {finding.id for finding in EXPERIMENTS[name].findings} for name in figure.experiments
    ]
    assert set(figure.findings) <= set(chain(*of_each))
    assert all(ids & set(figure.findings) for ids in of_each)
    assert not isinstance(figure, TabledFigure) or len(figure.experiments) == 1


def test_figures_have_names_of_their_own_and_can_be_handed_to_processes() -> None:
    assert len(FIGURES) == len(figures())
    assert [pickle.loads(pickle.dumps(one)) for one in figures()] == list(figures())


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("BMW-B5", ["bmw-figure-6"]),
        ("BMW-B10", []),
        ("NIC-I", ["nic-gaps"]),
        ("LJM-E8", []),
        ("CCZ-H4", ["ccz-pings"]),
        ("bmw-t1.3", ["bmw-table-1"]),
    ],
)
def test_chosen_findings_choose_their_figures(wanted: str, names: list[str]) -> None:
    chosen = select_findings(experiments(), [wanted])
    assert [one.name for one in select_figures(figures(), chosen)] == names


def test_every_finding_of_a_series_or_a_distribution_has_a_figure() -> None:
    """What stays without one has no figure in its paper: definitions, mechanisms, what only the
    text tells.
    """
    without = {finding.id for one in experiments() for finding in one.findings}
    without -= set(chain(*(one.findings for one in figures())))
    assert without == {"CCZ-M5", "BMW-B10", "NIC-M1", "LJM-D1", "LJM-D3", "LJM-E8"}


def test_losses_of_figure_6_of_boyden_end_at_the_packets_lost() -> None:
    drawing = played("bmw-figure-6")["bmw-figure-6-losses"]
    for name, experiment in (("TurboPlay off", "bmw-room"), ("TurboPlay on", "bmw-room-turboplay")):
        lost = EXPERIMENTS[experiment].measure(0, seed=SEED)["lost"]
        assert curve_of(drawing, name)[1][-1] == lost
    assert lost > 0


def test_figure_7_of_boyden_has_the_rates_of_the_table() -> None:
    drawing = played("bmw-figure-7")["bmw-figure-7"]
    measures = EXPERIMENTS["bmw-1000-turboplay"].measure(0, seed=SEED)
    for name, key in (("stream", "media_kbps"), ("TCP", "tcp_kbps")):
        x, y = curve_of(drawing, name)
        end_s = 0.5 * np.flatnonzero(curve_of(drawing, "stream")[1])[-1] - 10.0
        settled = y[(x >= 35) & (x < end_s)]
        # Both intervals are of some 80 s and differ by a few seconds at their ends.
        assert settled.mean() == pytest.approx(measures[key], rel=0.05)


def test_figure_2_of_nichols_has_the_rate_of_the_table() -> None:
    x, y = curve_of(played("nic-tcp-alone")["nic-figure-2"], "TCP")
    filled = EXPERIMENTS["nichols/tcp-alone"].measure(0, seed=SEED)["filled"]
    assert y[x >= 10].mean() == pytest.approx(140 * filled)


def test_figures_of_nichols_by_encoded_rate_are_means_over_the_runs() -> None:
    parts = [
        {"buffering_kbps": grid, "buffering_loss": {point: float("nan") for point in grid}}
        for grid in (dict.fromkeys(GRID, 1.0 + run) for run in (0, 2))
    ]
    drawing = measured("nic-figures-14-19", parts)["nic-figures-14-18"]
    curve = next(
        layer for layer in drawing.layers if isinstance(layer, Curve) and layer.name == "725 kbit/s"
    )
    assert set(np.asarray(curve.y)) == {2.0}
    assert curve.low is not None
    assert curve.high is not None
    assert set(np.asarray(curve.low)) == {1.0}
    assert set(np.asarray(curve.high)) == {3.0}


def test_losses_of_figure_12_of_latecki_are_those_of_the_table() -> None:
    drawing = played("ljm-figures-10-12")["ljm-figure-12"]
    for name in ("without control", "with control"):
        share = EXPERIMENTS[f"LJM TCP {name}"].measure(0, seed=SEED)["audio_loss"]
        beside_video = step_at(drawing, name, 160 - 1e-6) - step_at(drawing, name, 40 - 1e-6)
        assert beside_video == pytest.approx(3000 * share, abs=1e-6)


def test_the_video_rate_of_figure_8_of_latecki_ends_at_the_rate_found() -> None:
    drawing = played("ljm-figures-8-9")["ljm-figure-8"]
    found_kbps = EXPERIMENTS["LJM TCP with control"].measure(0, seed=SEED)["found_kbps"]
    assert step_at(drawing, "of the application", 159) == pytest.approx(found_kbps)


def test_figures_of_chung_on_scaling_are_those_of_the_measures() -> None:
    experiment = Alone(clips=(1, 2, 3, 65, 78))
    parts = [experiment.measure(part, seed=SEED) for part in range(2)]
    values = experiment.quantities(parts)
    drawn = measured("ccz-scaling", parts)
    for transport, key in (("UDP", "m1_udp"), ("TCP", "m1_tcp")):
        assert step_at(drawn["ccz-figure-19"], transport, 0) == pytest.approx(values[key])
    assert step_at(drawn["ccz-figure-20"], "UDP", 10) == pytest.approx(values["m2_udp_10"])
    x, y = curve_of(drawn["ccz-figure-18-clip-78"], "UDP")
    assert len(set(y[x <= 10])) == values["m3_levels"]


def test_figures_of_chung_on_the_playlist_are_those_of_the_table() -> None:
    values = Population().quantities([{}])
    drawing = measured("ccz-playlist", [{}])["ccz-figure-16"]
    assert step_at(drawing, "playlist", 1) == pytest.approx(values["w5_one"])
    assert 1 - step_at(drawing, "playlist", 4) == pytest.approx(values["w5_more"])


def test_table_1_of_boyden_shows_the_rows_that_were_asked_for() -> None:
    found = run_experiments(
        select_findings([EXPERIMENTS["bmw-table"]], ["BMW-T1.1"]), runs=1, workers=1
    )
    figure = FIGURES["bmw-table-1"]
    assert isinstance(figure, TabledFigure)
    drawing = figure.draw(found.rows)[1]
    assert drawing.x.categories == ("56",)
    assert curve_of(drawing, "published")[1].tolist() == [45]
    assert curve_of(drawing, "simulated, mean and 95% interval")[1].tolist() == [
        found.rows[1].simulated
    ]


def test_figures_change_no_row_and_show_the_first_run(dice: Any) -> None:
    chosen = select_findings([dice.Dice()], [])
    plain = run_experiments(chosen, runs=2, seed=5, workers=1)
    drawn = run_experiments(chosen, runs=2, seed=5, figures=dice.FIGURES, workers=2)
    assert plain.figures is None
    assert plain.to_json() == drawn.to_json()
    assert drawn.figures is not None
    series, throws, table = (one.drawings[0] for one in drawn.figures)
    assert curve_of(series, "throws")[1].tolist() == curve_of(throws, "throws")[1].tolist()
    assert np.mean(curve_of(throws, "throws")[1]) == drawn.rows[0].values[0]
    assert curve_of(table, "mean")[1].tolist() == [drawn.rows[0].simulated]


@pytest.mark.slow
def test_all_figures_are_drawn_with_units_captions_and_names_of_their_own() -> None:
    chosen = select_findings(experiments(), [])
    found = run_experiments(chosen, runs=1, figures=select_figures(figures(), chosen))
    assert found.figures is not None
    drawings = [drawing for figure in found.figures for drawing in figure.drawings]
    assert len({drawing.name for drawing in drawings}) == len(drawings)
    assert all(figure.drawings for figure in found.figures)
    for drawing in drawings:
        assert drawing.caption.startswith(("Figure", "Table")), drawing.name
        assert any(
            isinstance(layer, Curve) and np.isfinite(layer.y).any() for layer in drawing.layers
        ), drawing.name
        shared = [
            layer.name
            for layer in drawing.layers
            if isinstance(layer, Curve) and layer.role != "published"
        ]
        assert len(set(shared)) == len(shared), drawing.name
        assert not math.isnan(drawing.x.low or 0.0)
