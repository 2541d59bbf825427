"""Recovery: what a known model generates, measured and fitted, gives the model back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.generation.conftest import model_with, stream

from trafficgen.calibration.session_fit import SessionInputs, fit_session
from trafficgen.flows import choose_session
from trafficgen.generation import OpenLoopSessions
from trafficgen.models import (
    Atom,
    BurstProcess,
    Estimate,
    Law,
    Model,
    Phase,
    RenewalProcess,
    RtpFormat,
)
from trafficgen.validation.compare import compare_sessions

#: An estimate may be off by five standard errors; the half-width of a 95% interval is 1.96 of them.
FIVE_ERRORS = 5 / 1.96

SIZES = Law(
    unit="bytes",
    family="lognorm",
    params={"s": 0.3, "loc": 0.0, "scale": 500.0},
    atoms=(Atom(value=1400, p=0.4),),
    minimum=100,
    maximum=1399,
    integer=True,
    observations=1,
)
FULL = Law(
    unit="bytes", family="atoms", atoms=(Atom(value=1400, p=1.0),), integer=True, observations=1
)
GAPS = {"a": 0.7, "loc": 0.0, "scale": 0.01}
RTP = RtpFormat(
    payload_type=96,
    clock_hz=90_000,
    timestamp_step=Estimate(value=3600, method="by hand"),
    frame_per_burst=True,
)
FRAMES = BurstProcess(
    threshold_s=0.005,
    spacing_s=Law(
        unit="s", family="gamma", params={"a": 400.0, "loc": 0.0, "scale": 1e-4}, observations=1
    ),
    burst_packets=Law(
        unit="packets",
        family="gamma",
        params={"a": 4.0, "scale": 2.0},
        minimum=1,
        integer=True,
        observations=1,
    ),
    gap_within_s=Law(
        unit="s", family="expon", params={"scale": 1e-4}, maximum=0.002, observations=1
    ),
    packet_bytes=FULL,
    last_packet_bytes=SIZES,
)


def renewal(scale: float) -> RenewalProcess:
    gap = Law(
        unit="s", family="gamma", params=GAPS | {"scale": GAPS["scale"] * scale}, observations=1
    )
    return RenewalProcess(gap_s=gap, packet_bytes=SIZES)


def model_of(*phases: Phase, **transport: Any) -> Model:
    return model_with(stream(phases=phases, **transport), silence_s=1.5)


@pytest.fixture
def buffered() -> Model:
    """Renewal traffic at three times the playout rate for 20 s, then 100 s of playout."""
    return model_of(
        Phase(name="buffering", start_s=0, duration_s=20, rate_bps=0, process=renewal(1 / 3)),
        Phase(name="playout", start_s=20, duration_s=100, rate_bps=0, process=renewal(1.0)),
    )


@pytest.fixture
def frames() -> Model:
    """Video frames, each a burst, 25 a second for 60 s."""
    return model_of(
        Phase(name="playout", start_s=0, duration_s=60, rate_bps=0, process=FRAMES), rtp=RTP
    )


def fitted_to(model: Model, *, seed: int) -> Model:
    view = choose_session(OpenLoopSessions(model=model, seed=seed).make_table())
    return fit_session(view, SessionInputs(files=("by_hand.pcap",))).model


def test_renewal_model_is_recovered(buffered: Model) -> None:
    fitted = fitted_to(buffered, seed=1)
    assert fitted.startup.silence_s.value == pytest.approx(1.5, abs=1e-9)
    assert fitted.buffering is not None
    end = fitted.buffering.duration_s
    assert end.low is not None
    assert end.high is not None
    assert abs(end.value - 20.0) < FIVE_ERRORS * max(end.high - end.value, end.value - end.low)
    # Rates of 6000 and 10,000 packets: relative errors of about 1.5% and 1.2%.
    assert fitted.buffering.ratio.value == pytest.approx(3.0, rel=5 * np.hypot(0.015, 0.012))
    for phase in fitted.streams[0].phases:
        process = phase.process
        assert isinstance(process, RenewalProcess)
        assert process.gap_s.family == "gamma"
        scale = GAPS["scale"] * (1 / 3 if phase.name == "buffering" else 1.0)
        for name, truth in (("a", GAPS["a"]), ("scale", scale)):
            half_width = (process.gap_s.high[name] - process.gap_s.low[name]) / 2
            assert abs(process.gap_s.params[name] - truth) < FIVE_ERRORS * half_width


def test_burst_model_is_recovered(frames: Model) -> None:
    fitted = fitted_to(frames, seed=2)
    assert fitted.buffering is None
    transport = fitted.streams[0].transport
    assert (transport.header_bytes, transport.server_port, transport.protocol) == (28, 5004, "udp")
    assert transport.rtp is not None
    assert (transport.rtp.payload_type, transport.rtp.clock_hz, transport.rtp.frame_per_burst) == (
        96,
        90_000,
        True,
    )
    process = fitted.streams[0].phases[0].process
    assert isinstance(process, BurstProcess)
    assert 0.002 < process.threshold_s < 0.035
    count = 60 / 0.04
    for name in ("spacing_s", "burst_packets"):
        truth, found = (getattr(one, name).distribution() for one in (FRAMES, process))
        assert abs(found.mean - truth.mean) < 5 * np.sqrt(truth.variance / count)
        assert found.variance == pytest.approx(
            truth.variance, rel=0.3
        )  # error sqrt(2 / 1500) = 4% for a normal law


@pytest.mark.parametrize("name", ["buffered", "frames"])
def test_fitted_model_generates_what_only_chance_tells_from_the_original(
    name: str, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(name)
    fitted = fitted_to(model, seed=3)
    reference, candidate = (
        choose_session(OpenLoopSessions(model=one, seed=seed).make_table())
        for one, seed in ((model, 3), (fitted, 4))
    )
    comparison = compare_sessions(reference, candidate)
    flat = comparison.flat()
    # The level is exceeded once in 20 times when the laws are equal; twice the level practically
    # never.
    for metric in (
        "packet_bytes.ks",
        "gap_s.ks",
        "rate.0.1.ks",
        "burst_packets.ks",
        "burst_spacing_s.ks",
    ):
        assert np.isnan(flat[metric]) or flat[metric] < 2 * comparison.noise[metric]
    assert "cbr" in comparison.wins["gap_s.ks"]
    assert "poisson" in comparison.wins["gap_s.ks"]
