"""Sources of streams over a path: delay budgets, both directions, exchanges over TCP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trafficgen


def test_frames_that_a_path_delays_too_long_miss_their_budget() -> None:
    """A frame of about 62,500 bytes takes 13.3 ms at 40 Mbit/s; half of them have 15.6 ms."""
    path = "rate=40Mbps,delay=2ms,queue=10000p"
    for budget_ms, least, most in ((8, 0.0, 0.0), (15, 0.2, 0.8), (40, 1.0, 1.0)):
        result = trafficgen.simulate(
            "xr_3gpp38838_video", path=path, settings={"pdb_ms": budget_ms}, duration_s=3
        )
        (budget,) = result.budgets
        assert least <= budget.share <= most
        assert budget.is_met == (budget.share >= 0.99)
        assert (budget.flow, budget.budget_s) == ("video", budget_ms / 1000)
    session: Any = result.to_json()["session"]
    assert session["budgets"] == [budget.to_json()]


def test_a_frame_with_a_lost_packet_is_not_in_time() -> None:
    result = trafficgen.simulate(
        "xr_3gpp38838_video", path="rate=1Gbps,delay=1ms,loss=1%", duration_s=5
    )
    (budget,) = result.budgets
    assert budget.sendings in (299, 300)
    assert budget.share == pytest.approx(0.99**43, abs=0.12)


def test_both_directions_are_judged() -> None:
    result = trafficgen.simulate(
        "xr_3gpp38838_ar_session", path="rate=1Gbps,delay=5ms,reverse_rate=5Mbps", duration_s=2
    )
    shares = {budget.flow: budget.share for budget in result.budgets}
    assert list(shares) == ["video", "pose", "ul_video", "audio_data"]
    assert shares["video"] == 1
    assert shares["pose"] < 0.5


def test_what_the_client_sends_is_measured_too() -> None:
    result = trafficgen.simulate(
        "xr_3gpp38838_pose", path="rate=1Gbps,delay=5ms,reverse_delay=7ms", duration_s=4
    )
    (pose,) = result.uplinks
    assert pose.name == "pose"
    assert pose.measure.rate_kbps == pytest.approx(128 * 8 / 4, rel=0.01)
    assert pose.delay_s.mean == pytest.approx(0.007, abs=1e-4)
    assert pose.measure.loss == 0
    assert trafficgen.simulate("cbr", path="rate=1Mbps,delay=5ms", duration_s=1).uplinks == []


def test_sessions_of_a_workload_count_as_satisfied() -> None:
    result = trafficgen.simulate_workload(
        "xr_3gpp38838_video", path="rate=200Mbps,delay=2ms,queue=5000p", sessions=3, duration_s=2
    )
    assert result.groups[0].satisfied == sum(bool(one.satisfied) for one in result.sessions)
    assert (
        trafficgen.simulate_workload("cbr", path="rate=1Mbps", sessions=1).groups[0].satisfied
        is None
    )


def test_a_page_is_requested_object_by_object() -> None:
    table = trafficgen.generate("web_3gpp2", seed=1, settings={"duration_s": 120})
    asks = table.time_ns[~table.to_client & (table.payload_bytes > 0)]
    sends = table.time_ns[table.to_client & (table.payload_bytes > 0)]
    answered = np.searchsorted(sends, asks)
    assert (np.diff(answered) > 0).all()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"processes": [{"arrivals": {"period_s": 1}, "sends": [{"flow": "b", "bytes": 1}]}]},
            'flows has no flow "b"',
        ),
        ({"processes": [{"arrivals": {"period_s": 0}}]}, "period_s must be above 0"),
        ({"processes": [{"arrivals": {"states": []}}]}, "no state has a start_weight"),
        (
            {
                "flows": [
                    {
                        "name": "pose",
                        "media": "video",
                        "direction": "up",
                        "protocol": "udp",
                        "packet_bytes": 0,
                    }
                ]
            },
            "packet_bytes must be from 1",
        ),
        ({"exchanges": [{"flow": "pose", "steps": []}]}, "need protocol tcp"),
    ],
)
def test_a_file_that_gets_streams_wrong_is_told_what(
    tmp_path: Path, change: dict[str, object], problem: str
) -> None:
    flow = {"name": "pose", "media": "video", "direction": "up", "protocol": "udp"}
    values = {"flows": [flow], "processes": [], **change}
    parameters = {
        name: {"value": value, "basis": "definition", "source": "S"}
        for name, value in values.items()
    }
    cbr = json.loads(trafficgen.load_model("cbr").model_dump_json())
    content = {
        **cbr,
        "name": "own",
        "options": {},
        "mechanism": {"kind": "streams", "parameters": parameters},
    }
    file = tmp_path / "own.json"
    file.write_text(json.dumps(content))
    with pytest.raises(trafficgen.ModelFileError, match=problem):
        trafficgen.load_model(file)


def test_sessions_that_send_nothing_give_an_empty_table() -> None:
    with pytest.warns(trafficgen.SimulationWarning, match="before its first media packet"):
        table = trafficgen.generate("ftp_3gpp_model3", duration_s=0.001, sessions=2)
    assert len(table) == 0
