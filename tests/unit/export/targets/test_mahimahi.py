"""The path for mahimahi: where it comes from, how the shells are nested, and that it carries what
it should.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import trafficgen
from trafficgen.errors import ExportError, InputFileError, SimulationError
from trafficgen.export.settings import SettingValue
from trafficgen.tables import PacketTable


def _command(folder: Path, *arguments: str) -> list[str]:
    """What the script runs, recorded by a stand-in for each shell of mahimahi."""
    tools = folder / "tools"
    tools.mkdir()
    for name in ("mm-link", "mm-loss", "mm-delay"):
        (tools / name).write_text(f'#!/bin/sh\nprintf "%s\\n" {name} "$@"\n')
        (tools / name).chmod(0o755)
    environment = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [folder / "run.sh", *arguments],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return [word.replace(f"{folder}/", "") for word in done.stdout.splitlines()]


def test_shells_are_nested_from_the_server_inwards(table: PacketTable, tmp_path: Path) -> None:
    path = "rate=725kbps,delay=45ms,queue=80p,loss=0.03,reverse_loss=0.01,reverse_queue=10kB"
    report = trafficgen.export(table, to="mahimahi", directory=tmp_path, settings={"path": path})
    assert report.files == ("run.sh", "forward.trace", "reverse.trace")
    assert _command(tmp_path, "player", "a b") == [
        *("mm-loss", "downlink", "0.03"),
        *("mm-link", "--uplink-queue=droptail", "--uplink-queue-args=bytes=10000"),
        *(
            "--downlink-queue=droptail",
            "--downlink-queue-args=packets=80",
            "reverse.trace",
            "forward.trace",
            "--",
        ),
        *("mm-loss", "uplink", "0.01"),
        *("mm-delay", "45"),
        *("player", "a b"),
    ]


def test_the_downlink_has_the_rate_towards_the_client(table: PacketTable, tmp_path: Path) -> None:
    settings = {"path": "rate=12Mbps,reverse_rate=6Mbps"}
    trafficgen.export(table, to="mahimahi", directory=tmp_path, settings=settings)
    assert (tmp_path / "forward.trace").read_text() == "1\n"
    assert (tmp_path / "reverse.trace").read_text() == "2\n"


def test_rates_are_met_at_the_packet_size_that_is_set(table: PacketTable, tmp_path: Path) -> None:
    # Packets of 96 bytes take 100 of the trace: 15.04 pass in an opportunity.
    settings: dict[str, SettingValue] = {
        "path": f"rate={96 * 15.04 * 8 * 1000}bps",
        "packet_bytes": 96,
    }
    trafficgen.export(table, to="mahimahi", directory=tmp_path, settings=settings)
    assert (tmp_path / "forward.trace").read_text() == "1\n"


def test_a_path_without_limit_needs_no_link(table: PacketTable, tmp_path: Path) -> None:
    report = trafficgen.export(
        table, to="mahimahi", directory=tmp_path, settings={"path": "delay=20ms"}
    )
    assert report.files == ("run.sh",)
    assert _command(tmp_path, "player") == ["mm-delay", "20", "player"]


def test_a_path_of_nothing_runs_the_program_itself(table: PacketTable, tmp_path: Path) -> None:
    trafficgen.export(table, to="mahimahi", directory=tmp_path, settings={"path": "delay=0"})
    assert _command(tmp_path, "echo", "a", "b c") == ["a b c"]


def test_chains_and_access_links_are_a_shell_each(table: PacketTable, tmp_path: Path) -> None:
    settings = {"path": "rate=12Mbps,delay=10ms,access=120Mbps"}
    report = trafficgen.export(table, to="mahimahi", directory=tmp_path, settings=settings)
    words = _command(tmp_path, "player")
    assert [word for word in words if word.startswith("forward")] == [
        f"forward{n}.trace" for n in (1, 2, 3)
    ]
    assert words.index("mm-delay") > words.index("forward2.trace")
    assert words.index("mm-delay") < words.index("forward3.trace")
    assert any("access rate" in text for text in report.cannot_express)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("rate=1Mbps,loss=0.1,loss_start=15s", "start and end of the loss"),
        ("rate=1Mbps,loss=0.1,loss_burst=3", "bursts of loss"),
        ("rate=1Mbps,burst=10kB", "token bucket"),
        ("rate=1Mbps,reorder=0.1", "reordering"),
        ("rate=1Mbps,hold=in_flight", "propagation that fill the queue"),
        ("delay=10.5ms", "a delay of 10.5 ms"),
        ("delay=10ms,reverse_delay=20ms", "differ by direction (10 and 20 ms)"),
        ("delay=10ms,reverse_rate=1Mbps", "a direction without limit"),
    ],
)
def test_what_the_shells_cannot_do_is_said(
    table: PacketTable, tmp_path: Path, path: str, said: str
) -> None:
    report = trafficgen.export(table, to="mahimahi", directory=tmp_path, settings={"path": path})
    assert any(said in text for text in report.cannot_express), report.cannot_express


def test_a_simulated_table_brings_its_own_path(table: PacketTable, tmp_path: Path) -> None:
    noted = replace(table, notes={"path": {"links": [{"rate_bps": 12e6, "delay_s": 0.03}]}})
    report = trafficgen.export(noted, to="mahimahi", directory=tmp_path)
    assert (tmp_path / "forward.trace").read_text() == "1\n"
    assert "mm-delay 30" in (tmp_path / "run.sh").read_text()
    assert not any(text.startswith("a path") for text in report.cannot_express)
    assert report.packets is None
    assert report.kind == "schedule"


def test_notes_that_hold_no_path_are_refused(table: PacketTable, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"notes have an invalid path.*'path':"):
        trafficgen.export(
            replace(table, notes={"path": 3}), to="mahimahi", directory=tmp_path / "out"
        )
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_not_understood_is_refused(table: PacketTable, tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="unknown key 'speed'"):
        trafficgen.export(
            table, to="mahimahi", directory=tmp_path / "out", settings={"path": "speed=3"}
        )
    with pytest.raises(InputFileError, match=r"gone\.trace"):
        trafficgen.export(
            table, to="mahimahi", directory=tmp_path / "out", settings={"path": "trace=gone.trace"}
        )
    assert list(tmp_path.iterdir()) == []


def test_without_a_path_the_trace_is_what_arrived_and_says_so(
    table: PacketTable, tmp_path: Path
) -> None:
    # 540 and 200 and 40 bytes and 4 for each arrive within 3 us: too little.
    with pytest.raises(ExportError, match="too little arrived"):
        trafficgen.export(table, to="mahimahi", directory=tmp_path / "small")
    slower = replace(table, packets=table.packets.select(table.packets.column_names[:-1]))
    times = slower.packets.column("time_ns").to_numpy() * 1_000_000
    place = slower.packets.schema.get_field_index("time_ns")
    slower = replace(
        slower,
        packets=slower.packets.set_column(place, slower.packets.schema.field(place), [times]),
    )
    report = trafficgen.export(slower, to="mahimahi", directory=tmp_path / "out")
    # To the client at 0, 2, 4, 5 s: 204, 44, 1504, 544 bytes with the tunnel's; 1504 are full at 4
    # s, the rest is at 5.
    assert (tmp_path / "out" / "forward.trace").read_text() == "4000\n5000\n"
    assert report.cannot_express[0].startswith("a path: the table names none")
    assert "not a path that was measured" in (tmp_path / "out" / "README.md").read_text()


def test_a_delivery_trace_passes_through_unchanged(table: PacketTable, tmp_path: Path) -> None:
    recorded = "3\n3\n7\n20\n"
    (tmp_path / "cellular.trace").write_text(recorded)
    settings = {"path": f"trace={tmp_path / 'cellular.trace'}"}
    report = trafficgen.export(table, to="mahimahi", directory=tmp_path / "out", settings=settings)
    assert (tmp_path / "out" / "forward.trace").read_text() == recorded
    assert report.timing_error_s is not None
    assert report.timing_error_s.max == 0


def test_a_capacity_that_changes_repeats_and_says_so(table: PacketTable, tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("time_s,rate_Mbps\n0,12\n0.01,6\n")
    path = f"trace={tmp_path / 'rates.csv'}"
    repeated: dict[str, SettingValue] = {"path": f"{path},trace_period=20ms"}
    held: dict[str, SettingValue] = {"path": path, "length_s": 0.03}
    for settings, lines in ((repeated, 15), (held, 20)):
        report = trafficgen.export(
            table, to="mahimahi", directory=tmp_path / "out", settings=settings
        )
        found = [int(line) for line in (tmp_path / "out" / "forward.trace").read_text().split()]
        assert found[:10] == list(range(1, 11))
        assert len(found) == lines
    assert any("last rate without end" in text for text in report.cannot_express)


@pytest.mark.parametrize(
    "path", ["rate=725kbps,delay=45ms,queue=80p", "rate=350kbps,delay=20ms,queue=30p"]
)
def test_simulations_over_the_path_and_over_its_traces_agree(
    table: PacketTable, tmp_path: Path, path: str
) -> None:
    settings: dict[str, SettingValue] = {"path": path, "packet_bytes": 1000}
    trafficgen.export(table, to="mahimahi", directory=tmp_path, settings=settings)
    rest = path.partition(",")[2]
    traced = f"trace={tmp_path / 'forward.trace'},reverse_trace={tmp_path / 'reverse.trace'},{rest}"
    figures = []
    for one in (path, traced):
        # More than the path carries, so that what arrives is the path's doing.
        found = trafficgen.simulate(
            "cbr", path=one, settings={"rate_kbps": 900, "packet_bytes": 1000}, seed=1
        )
        told: Any = found.to_json()
        flow = told["flows"][0]
        figures.append((flow["mean_kbps"], flow["loss"], flow["delay_s"]["mean"]))
    assert figures[1] == pytest.approx(figures[0], rel=0.01)
