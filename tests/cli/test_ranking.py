"""`compare --against catalogue` from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Command

import trafficgen
from trafficgen.reports.writing import report_of
from trafficgen.validation.ranking import FEATURES, RankedModel, Ranking

CAPTURE = "examples/captures/http_burst_then_paced.pcap.gz"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--against catalogue"),
        (("--against", "everything"), "it can be catalogue"),
        (("other.pcap", "--against", "catalogue"), "leave other.pcap out"),
        (("--against", "catalogue", "--fail-above", "gap_s.ks=1"), "--fail-above"),
        (("--against", "catalogue", "--candidate-flow", "1"), "--candidate-"),
    ],
)
def test_what_cannot_be_ranked_is_refused(
    command: Command, arguments: tuple[str, ...], said: str
) -> None:
    result = command("compare", CAPTURE, *arguments)
    assert result.code == 2
    assert said in result.err
    assert "Traceback" not in result.err


def ranking_of(*distances: float, own: float) -> Ranking:
    models = tuple(
        RankedModel(f"model{at}", distance, dict.fromkeys(FEATURES, distance), {}, turned=False)
        for at, distance in enumerate(distances)
    )
    return Ranking(models, own_distance=own, name="a.pcap", seed=0)


def test_a_ranking_names_models_that_chance_alone_tells_apart() -> None:
    said = ranking_of(0.017, 0.018, 0.036, own=0.023).verdict()
    assert said.endswith(
        "as near as another run of it (two runs of it are 0.023 apart); so is model1."
    )
    assert "so is" not in ranking_of(0.017, 0.03, own=0.023).verdict()
    assert (
        ranking_of(0.01, 0.01, 0.012, 0.013, own=0.02).verdict().endswith("so are model2, model3.")
    )


@pytest.mark.parametrize(
    ("distance", "mark", "said"),
    [
        (0.01, "good", "as near as another run"),
        (0.1, "good", ": near"),
        (0.3, "warn", "not near"),
        (0.7, "bad", "no model of the catalogue plays this"),
    ],
)
def test_a_ranking_says_how_far_the_nearest_is(
    distance: float, mark: str, said: str, tmp_path: Path
) -> None:
    ranking = ranking_of(distance, 0.8, own=0.01)
    assert said in ranking.verdict()
    headline = report_of(ranking).headline
    assert headline is not None
    assert headline.mark == mark
    trafficgen.save_report(ranking, tmp_path / "ranking.html")
    assert "model0" in (tmp_path / "ranking.html").read_text(encoding="utf-8")
