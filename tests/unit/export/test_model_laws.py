from __future__ import annotations

import numpy as np
import pytest

from trafficgen.distributions.two_samples import ks_distance
from trafficgen.export.model_laws import DrawnFamily, DrawnLaw, closest_law
from trafficgen.units import FloatArray

ALL: tuple[DrawnFamily, ...] = (
    "constant",
    "uniform",
    "expon",
    "norm",
    "gamma",
    "weibull",
    "pareto",
)


@pytest.mark.parametrize(
    "law",
    [
        DrawnLaw("constant", (3.0,)),
        DrawnLaw("uniform", (2.0, 5.0)),
        DrawnLaw("expon", (0.01,)),
        DrawnLaw("norm", (800.0, 50.0)),
        DrawnLaw("gamma", (4.0, 0.5)),
        DrawnLaw("weibull", (0.6, 2.0)),
        DrawnLaw("pareto", (5.0, 2.0)),
    ],
)
def test_a_sample_of_a_law_that_is_drawn_gives_the_law_back(law: DrawnLaw) -> None:
    sample = law.sample(np.random.default_rng(7), 20_000)
    found = closest_law(sample, ALL, as_sent=lambda draws: draws)
    assert found.law.family == law.family
    assert found.law.params == pytest.approx(law.params, rel=0.1)
    assert found.ks < 0.02


def test_a_law_is_judged_by_what_is_sent_of_it() -> None:
    sample = np.maximum(np.random.default_rng(5).normal(0.0, 1.0, 20_000), 0.0)

    def without_negatives(draws: FloatArray) -> FloatArray:
        return np.maximum(draws, 0.0)

    cut = closest_law(sample, ALL, as_sent=without_negatives)
    assert cut.drawn.min() >= 0
    assert cut.ks == pytest.approx(ks_distance(sample, cut.drawn))


def test_of_a_sample_with_one_heavy_value_the_constant_is_that_value() -> None:
    sample = np.concatenate([np.full(970, 1448.0), np.full(30, 200.0)])
    found = closest_law(sample, ALL, as_sent=lambda draws: draws)
    assert found.law == DrawnLaw("constant", (1448.0,))
    assert found.ks == pytest.approx(0.03)
