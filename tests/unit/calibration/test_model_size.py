"""A model file stays small, and what is left plays as before."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trafficgen import fit
from trafficgen.calibration.model_size import MOST_BYTES, compact_model, model_bytes
from trafficgen.models import Law, Model, with_laws

CAPTURE = next(Path(__file__).resolve().parents[3].glob("examples/captures/*.pcap.gz"))


def laws_of(model: Model) -> list[Law]:
    found: list[Law] = []

    def keep(law: Law) -> Law:
        found.append(law)
        return law

    with_laws(model, keep)
    return found


def test_a_small_model_is_left_as_it_is() -> None:
    model = fit(CAPTURE).model
    assert model_bytes(model) <= MOST_BYTES
    assert compact_model(model) == model


def test_a_large_model_loses_what_matters_least() -> None:
    model = fit(CAPTURE).model
    smaller = compact_model(model, most_bytes=model_bytes(model) * 3 // 4)
    assert model_bytes(smaller) <= model_bytes(model) * 3 // 4
    for before, after in zip(laws_of(model), laws_of(smaller), strict=True):
        if before.quantiles:
            values = np.array([point.value for point in before.quantiles])
            apart = np.abs(before.distribution().cdf(values) - after.distribution().cdf(values))
            assert float(apart.max()) < 0.05
            assert abs(after.distribution().mean / before.distribution().mean - 1) < 0.02
