"""Packet tables as a folder of Parquet files, see :mod:`trafficgen.tables.metadata`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from trafficgen.outputs import whole_folder
from trafficgen.packet_files.parquet import PARQUET_OPTIONS, all_columns
from trafficgen.packet_files.report import ProjectionReport, bytes_of, report_unchanged
from trafficgen.progress import report_step
from trafficgen.tables import PACKET_SCHEMA, PacketTable
from trafficgen.tables.metadata import (
    FLOWS_FILE,
    METADATA_FILE,
    PART_ROWS,
    is_dataset,
    part_name,
    table_metadata,
)
from trafficgen.tables.stream import PIECE_ROWS, PacketStream, stream_of


def write_dataset(table: PacketTable, path: str | Path) -> ProjectionReport:
    """Write a packet table as a folder of Parquet files (zstd), from which it reads back equal.

    Args:
        table: The packets.
        path: Folder to write; it appears whole or not at all. An earlier dataset there is replaced.

    Raises:
        OutputFileError: If the folder cannot be written, or holds something else.
    """
    folder = Path(path)
    write_dataset_stream(stream_of(table), folder)
    return report_unchanged("dataset", (folder.name,), len(table), bytes_of(table))


def write_dataset_stream(stream: PacketStream, folder: Path, *, part_rows: int = PART_ROWS) -> int:
    """Write packets as they come; the folder is that of :func:`write_dataset`. Return their number.

    Args:
        stream: The packets.
        folder: Folder to write.
        part_rows: Packets of a part, a multiple of the rows that writers take at once.

    Raises:
        OutputFileError: If the folder cannot be written, or holds something else.
    """
    metadata = table_metadata(stream.head, arrivals_known="arrival_ns" in stream.columns)
    del metadata["flows"]
    done = 0
    with whole_folder(folder, is_earlier=is_dataset) as staging:
        pq.write_table(stream.head.flows, staging / FLOWS_FILE, compression="zstd")
        pieces = (all_columns(piece) for piece in stream.iterate_pieces(min(PIECE_ROWS, part_rows)))
        for place, part in enumerate(_parts(pieces, part_rows)):
            with _part_writer(staging / part_name(place)) as writer:
                for piece in part:
                    writer.write_table(piece, row_group_size=PIECE_ROWS)
                    done += piece.num_rows
                    report_step("writing", done, stream.rows, unit="packets")
        if not done:
            with _part_writer(staging / part_name(0)) as writer:
                writer.write_table(PACKET_SCHEMA.empty_table())
        (staging / METADATA_FILE).write_text(json.dumps(metadata) + "\n", encoding="utf-8")
    return done


def _parts(pieces: Iterator[pa.Table], part_rows: int) -> Iterator[Iterator[pa.Table]]:
    """Yield the pieces of one part after the other; each part must be read before the next."""
    waiting = next(pieces, None)

    def part() -> Iterator[pa.Table]:
        nonlocal waiting
        rows = 0
        while waiting is not None and rows < part_rows:
            rows += waiting.num_rows
            yield waiting
            waiting = next(pieces, None)

    while waiting is not None:
        yield part()


@contextmanager
def _part_writer(path: Path) -> Iterator[pq.ParquetWriter]:
    with (
        path.open("wb") as file,
        pq.ParquetWriter(file, PACKET_SCHEMA, **PARQUET_OPTIONS) as writer,
    ):
        yield writer
