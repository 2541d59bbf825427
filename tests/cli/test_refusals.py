"""Every refusal is one line on stderr with exit code 2 that says what to do, and leaves nothing
behind.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Command = Callable[..., Any]
TableWriter = Callable[..., str]


def _refused(result: Any, *parts: str) -> None:
    assert result.code == 2
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert result.err.startswith("trafficgen: ")
    for part in parts:
        assert part in result.err


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--seed", "-1"], "--seed"),
        (["--duration", "nan"], "--duration"),
        (["--duration", "inf"], "--duration"),
        (["--duration", "0"], "--duration"),
        (["--duration", "0.5"], "ask for a longer duration"),
        (["--duration", "1e12"], "--duration: it must be at most 1000000000, not 1e+12"),
        (["--duration", "9e8", "--sessions", "1000"], "GB of disk"),
        (["--sessions", "100000000"], "GB of disk"),
        (["--sessions", "1000000000000"], "are more than 100,000,000; ask for fewer"),
        (["--sessions", "0"], "--sessions"),
        (["--arrival-rate", "inf"], "--arrival-rate"),
        (["--arrival-rate", "1e-300"], "--arrival-rate: it must be 0 or at least 1e-09"),
        (["--snaplen", "300000"], "--snaplen"),
        (["--at", "nobody"], "--at"),
        (["--nonsense"], "--nonsense"),
        (["surplus"], "surplus"),
    ],
)
def test_options_out_of_range_are_refused(
    command: Command, model_file: Path, options: list[str], part: str
) -> None:
    _refused(command("generate", str(model_file), "-o", "out.pcap", *options), part)
    assert {entry.name for entry in Path().iterdir()} == {"model.json"}


@pytest.mark.parametrize(
    "out", ["out.xyz", "nowhere/out.pcap", ".", "folder.pcap", "folder.csv", "folder.parquet"]
)
def test_outputs_that_cannot_be_are_refused(command: Command, model_file: Path, out: str) -> None:
    if out.startswith("folder"):
        Path(out).mkdir()
    before = set(Path().rglob("*"))
    _refused(command("generate", str(model_file), "-o", out))
    assert set(Path().rglob("*")) == before


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--sessions", "100000001"], "100,000,001 sessions are more than 100,000,000"),
        (["--sessions", "5", "--arrival-rate", "1e-9"], "ask for a higher arrival rate"),
        (["--path", "rate=1Mbps,burst=1e15B"], "make it smaller"),
        (["--path", "lte"], "path: 'lte' is not a file; did you mean preset:lte?"),
        (["--sessions", "0"], "'--sessions': it must be at least 1"),
        (["--sessions", "5.5"], "'--sessions': it must be a whole number (see"),
        (["--sesions", "5"], "--sesions (did you mean --sessions?) (see trafficgen generate"),
        (["--format", "pcap"], "the ending of the output names its format (--to that of"),
        (["--report", "evening.html"], "No such option: --report; simulate has it and writes"),
        (["--vary", "20"], "--vary 20: invalid spread '20'; write a percentage, such as 20%"),
        (["--jitter"], "requires an argument. (see trafficgen generate --help)"),
    ],
)
def test_options_of_published_models_out_of_range_are_refused(
    command: Command, options: list[str], part: str
) -> None:
    _refused(command("generate", "wmedia9_nichols2004", "-o", "out.parquet", *options), part)
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["gen", "cbr"], "'gen' (did you mean generate?) (see trafficgen --help)"),
        (["models", "dif"], "(see trafficgen models --help)"),
        (["compare", "-", "-"], "(see trafficgen compare --help)"),
    ],
)
def test_words_that_are_nearly_commands_name_what_was_meant(
    command: Command, words: list[str], part: str
) -> None:
    result = command(*words)
    assert result.code == 2
    assert result.err.splitlines()[-1].endswith(part)


@pytest.mark.parametrize("options", [[], ["--sessions", "3"], ["--path", "rate=1Mbps"]])
def test_rates_of_more_packets_than_are_held_are_refused_at_once(
    command: Command, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setattr("trafficgen.simulation.run.simulate", None)
    given = ["generate", "cbr", "-o", "out.pcap", "--set", "rate_kbps=1e12", *options]
    _refused(command(*given), "packets are more than 50,000,000; lower its rate or shorten it")


@pytest.mark.parametrize(
    ("flow", "part"),
    [
        ("cbr:1e300kbps", "packets are more than 50,000,000; lower its rate or shorten it"),
        ("cbr(rate_kbps=1e12)", "packets are more than 50,000,000"),
        ("cbr:1e9kbps@-10s..60s", "packets are more than 50,000,000"),
        ("cbr:1e999kbps", "compete=cbr:1e999kbps: invalid rate"),
        ("cbr:200kbps(packet_bytes=1e999)", "compete=cbr: packet_bytes is inf; give a finite"),
        ("cbr:200kbps(packts=3)", "unknown key packts; use rate_bps, packet_bytes, duration_s"),
        ("ping(interval_s=1e-300)", "packets are more than 50,000,000"),
        ("ping(interval_s=often)", 'interval_s: string "often" is not a number'),
        ("tcp(bytes=1e999)", "bytes is inf"),
        ("tcp(mss_bytes=-4)", "-4 is not a whole number from 0 on"),
    ],
)
@pytest.mark.parametrize("length", [["--duration", "10s"], []])
def test_competing_flows_out_of_all_proportion_are_refused_at_once(
    command: Command, flow: str, part: str, length: list[str]
) -> None:
    path = ["--path", "rate=725kbps,delay=45ms"]
    _refused(command("simulate", "cbr", *path, "--compete", flow, *length), part)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (["cbr", "--path", "rate=1Mbps,queue=1e300p"], "1000000000000000"),
        (["cbr", "--path", "rate=1Mbps,reverse_queue=1e300B"], "1000000000000000"),
        (["chunked", "--set", "duration_s=9e8"], "at most 1000000 times segment_s"),
    ],
)
def test_numbers_beyond_what_is_counted_are_refused_with_the_limit(
    command: Command, given: list[str], part: str
) -> None:
    _refused(command("generate", *given, "-o", "out.pcap"), part)


@pytest.mark.parametrize("jitter", ["1e300ms", "1e18s", "1e10s"])
def test_a_jitter_that_no_clock_holds_is_refused(
    command: Command, model_file: Path, jitter: str
) -> None:
    given = ["generate", str(model_file), "-o", "out.pcap", "--jitter", jitter]
    _refused(command(*given), "--jitter: it must be at most 1000000000, not")


def test_memory_beyond_any_computer_is_no_limit(command: Command) -> None:
    given = ["generate", "cbr", "-o", "out.pcap", "--set", "duration_s=1", "--memory", "1e300MB"]
    assert command(*given).code == 0


def test_names_do_not_reach_the_terminal_as_commands(command: Command) -> None:
    name = "a\nb\x1b[31m\x9b2Jc.pcap"
    Path(name).write_bytes(b"junk" * 20)
    result = command("inspect", name)
    _refused(result, r"'a\nb\x1b[31m\x9b2Jc.pcap': is text in no known format")


def test_a_working_folder_that_is_gone_is_said(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = Path("gone")
    gone.mkdir()
    monkeypatch.chdir(gone)
    Path("../gone").rmdir()
    _refused(command("generate", "cbr", "-o", "out.parquet"), "the current folder no longer exists")


GAP = ("streams", 0, "phases", 0, "process", "gap_s")
SIZE = ("streams", 0, "phases", 0, "process", "packet_bytes")
POINTS = [{"p": 0.0, "value": 0.2}, {"p": 0.5, "value": 0.1}, {"p": 1.0, "value": 0.3}]
QUANTILES = {"unit": "s", "family": "quantiles", "quantiles": POINTS, "observations": 1}


@pytest.mark.parametrize(
    ("place", "value", "part"),
    [
        (("extra",), 1, "extra"),
        (("streams",), [], "streams"),
        (("schema_version",), "2", "schema_version is '2', this trafficgen reads '1'"),
        (("schema_version",), 1.0, "schema_version"),
        (("startup", "silence_s", "value"), 1e9, "longer than"),
        ((*GAP, "params", "scale"), float("nan"), "gap_s.params.scale"),
        ((*GAP, "params", "scale"), -1.0, "positive"),
        ((*GAP, "params", "scale"), "0.1", "gap_s.params.scale"),
        ((*GAP, "params", "scale"), 1e-13, "GB of memory"),
        ((*GAP, "params", "loc"), -5.0, "correct gap_s"),
        ((*GAP, "params"), {"loc": 0.0}, "a, loc, scale"),
        ((*GAP, "family"), "cauchy", "family"),
        ((*GAP, "unit"), "bytes", "the unit must be 's'"),
        (GAP, QUANTILES, "values that do not fall"),
        ((*SIZE, "atoms"), [{"value": 70_000, "p": 0.5}], "70000 bytes"),
        ((*SIZE, "atoms"), [{"value": 100, "p": 0.7}, {"value": 200, "p": 0.7}], "1.4"),
        ((*SIZE, "maximum"), 50, "minimum"),
        (("streams", 0, "phases", 0, "duration_s"), 0, "duration_s"),
        (("streams", 0, "phases", 0, "duration_s"), 1e15, "duration_s"),
        (("streams", 0, "phases", 0, "rate_bps"), -1.0, "rate_bps"),
        (("streams", 0, "transport", "server_port"), 70_000, "server_port"),
        (("streams", 0, "transport", "ip_version"), 6, "needs 48"),
    ],
)
def test_models_that_cannot_be_played_are_refused(
    command: Command, model_file: Path, place: tuple[str | int, ...], value: object, part: str
) -> None:
    model = json.loads(model_file.read_text())
    inner = model
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    model_file.write_text(json.dumps(model))
    _refused(command("generate", str(model_file), "-o", "out.pcap"), part)
    assert {entry.name for entry in Path().iterdir()} == {"model.json"}


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--from", "5min", "--to", "60s"], "nothing is in the window 300 s to 60 s"),
        (["--from", "5x"], "Invalid time '5x'. Use 90s, 20min or 1h."),
        (["--to", "0"], "nothing is in the window 0 s to 0 s"),
        (["--from", "1s", "--player-log", "log.csv"], "cannot be matched with"),
        (["--from", "1s", "--receiver", "other.pcap"], "cannot be matched with"),
        (["--from", "1s", "--population"], "a window is of one capture"),
    ],
)
def test_windows_that_cannot_be_are_refused(
    command: Command, table_file: Path, options: list[str], part: str
) -> None:
    _refused(command("fit", str(table_file), *options), part)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["inspect", "--bad"], "(see trafficgen inspect --help)"),
        (["inspect", "a.pcap", "--memory", "1KB"], "(see trafficgen inspect --help)"),
        (["models", "show"], "(see trafficgen models show --help)"),
        (["unknown"], "(see trafficgen --help)"),
    ],
)
def test_wrong_usage_points_to_the_help_of_its_command(
    command: Command, arguments: list[str], shown: str
) -> None:
    _refused(command(*arguments), shown)


def test_further_wrong_parts_of_a_model_are_named(command: Command) -> None:
    Path("few.json").write_text('{"name": "few"}')
    named = "few.json: provenance: it is missing (and 3 more: startup, playout, streams); "
    _refused(command("models", "show", "few.json"), named)
    wrong = {"name": 1, **{f"key_{number}": 0 for number in range(9)}}
    Path("many.json").write_text(json.dumps(wrong))
    _refused(
        command("models", "show", "many.json"), "(and 9 more: ", ", ...); missing: provenance, "
    )


@pytest.mark.parametrize("version", ["0", "1.0", "2", "1" * 30, "latest"])
def test_a_model_of_another_schema_version_is_refused_with_what_to_do(
    command: Command, model_file: Path, version: str
) -> None:
    model = {**json.loads(model_file.read_text()), "schema_version": version, "novelty": 1}
    model_file.write_text(json.dumps(model))
    _refused(
        command("models", "show", str(model_file)),
        f"schema_version is '{version[:20]}', this",
        "fit the captures again, or use the trafficgen that wrote the file",
    )
    assert {entry.name for entry in Path().iterdir()} == {"model.json"}


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b"1" * 5000]
)
def test_files_that_are_no_models_are_refused(
    command: Command, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "bad.json").write_bytes(content)
    _refused(command("models", "show", "bad.json"), "bad.json")
    _refused(command("generate", "bad.json", "-o", "out.pcap"), "bad.json")


@pytest.mark.parametrize(
    ("time_s", "columns", "part"),
    [
        ([], {}, "the input is empty"),
        ([0.0], {}, "a model: 1 media packet; at least 100"),
        ([0.0, 1.0], {}, "a model: 2 media packets; at least 100"),
        ([0.0] * 20, {}, "20 media packets at one time"),
        (
            np.arange(50) * 0.1,
            {"to_client": False},
            "give a capture of what a server sends to a client",
        ),
        (np.arange(50) * 0.1, {"ip_bytes": 28}, "none of the 50 packets carries payload"),
        (np.arange(50) * 0.1, {"flows": [{"flow": 0, "protocol": "sctp"}]}, "only UDP and TCP"),
        (
            np.arange(50) * 0.1,
            {"flows": [{"flow": 0, "media": "control"}]},
            "none of the 50 packets",
        ),
        ([0.0, 1.0, 2.0, 3e9], {}, "the clock jumped"),
        (np.arange(20) * 0.1, {"flow": np.arange(20)}, "media packets in one flow"),
    ],
)
def test_captures_that_cannot_be_fitted_are_refused_by_name(
    command: Command, write_table: TableWriter, time_s: Any, columns: dict[str, Any], part: str
) -> None:
    name = write_table(time_s, **columns)
    _refused(command("fit", name, "-o", "out.json"), f"trafficgen: {name}: ", part)
    assert not Path("out.json").exists()


@pytest.mark.parametrize("choice", [["--flow", "7"], ["--session", "7"]])
def test_flows_and_sessions_that_are_not_there_are_refused(
    command: Command, table_file: Path, choice: list[str]
) -> None:
    _refused(command("fit", str(table_file), *choice), f"there is no {choice[0][2:]} 7; there is")
    _refused(command("compare", str(table_file), str(table_file), *choice), "7")
    if choice[0] == "--flow":
        _refused(command("export", str(table_file), "--to", "pcap", "-o", "out", *choice), "flow 7")
        assert not Path("out").exists()


def test_comparing_with_nothing_names_the_side_that_is_empty(
    command: Command, table_file: Path, write_table: TableWriter
) -> None:
    empty = write_table([])
    _refused(command("compare", str(table_file), empty), f"trafficgen: {empty}: ")


@pytest.mark.parametrize("limit", ["gap_s.ks", "gap_s.ks=x", "nonsense=1", "=1", "gap_s.ks=nan"])
def test_limits_that_mean_nothing_are_refused(
    command: Command, table_file: Path, limit: str
) -> None:
    result = command("compare", str(table_file), str(table_file), "--fail-above", limit)
    _refused(result)


def test_unknown_targets_and_commands_are_refused(command: Command, table_file: Path) -> None:
    _refused(command("export", str(table_file), "--to", "nonsense", "-o", "out"), "Use one of pcap")
    _refused(command("nonsense"), "nonsense")


def test_without_a_command_the_help_is_shown(command: Command) -> None:
    result = command()
    assert result.code == 2
    assert "Usage: trafficgen" in result.out
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "options", "parts"),
    [
        (
            "time_s,buffer_s\n0,much\n",
            [],
            ["log.csv", "line 2: buffer_s is 'much'", "leave it empty"],
        ),
        ("a,b\n1,2\n", [], ["log.csv", "no player log's columns", "give a CSV or JSON"]),
        (
            "unix_time_s,buffer_s\n17e8,0\n1700000009,5\n",
            [],
            ["log.csv", "the media last to", "--player-log-offset"],
        ),
        ("time_s,buffer_s\n0,0\n9,5\n", ["--player-log-offset", "nan"], ["--player-log-offset"]),
        (
            "time_s,buffer_s\n0,0\n9,5\n",
            ["--player-log-offset", "-100"],
            ["log.csv", "give the log of this capture"],
        ),
    ],
)
def test_player_logs_that_cannot_be_used_are_refused(
    command: Command, table_file: Path, text: str, options: list[str], parts: list[str]
) -> None:
    Path("log.csv").write_text(text, encoding="utf-8")
    _refused(
        command("fit", str(table_file), "-o", "m.json", "--player-log", "log.csv", *options), *parts
    )
    assert not Path("m.json").exists()


def test_a_player_log_reaches_the_summary_and_the_model(command: Command, table_file: Path) -> None:
    Path("log.csv").write_text(
        "time_s,level_kbps,stalled\n0,300,1\n1,300,0\n5,600,0\n", encoding="utf-8"
    )
    result = command(
        "fit", str(table_file), "-q", "-o", "m.json", "--player-log", "log.csv", "--json"
    )
    assert result.code == 0
    assert result.json["levels"]["kbps"] == [300, 600]
    assert result.json["player_log"]["clock"] == "capture_start"
    assert result.json["player_log"]["form"] == "plain"
    assert (
        json.loads(Path("m.json").read_text(encoding="utf-8"))["provenance"]["player_log"]
        == "log.csv"
    )


@pytest.mark.parametrize("choice", [["--candidate-session", "0"], ["--all"]])
def test_two_choices_for_the_candidate_are_refused(
    command: Command, table_file: Path, choice: list[str]
) -> None:
    _refused(
        command("compare", str(table_file), str(table_file), "--candidate-flow", "0", *choice),
        "give one of them",
    )


def test_a_flow_that_the_candidate_lacks_is_refused_with_its_name(
    command: Command, table_file: Path
) -> None:
    _refused(
        command("compare", str(table_file), str(table_file), "--candidate-flow", "7"), "no flow 7"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("generate cbr -o there.pcap --path rte=1Mbps", "unknown key 'rte' (did you mean rate?)"),
        ("models show there.pcap", "has packets, not a model; fit it first: trafficgen fit there"),
        ("export there.pcap --to iperf3 -o o --snaplen 96", "for --snaplen: iperf3 keeps whole"),
        ("models", "Give a command. (see trafficgen models --help)"),
        ("generate realplayer8_chung2002 -o a.pcap --set zz=3", "see `trafficgen models show real"),
    ],
)
def test_the_mistake_that_counts_is_named(command: Command, words: str, said: str) -> None:
    assert command("generate", "cbr", "-o", "there.pcap", "--duration", "2sec").code == 0
    refused = command(*words.split())
    assert refused.code == 2
    assert said in refused.err
    assert refused.err.count("\n") == 1


def test_names_of_inputs_that_are_nearly_right_are_corrected(command: Command) -> None:
    Path("many").mkdir()
    Path("many/call.pcap").touch()
    folder = command("fit", "many")
    _refused(folder, "is a folder and no packet table", "such as many/*.pcap")
    _refused(command("fit", "many/call.pcp"), "did you mean call.pcap?")


def test_a_wrong_target_is_refused_before_its_output(command: Command) -> None:
    Path("there").touch()
    result = command("export", "there", "--to", "tcpreply", "-o", "there")
    _refused(result, "Unknown target 'tcpreply' (did you mean tcpreplay?)")


def test_a_capture_without_ip_packets_is_summarised_in_one_line(command: Command) -> None:
    head = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    Path("empty.pcap").write_bytes(head)
    result = command("inspect", "empty.pcap")
    assert (result.code, result.out) == (0, "empty.pcap: no IP packets (0 packets)\n")
