"""Every family has initial estimates, a recovery from its own draws, documentation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trafficgen.critical_values import KOLMOGOROV_95
from trafficgen.distributions import DISCRETE_FAMILIES, FAMILIES, MIXTURES, distribution_of
from trafficgen.distributions.fitting.cells import group_into_cells
from trafficgen.distributions.fitting.families import (
    FITTED_FAMILIES,
    free_parameters,
    initial_estimates,
)
from trafficgen.distributions.fitting.selection import fit_candidates
from trafficgen.distributions.fitting.ticks import count_ticks
from trafficgen.distributions.fitting.uncertainty import share_ticks
from trafficgen.distributions.law import FAMILY_NAMES

N = 4000
#: Family with its number of components -> parameters to recover.
EXAMPLES: dict[str, dict[str, float]] = {
    "expon": {"scale": 0.004},
    "lognorm": {"s": 0.8, "scale": 0.01},
    "gamma": {"a": 0.6, "scale": 0.004},
    "weibull_min": {"c": 0.6, "scale": 0.01},
    "pareto": {"b": 2.5, "scale": 0.001},
    "genpareto": {"c": 0.3, "scale": 0.004},
    "truncpareto": {"b": 1.2, "c": 40.0, "scale": 0.001},
    "fisk": {"c": 2.5, "scale": 0.004},
    "norm": {"loc": 0.02, "scale": 0.004},
    "logistic": {"loc": 0.02, "scale": 0.002},
    "gumbel_r": {"loc": 0.02, "scale": 0.004},
    "beta": {"a": 2.0, "b": 3.0, "loc": 0.01, "scale": 0.05},
    "hyperexpon/2": {"p1": 0.8, "scale1": 0.002, "p2": 0.2, "scale2": 0.03},
    "hyperexpon/3": {
        **{"p1": 0.6, "scale1": 0.001, "p2": 0.3, "scale2": 0.02},
        **{"p3": 0.1, "scale3": 0.4},
    },
    "lognorm_mixture/2": {
        **{"p1": 0.7, "s1": 0.3, "scale1": 0.002, "p2": 0.3, "s2": 0.4, "scale2": 0.04}
    },
    "lognorm_mixture/3": {
        **{"p1": 0.5, "s1": 0.3, "scale1": 0.001, "p2": 0.3, "s2": 0.3, "scale2": 0.02},
        **{"p3": 0.2, "s3": 0.3, "scale3": 0.4},
    },
    "geom": {"p": 0.15},
    "nbinom": {"n": 4.0, "p": 0.3, "loc": 1.0},
    "zipf": {"a": 3.2},
    "poisson": {"mu": 6.0, "loc": 1.0},
}


def name_of(family: str) -> str:
    return family.split("/", maxsplit=1)[0]


def test_registry_models_and_examples_have_the_same_families() -> None:
    registered = {*FAMILIES, *MIXTURES}
    assert {name_of(family) for family in FITTED_FAMILIES} == registered
    assert set(EXAMPLES) == set(FITTED_FAMILIES)
    assert registered | {"quantiles", "atoms"} == set(FAMILY_NAMES)


@pytest.mark.parametrize("family", list(FITTED_FAMILIES))
def test_a_family_is_recovered_from_its_own_draws(family: str) -> None:
    truth = distribution_of(name_of(family), EXAMPLES[family])
    discrete = family in DISCRETE_FAMILIES
    sample = truth.sample(np.random.default_rng(4), N)
    tick = 1.0 if discrete else 1e-9
    cells = group_into_cells(sample, tick=tick, is_difference=not discrete)
    starts = initial_estimates(family, cells)
    assert starts
    for start in starts:
        assert set(free_parameters(name_of(family), start)) <= set(start)
        distribution_of(name_of(family), start)
    (found,) = fit_candidates(cells, [family])
    distance = share_ticks(count_ticks(sample, tick=tick)).distance_to(
        found.distribution, is_difference=not discrete
    )
    assert distance < KOLMOGOROV_95 / np.sqrt(N)


@pytest.mark.parametrize("family", [*FAMILIES, *MIXTURES])
def test_a_family_is_documented(family: str) -> None:
    root = Path(__file__).parents[4]
    assert f"`{family}`" in (root / "docs" / "reference" / "model-file.md").read_text()
