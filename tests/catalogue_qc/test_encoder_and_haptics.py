"""The entries of RFC 8593's encoder and of 3GPP's haptics have what a second derivation gives.

`derivations/encoder_and_haptics.py` says how that was made, and from what. This comparison was
written before the two entries had been opened, too; names of their options came after that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.catalogue_qc.derivations import encoder_and_haptics as derived
from tests.catalogue_qc.test_standards import laws_of

import trafficgen
from trafficgen.models.published import load_entry, parameters_for_engine

PLACES = (0.01, 0.1, 0.25, 0.45, 0.55, 0.75, 0.9, 0.99)


def quantile(law: dict[str, Any], p: float) -> float:
    """Return a quantile of a law as an entry writes it."""
    shape = {k: v for k, v in law.items() if k not in {"family", "low", "high", "beyond", "whole"}}
    if law["family"] == "geom":  # whole steps
        return float(shape["scale"] * stats.geom(shape["p"]).ppf(p))
    frozen = getattr(stats, law["family"])(**shape)
    low, high = law.get("low", -np.inf), law.get("high", np.inf)
    if law.get("beyond") == "resample":
        below, above = frozen.cdf([low, high])
        return float(frozen.ppf(below + p * (above - below)))
    return float(np.clip(frozen.ppf(p), low, high))


@pytest.mark.parametrize(
    ("entry", "name", "expected"),
    [
        (
            "video_rfc8593",
            "video bytes",
            lambda p: derived.encoder_quantile(p, derived.TARGET_BPS / 8 / derived.FRAME_RATE_HZ),
        ),
        (
            "video_rfc8593",
            "video gap",
            lambda p: derived.encoder_quantile(p, 1 / derived.FRAME_RATE_HZ),
        ),
        ("haptics_3gpp", "haptics bytes", derived.haptics_size_quantile),
        ("haptics_3gpp", "haptics gap", derived.haptics_gap_quantile),
    ],
)
def test_laws_have_the_quantiles_of_the_second_derivation(
    entry: str, name: str, expected: Callable[[float], float]
) -> None:
    law = dict(laws_of(entry))[name]
    for p in PLACES:
        assert quantile(law, p) == pytest.approx(expected(p), rel=2e-3), p


@pytest.mark.parametrize("rate_bps", [derived.LEAST_BPS, derived.TARGET_BPS, derived.MOST_BPS])
def test_the_encoder_is_played_at_its_target_rate(rate_bps: int) -> None:
    settings = {"rate_kbps": rate_bps / 1e3, "duration_s": 300}
    table = trafficgen.generate("video_rfc8593", settings=settings, seed=11)
    bytes_sent = int(table.payload_bytes[table.to_client].sum())
    # Sizes and intervals of 9,000 frames: relative SD 0.21 each.
    assert bytes_sent * 8 / 300 == pytest.approx(rate_bps, rel=4 * 0.3 / np.sqrt(9000))


def test_negative_noise_of_the_encoder_is_cut_off() -> None:
    assert derived.share_below_nothing() < 1e-3
    for name in ("video bytes", "video gap"):
        law = dict(laws_of("video_rfc8593"))[name]
        assert (law["low"], law["beyond"]) in [(0, "clip"), (1, "clip")]


def test_haptics_are_played_as_derived() -> None:
    table = trafficgen.generate("haptics_3gpp", settings={"duration_s": 3600}, seed=12)
    sizes = table.payload_bytes[table.to_client]
    rate_hz = 1 / derived.haptics_mean_gap_s()
    assert sizes.size == pytest.approx(3600 * rate_hz, abs=4 * np.sqrt(3600 * rate_hz))
    assert sizes.mean() == pytest.approx(derived.haptics_mean_bytes(), rel=0.005)
    assert sizes.min() >= derived.LEAST_BYTES
    assert sizes.max() <= derived.MOST_BYTES


def test_haptics_have_their_jitter_and_budget() -> None:
    values: dict[str, Any] = parameters_for_engine(load_entry("haptics_3gpp"))
    (flow,) = (one for one in values["flows"] if one["direction"] == "down")
    assert flow["delay_budget_s"] == derived.BUDGET_S
    assert flow["success_share"] == derived.SUCCESS
    (process,) = values["processes"]
    jitter = process["jitter_s"]
    assert (jitter["family"], jitter.get("loc", 0.0)) == ("norm", 0.0)
    assert jitter["scale"] == derived.JITTER_SD_S
    assert (jitter["low"], jitter["high"]) == (-derived.JITTER_END_S, derived.JITTER_END_S)
    assert jitter["beyond"] == "resample"
