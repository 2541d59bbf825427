from __future__ import annotations

import numpy as np
import pytest

from trafficgen.calibration.response.switch_hazards import (
    SwitchHazard,
    fit_firth_logistic,
    fit_switch_hazard,
)


def test_penalised_estimate_of_a_two_by_two_table_has_half_a_count_in_each_cell() -> None:
    # Firth (1993), section 3.3: in a saturated logistic model the penalty is half a success and
    # half a failure a cell.
    group = np.repeat([0.0, 1.0], [40, 25])
    events = np.concatenate((np.repeat([1.0, 0.0], [6, 34]), np.repeat([1.0, 0.0], [15, 10])))
    coefficients, *_ = fit_firth_logistic(np.column_stack((np.ones(65), group)), events)
    assert coefficients[0] == pytest.approx(np.log(6.5 / 34.5), abs=1e-6)
    assert coefficients[1] == pytest.approx(np.log(15.5 / 10.5) - np.log(6.5 / 34.5), abs=1e-6)


def test_separated_events_have_a_finite_estimate() -> None:
    group = np.repeat([0.0, 1.0], [30, 20])
    coefficients, *_ = fit_firth_logistic(np.column_stack((np.ones(50), group)), group)
    assert coefficients[1] == pytest.approx(np.log(20.5 / 0.5) - np.log(0.5 / 30.5), abs=1e-5)


def test_loss_that_drives_steps_down_is_found_and_covered() -> None:
    covered = {"loss": 0, "noise": 0}
    for seed in range(100):
        rng = np.random.default_rng(seed)
        loss, noise = rng.exponential(0.02, 1500), rng.normal(size=1500)
        switched = rng.random(1500) < 1 / (1 + np.exp(4.5 - loss / 0.02))
        found = fit_switch_hazard(
            switched, np.ones(1500, dtype=np.bool_), {"loss": loss, "noise": noise}
        )
        assert isinstance(found, SwitchHazard)
        assert found.p_value < 0.01
        for name, truth in (("loss", float(np.exp(loss.std() / 0.02))), ("noise", 1.0)):
            covered[name] += (
                found.odds_ratio_per_sd[name].low < truth < found.odds_ratio_per_sd[name].high
            )
    # 95% less three standard errors of 100 replicates.
    assert min(covered.values()) >= 88


def test_steps_that_have_nothing_to_do_with_loss_are_not_blamed_on_it() -> None:
    # By chance alone 5% of the p-values are below 0.05; of 100, more than 12 come once in a
    # thousand times.
    rejected = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        found = fit_switch_hazard(
            rng.random(400) < 0.06,
            np.ones(400, dtype=np.bool_),
            {"loss": rng.exponential(1.0, 400)},
        )
        rejected += isinstance(found, SwitchHazard) and found.p_value < 0.05
    assert rejected <= 12


def test_few_switches_or_nothing_that_varies_give_a_reason() -> None:
    risk = np.ones(100, dtype=np.bool_)
    few = np.zeros(100, dtype=np.bool_)
    few[::20] = True
    many = np.zeros(100, dtype=np.bool_)
    many[::5] = True
    assert fit_switch_hazard(few, risk, {"loss": np.arange(100.0)}) == "5 switches, 10 are needed"
    assert (
        fit_switch_hazard(many, risk, {"loss": np.zeros(100)})
        == "nothing that could go with the switches varies"
    )
    assert (
        fit_switch_hazard(risk, risk, {"loss": np.arange(100.0)})
        == "there is a switch in every interval"
    )
