from __future__ import annotations

import pytest
from scipy import stats

from trafficgen.distributions.fitting.families import FITTED_FAMILIES
from trafficgen.distributions.fitting.likelihood import fit_closed_form
from trafficgen.distributions.law import FAMILY_NAMES
from trafficgen.models import Family

TRUTH: dict[Family, dict[str, float]] = {
    "expon": {"scale": 0.004},
    "lognorm": {"s": 0.8, "scale": 0.01},
    "gamma": {"a": 0.7, "scale": 0.002},
    "weibull_min": {"c": 0.6, "scale": 0.01},
    "pareto": {"b": 1.5, "scale": 0.001},
}


@pytest.mark.parametrize("family", list(TRUTH))
def test_estimates_and_likelihood_agree_with_scipy(family: Family) -> None:
    law = getattr(stats, family)
    sample = law.rvs(**TRUTH[family], size=2000, random_state=1)
    fit = fit_closed_form(family, sample)
    assert fit is not None
    assert fit.log_likelihood == pytest.approx(
        law.logpdf(sample, **fit.params).sum(), rel=1e-9, abs=1e-6
    )
    theirs = dict(
        zip(
            [*(law.shapes.split(",") if law.shapes else []), "loc", "scale"],
            law.fit(sample, floc=0),
            strict=True,
        )
    )
    # scipy's general optimiser stops at a relative tolerance of 1e-4
    for name, value in fit.params.items():
        assert value == pytest.approx(theirs[name], rel=1e-3)


@pytest.mark.parametrize("family", list(TRUTH))
def test_intervals_cover_the_truth(family: Family) -> None:
    replicates, n = 400, 200
    covered = dict.fromkeys(TRUTH[family], 0)
    for seed in range(replicates):
        fit = fit_closed_form(
            family, getattr(stats, family).rvs(**TRUTH[family], size=n, random_state=seed)
        )
        assert fit is not None
        for name, value in TRUTH[family].items():
            covered[name] += fit.low[name] <= value <= fit.high[name]
    # 95% of 400: standard error 1.1 points; three of them, and a point for the asymptotic intervals
    # at n = 200
    for name, count in covered.items():
        assert 0.907 <= count / replicates <= 0.993, name


def test_every_family_of_the_model_is_tried() -> None:
    tried = {name.split("/")[0] for name in FITTED_FAMILIES}
    assert tried | {"quantiles", "atoms"} == set(FAMILY_NAMES)
