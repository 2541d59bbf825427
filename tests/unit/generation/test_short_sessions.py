"""Fitted models play sessions of any length, however short, or say why not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import trafficgen
from trafficgen.errors import GenerationError

CAPTURES = Path(__file__).resolve().parents[3] / "examples" / "captures"


@pytest.mark.long
@pytest.mark.parametrize("name", ["http_burst_then_paced.pcap.gz", "rtsp_rtp_two_streams.pcap.gz"])
def test_a_fitted_model_plays_sessions_of_any_length(name: str) -> None:
    model = trafficgen.fit(CAPTURES / name, seed=1).model
    played, refused = [], []
    for duration_s in np.geomspace(0.02, 100, 60).tolist():
        try:
            played.append(len(trafficgen.generate(model, duration_s=duration_s, seed=1)))
        except GenerationError as error:
            refused.append(str(error))
    assert all("ask for a longer duration" in one for one in refused)
    assert len(played) > 40
    assert played[-1] > 500


@pytest.mark.long
def test_a_session_may_end_before_the_first_media_packet(
    shared_capture: Callable[[str], Path],
) -> None:
    capture = shared_capture("lab-chunks/quic_p1000_40-src.pcap")
    model = trafficgen.fit(capture, buffering_end_s=0.0, seed=3).model
    played = [trafficgen.generate(model, duration_s=0.05, seed=seed) for seed in range(20)]
    assert min(len(one.select(one.to_client)) for one in played) == 0
    assert all(one.flows.num_rows == 1 for one in played)
