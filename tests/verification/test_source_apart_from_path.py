"""Models fitted from the receiver's side of congested sessions, against what the sender sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import trafficgen
from trafficgen.calibration.path.pairing import pair_sessions
from trafficgen.calibration.path.source_reconstruction import reconstruct_source
from trafficgen.capture.reading import read_packets
from trafficgen.capture.session import open_session
from trafficgen.flows import (
    SessionView,
    find_burst_threshold_s,
    gaps_s,
    gaps_within_flows_s,
    segment_bursts,
)

CaptureFinder = Callable[[str], Path]
#: The laboratory kept the first bytes of each packet only, and says so.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*captured in part:trafficgen.errors.CaptureWarning"
)

#: Sessions over RTP that met congestion, and those over TCP.
RTP = (
    *("rtsp_gst_cubic", "rtsp_vlc_reno", "rtp_below_near_above"),
    *("ref_250_10000B_cubic_udp340", "ref_725_80p_cubic_udp548", "ref_725_80p_reno_udp340"),
)
#: One of each kind in every run; all of them with the longer checks.
SOME = [
    pytest.param(name, marks=() if name.endswith(("gst_cubic", "udp340")) else pytest.mark.slow)
    for name in RTP
]
#: Of these the queue is empty in the first second at most.
NEVER_EMPTIED = (
    *("rtp_below_near_above", "http_unthrottled"),
    *("ref_250_10000B_cubic_udp340", "ref_725_80p_cubic_udp548", "ref_725_80p_reno_udp340"),
)
TCP = ("dash_steps", "hls_cubic", "http_throttled", "http_unthrottled")


@dataclass(frozen=True)
class Look:
    """Rate, packet size and burst spacing of a session, as `fit` measures them."""

    rate_kbps: float
    packet_bytes: float
    spacing_s: float | None


def threshold_of(view: SessionView) -> float | None:
    return find_burst_threshold_s(gaps_s(view.media_time_ns))


def look(view: SessionView, threshold_s: float | None) -> Look:
    time_ns, ip_bytes = view.media_time_ns, view.media_ip_bytes
    spacing_s = None
    if threshold_s is not None:
        spacing_s = float(
            segment_bursts(time_ns, ip_bytes, threshold_s=threshold_s).spacing_s.mean()
        )
    return Look(
        ip_bytes.sum() * 8e6 / float(time_ns[-1] - time_ns[0]), float(ip_bytes.mean()), spacing_s
    )


def spacing_within_flows_s(view: SessionView, threshold_s: float) -> float:
    """Return the mean burst spacing pooled over flows, s."""
    flow = view.table.flow[view.media]
    parts = []
    for number in view.media_flows:
        rows = flow == number
        bursts = segment_bursts(
            view.media_time_ns[rows], view.media_ip_bytes[rows], threshold_s=threshold_s
        )
        parts.append(bursts.spacing_s)
    return float(np.concatenate(parts).mean())


def generated(model: trafficgen.Model, path: Path) -> SessionView:
    trafficgen.generate(model, path, seed=5)
    return open_session(path).view


def assert_within_a_tenth(found: Look, sent: Look) -> None:
    assert found.rate_kbps == pytest.approx(sent.rate_kbps, rel=0.1)
    assert found.packet_bytes == pytest.approx(sent.packet_bytes, rel=0.1)
    if sent.spacing_s is not None:
        assert found.spacing_s == pytest.approx(sent.spacing_s, rel=0.1)


@pytest.mark.parametrize("name", SOME)
def test_the_receivers_side_gives_what_was_sent(
    shared_capture: CaptureFinder, tmp_path: Path, name: str
) -> None:
    sender = open_session(shared_capture(f"lab/{name}-src.pcap")).view
    threshold_s = threshold_of(sender)
    model = trafficgen.fit(shared_capture(f"lab/{name}-dst.pcap")).model
    assert_within_a_tenth(
        look(generated(model, tmp_path / "a.parquet"), threshold_s), look(sender, threshold_s)
    )


@pytest.mark.parametrize("name", RTP)
def test_what_is_restored_has_the_bursts_of_each_flow(
    shared_capture: CaptureFinder, name: str
) -> None:
    sender = open_session(shared_capture(f"lab/{name}-src.pcap")).view
    restored = reconstruct_source(open_session(shared_capture(f"lab/{name}-dst.pcap")).view).view
    assert_within_a_tenth(look(restored, None), look(sender, None))
    threshold_s = find_burst_threshold_s(gaps_within_flows_s(sender.table, sender.media)[0])
    if threshold_s is not None:
        sent_s = spacing_within_flows_s(sender, threshold_s)
        assert spacing_within_flows_s(restored, threshold_s) == pytest.approx(sent_s, rel=0.1)


@pytest.mark.parametrize("name", SOME)
def test_both_sides_together_give_what_was_sent(
    shared_capture: CaptureFinder, tmp_path: Path, name: str
) -> None:
    source, receiver = (shared_capture(f"lab/{name}-{side}.pcap") for side in ("src", "dst"))
    sender = open_session(source).view
    threshold_s = threshold_of(sender)
    model = trafficgen.fit(source, receiver=receiver).model
    assert_within_a_tenth(
        look(generated(model, tmp_path / "a.parquet"), threshold_s), look(sender, threshold_s)
    )


@pytest.mark.parametrize("name", [*RTP, *TCP])
def test_pairs_give_every_loss_and_the_path_of_the_laboratory(
    shared_capture: CaptureFinder, name: str
) -> None:
    truth = json.loads(shared_capture(f"lab/{name}.json").read_text())
    found = pair_sessions(
        open_session(shared_capture(f"lab/{name}-src.pcap")).view,
        read_packets(shared_capture(f"lab/{name}-dst.pcap")),
    )
    if (
        name != "rtp_below_near_above"
    ):  # there the laboratory counts three flows, of which one is the session
        assert found.lost == truth["measured"]["media_data_packets_lost"]
    # one clock; a queue that never empties hides the line
    assert abs(found.skew) < 1e-5
    delay_s = truth["path"]["one_way_delay_ms"] / 1e3
    assert found.least_delay_s > delay_s - 0.003
    if found.has_emptied:
        assert found.least_delay_s == pytest.approx(delay_s, abs=0.003)
    assert found.has_emptied == (name not in NEVER_EMPTIED)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("ref_250_10000B_cubic_udp340", {"unresponsive"}),
        *[
            pytest.param(name, {"unresponsive"}, marks=pytest.mark.slow)
            for name in RTP
            if name != "ref_250_10000B_cubic_udp340"
        ],
        ("hls_cubic", {"rate_following", "level_switching"}),
        pytest.param("dash_steps", {"rate_following", "level_switching"}, marks=pytest.mark.slow),
    ],
)
def test_sources_are_classed_as_the_laboratory_knows_them(
    shared_capture: CaptureFinder, name: str, kinds: set[str]
) -> None:
    for source, receiver in (("dst", None), ("src", "dst")):
        fitted = trafficgen.fit(
            shared_capture(f"lab/{name}-{source}.pcap"),
            receiver=shared_capture(f"lab/{name}-{receiver}.pcap") if receiver else None,
        )
        assert fitted.model.response is not None
        assert fitted.model.response.kind in kinds


@pytest.mark.parametrize(
    "name",
    [
        "ref_725_80p_reno_udp340",
        *[
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("rtsp_gst_cubic", "rtsp_vlc_reno", "hls_cubic")
        ],
    ],
)
def test_the_narrow_link_is_found_at_the_receiver(shared_capture: CaptureFinder, name: str) -> None:
    truth = json.loads(shared_capture(f"lab/{name}.json").read_text())
    fitted = trafficgen.fit(shared_capture(f"lab/{name}-dst.pcap"))
    link = fitted.calibration.summary()["conditions"]["link_rate_bps"]  # type: ignore[index]
    # the shaper's clock is as good as its timer: 1%
    assert link["value"] == pytest.approx(1e3 * truth["path"]["rate_kbps"], rel=0.01)
