from __future__ import annotations

import numpy as np
import pytest
from statsmodels.regression.linear_model import OLS

from trafficgen.calibration.path.path_records import PathRecords
from trafficgen.calibration.response.congestion_response import (
    FoundResponse,
    _regress,
    find_response,
)
from trafficgen.units import FloatArray, IntArray, ns_array_from_s

SECONDS = 200


def congested_seconds() -> FloatArray:
    """Loss in each second: 5% in four spells of 20 s."""
    second = np.arange(SECONDS)
    return np.where((second // 20) % 2 == 1, 0.05, 0.0)


def records_of(
    packets: IntArray, *, ip_bytes: IntArray | int = 1000, per_frame: int = 1
) -> PathRecords:
    """Return a session of some packets in each second, of which the path loses what
    :func:`congested_seconds` says.
    """
    second = np.repeat(np.arange(SECONDS), packets)
    place = np.arange(second.size) - np.repeat(np.cumsum(packets) - packets, packets)
    generator = np.random.default_rng(1)
    return PathRecords(
        sent_ns=ns_array_from_s(second + place / packets[second]),
        ip_bytes=np.broadcast_to(ip_bytes, SECONDS)[second].astype(np.int64),
        is_lost=generator.random(second.size) < congested_seconds()[second],
        delay_s=np.full(second.size, np.nan),
        frame_starts=place % per_frame == 0,
        source="a test",
    )


def packets_of(share_when_congested: float, *, noise: float = 0.05) -> IntArray:
    """Return 100 packets a second, fewer one second after congestion begins until one after it
    ends.
    """
    generator = np.random.default_rng(2)
    answered = np.roll(congested_seconds() > 0, 1)
    rate = np.where(answered, share_when_congested, 1.0) * (
        1 + noise * generator.standard_normal(SECONDS)
    )
    return np.maximum(np.rint(100 * rate), 1).astype(np.int64)


def found_for(records: PathRecords) -> FoundResponse:
    return find_response(records, rtt_s=0.1)


def test_a_source_that_goes_on_is_unresponsive() -> None:
    found = found_for(records_of(packets_of(1.0)))
    assert found.response.kind == "unresponsive"
    assert found.response.effect is not None
    assert found.response.effect.value == pytest.approx(1, abs=0.05)


def test_a_source_that_halves_its_rate_switches_levels() -> None:
    sizes = 10 * packets_of(0.5, noise=0.02)
    found = found_for(records_of(np.full(SECONDS, 100), ip_bytes=sizes))
    assert found.response.kind == "level_switching"
    assert found.response.effect is not None
    # one second at either end of a spell is on the other side: the effect is a little less than a
    # half
    assert found.response.effect.value == pytest.approx(0.5, abs=0.08)
    calm, lossy = found.response.curve[0], found.response.curve[-1]
    assert calm.relative_rate.value > 1.5 * lossy.relative_rate.value
    # 400 kbit/s against 1.5 sqrt(2/3) 1500 B / (0.1 s sqrt(0.05)) = 657 kbit/s
    assert found.response.friendliness is not None
    assert found.response.friendliness.above_bound.value < 0.2


def test_a_source_that_leaves_frames_out_thins() -> None:
    answered = np.roll(congested_seconds() > 0, 1)
    # half of the frames of ten packets each
    found = found_for(records_of(np.where(answered, 50, 100), per_frame=10))
    assert found.response.kind == "thinning"


def test_a_rate_that_wanders_with_congestion_follows() -> None:
    generator = np.random.default_rng(3)
    answered = np.roll(congested_seconds() > 0, 1)
    since = np.where(answered, np.arange(SECONDS) % 20, 0)
    rate = np.where(answered, 0.9 - 0.03 * since, 1.0) * np.exp(
        0.12 * generator.standard_normal(SECONDS)
    )
    found = found_for(
        records_of(np.full(SECONDS, 20), ip_bytes=np.rint(1000 * rate).astype(np.int64))
    )
    assert found.response.kind == "rate_following"


def test_no_congestion_and_no_numbers_are_unknown_with_a_reason() -> None:
    records = records_of(packets_of(1.0))
    calm = PathRecords(
        **{**vars(records), "is_lost": np.zeros(records.sent_ns.size, dtype=np.bool_)}
    )
    for found, reason in (
        (found_for(calm), "shows no congestion"),
        (find_response(None, rtt_s=None), "UDP without sequence numbers"),
    ):
        assert found.response.kind == "unknown"
        assert reason in found.absent["response.curve"]


def test_a_rate_that_stands_through_loss_that_never_ends_is_unresponsive() -> None:
    records = records_of(packets_of(1.0))
    generator = np.random.default_rng(4)
    always = PathRecords(
        **{**vars(records), "is_lost": generator.random(records.sent_ns.size) < 0.3}
    )
    found = found_for(always)
    assert found.response.kind == "unresponsive"
    assert found.response.effect is None


def test_a_clock_that_jumps_by_years_fills_no_memory() -> None:
    records = records_of(packets_of(1.0))
    sent_ns = records.sent_ns.copy()
    sent_ns[sent_ns.size // 2 :] += 10**18
    found = found_for(PathRecords(**{**vars(records), "sent_ns": sent_ns}))
    assert "spans over ten days" in found.absent["response.curve"]


def test_what_tcp_carries_follows() -> None:
    tcp = PathRecords(**{**vars(records_of(packets_of(1.0))), "is_tcp": True})
    assert found_for(tcp).response.kind == "rate_following"


@pytest.mark.parametrize("lags", [0, 3, 10])
def test_slope_and_its_error_are_those_of_statsmodels(lags: int) -> None:
    generator = np.random.default_rng(5)
    x = np.column_stack([np.ones(80), np.cumsum(generator.normal(size=80))])
    y = 3 - 0.4 * x[:, 1] + generator.normal(size=80)

    slope, error = _regress(y, x, lags)

    fitted = OLS(y, x).fit(cov_type="HAC", cov_kwds={"maxlags": lags, "use_correction": True})
    assert slope == pytest.approx(fitted.params[1], rel=1e-10)
    assert error == pytest.approx(fitted.bse[1], rel=1e-10)
