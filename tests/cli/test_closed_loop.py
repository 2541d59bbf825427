"""`simulate` and `generate --path` from the command line: what they write, and how they refuse."""

from __future__ import annotations

import html
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trafficgen
from trafficgen.errors import SimulationWarning

Command = Callable[..., Any]

PATH = "rate=300kbps,delay=45ms,queue=10p"
SHORT = ["--set", "duration_s=5"]


def test_all_flows_are_written_as_the_sender_or_as_the_receiver_sees_them(
    command: Command, tmp_path: Path
) -> None:
    options = ["--path", PATH, "--compete", "cbr:50kbps@-1s", "--compete", "ping", *SHORT]
    for view in ("sender", "receiver"):
        assert command("generate", "cbr", "-o", f"{view}.pcap", "--at", view, *options).code == 0
    sent, received = (
        command("inspect", f"{view}.pcap", "--json").json for view in ("sender", "receiver")
    )
    assert [len(found["flows"]) for found in (sent, received)] == [3, 3]
    assert received["packets"] < sent["packets"]
    told = command("generate", "cbr", "-o", "again.pcap", "--at", "receiver", *options).err
    assert told.startswith(f"{received['packets']:,} packets in ")
    video = next(flow for flow in received["flows"] if flow["rtp"] and flow["start_s"] > 0.5)
    assert video["rtp"]["lost"] > 0


def test_simulate_writes_the_packets_that_generate_writes(command: Command, tmp_path: Path) -> None:
    options = ["--path", PATH, "--seed", "4", *SHORT]
    assert command("simulate", "cbr", "-o", "a.pcap", *options).code == 0
    assert command("generate", "cbr", "-o", "b.pcap", *options).code == 0
    assert (tmp_path / "a.pcap").read_bytes() == (tmp_path / "b.pcap").read_bytes()


def test_sessions_share_the_path_and_have_addresses_of_their_own(command: Command) -> None:
    options = ["--sessions", "3", "--arrival-rate", "1", "--path", "rate=2Mbps,delay=5ms", *SHORT]
    assert command("generate", "cbr", "-o", "three.parquet", *options).code == 0
    flows = command("inspect", "three.parquet", "--json").json["flows"]
    assert len({(flow["server"], flow["client"]) for flow in flows}) == 3
    assert len({flow["start_s"] for flow in flows}) == 3


def test_without_a_path_a_catalogue_entry_meets_no_limit(command: Command) -> None:
    assert command("generate", "cbr", "-o", "a.pcap", *SHORT, "--set", "rate_kbps=2000").code == 0
    (flow,) = command("inspect", "a.pcap", "--json").json["flows"]
    assert (flow["packets"], flow["rtp"]["lost"]) == (1250, 0)


def test_a_fitted_model_plays_over_a_path(command: Command, rtp_model_file: Path) -> None:
    options = ["--path", "rate=500kbps,delay=10ms,queue=5p"]
    with warnings.catch_warnings():
        warnings.simplefilter("always", SimulationWarning)
        result = command(
            "generate", str(rtp_model_file), "-o", "a.pcap", "--at", "receiver", *options
        )
    assert result.code == 0
    assert result.err.startswith("warning: by_hand: congestion response unknown")
    assert command("inspect", "a.pcap", "--json").json["flows"][0]["rtp"]["lost"] > 0


