"""Read packet tables: Parquet and CSV files, and datasets, ours and others'."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from trafficgen.capture.table_limits import refuse_expansion, refuse_repeated, refuse_span
from trafficgen.errors import CaptureError, CaptureWarning, PacketTableError, warn
from trafficgen.input_files import PACKED_ENDINGS, open_expanded, strip_packed_ending
from trafficgen.json_text import clean_texts
from trafficgen.standard_streams import read_text_file
from trafficgen.tables import (
    FLOW_SCHEMA,
    OPTIONAL_FIELDS,
    PACKET_SCHEMA,
    REQUIRED_FIELDS,
    PacketTable,
)
from trafficgen.tables.counts import head_of_columns, with_counts
from trafficgen.tables.flow import FLOW_COLUMNS_OF_PACKETS
from trafficgen.tables.metadata import (
    FLOWS_FILE,
    METADATA_FILE,
    METADATA_KEY,
    is_dataset,
    part_paths,
    table_from_metadata,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_REQUIRED_NAMES = tuple(field.name for field in REQUIRED_FIELDS)
#: Where pandas keeps the ``attrs`` of a frame in a Parquet file.
_PANDAS_KEY = b"PANDAS_ATTRS"
_LONGEST_HEADER = 1 << 16
#: Notes and control messages of a dataset are much smaller.
_LARGEST_METADATA_BYTES = 1 << 28
_COLUMNS_REMEDY = (
    f"a packet table needs the columns {', '.join(_REQUIRED_NAMES)}; see the reference of the"
    " packet table"
)
_FILE_REMEDY = (
    "give a file that [`trafficgen generate` or `trafficgen export`|generate() or export()] wrote,"
    " or one with the same columns"
)
_ANEW_REMEDY = "write the table anew with the trafficgen that reads it"


def read_table(path: str | Path) -> PacketTable:
    """Return the packet table in a Parquet file, a CSV with its ``NAME.flows.csv``, or a dataset.

    A file without our metadata or flow table is accepted if it has the required columns: its flow
    table is inferred from the column ``flow`` (UDP between documentation addresses) and what
    columns such as ``server`` say. Columns that no packet table has are left out; integers of
    another width are converted if they fit.

    Raises:
        PacketTableError: If it cannot be read, lacks columns, or holds impossible values.

    Warns:
        CaptureWarning: If the packets were not in order of time and had to be sorted, or columns
            of a file without our metadata are not used.
    """
    path, name = Path(path), str(path)
    if path.is_dir():
        head = read_head(path)
        parts = [_read_parquet(part) for part in part_paths(path)] or [PACKET_SCHEMA.empty_table()]
        packets = cast_packets(pa.concat_tables(parts), name)
    else:
        raw = _read_parquet(path) if is_parquet(path) else _read_csv(path, PACKET_SCHEMA)
        packets = cast_packets(raw, name)
        head = read_head(path)
    if head is None:
        bare = replace(head_of_columns(raw, name, *columns_of(path, raw)), packets=packets)
        return check_table(replace(bare, flows=with_counts(bare)), name)
    try:
        table = replace(head, packets=packets)
    except ValueError as error:
        remedy = "number the flows from 0"
        raise PacketTableError(file=name, problem=str(error), remedy=remedy) from error
    return check_table(table, name)


def columns_of(path: Path, packets: pa.Table | None = None) -> tuple[list[str], int]:
    """Return the columns of a file, and its origin if pandas wrote it there, ns since 1970.

    ``packets`` are those of a CSV, if they have been read.
    """
    if not is_parquet(path):
        return ([] if packets is None else packets.column_names), 0
    with open_parquet(path) as file:
        schema = file.schema_arrow
        names = schema.names  # they may be no UTF-8
    with suppress(ValueError, AttributeError, RecursionError):
        origin_ns = json.loads((schema.metadata or {}).get(_PANDAS_KEY, b"{}")).get("origin_ns")
        if isinstance(origin_ns, int):
            return names, origin_ns
    return names, 0


def is_parquet(path: Path) -> bool:
    """Return whether a file is Parquet by its ending."""
    return path.suffix.lower() == ".parquet"


def read_head(path: Path) -> PacketTable | None:
    """Return all of a packet table but its packets; None if a file has packets alone.

    Raises:
        PacketTableError: If it cannot be read, is damaged or no packet table.
    """
    read = _dataset_head if path.is_dir() else _parquet_head if is_parquet(path) else _csv_head
    head = read(path)
    if head is None:
        return None
    with refuse_unreadable(path):  # texts may be no UTF-8, notes too deep
        return replace(
            head,
            flows=_clean_columns(head.flows),
            signalling=_clean_columns(head.signalling),
            notes=clean_texts(dict(head.notes)),
        )


def _clean_columns(rows: pa.Table) -> pa.Table:
    """Return rows whose texts are of one line; columns with no other text stay as they are."""
    for place, field in enumerate(rows.schema):
        if not pa.types.is_string(field.type):
            continue
        column = rows.column(place)
        column.validate(full=True)  # the pattern below does not see what is not UTF-8
        if pc.any(pc.match_substring_regex(column, "[^ -~]")).as_py():
            cleaned = pa.chunked_array([clean_texts(column.to_pylist())], type=field.type)
            rows = rows.set_column(place, field, cleaned)
    return rows


def _parquet_head(path: Path) -> PacketTable | None:
    empty = PACKET_SCHEMA.empty_table()
    with open_parquet(path) as file:
        ours = (file.schema_arrow.metadata or {}).get(METADATA_KEY)
    if ours is None:
        return None
    try:
        return table_from_metadata(empty, json.loads(ours))
    except (ValueError, AttributeError, RecursionError) as error:
        problem = f"its trafficgen metadata: {error}"
        raise PacketTableError(file=str(path), problem=problem, remedy=_ANEW_REMEDY) from error


def _dataset_head(folder: Path) -> PacketTable:
    if not is_dataset(folder):
        raise PacketTableError(
            file=str(folder),
            problem=f"is a folder without {METADATA_FILE}: no packet table",
            remedy=(
                "give a file, or a folder that [`trafficgen generate`|generate_workload()] wrote"
            ),
        )
    with open_parquet(folder / FLOWS_FILE) as file:
        flows = file.read()
    metadata_path = folder / METADATA_FILE
    text = read_text_file(
        metadata_path,
        most_bytes=_LARGEST_METADATA_BYTES,
        remedy=_ANEW_REMEDY.replace("table", "dataset"),
        error=PacketTableError,
    )
    with refuse_unreadable(metadata_path):
        metadata = json.loads(text)
    try:
        return table_from_metadata(PACKET_SCHEMA.empty_table(), metadata, flows=flows)
    except (ValueError, AttributeError) as error:
        remedy = _ANEW_REMEDY.replace("table", "dataset")
        raise PacketTableError(
            file=str(metadata_path), problem=f"{error}", remedy=remedy
        ) from error


def _csv_head(path: Path) -> PacketTable | None:
    file = flows_path(path)
    if not file.exists():
        return None
    flows = _read_csv(file, FLOW_SCHEMA.append(pa.field("origin_ns", pa.int64())))
    origins = (
        flows.column("origin_ns").unique().to_pylist() if "origin_ns" in flows.column_names else []
    )
    if len(origins) > 1 or None in origins:
        raise PacketTableError(
            file=str(file),
            problem="origin_ns is not the same in all rows",
            remedy="give all flows one origin",
        )
    origin_ns = origins[0] if origins else 0
    try:
        flows = flows.select(FLOW_SCHEMA.names).cast(FLOW_SCHEMA)
        return PacketTable(packets=PACKET_SCHEMA.empty_table(), flows=flows, origin_ns=origin_ns)
    except (KeyError, ValueError, pa.ArrowException) as error:
        remedy = f"a flow table needs the columns {', '.join(FLOW_SCHEMA.names)}"
        raise PacketTableError(file=str(file), problem=_first_line(error), remedy=remedy) from error


def flows_path(path: Path) -> Path:
    """Return the file with the flow table of a CSV; it may be compressed as the CSV itself is."""
    plain = strip_packed_ending(path).with_suffix(".flows.csv")
    packed = plain.with_name(plain.name + path.suffix)
    return packed if path.suffix.lower() in PACKED_ENDINGS and packed.exists() else plain


def holds_packet_table(path: str | Path) -> bool:
    """Return whether a Parquet or CSV file is a packet table rather than another tool's list.

    It is one if trafficgen wrote it or if it has all required columns. A file that cannot be read
    counts as one, so that the reader of packet tables reports the problem.
    """
    path = Path(path)
    if not path.is_file():  # a pipe would be empty for its reader
        return True
    try:
        if is_parquet(path):
            with open_parquet(path) as file:
                schema = file.schema_arrow
                names, marked = set(schema.names), METADATA_KEY in (schema.metadata or {})
        else:
            with open_expanded(path) as text:
                header = text.readline(_LONGEST_HEADER).decode("utf-8-sig", errors="replace")
            names = {name.strip().strip('"') for name in header.split(",")}
            marked = flows_path(path).exists()
    except (OSError, CaptureError, PacketTableError):
        return True
    return marked or has_packet_columns(names)


def has_packet_columns(names: Iterable[str]) -> bool:
    """Return whether columns include all that a packet table needs."""
    return set(_REQUIRED_NAMES).issubset(names)


def _read_csv(path: Path, schema: pa.Schema) -> pa.Table:
    with refuse_unreadable(path), _open_regular(path) as stream:
        table = csv.read_csv(stream, convert_options=csv_options(schema))
        return table.rename_columns(table.column_names)  # names that are not UTF-8 fail here


def _read_parquet(path: Path) -> pa.Table:
    with open_parquet(path) as file:
        known = {*PACKET_SCHEMA.names, *FLOW_COLUMNS_OF_PACKETS}
        columns = [column for column in file.schema_arrow.names if column in known]
        return file.read(columns=columns).replace_schema_metadata(None)


@contextmanager
def open_parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file; raise PacketTableError if that fails or needs too much memory."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - captures, which most commands read, need none

    with refuse_unreadable(path), _open_regular(path) as stream, pq.ParquetFile(stream) as file:
        refuse_expansion(file.metadata, path, stream)
        yield file


def _open_regular(path: Path) -> IO[bytes]:
    """Open a file of a table: neither a pipe, which would be waited for, nor a device."""
    if path.exists() and not path.is_file():
        raise ValueError("no regular file")
    return open_expanded(path)


@contextmanager
def refuse_unreadable(path: Path) -> Iterator[None]:
    """Raise PacketTableError with the reason if a file cannot be read in the block."""
    try:
        yield
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        reason = (
            error.strerror if isinstance(error, OSError) and error.strerror else _first_line(error)
        )
        problem = f"cannot be read ({reason})"
        raise PacketTableError(file=str(path), problem=problem, remedy=_FILE_REMEDY) from error


def csv_options(schema: pa.Schema) -> csv.ConvertOptions:
    """Return how the texts of a CSV become the columns of a schema."""
    types = dict.fromkeys(FLOW_COLUMNS_OF_PACKETS, pa.string())
    types |= {f.name: pa.string() if pa.types.is_dictionary(f.type) else f.type for f in schema}
    return csv.ConvertOptions(
        column_types=types,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )


def cast_packets(packets: pa.Table, name: str, *, keep_empty: bool = False) -> pa.Table:
    """Return the known columns in the schema's types; optional ones without any value are left out.

    With ``keep_empty`` columns without any value stay: in a piece of a table others may have some.

    Raises:
        PacketTableError: If a column is missing or there twice, has another type or nulls where
            none are allowed.
    """
    refuse_repeated(packets.column_names, name)
    columns: dict[str, pa.ChunkedArray] = {}
    for field in PACKET_SCHEMA:
        if field.name not in packets.column_names:
            continue
        column = packets.column(field.name)
        if field in OPTIONAL_FIELDS and column.null_count == len(column) and not keep_empty:
            continue
        columns[field.name] = _converted(column, field, name)
    missing = [column for column in _REQUIRED_NAMES if column not in columns]
    if missing:
        raise PacketTableError(
            file=name, problem=f"column {missing[0]!r} is missing", remedy=_COLUMNS_REMEDY
        )
    return pa.table(
        list(columns.values()),
        schema=pa.schema([PACKET_SCHEMA.field(column) for column in columns]),
    )


def _converted(column: pa.ChunkedArray, field: pa.Field, name: str) -> pa.ChunkedArray:
    if not field.nullable and column.null_count:
        problem = f"column {field.name!r} has {column.null_count} nulls where none are allowed"
        raise PacketTableError(file=name, problem=problem, remedy=_COLUMNS_REMEDY)
    if column.type == field.type:
        return column
    fits = _kind(column.type) == _kind(field.type)
    try:
        if fits:
            return column.cast(field.type)
        problem = f"column {field.name!r} is {column.type}, expected {field.type}"
    except pa.ArrowException as error:
        problem = f"column {field.name!r}: {_first_line(error)}"
    raise PacketTableError(file=name, problem=problem, remedy=_COLUMNS_REMEDY)


def _kind(arrow_type: pa.DataType) -> str:
    """Return what a type holds; only types of the same kind are converted."""
    if pa.types.is_integer(arrow_type):
        return "integer"
    if pa.types.is_dictionary(arrow_type):
        return _kind(arrow_type.value_type)
    return (
        "string"
        if pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type)
        else str(arrow_type)
    )


def check_ids(flows: pa.Table, name: str) -> None:
    """Raise PacketTableError if the rows of a flow table are not numbered from 0."""
    ids = np.asarray(flows.column("flow").to_numpy())
    if not np.array_equal(ids, np.arange(len(ids))):
        raise PacketTableError(
            file=name,
            problem="the flow table's ids are not 0, 1, 2, ...",
            remedy="number the rows of the flow table from 0",
        )


def check_table(table: PacketTable, name: str) -> PacketTable:
    """Return the table in order of time, with its times and flow ids checked."""
    check_ids(table.flows, name)
    ids = table.flows.column("flow")
    highest = int(table.flow.max(initial=0))
    if len(table) and highest >= len(ids):
        row = int(np.argmax(table.flow >= len(ids)))
        problem = (
            f"packet {row} is of flow {int(table.flow[row])}, the flow table has {len(ids)} rows"
        )
        raise PacketTableError(
            file=name, problem=problem, remedy="give every flow a row in the flow table"
        )
    if len(table):
        refuse_span(int(table.time_ns.min()), int(table.time_ns.max()), name)
    in_order = table.sort_by_time()
    if in_order is not table:
        warn(f"{name}: packets were not in order of time and have been sorted", CaptureWarning)
    return in_order


def _first_line(error: Exception) -> str:
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return text.splitlines()[0] if text else type(error).__name__
