from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from trafficgen.packet_files.writing import select_view, write_packets
from trafficgen.tables import SIGNALLING_SCHEMA, PacketTable


def _rows(path: Path) -> list[list[str]]:
    return [line.replace('"', "").split(",") for line in path.read_text().splitlines()]


def test_columns_without_values_are_left_out_and_nulls_are_empty_fields(
    table: PacketTable, tmp_path: Path
) -> None:
    write_packets(table, tmp_path / "out.csv")
    head, first, second, *_ = _rows(tmp_path / "out.csv")
    assert head == table.packets.column_names
    assert first == ["0", "0", "true", "214", "200", "172", "10", "90", "true", "", "40000"]
    assert second[6:10] == ["", "", "", "2"]


def test_the_flow_file_repeats_the_origin_in_every_row(table: PacketTable, tmp_path: Path) -> None:
    write_packets(table, tmp_path / "out.csv")
    head, *rows = _rows(tmp_path / "out.flows.csv")
    assert head[-1] == "origin_ns"
    assert [row[-1] for row in rows] == [str(table.origin_ns)] * 2


def test_the_receivers_view_has_arrival_times_and_counts_of_what_arrived(
    table: PacketTable, tmp_path: Path
) -> None:
    write_packets(select_view(table, "receiver"), tmp_path / "out.csv")
    _, *packets = _rows(tmp_path / "out.csv")
    # What the client sends is at its times of sending.
    assert [row[0] for row in packets] == ["1000", "3000", "39000", "40000", "42000"]
    head, video, _ = _rows(tmp_path / "out.flows.csv")
    assert video[head.index("packets_to_client")] == "1"
    assert video[head.index("last_time_ns")] == "40000"


def test_the_report_names_what_csv_has_no_place_for(table: PacketTable, tmp_path: Path) -> None:
    assert write_packets(table, tmp_path / "out.csv").cannot_express == ()
    row = {"time_ns": 0, "flow": 0, "to_client": True, "method": "PLAY"}
    row |= {field.name: [] for field in SIGNALLING_SCHEMA if pa.types.is_list(field.type)}
    signalling = pa.Table.from_pylist([row], schema=SIGNALLING_SCHEMA)
    fuller = replace(table, signalling=signalling, notes={"seed": 1})
    assert write_packets(fuller, tmp_path / "out.csv").cannot_express == (
        "signalling messages (1)",
        "notes on how the table was made: seed",
    )
