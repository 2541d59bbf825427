"""Sources whose answer to congestion is known, seen over several paths, are told apart, and their
curve is found.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from statsmodels.regression.mixed_linear_model import MixedLM

import trafficgen
from trafficgen.calibration.response.response_curve import Observations, fit_response_curve
from trafficgen.models import PooledResponse
from trafficgen.packet_files.writing import write_packets
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray

LOSSES = (0.0, 0.05, 0.1, 0.15, 0.2)
FRAMES_HZ, PACKETS, LENGTH_S = 25, 4, 60
#: Share of the rate that a source sends at a loss p.
SHARE_PER_LOSS = 2.0

Source = Callable[[float, np.random.Generator], tuple[FloatArray, FloatArray]]


def frames(share: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the times of the frames that are sent when each is kept with its share, s."""
    times_s = np.arange(FRAMES_HZ * LENGTH_S) / FRAMES_HZ
    return times_s[rng.random(times_s.size) < share]


def unresponsive(_: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    times_s = frames(np.ones(FRAMES_HZ * LENGTH_S), rng)
    return times_s, rng.uniform(900, 1100, times_s.size)


def thinning(loss: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    times_s = frames(np.full(FRAMES_HZ * LENGTH_S, 1 - SHARE_PER_LOSS * loss), rng)
    return times_s, rng.uniform(900, 1100, times_s.size)


def following(loss: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    times_s = frames(np.ones(FRAMES_HZ * LENGTH_S), rng)
    scene = 1 + 0.1 * np.sin(times_s / 3 + rng.uniform(0, 6))
    return times_s, 1000 * (1 - SHARE_PER_LOSS * loss) * scene * rng.uniform(
        0.95, 1.05, times_s.size
    )


def switching(loss: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    times_s = frames(np.ones(FRAMES_HZ * LENGTH_S), rng)
    level = 1000.0 if loss < 0.04 else 600.0 if loss < 0.12 else 350.0
    return times_s, level * rng.uniform(0.97, 1.03, times_s.size)


@pytest.fixture
def pooled(
    make_table: Callable[..., PacketTable], tmp_path: Path
) -> Callable[[Source], PooledResponse]:
    """Return a function that fits what arrives of an RTP source behind paths that lose packets at
    random.
    """

    def fitted(source: Source) -> PooledResponse:
        files = []
        for number, loss in enumerate(LOSSES):
            rng = np.random.default_rng(number)
            times_s, packet_bytes = source(loss, rng)
            n = times_s.size * PACKETS
            kept = rng.random(n) >= loss
            table = make_table(
                (np.repeat(times_s, PACKETS) + np.tile(np.arange(PACKETS) * 5e-4, times_s.size))[
                    kept
                ],
                ip_bytes=np.repeat(packet_bytes, PACKETS)[kept],
                flows=[{"flow": 0, "clock_hz": 90_000, "ssrc": 7, "payload_type": 96}],
                rtp_ssrc=7,
                rtp_sequence=(np.arange(n) % 65536)[kept],
                rtp_timestamp=np.repeat(np.rint(times_s * 90_000), PACKETS).astype(np.int64)[kept],
                rtp_marker=np.tile(np.arange(PACKETS) == PACKETS - 1, times_s.size)[kept],
            )
            files.append(str(tmp_path / f"path{number}.parquet"))
            write_packets(table, files[-1])
        return trafficgen.fit_same_source(files).response

    return fitted


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (unresponsive, "unresponsive"),
        (thinning, "thinning"),
        (following, "rate_following"),
        (switching, "level_switching"),
    ],
)
def test_the_answer_to_loss_is_told(
    pooled: Callable[[Source], PooledResponse], source: Source, kind: str
) -> None:
    response = pooled(source)
    assert response.kind == kind, response.evidence
    assert response.source == "path0.parquet"


@pytest.mark.long
def test_the_curve_of_a_thinning_source_is_found(
    pooled: Callable[[Source], PooledResponse],
) -> None:
    (curve,) = pooled(thinning).curves
    assert curve.condition == "loss_rate"
    assert [point.captures for point in curve.points] == [1] * len(LOSSES)
    for point, loss in zip(curve.points, LOSSES, strict=True):
        # 50 packets a second and path: a loss is known to 3.3 times 0.7 points, the curve's
        # interval is 95%.
        assert point.condition == pytest.approx(loss, abs=0.025)
        low, high = point.relative_rate.low, point.relative_rate.high
        assert low is not None
        assert high is not None
        assert low - 0.03 < 1 - SHARE_PER_LOSS * loss < high + 0.03
    assert curve.end_to_end.value == pytest.approx(0.6, rel=0.1)


def chunks(capacity_bps: float) -> tuple[FloatArray, FloatArray]:
    """Return times and sequence numbers of a player that fetches a chunk every 2 s, of 0.6 of what
    the path gives.
    """
    packet_bytes, spacing_s = 1460, 1500 * 8 / capacity_bps
    each = round(0.6 * 2.0 / spacing_s)
    times_s = (2.0 * np.arange(30.0)[:, None] + spacing_s * np.arange(each)).ravel()
    return times_s, np.arange(times_s.size, dtype=np.float64) * packet_bytes + 1


def test_a_source_that_follows_the_capacity_is_told(
    make_table: Callable[..., PacketTable], tmp_path: Path
) -> None:
    files = []
    for capacity_bps in (1e6, 1.7e6, 2.6e6, 4e6):
        times_s, sequence = chunks(capacity_bps)
        flow = {"flow": 0, "protocol": "tcp", "server_port": 80}
        table = make_table(
            times_s,
            ip_bytes=1500,
            header_bytes=40,
            flows=[flow],
            tcp_sequence=sequence.astype(np.int64),
            tcp_flags=16,
        )
        files.append(str(tmp_path / f"{capacity_bps:g}.parquet"))
        write_packets(table, files[-1])
    response = trafficgen.fit_same_source(files).response
    assert response.kind == "rate_following", response.evidence
    (curve,) = [curve for curve in response.curves if curve.condition == "throughput_bps"]
    # The rate is in proportion to the capacity: from 4 to 1 Mbit/s, but for windows of 0.25 s at
    # the chunks' edges.
    assert curve.end_to_end.value == pytest.approx(0.25, rel=0.15)
    assert response.source == "4e+06.parquet"


@pytest.mark.parametrize(
    "names",
    [
        ("lab/ref_1500_51200B_reno_udp548-dst.pcap", "lab/ref_725_80p_cubic_udp548-dst.pcap"),
        ("lab/rtsp_gst_clear-dst.pcap", "lab/rtsp_gst_cubic-dst.pcap"),
    ],
)
def test_measured_sources_that_do_not_answer_are_flat(
    shared_capture: Callable[[str], Path], names: tuple[str, ...]
) -> None:
    """The truth of the lab: UDP at a constant rate, and RTP from a server without congestion
    control.
    """
    response = trafficgen.fit_same_source([shared_capture(name) for name in names]).response
    assert response.kind == "unresponsive", response.evidence
    for curve in response.curves:
        assert curve.end_to_end.value == pytest.approx(1, abs=0.1)


def simulated(
    rng: np.random.Generator, *, slope: float, captures: int = 5, each: int = 25
) -> Observations:
    """Return intervals with an effect of each capture on top of a slope."""
    capture = np.repeat(np.arange(captures), each)
    condition = rng.uniform(0, 0.2, capture.size)
    log_rate = (
        slope * condition
        + 0.1 * rng.standard_normal(captures)[capture]
        + 0.1 * rng.standard_normal(capture.size)
    )
    return Observations(condition, log_rate, capture, increasing=False)


def test_the_slope_is_that_of_the_mixed_model() -> None:
    observations = simulated(np.random.default_rng(3), slope=-2.0)
    x, curve = observations.condition, fit_response_curve(observations, "loss_rate")
    fitted = MixedLM(
        observations.log_rate, np.column_stack([np.ones(x.size), x]), groups=observations.capture
    ).fit()
    step = curve.points[-1].condition - curve.points[0].condition
    assert np.log(curve.end_to_end.value) == pytest.approx(fitted.params[1] * step, rel=0.01)
    # Errors may be widened for what looks like autocorrelation, never narrowed.
    half = np.log(curve.end_to_end.high / curve.end_to_end.value)  # type: ignore[operator]
    assert 0.95 * 1.96 * fitted.bse[1] * step < half < 1.5 * 1.96 * fitted.bse[1] * step


@pytest.mark.long
def test_intervals_of_the_slope_cover() -> None:
    rng, replicates, held = np.random.default_rng(4), 200, 0
    for _ in range(replicates):
        curve = fit_response_curve(simulated(rng, slope=-2.0), "loss_rate")
        wanted = np.exp(-2.0 * (curve.points[-1].condition - curve.points[0].condition))
        held += curve.end_to_end.low < wanted < curve.end_to_end.high
    # 95% of 200, within 3.3 standard deviations of the binomial; wider intervals are not a fault.
    assert held / replicates > 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / replicates)
