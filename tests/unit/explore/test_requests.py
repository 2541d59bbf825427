"""What may be asked of the page: bounds, refusals that name the control, and the same result as on
the command line.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trafficgen.cli.app import run
from trafficgen.errors import ExploreError
from trafficgen.explore.application import LARGEST_REQUEST_BYTES
from trafficgen.explore.controls import COMPETITORS, CONTROLS, PRESETS
from trafficgen.explore.playable_models import PlayableModel, open_model
from trafficgen.explore.request import MOST_PACKETS, SimulationRequest, play_request
from trafficgen.packet_files.writing import write_packets

Simulate = Callable[..., Any]


@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_control_takes_its_bounds_and_nothing_beyond(
    models: dict[str, PlayableModel], name: str
) -> None:
    control = CONTROLS[name]
    assert control.low <= control.default <= control.high
    for within in (control.low, control.default, control.high):
        assert (
            SimulationRequest.parse({"model": "cbr", name: within}, models).values[name] == within
        )
    beyond: tuple[object, ...] = (
        control.low - 1,
        control.high * 1.001 + 1,
        math.nan,
        math.inf,
        True,
        "1",
        None,
        [1],
    )
    for value in beyond:
        with pytest.raises(ExploreError, match=re.escape(control.label)) as refused:
            SimulationRequest.parse({"model": "cbr", name: value}, models)
        assert refused.value.control == name


@pytest.mark.parametrize("name", [name for name, control in CONTROLS.items() if control.whole])
def test_whole_numbers_are_whole(simulate: Simulate, name: str) -> None:
    answer = simulate(**{name: CONTROLS[name].default + 0.5})
    assert answer.status_code == 422
    assert answer.json()["control"] == name
    assert "not a whole number" in answer.json()["error"]


@pytest.mark.parametrize(
    ("asked", "control", "part"),
    [
        ({"model": "nothing"}, "model", "choose one of cbr, chunked"),
        ({"model": 5}, "model", "choose one of"),
        ({"model": "/etc/passwd"}, "model", "unknown model"),
        ({"competitor": "udp"}, "competitor", "choose one of none, tcp"),
        ({"competitor": ["tcp"]}, "competitor", "choose one of"),
        ({"path": "trace=/etc/passwd"}, None, "unknown control 'path'"),
        ({"settings": [1]}, "model", "an object"),
        ({"settings": {"colour": "red"}}, "set.colour", "its options are rate_kbps"),
        ({"settings": {"rate_kbps": 5}}, "set.rate_kbps", "write a text"),
        ({"settings": {"rate_kbps": "9" * 300}}, "set.rate_kbps", "at most 200 characters"),
        ({"settings": {"rate_kbps": "fast"}}, "set.rate_kbps", "not a number"),
        ({"settings": {"rate_kbps": "1e6"}}, "set.rate_kbps", "above 100,000 kbit/s"),
        ({"settings": {"packet_bytes": "40"}}, "set.packet_bytes", "below 41"),
        (
            {"model": "chunked", "settings": {"ladder_kbps": ",".join(["300"] * 21)}},
            "set.ladder_kbps",
            "at most 20",
        ),
        (
            {"model": "chunked", "settings": {"ladder_kbps": "300,1e6"}},
            "set.ladder_kbps",
            "above 100,000",
        ),
        ({"model": "chunked", "settings": {"buffer_s": "1"}}, "set.buffer_s", "at least 12"),
        (
            {"model": "realplayer8_chung2002", "settings": {"clip": "80"}},
            "set.clip",
            "one of the 79",
        ),
        (
            {"competitor": "tcp", "compete_start_s": 60, "compete_stop_s": 60},
            "compete_stop_s",
            "after its start",
        ),
    ],
)
def test_refusal_is_one_sentence_that_names_the_control(
    simulate: Simulate, asked: dict[str, Any], control: str | None, part: str
) -> None:
    answer = simulate(**asked)
    assert answer.status_code == 422
    refusal = answer.json()
    assert refusal["control"] == control
    assert part in refusal["error"]
    assert "\n" not in refusal["error"]


def test_settings_of_the_mechanism_are_none_of_the_page(simulate: Simulate) -> None:
    answer = simulate("chunked", settings={"manifest_bytes": "1000000000"})
    assert answer.status_code == 422
    assert answer.json()["control"] == "set.manifest_bytes"


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {}, 415),
        (b"{", {"Content-Type": "application/json"}, 400),
        (b"\xff\xfe", {"Content-Type": "application/json"}, 400),
        (b"[" * 10_000, {"Content-Type": "application/json"}, 400),
        (b"9" * 10_000, {"Content-Type": "application/json"}, 400),
        (b"[]", {"Content-Type": "application/json"}, 422),
        (b" " * (LARGEST_REQUEST_BYTES + 1), {"Content-Type": "application/json"}, 413),
    ],
)
def test_what_is_no_request_is_refused(
    client: Any, content: bytes, headers: dict[str, str], status: int
) -> None:
    answer = client.post("/api/simulate", content=content, headers=headers)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_simulation_of_more_packets_than_the_page_allows_is_given_up(simulate: Simulate) -> None:
    settings = {"rate_kbps": "20000", "packet_bytes": "41"}
    answer = simulate(settings=settings, rate_kbps=20_000, duration_s=300)
    assert answer.status_code == 422
    assert f"more than {MOST_PACKETS} packets" in answer.json()["error"]


def test_limit_of_packets_is_that_of_the_engine(models: dict[str, PlayableModel]) -> None:
    # 340 kbit/s in packets of 1000 bytes for 10 s: 425 packets and a few of control.
    asked = SimulationRequest.parse({"model": "cbr", "duration_s": 10}, models)
    with pytest.raises(ExploreError, match="more than 400 packets"):
        play_request(asked, most_packets=400)
    assert play_request(asked, most_packets=500)["packet_events"] > 400


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.label)
@pytest.mark.parametrize("model", ["chunked", "realvideo10_boyden2005"])
def test_presets_can_be_simulated(simulate: Simulate, model: str, preset: Any) -> None:
    answer = simulate(model, competitor=preset.competitor, **preset.values)
    assert answer.status_code == 200, answer.text
    assert max(answer.json()["series"]["media_kbps"]) > 0


@pytest.mark.parametrize("competitor", sorted(COMPETITORS))
def test_competitors_have_their_series(simulate: Simulate, competitor: str) -> None:
    series = simulate("chunked", competitor=competitor, compete_start_s=5, duration_s=20).json()[
        "series"
    ]
    others = [name for name in series if re.fullmatch(r"(tcp|quic|cbr)-1_kbps", name)]
    assert len(others) == (competitor != "none")
    for name in others:
        before = [
            rate for place, rate in enumerate(series[name]) if series["start_s"] + 0.5 * place < 4
        ]
        assert max(before) == 0
        assert max(series[name]) > 0


def test_narrower_path_lowers_the_level(simulate: Simulate) -> None:
    wide = simulate("chunked", rate_kbps=5000).json()["series"]["encoding_kbps"]
    narrow = simulate("chunked", rate_kbps=500).json()["series"]["encoding_kbps"]
    assert max(filter(None, narrow)) < max(filter(None, wide))


def test_session_whose_only_packet_is_lost_is_told_as_odd(simulate: Simulate) -> None:
    one_packet = {"settings": {"duration_s": "0.001"}, "loss_percent": 50}
    odd = {tuple(simulate(**one_packet, seed=seed).json()["odd"]) for seed in range(12)}
    assert odd == {
        (),
        ("no media packet reached the client, so that rates and delays are unknown",),
    }


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        (
            "cbr",
            {
                "settings": {"rate_kbps": "500"},
                "loss_percent": 2.5,
                "loss_burst_packets": 3.5,
                "loss_start_s": 4,
            },
        ),
        (
            "chunked",
            {
                "settings": {"ladder_kbps": "200,400,800"},
                "competitor": "tcp:reno",
                "compete_stop_s": 45,
            },
        ),
        (
            "wmedia9_nichols2004",
            {"settings": {"ladder_kbps": "340,1128"}, "competitor": "tcp", "compete_start_s": -10},
        ),
        (
            "twostream_latecki2003",
            {"competitor": "cbr", "compete_kbps": 212.5, "compete_stop_s": 300, "seed": 7},
        ),
    ],
)
def test_command_prints_the_same_result(
    simulate: Simulate, capsys: pytest.CaptureFixture[str], model: str, asked: dict[str, Any]
) -> None:
    shown = simulate(model, duration_s=50, **asked).json()
    (command,) = shown.pop("commands")
    assert shown.pop("odd") == []
    program, *arguments = shlex.split(command)
    assert program == "trafficgen"
    capsys.readouterr()
    assert run(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    assert shown.pop("settings") == printed.pop("settings")
    assert shown == printed


@pytest.mark.filterwarnings(
    "ignore:.*the source ignores loss and delay:trafficgen.errors.SimulationWarning"
)
def test_commands_of_a_capture_print_the_same_result(
    make_table: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_packets(make_table([0.02 * number for number in range(1000)]), Path("a session.parquet"))
    offer = open_model("a session.parquet", seed=3)
    shown = play_request(
        SimulationRequest.parse({"model": offer.name, "duration_s": 10}, {offer.name: offer})
    )
    codes = [run(shlex.split(command)[1:]) for command in shown["commands"]]
    assert codes == [0, 0]
    printed = capsys.readouterr().out
    assert any("the source ignores loss and delay" in odd for odd in shown["odd"])
    series = json.loads(printed[printed.index('{\n "session"') :])["series"]
    assert series["media_kbps"] == list(shown["series"]["media_kbps"])