def test_the_summary_for_people_names_every_flow(command: Command) -> None:
    result = command("simulate", "cbr", "--path", PATH, "--compete", "tcp:reno", *SHORT)
    assert result.code == 0
    for part in ("playout", "media", "tcp-1"):
        assert part in result.out


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--path", "rate=725"], ["rate=725", "725kbps"]),
        (["--path", "nowhere.yaml"], ["nowhere.yaml", "neither a file nor a list"]),
        (["--path", "trace=nowhere.txt"], ["nowhere.txt", "mahimahi"]),
        (["--path", "delay=5ms", "--compete", "tcp"], ["rate="]),
        (["--path", PATH, "--compete", "tcp:vegas"], ["cubic, reno, bbr or bbr3"]),
        (["--path", PATH, "--compete", "nobody"], ["nobody", "cbr"]),
        (["--path", PATH, "--compete", "tcp(mss_bytes=3)"], ["compete=tcp", "mss_bytes"]),
        (["--path", PATH, "--set", "speed=3"], ["speed", "rate_kbps"]),
        (["--path", PATH, "--set", "speed"], ["not key=value"]),
        (["--path", PATH, "--set", "rate_kbps=3", "--set", "rate_kbps=4"], ["rate_kbps", "twice"]),
        (["--path", PATH, "-o", "a.doc"], [".pcap"]),
        (["--path", "loss=99%,loss_burst=1"], ["bottleneck", "0.99"]),
        ([], ["--path"]),
    ],
)
def test_refusals_are_one_line_that_says_what_to_do(
    command: Command, tmp_path: Path, options: list[str], parts: list[str]
) -> None:
    result = command("simulate", "cbr", *options)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1
    for part in parts:
        assert part in result.err
    assert list(tmp_path.iterdir()) == []


def test_flows_compete_on_a_path_only(command: Command, model_file: Path) -> None:
    for model in ("cbr", str(model_file)):
        result = command("generate", model, "-o", "a.pcap", "--compete", "ping")
        assert result.code == 2
        assert "--path" in result.err


def test_a_session_of_which_nothing_arrives_is_told_as_such(command: Command) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always", SimulationWarning)
        result = command("simulate", "cbr", "--path", "loss=1", "--json", *SHORT)
    assert result.code == 0
    assert result.json["flows"][0]["mean_kbps"] is None
    assert "warning: no media packet reached the client" in result.err


def test_a_phase_in_which_nothing_came_is_told_as_such(command: Command) -> None:
    options = ["--duration", "30s", "--path", "rate=10Mbps,delay=20ms", "--tcp", "bbr3"]
    assert "playout    no packets\n" in command("simulate", "dashjs", *options).out


@pytest.mark.parametrize("ending", ["pcap", "csv"])
def test_of_a_path_that_loses_all_the_receiver_sees_nothing(
    command: Command, tmp_path: Path, ending: str
) -> None:
    options = ["--path", "loss=1", *SHORT, "--at", "receiver"]
    assert command("generate", "cbr", "-o", f"none.{ending}", *options).code == 0
    assert command("generate", "cbr", "-o", "sent.pcap", "--path", "loss=1", *SHORT).code == 0
    if ending == "csv":
        assert len((tmp_path / "none.csv").read_text().splitlines()) == 1
    else:
        assert command("inspect", "none.pcap", "--json").json["packets"] == 0
    assert command("inspect", "sent.pcap", "--json").json["packets"] > 0


def test_fit_finds_in_packets_what_simulate_tells_of_offered_and_achieved_rate_and_loss(
    command: Command,
) -> None:
    scenario = [
        "wmedia9_nichols2004",
        "--path",
        "rate=725kbps,delay=45ms,queue=80p",
        "--compete",
        "tcp@-10s",
    ]
    told = command("simulate", *scenario, "--json", "-q").json
    for options in (
        ["t.parquet"],
        ["sender.pcap", "--at", "sender"],
        ["receiver.pcap", "--at", "receiver"],
    ):
        assert command("generate", *scenario, "-q", "-o", *options).code == 0
    of_table = command("fit", "t.parquet", "--session", "0", "--json", "-q").json["measures"][
        "delivery"
    ]
    of_pair = command(
        "fit", "sender.pcap", "--session", "1", "--receiver", "receiver.pcap", "--json", "-q"
    ).json
    media, session = told["flows"][0], told["session"]
    for found in (of_table, of_pair["measures"]["delivery"]):
        assert found["session"] == pytest.approx(
            {
                "offered_kbps": media["offered_kbps"],
                "achieved_kbps": media["mean_kbps"],
                "loss": media["loss"],
            }
        )
        for phase in ("buffering", "playout"):
            # The end of the buffering is found in the packets, a part of a burst away from that of
            # the source.
            assert found[phase]["offered_kbps"] == pytest.approx(
                session[phase]["offered_kbps"], rel=0.03
            )
            assert found[phase]["achieved_kbps"] == pytest.approx(
                session[phase]["rate_kbps"], rel=0.03
            )
            assert found[phase]["loss"] == pytest.approx(session[phase]["loss"], rel=0.03)


