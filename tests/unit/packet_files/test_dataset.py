"""A packet table as a folder of Parquet files: read back equal, by us and by Arrow, and whole or
not there.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.dataset as ds
import pytest

import trafficgen
from trafficgen.errors import OutputFileError, PacketTableError
from trafficgen.packet_files.table_files import write_dataset_stream
from trafficgen.packet_files.writing import write_packets
from trafficgen.tables import PacketTable
from trafficgen.tables.metadata import FLOWS_FILE, METADATA_FILE, part_name
from trafficgen.tables.stream import stream_of


@pytest.fixture(scope="module")
def table() -> PacketTable:
    return trafficgen.generate("cbr", duration_s=10, settings={"rate_kbps": 500}, seed=1)


def test_a_dataset_reads_back_equal(table: PacketTable, tmp_path: Path) -> None:
    write_packets(table, tmp_path / "packets")
    found = trafficgen.read_packets(tmp_path / "packets")
    assert found.packets.equals(table.packets.select(found.packets.column_names))
    assert found.flows.equals(table.flows)
    assert (found.origin_ns, found.notes) == (table.origin_ns, table.notes)


def test_parts_are_stretches_of_time_that_others_read_as_one(
    table: PacketTable, tmp_path: Path
) -> None:
    write_dataset_stream(stream_of(table), tmp_path / "packets", part_rows=100)
    parts = sorted(path.name for path in (tmp_path / "packets").glob("part-*"))
    assert parts == [part_name(place) for place in range(7)]
    assert (
        ds.dataset(tmp_path / "packets", format="parquet")
        .to_table(columns=["time_ns"])
        .column(0)
        .to_pylist()
        == table.time_ns.tolist()
    )


def test_the_same_table_gives_the_same_bytes(table: PacketTable, tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_packets(table, tmp_path / name)
    one, other = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("one", "other")
    )
    assert one == other
    assert set(one) == {FLOWS_FILE, METADATA_FILE, part_name(0)}


def test_a_table_without_packets_is_a_dataset_too(table: PacketTable, tmp_path: Path) -> None:
    write_packets(table.select(table.time_ns < 0), tmp_path / "packets")
    assert len(trafficgen.read_packets(tmp_path / "packets")) == 0


def test_an_earlier_dataset_is_replaced_whole(table: PacketTable, tmp_path: Path) -> None:
    write_dataset_stream(stream_of(table), tmp_path / "packets", part_rows=100)
    write_packets(table, tmp_path / "packets")
    assert len(list((tmp_path / "packets").glob("part-*"))) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["packets"]


def test_a_folder_of_something_else_is_left_alone(table: PacketTable, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputFileError, match="other files in it"):
        write_packets(table, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_what_fails_leaves_neither_a_folder_nor_half_of_one(
    table: PacketTable, tmp_path: Path
) -> None:
    def failing() -> None:
        stream = stream_of(table)
        pieces = iter([table.packets, "no table"])
        write_dataset_stream(
            type(stream)(stream.head, pieces, stream.columns), tmp_path / "packets"
        )

    with pytest.raises(AttributeError):
        failing()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_dataset_is_named(tmp_path: Path) -> None:
    with pytest.raises(PacketTableError, match="no packet table"):
        trafficgen.read_packets(tmp_path)


@pytest.mark.parametrize("damaged", [METADATA_FILE, FLOWS_FILE, part_name(0)])
def test_a_damaged_file_of_a_dataset_is_named(
    table: PacketTable, tmp_path: Path, damaged: str
) -> None:
    write_packets(table, tmp_path / "packets")
    (tmp_path / "packets" / damaged).write_bytes(b"{")
    with pytest.raises(PacketTableError, match=damaged):
        trafficgen.read_packets(tmp_path / "packets")


def test_a_dataset_of_another_version_is_refused(table: PacketTable, tmp_path: Path) -> None:
    write_packets(table, tmp_path / "packets")
    path = tmp_path / "packets" / METADATA_FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": "7.0"}))
    with pytest.raises(PacketTableError, match="schema version 7"):
        trafficgen.read_packets(tmp_path / "packets")
