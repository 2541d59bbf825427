"""Buffering of players of segments, against their own logs: when was their buffer full first?"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from trafficgen.calibration.phases.session_phases import find_phases
from trafficgen.capture.session import open_session
from trafficgen.flows import clock_tick_ns
from trafficgen.units import s_from_ns

CaptureFinder = Callable[[str], Path]
NAMES = tuple(f"{who}_{at}" for who in ("abr", "fixed", "quic") for at in ("p1000_40", "p3000_25"))
#: A player whose buffer has room requests the next segment sooner than this after the last, s.
SHORTEST_WAIT_S = 0.05


def find_full_s(log: Path) -> float | None:
    """Return when the player first waited with a full buffer, s from its first media packet."""
    truth = json.loads(log.read_text())
    segments = [entry for entry in truth["player_log"] if entry["event"] == "segment"]
    waits = (
        one["t"]
        for one, after in pairwise(segments)
        if after["requested"] - one["t"] > SHORTEST_WAIT_S
    )
    full_s = next(waits, None)
    return None if full_s is None else full_s - truth["measured"]["media_first_s"]


@pytest.mark.filterwarnings("ignore:.*captured in part:trafficgen.errors.CaptureWarning")
@pytest.mark.parametrize("side", ["dst", "src"])
@pytest.mark.parametrize("name", NAMES)
def test_buffering_ends_where_the_players_buffer_was_full(
    shared_capture: CaptureFinder, name: str, side: str
) -> None:
    view = open_session(shared_capture(f"lab-chunks/{name}-{side}.pcap")).view
    phases = find_phases(
        view,
        tick_s=s_from_ns(clock_tick_ns(view.media_time_ns)),
        generator=np.random.default_rng(0),
        keep_visible=True,
    )
    full_s = find_full_s(shared_capture(f"lab-chunks/{name}.json"))
    assert (phases.buffering_end_s is None) == (full_s is None)
    if full_s is not None:
        # A first wait of a tenth of a second is not yet a fall of the rate.
        assert phases.buffering_end_s == pytest.approx(full_s, abs=2)
