"""Fits of traffic of standard models: their laws and parameters come back within intervals."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.verification.standard_laws import Between, ks_distance, play

import trafficgen
from trafficgen.models import FrameProcess, Law, RenewalProcess

pytestmark = pytest.mark.long
#: IP and UDP headers, bytes, and the payload of a full packet.
HEADERS, PAYLOAD = 28, 1472
#: An interval of 95% has 1.96 standard errors to each side; 4 miss once in 16,000.
WIDER = 4 / 1.96


@cache
def fitted(entry: str, *, upload: bool = False, duration_s: float = 120.0) -> Any:
    """Return the process of the one phase of the stream that was fitted."""
    table = play(entry, (("duration_s", duration_s),))
    fit = trafficgen.fit(table, upload=upload, seed=1)
    (stream,) = fit.model.streams
    (phase,) = stream.phases
    return phase.process


def assert_law(law: Law, family: str, **params: float) -> None:
    assert law.family == family
    for name, value in params.items():
        half = max(law.high[name] - law.params[name], law.params[name] - law.low[name])
        assert law.params[name] == pytest.approx(value, abs=WIDER * half), name
        assert half < 0.2 * abs(value)


@pytest.mark.parametrize(
    ("entry", "upload", "gap_s", "size"),
    [
        ("game_rta_lockstep_dl", False, (0.028, 0.0042), (210, 35)),
        ("game_rta_status_sync_dl", False, (0.013, 0.0037), (50, 11)),
        ("game_ngmn2008", False, (0.055, 0.006), (120 + 2, 36)),
    ],
)
def test_laws_of_the_largest_extreme_value_come_back(
    entry: str, *, upload: bool, gap_s: tuple[float, float], size: tuple[float, float]
) -> None:
    process = fitted(entry, upload=upload, duration_s=240.0)
    assert isinstance(process, RenewalProcess)
    assert_law(process.gap_s, "gumbel_r", loc=gap_s[0], scale=gap_s[1])
    # The first and the last packet have laws of their own, and sizes are whole bytes.
    assert process.packet_bytes.family == "gumbel_r"
    loc, scale = (process.packet_bytes.params[name] for name in ("loc", "scale"))
    assert loc == pytest.approx(size[0] + HEADERS, rel=0.02)
    assert scale == pytest.approx(size[1], rel=0.06)


def test_both_directions_of_a_game_come_back() -> None:
    process = fitted("game_ngmn2008", upload=True, duration_s=240.0)
    assert isinstance(process, RenewalProcess)
    gaps = process.gap_s.distribution()
    assert gaps.mean == pytest.approx(0.04, rel=1e-6)
    assert process.packet_bytes.family == "gumbel_r"
    assert process.packet_bytes.params["loc"] == pytest.approx(45 + 2 + HEADERS, abs=1)
    assert process.packet_bytes.params["scale"] == pytest.approx(5.7, rel=0.06)


@pytest.mark.parametrize(
    ("entry", "upload", "mbps", "fps"),
    [
        ("xr_3gpp38838_video", False, 30, 60),
        ("xr_3gpp38838_ar_ul_video", True, 10, 60),
        ("xr_3gpp_ul_video_upload", True, 20, 30),
    ],
)
def test_truncated_normal_frames_come_back_with_jitter_on_their_clock(
    entry: str, *, upload: bool, mbps: float, fps: int
) -> None:
    process = fitted(entry, upload=upload)
    assert isinstance(process, FrameProcess)
    assert process.frame_rate_hz.value == pytest.approx(fps, rel=1e-3)
    mean = mbps * 1e6 / fps / 8
    (frame,) = process.types
    share = 1 + HEADERS / PAYLOAD
    half_packet = HEADERS / 2  # of the last packet, which is half full in the mean
    assert_law(
        frame.frame_bytes, "norm", loc=mean * share + half_packet, scale=0.105 * mean * share
    )
    assert process.lateness_s is not None
    lateness = process.lateness_s.distribution()
    # Normal of 2 ms within 4 ms on either side.
    assert math.sqrt(lateness.variance) == pytest.approx(0.00176, rel=0.06)
    assert lateness.support[1] == pytest.approx(0.008, rel=0.02)


def test_what_is_played_of_such_a_fit_stays_on_the_clock() -> None:
    table = play("xr_3gpp38838_video", (("duration_s", 120.0),))
    model = trafficgen.fit(table, seed=1).model
    played = trafficgen.generate(model, seed=2)
    starts_s = np.unique(played.time_ns)[1:] / 1e9
    starts_s = starts_s[np.diff(starts_s, prepend=-1.0) > 0.004]
    number = np.rint(starts_s * 60)
    assert np.ptp(starts_s - number / 60) < 0.010


def test_logistic_frames_and_gaps_come_back() -> None:
    process = fitted("vr_lecci2021_minecraft")
    assert isinstance(process, FrameProcess)
    assert process.lateness_s is None
    assert_law(process.spacing_s, "logistic", loc=1 / 60, scale=0.0713267 / 60)
    mean, share = 62_500, 1 + HEADERS / 1200
    scale = mean * 0.185706 * 30**-0.187212 * share
    (frame,) = process.types
    assert frame.frame_bytes.family == "logistic"
    assert frame.frame_bytes.params["loc"] == pytest.approx(mean * share, rel=0.01)
    assert frame.frame_bytes.params["scale"] == pytest.approx(scale, rel=0.04)


@pytest.mark.parametrize(
    ("entry", "scale"), [("video_tgax_mc1", 10_425), ("video_tgax_mc2", 20_850)]
)
def test_weibull_frames_on_a_grid_come_back(entry: str, scale: float) -> None:
    process = fitted(entry)
    assert isinstance(process, FrameProcess)
    law = Between(stats.weibull_min(0.8099, scale=scale), 0)
    assert process.spacing_s.distribution().mean == pytest.approx(
        law.moments()[0] * 8 / (scale / 10_425 * 3e6), rel=5e-4
    )
    (frame,) = process.types
    assert frame.frame_bytes.family == "weibull_min"
    # Headers are part of the sizes: small frames have more of them.
    assert frame.frame_bytes.params["c"] == pytest.approx(0.8099, rel=0.05)
    payload = frame.frame_bytes.distribution().sample(np.random.default_rng(1), 20_000) / (
        1 + HEADERS / PAYLOAD
    )
    assert ks_distance(payload, law) < 0.03


def test_objects_and_think_times_of_web_pages_come_back_from_their_exchanges() -> None:
    settings = (("duration_s", 3000.0), ("reading_s", 3.0))
    exchanges = trafficgen.measure_exchanges(play("web_3gpp2", settings)).to_pandas()
    assert set(exchanges.request_bytes) == {350}
    sizes = exchanges.response_bytes.to_numpy(dtype=float)
    thinks_s = exchanges.think_s.to_numpy(dtype=float)
    reading = thinks_s > 1.5  # longer than parsing ever takes, in half of the pages
    mains = sizes[reading]
    main = Between(stats.lognorm(1.37, scale=math.exp(8.37)), 100, 2e6)
    assert ks_distance(mains, main) < 1.95 / math.sqrt(mains.size)
    read = Between(stats.expon(scale=3.0), 1.5)
    assert ks_distance(thinks_s[reading], read) < 1.95 / math.sqrt(mains.size) + 0.02