def test_fit_takes_the_loss_of_simulated_packets_from_their_arrivals(
    command: Command, tmp_path: Path
) -> None:
    path = (  # the sender's RTP numbers have no gap: they say nothing of it
        "rate=300kbps,delay=45ms,queue=10p,loss=0.05"
    )
    assert (
        command("generate", "cbr", "-o", "t.parquet", "--path", path, "--set", "duration_s=30").code
        == 0
    )
    arrived = trafficgen.read_packets("t.parquet").is_known("arrival_ns")
    found = command("fit", "t.parquet", "--json", "-q", "-o", "m.json").json
    assert found["loss"]["source"] == "arrival"
    assert found["loss"]["rate"] == pytest.approx(1 - arrived.mean())
    absent = json.loads(Path("m.json").read_text())["absent"]
    assert "the capture shows no congestion" not in absent.get("response", "")


def test_all_lost_on_the_path_is_all_lost_for_fit(command: Command) -> None:
    assert command("generate", "cbr", "-o", "t.parquet", "--path", "loss=1", *SHORT).code == 0
    assert command("fit", "t.parquet", "--json", "-q").json["loss"]["rate"] == 1.0


def test_simulate_writes_the_same_report_and_plots_each_time(
    command: Command, tmp_path: Path
) -> None:
    options = ("simulate", "cbr", "--path", PATH, *SHORT, "-q", "--plot-format", "svg")
    for name in ("one", "two"):
        result = command(
            *options, "--report", str(tmp_path / f"{name}.html"), "--plots", str(tmp_path / name)
        )
        assert (result.code, result.err) == (0, "")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert {"rates.svg", "offered.svg", "loss.svg"} <= names
    assert all(
        (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        for name in names
    )


def test_plots_replace_those_of_an_earlier_run(command: Command, tmp_path: Path) -> None:
    options = (
        "simulate",
        "cbr",
        "--path",
        PATH,
        *SHORT,
        "-q",
        "--plot-format",
        "svg",
        "--plots",
        str(tmp_path),
    )
    assert command(*options).code == 0
    (tmp_path / "loss.svg").write_text("old")
    (tmp_path / "mine.txt").write_text("kept")
    refused = command(*options)
    assert (refused.code, refused.err.count("exists already; give --force")) == (2, 1)
    assert command(*options, "--force").code == 0
    assert (tmp_path / "loss.svg").read_text() != "old"
    assert (tmp_path / "mine.txt").read_text() == "kept"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--report", "nowhere/report.html"),
            "nowhere/report.html: cannot be written (No such file or directory)",
        ),
        (
            ("--plots", "plots", "--plot-format", "gif"),
            "Unknown kind of plot 'gif'. Use pdf, svg, png.",
        ),
    ],
)
def test_reports_that_cannot_be_written_are_refused_before_the_work(
    command: Command, options: tuple[str, ...], message: str
) -> None:
    result = command("simulate", "cbr", "--path", PATH, *options)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_simulate_says_what_a_viewer_of_an_adaptive_player_sees(command: Command) -> None:
    settings = ["--set", "policy=bola", "--set", "buffer_target_s=8", *SHORT[:1], "duration_s=60"]
    result = command("simulate", "chunked", "--path", "rate=600kbps,delay=20ms", *settings)
    (line,) = [line for line in result.out.splitlines() if line.startswith("player ")]
    assert all(word in line for word in ("starts after", "mean rung", "switches a minute", "stall"))
    session = command(
        "simulate", "chunked", "--path", "rate=600kbps,delay=20ms", "--json", *settings
    ).json["session"]
    assert session["player"]["stalls"] == len(session["stalls"]) > 0
    rungs_kbps = [kbps for _, kbps in session["facts"]["rung_kbps"]]
    assert session["player"]["mean_rung_kbps"] == pytest.approx(sum(rungs_kbps) / 15)


