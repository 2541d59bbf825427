"""What `fit` and `models show` say of a packet process is what it plays."""

from __future__ import annotations

import pytest
from tests.cli.conftest import Command
from tests.conftest import CaptureFinder


def playout(shown: str) -> str:
    return next(line for line in shown.splitlines() if ", playout: " in line)


def test_frames_are_counted_in_time_rather_than_by_the_clock(
    command: Command, shared_capture: CaptureFinder
) -> None:
    capture = shared_capture("streaming/sipp_rtp_h264.pcap")
    # A seed with which frames pass: their rate of a second is at the edge of what chance gives.
    shown = command("fit", "-q", str(capture), "-o", "model.json", "--seed", "4").out

    # tshark: 2,036 timestamps over 89.68 s, two key frames, 590 and 1,109 frames from the next.
    assert "22.7 frames a second (the commonest step of the clock is that of 25.88)" in shown
    assert "key frames 590 or 1,109 frames apart" in playout(shown)
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

    assert "at 453 kbit/s, a packet every 24.1 ms on average, in bursts" in playout(shown)
    assert "not measurable: UDP without sequence numbers" in shown
