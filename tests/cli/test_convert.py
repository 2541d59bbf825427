"""`trafficgen convert`, and traces given straight to the other commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trafficgen
from trafficgen.capture.traces.formats import FORMATS
from trafficgen.packet_files.writing import write_packets
from trafficgen.tables import PacketTable

Command = Callable[..., Any]

LIST = "time_s,ip_bytes\n" + "".join(
    f"{number / 50:.3f},{200 + number % 7 * 100}\n" for number in range(500)
)


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    """Write small traces into the folder of the command."""
    (tmp_path / "frames.txt").write_text("5000\n700\n900\n")
    (tmp_path / "list.csv").write_text(LIST)
    (tmp_path / "damaged.tr").write_text("1 P 1 500\nnonsense\n2 P 41 600\n3 P 81 700")


def test_a_frame_trace_becomes_a_table_and_a_capture_of_the_same_packets(command: Command) -> None:
    made = command("convert", "frames.txt", "--frame-rate", "25", "-o", "video.parquet")
    assert (made.code, made.out) == (0, "")
    assert (
        made.err == "6 packets of 1 flow in 80 ms read as frame-sizes, written to video.parquet\n"
    )
    assert (
        command("convert", "frames.txt", "--frame-rate", "25", "-o", "video.pcap", "-q").err == ""
    )
    found = [command("inspect", name, "--json").json for name in ("video.parquet", "video.pcap")]
    assert [its["flows"][0]["to_client"] for its in found] == [
        {"packets": 6, "frame_bytes": 6600 + 6 * 54}
    ] * 2
    assert [its["flows"][0]["rtp"]["expected"] for its in found] == [6, 6]


@pytest.mark.filterwarnings("default::trafficgen.errors.CaptureWarning")
def test_what_was_read_and_assumed_is_one_json_object(command: Command) -> None:
    made = command("convert", "damaged.tr", "-o", "out.csv", "--json")
    found = made.json
    assert made.code == 0
    assert (found["format"], found["records"], found["unread"], found["first_unread"]) == (
        "ns3",
        3,
        1,
        2,
    )
    assert (found["packets"], found["flows"], found["ip_bytes"]) == (3, 1, 1800 + 3 * 28)
    assert found["duration_s"] == pytest.approx(0.08)
    assert found["doubts"] == ["1 line was not understood (the first is line 2); 3 were read"]
    assert found["report"]["files"] == ["out.csv", "out.flows.csv"]
    assert "warning: damaged.tr: 1 line was not understood" in made.err


@pytest.mark.filterwarnings("default::trafficgen.errors.CaptureWarning")
def test_verbose_tells_assumptions_and_quiet_tells_nothing(command: Command) -> None:
    assert (
        "assumed: packets carry at most 1472 bytes"
        in command("convert", "damaged.tr", "-o", "o.pcap", "-v").err
    )
    assert command("convert", "damaged.tr", "-o", "p.pcap", "-q").err == ""


def test_of_a_receivers_view_the_packets_that_arrived_are_counted_as_written(
    command: Command,
) -> None:
    Path("both.csv").write_text("time_s,arrival_s,ip_bytes\n0,0.1,500\n1,,500\n2,2.1,500\n")
    made = command("convert", "both.csv", "-o", "seen.pcap", "--at", "receiver")
    assert (
        made.err == "3 packets of 1 flow in 2 s read as packet-list, 2 that arrived written to"
        " seen.pcap\n"
    )
    found = command(
        "convert", "both.csv", "-o", "seen.pcap", "--at", "receiver", "--json", "--force"
    ).json
    assert (found["packets"], found["lost"], found["written"]) == (3, 1, 2)
    assert command("inspect", "seen.pcap", "--json").json["packets"] == 2
    assert command("convert", "both.csv", "-o", "both.parquet", "--json").json["written"] == 3


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        (
            '[{"duration_ms": 2000, "bandwidth_kbps": 500}]',
            "bandwidth, not of packets",
            "--path trace=given.json",
        ),
        (
            '{"uplink": {"trace_pattern": [{"duration": 60000, "capacity": 300}]}}',
            "bandwidth",
            "--path trace=given.json",
        ),
        ('{"times_s": [0], "rates_kbps": [500]}', "bandwidth", "--path trace=given.json"),
        ('{"rate": "725kbps", "delay": "45ms"}', "is a path, not packets", "--path given.json"),
        (
            '{"schema_version": "1.0", "name": "m"}',
            "is a model, not packets",
            "generate given.json",
        ),
        ('{"colour": "red"}', "is JSON, and holds no packets", "give a capture"),
    ],
)
def test_json_that_holds_no_packets_is_told_what_it_is_and_where_it_belongs(
    command: Command, text: str, problem: str, remedy: str
) -> None:
    Path("given.json").write_text(text)
    for arguments in (
        ["convert", "given.json", "-o", "o.parquet"],
        ["inspect", "given.json"],
        ["fit", "given.json"],
    ):
        refused = command(*arguments)
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
        assert problem in refused.err
        assert remedy in refused.err


def test_a_protocol_that_there_is_not_is_refused(command: Command) -> None:
    refused = command("convert", "list.csv", "-o", "o.parquet", "--protocol", "sctp")
    assert (refused.code, refused.err) == (
        2,
        "trafficgen: --protocol sctp: packets travel over udp or tcp\n",
    )


def test_the_same_trace_gives_the_same_bytes(command: Command) -> None:
    for name in ("a.parquet", "b.parquet", "a.pcap", "b.pcap"):
        assert command("convert", "list.csv", "-o", name).code == 0
    assert Path("a.pcap").read_bytes() == Path("b.pcap").read_bytes()
    assert Path("a.parquet").read_bytes() == Path("b.parquet").read_bytes()


@pytest.mark.filterwarnings("default::trafficgen.errors.CaptureWarning")
def test_other_commands_take_traces_that_are_recognised(command: Command) -> None:
    assert command("inspect", "list.csv", "--json").json["packets"] == 500
    assert command("inspect", "damaged.tr", "--json").json["packets"] == 3
    assert command("compare", "list.csv", "list.csv", "--json").json["metrics"]["gap_s"]["ks"] == 0
    assert (
        command("export", "list.csv", "--to", "pcap", "-o", "out", "--json").json["packets"] == 500
    )
    assert command("fit", "list.csv", "-o", "model.json", "--json").json["packets"] == 500


def test_captures_and_packet_tables_are_converted_too(command: Command, table_file: Path) -> None:
    assert (
        command("convert", str(table_file), "-o", "t.pcap", "--json").json["format"]
        == "packet-table"
    )
    again = command("convert", "t.pcap", "-o", "again.csv", "--json").json
    assert (again["format"], again["packets"]) == ("capture", 1000)
    assert (
        command("convert", "again.csv", "-o", "t2.pcap", "--json").json["format"] == "packet-table"
    )
    assert Path("t2.pcap").read_bytes() == Path("t.pcap").read_bytes()


def test_a_list_with_some_of_our_columns_is_read_as_a_list_of_others(command: Command) -> None:
    columns = {"time_ns": [0, 5_000], "frame_bytes": [114, 214], "flow": [7, 9]}
    pq.write_table(pa.table(columns), "some.parquet")
    found = command("convert", "some.parquet", "-o", "o.csv", "--json").json
    assert (found["format"], found["packets"], found["flows"], found["ip_bytes"]) == (
        "packet-list",
        2,
        2,
        300,
    )


def test_our_own_table_stays_what_it_is_when_columns_are_lost(command: Command) -> None:
    table = trafficgen.read_packets("list.csv")
    write_packets(table, "own.csv")
    text = Path("own.csv").read_text().replace("payload_bytes", "colour")
    Path("own.csv").write_text(text)
    refused = command("inspect", "own.csv")
    assert refused.code == 2
    assert "column 'payload_bytes' is missing" in refused.err


def test_the_function_returns_what_the_command_writes(command: Command) -> None:
    command("convert", "list.csv", "-o", "by_command.parquet")
    done = trafficgen.convert("list.csv", "by_function.parquet")
    assert Path("by_command.parquet").read_bytes() == Path("by_function.parquet").read_bytes()
    assert isinstance(done.table, PacketTable)
    assert json.dumps(done.to_json())
    assert bool(np.all(np.diff(done.table.time_ns) > 0))
    assert trafficgen.convert("list.csv").report is None


def test_standard_input_is_read_as_a_trace_of_a_named_format(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (tmp_path / "list.csv").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert (
            command("convert", "-", "--from", "packet-list", "-o", "o.csv", "--json").json[
                "packets"
            ]
            == 500
        )


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["frames.txt"], ["frames.txt", "without times", "--frame-rate 25"]),
        (["frames.txt", "--frame-rate", "0"], ["--frame-rate", "above 0"]),
        (
            ["frames.txt", "--frame-rate", "25", "--payload-bytes", "-4"],
            ["--payload-bytes", "at least 0"],
        ),
        (
            ["frames.txt", "--frame-rate", "25", "--line-rate", "fast"],
            ["--line-rate", "Invalid rate 'fast'"],
        ),
        (["frames.txt", "--frame-rate", "25", "--line-rate", "0bps"], ["--line-rate 0"]),
        (
            ["frames.txt", "--frame-rate", "25", "--size-unit", "nibbles"],
            ["--size-unit nibbles", "bytes or bits"],
        ),
        (["list.csv", "--sizes", "all"], ["--sizes all", "ip, frame, payload"]),
        (["list.csv", "--frame-rate", "25"], ["--frame-rate means nothing for packet-list"]),
        (["list.csv", "--from", "excel"], ["Unknown trace format 'excel'", *FORMATS]),
        (["list.csv", "--from", "mgen"], ["list.csv: line 1", "MGEN log"]),
        (["nonsense.txt"], ["nonsense.txt", "no known format", "--from"]),
        (["empty.txt"], ["empty.txt"]),
        (["missing.txt"], ["missing.txt", "No such file"]),
        (["."], ["."]),
        (["list.csv", "--at", "nowhere"], ["--at"]),
    ],
)
def test_what_cannot_be_converted_is_one_line_and_leaves_nothing(
    command: Command, arguments: list[str], parts: list[str]
) -> None:
    Path("nonsense.txt").write_text("hello\nworld\n")
    Path("empty.txt").write_text("")
    before = sorted(Path.cwd().iterdir())
    refused = command("convert", *arguments, "-o", "out.parquet")
    assert (refused.code, refused.out) == (2, "")
    line = refused.err.splitlines()[-1]
    assert line.startswith("trafficgen: ")
    assert [part for part in parts if part not in line] == []
    assert sorted(Path.cwd().iterdir()) == before


@pytest.mark.parametrize("out", ["out.xyz", "nowhere/out.csv", "."])
def test_an_output_that_cannot_be_is_refused(command: Command, out: str) -> None:
    refused = command("convert", "list.csv", "-o", out)
    assert refused.code == 2
    assert refused.err.count("\n") == 1


def test_several_inputs_of_which_one_is_a_trace_are_refused(command: Command) -> None:
    refused = command("inspect", "list.csv", "damaged.tr")
    assert refused.code == 2
    assert "one at a time" in refused.err