def test_a_wrong_policy_is_refused_with_the_closest_one(command: Command) -> None:
    result = command("simulate", "dash.js", "--set", "policy=bolla", "--path", "rate=1Mbps")
    assert result.code == 2
    assert "did you mean bola?" in result.err


def test_what_is_unknown_of_a_session_is_null(command: Command) -> None:
    def session(model: str) -> dict[str, Any]:
        options = ("--path", "rate=1Mbps,delay=20ms", "--duration", "4s", "--json", "-q")
        found: dict[str, Any] = command("simulate", model, *options).json["session"]
        return found

    plain = session("cbr")
    assert (plain["has_player"], plain["stalls"], plain["player"]) == (False, None, None)
    assert session("chunked")["stalls"] == []
    early = session("wmedia9_nichols2004")  # its media start later
    assert (early["silence_s"], early["stalls"]) == (None, None)
    text = command("simulate", "cbr", "--path", "rate=1Mbps", "--duration", "4s").out
    assert "player     none is simulated, so no stalls are known" in text


def test_a_workload_file_is_simulated_on_one_path(command: Command, tmp_path: Path) -> None:
    groups = "[{name: radio, model: cbr, share: 50%}, {model: dashjs}]"
    (tmp_path / "evening.yaml").write_text(f"sessions: 4\nduration: 5s\ngroups: {groups}\n")
    options = ["--path", "rate=5Mbps,delay=10ms", "--compete", "tcp", "--seed", "2"]
    lines = command("simulate", "evening.yaml", *options).out.splitlines()
    found = command("simulate", "evening.yaml", "--json", *options).json
    ends_s = [one["start_s"] + one["duration_s"] for one in found["sessions"]]
    length_s = max(ends_s) - min(one["start_s"] for one in found["sessions"])
    received = sum(one["received_bytes"] for one in found["sessions"])
    assert lines[0] == (
        f"4 sessions in {length_s:.3g} s: {received * 8e-6 / length_s:.3g} Mbit/s together on"
        f" average; 0 of 2 players stalled; fairness (Jain's index) {found['jain_index']:.3g}"
    )
    assert lines[2].split()[:2] == ["group", "sessions"]
    assert [line.split()[0] for line in lines[3:6]] == ["radio", "dashjs", "tcp-1"]
    assert sum(group["sessions"] for group in found["groups"]) == len(found["sessions"]) == 4
    again = command("simulate", "evening.yaml", "--json", "-o", "out.parquet", *options)
    assert again.json["links"] == found["links"]


def test_many_sessions_of_a_model_are_simulated_together(command: Command) -> None:
    options = ["--path", "rate=2Mbps,delay=5ms", "--sessions", "3", "--for", "2s", *SHORT]
    found = command("simulate", "cbr", "--json", *options).json
    assert len(found["sessions"]) == 3
    assert found["groups"][0]["rate_kbps"] == pytest.approx(340, rel=0.1)


def test_sessions_that_share_a_path_have_a_report_and_plots(
    command: Command, tmp_path: Path
) -> None:
    options = ("--path", "rate=2Mbps", "--sessions", "2", "--duration", "3", "--plot-format", "svg")
    result = command("simulate", "cbr", *options, "--report", "page.html", "--plots", "plots")
    assert result.code == 0, result.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>Sessions that share a path</h1>" in page
    assert result.out.splitlines()[0] in html.unescape(page)
    assert (tmp_path / "plots" / "rates.svg").exists()
