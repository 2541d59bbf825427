"""Entries of standards have the moments that a second derivation gives in closed form."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.catalogue_qc.derivations.standards import MOMENTS

from trafficgen.models.published import entry_names, load_entry, parameters_for_engine

#: Moments of an entry's law are means over so many quantiles in equal steps; tails are added where
#: the law has them.
_STEPS = 400_000
_U = (np.arange(_STEPS) + 0.5) / _STEPS


def _moments(law: Any) -> tuple[float, float]:
    """Return mean and standard deviation of a law as an entry writes it, by its quantiles."""
    if isinstance(law, int | float):
        return float(law), 0.0
    if "mixture" in law:
        parts = [(one["weight"], _moments(_shape(one))) for one in law["mixture"]]
        total = sum(weight for weight, _ in parts)
        first = sum(weight * mean for weight, (mean, _) in parts) / total
        second = sum(weight * (mean**2 + sd**2) for weight, (mean, sd) in parts) / total
        return first, math.sqrt(second - first**2)
    shape = _shape(law)
    if shape["family"] == "geom":  # whole steps
        p, step = shape["p"], shape["scale"]
        return step / p, step * math.sqrt(1 - p) / p
    frozen = getattr(stats, shape.pop("family"))(**shape)
    low, high = law.get("low", -math.inf), law.get("high", math.inf)
    if law.get("beyond") == "resample":
        ends = frozen.cdf([low, high])
        values = frozen.ppf(ends[0] + _U * (ends[1] - ends[0]))
    elif law.get("beyond") == "clip":
        values = np.clip(frozen.ppf(_U), low, high)
    else:
        mean, variance = frozen.stats("mv")
        return float(mean), math.sqrt(float(variance))
    return float(values.mean()), float(values.std())


def _shape(law: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in law.items() if k not in {"low", "high", "beyond", "whole", "weight"}}


def laws_of(entry: str) -> Iterator[tuple[str, Any]]:
    """Yield the laws of an entry by flow, or state, and quantity."""
    values: dict[str, Any] = parameters_for_engine(load_entry(entry))
    for process in values.get("processes", ()):
        arrivals = process["arrivals"]
        for state in arrivals.get("states", ()):
            yield f"{state['name']} hold", state["hold_s"]
            for sending in state.get("sends", ()):
                yield f"{state['name']} bytes", sending["bytes"]
        for sending in process.get("sends", ()):
            flow = sending["flow"]
            yield f"{flow} bytes", sending["bytes"]
            if "once" in arrivals:
                yield f"{flow} once", arrivals["once"]["at_s"]
            elif "states" not in arrivals:
                yield f"{flow} gap", arrivals.get("gap_s", arrivals.get("period_s"))
            if "spacing_s" in sending:
                yield f"{flow} spacing", sending["spacing_s"]
    for exchange in values.get("exchanges", ()):
        for number, step in enumerate(exchange["steps"], 1):
            place = "" if number == 1 else f" {number}"
            yield f"{exchange['flow']} bytes{place}", step["bytes"]
            yield f"{exchange['flow']} gap{place}", step["wait_s"]
            yield f"{exchange['flow']} count{place}", step["count"]


@pytest.mark.parametrize("entry", MOMENTS)
def test_an_entry_has_the_moments_of_the_second_derivation(entry: str) -> None:
    laws: dict[str, Any] = {}
    for name, law in laws_of(entry):
        laws.setdefault(name, law)
    for name, (mean, sd) in MOMENTS[entry].items():
        found = _moments(laws[name])
        assert found[0] == pytest.approx(mean, rel=1e-3), name
        assert found[1] == pytest.approx(sd, rel=5e-3, abs=1e-12), name


def test_every_entry_of_a_standard_has_a_second_derivation() -> None:
    assert set(MOMENTS) == {
        name for name in entry_names() if load_entry(name).mechanism.kind == "streams"
    }
