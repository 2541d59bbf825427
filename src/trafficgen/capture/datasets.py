"""Packet tables from folders of Parquet files, see :mod:`trafficgen.tables.dataset`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from trafficgen.capture.table_files import cast_packets, check_table, reading_refused
from trafficgen.capture.table_limits import refuse_expansion
from trafficgen.errors import PacketTableError
from trafficgen.tables import PACKET_SCHEMA, PacketTable
from trafficgen.tables.dataset import FLOWS_FILE, METADATA_FILE, is_dataset, part_paths
from trafficgen.tables.metadata import table_from_metadata

_REMEDY = "give a file, or a folder that `trafficgen generate` wrote"


def read_dataset(folder: str | Path) -> PacketTable:
    """Return the packet table in a folder of Parquet files, in memory.

    Raises:
        PacketTableError: If the folder is no such dataset, or a file of it cannot be read or does
            not fit.

    Warns:
        CaptureWarning: If the packets were not in order of time and had to be sorted.
    """
    folder = Path(folder)
    head = dataset_head(folder)
    packets = pa.concat_tables(
        [_part(path) for path in part_paths(folder)] or [PACKET_SCHEMA.empty_table()]
    )
    return check_table(replace(head, packets=cast_packets(packets, str(folder))), str(folder))


def dataset_head(folder: Path) -> PacketTable:
    """Return all of a dataset but its packets.

    Raises:
        PacketTableError: If the folder is no dataset, or a file of it cannot be read or does not
            fit.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - captures, which most commands read, need none

    if not is_dataset(folder):
        raise PacketTableError(
            file=str(folder),
            problem=f"is a folder without {METADATA_FILE}: no packet table",
            remedy=_REMEDY,
        )
    flows_path, metadata_path = folder / FLOWS_FILE, folder / METADATA_FILE
    with (
        reading_refused(flows_path),
        flows_path.open("rb") as stream,
        pq.ParquetFile(stream) as file,
    ):
        refuse_expansion(file.metadata, flows_path)
        flows = file.read()
    with reading_refused(metadata_path):
        metadata = json.loads(metadata_path.read_text(encoding="utf-8"))
    try:
        return table_from_metadata(PACKET_SCHEMA.empty_table(), metadata, flows=flows)
    except (ValueError, AttributeError) as error:
        remedy = "write the dataset anew with the trafficgen that reads it"
        raise PacketTableError(
            file=str(metadata_path), problem=f"{error}", remedy=remedy
        ) from error


def _part(path: Path) -> pa.Table:
    import pyarrow.parquet as pq  # noqa: PLC0415 - captures, which most commands read, need none

    with reading_refused(path), path.open("rb") as stream, pq.ParquetFile(stream) as file:
        refuse_expansion(file.metadata, path)
        columns = [column for column in file.schema_arrow.names if column in PACKET_SCHEMA.names]
        return file.read(columns=columns).replace_schema_metadata(None)
