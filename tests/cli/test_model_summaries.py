"""What `fit` and `models show` say of a packet process is what it plays."""

from __future__ import annotations

import pytest
from tests.cli.conftest import Command
from tests.conftest import CaptureFinder

import trafficgen
from trafficgen.models import FrameProcess


def playout(shown: str) -> str:
    return next(line for line in shown.splitlines() if ", playout: " in line)


def test_frames_are_counted_in_time_rather_than_by_the_clock() -> None:
    model = trafficgen.fit("examples/captures/rtsp_rtp_two_streams.pcap.gz").model
    frames = model.streams[0].phases[0].process
    assert isinstance(frames, FrameProcess)
    clock_hz = frames.frame_rate_hz.model_copy(update={"value": 20.0})
    text = frames.model_copy(update={"frame_rate_hz": clock_hz}).describe()
    assert text.startswith("15 frames a second (the commonest step of the clock is that of 20)")
    assert text.endswith(", key frames 150 frames apart")


def test_what_a_fit_of_rtp_found_fits_lines_of_a_terminal(
    command: Command, shared_capture: CaptureFinder
) -> None:
    capture = shared_capture("streaming/sipp_rtp_h264.pcap")
    shown = command("fit", "-q", str(capture), "-o", "model.json").out
    assert "at 321 kbit/s, a packet every 23 ms" in playout(shown)
    assert "RTP timestamps (path or sender)" in shown
    assert "response   unknown: 33 of 88 s were congested; after congestion it sends" in shown
    assert "packet gap, s: the measured distribution is used (no family fits; best: " in shown
    lines = shown.partition("rate of the media")[0].splitlines()
    assert max(map(len, lines)) <= 160


@pytest.mark.parametrize("name", ["requet_A_baseline_Mar22_exp_41"])
def test_bursts_of_a_quic_session_are_said(
    command: Command, shared_capture: CaptureFinder, name: str
) -> None:
    capture = shared_capture(f"streaming/{name}.pcap")
    shown = command("fit", "-q", str(capture), "-o", "model.json").out

    assert shown.startswith("flow 0 (unknown over quic) from ")
    assert "at 453 kbit/s, a packet every 24.1 ms on average, in bursts" in playout(shown)
    assert "not measurable: UDP without sequence numbers" in shown
