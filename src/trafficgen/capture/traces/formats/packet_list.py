"""Packet lists: CSV (comma, semicolon, tab) and Parquet with a time and a size for each packet."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from trafficgen.capture.table_files import open_parquet
from trafficgen.capture.traces.list_flows import Texts, has_ends, list_flows, sources_of_roles
from trafficgen.capture.traces.list_values import (
    NEAR_MISSES,
    ListColumns,
    Sizes,
    arrivals,
    list_columns,
    list_sizes,
    list_times,
    plain_name,
    rtp_columns,
    size_columns,
    with_udp_payload,
)
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.tables import Columns
from trafficgen.capture.traces.text import IGNORED, TextFile, mask_of, matches, split_lines
from trafficgen.capture.traces.trace_format import (
    LARGEST_PACKET_BYTES,
    Reading,
    ReadTrace,
    TraceFormat,
)
from trafficgen.errors import PacketTableError
from trafficgen.formatting import format_count
from trafficgen.units import IntArray

_COLUMNS = (
    "a time (time_s, time_ms, time_us, time_ns, frame.time_relative) and a size (ip_bytes,"
    " frame_bytes, payload_bytes, frame.len, Length)"
)
_REMEDY = f"give a header line with {_COLUMNS}, or say the format with [--from|from_format=...]"
_ROW_REMEDY = f"give columns of {_COLUMNS}"
PARQUET_ENDING = ".parquet"
_DELIMITERS = ",;\t|"
#: Columns that a list may have: each name costs as much as many rows.
_MOST_COLUMNS = 10_000
_IGNORED_LINE = re.compile(IGNORED)
_NO_ROWS = "has no rows under its header"


def looks_like_list(lines: Sequence[str]) -> bool:
    """Return whether the first line names a time and a size."""
    return bool(lines) and list_columns(_header(lines[0])[1]) is not None


def _header(line: str) -> tuple[str, list[str]]:
    delimiter = max(_DELIMITERS, key=line.count)
    return delimiter, [
        name.strip().strip('"').strip() for name in line.split(delimiter, _MOST_COLUMNS)
    ]


def read_list(reading: Reading) -> Columns:
    """Return the packets of a CSV list with a header line.

    Raises:
        PacketTableError: If it has no time or no size, or no row is readable.
    """
    text, number, begins = reading.file.text, 1, 0
    while (line := _line_at(text, begins)) is not None and (not line.strip() or line[0] == "#"):
        number, begins = number + 1, begins + len(line) + 1
    if line is None:
        raise reading.refuse_content()
    delimiter, names = _header(line)
    if len(names) > _MOST_COLUMNS:
        raise reading.error(f"has more than {_MOST_COLUMNS:,} columns", _ROW_REMEDY)
    wanted = list_columns(names)
    if wanted is None:
        raise _not_a_list(reading, names, place=f"line {number}: ")
    rows = text[begins + len(line) + 1 :]
    table, numbers = _rows(reading, rows, names, delimiter, first=number + 1)
    return _read_rows(reading, table, wanted, numbers)


def _line_at(text: str, begins: int) -> str | None:
    """Return the line that begins at a place of a text; None behind the last one."""
    if begins > len(text):
        return None
    ends = text.find("\n", begins)
    return text[begins:] if ends < 0 else text[begins:ends]


def _rows(
    reading: Reading, text: str, names: list[str], delimiter: str, *, first: int
) -> tuple[pa.Table, IntArray]:
    """Return the rows with the right number of fields and their line numbers; others are unread."""
    lines = split_lines(text)
    bad = reading.unread = np.zeros(first + len(lines), dtype=np.bool_)
    left_out: list[int] = []

    def leave_out(row: csv.InvalidRow) -> str:
        left_out.append(row.number - 1)
        bad[first - 1 + row.number - 1] |= not _IGNORED_LINE.match(row.text)
        return "skip"

    # A quote that is never closed would swallow all lines behind it: such lines are left out alone.
    odd = mask_of(pc.equal(pc.bit_wise_and(pc.count_substring(lines, '"'), 1), 1))
    if odd.any():
        bad[first - 1 : first - 1 + len(lines)] = odd
        lines = pc.if_else(pa.array(odd), "", lines)
        text = "\n".join(lines.to_pylist())
    # Numbered columns: a name that stands twice is not a reason to refuse a list.
    labels = [str(number) for number in range(len(names))]
    content = text.encode(errors="replace")
    if not content.strip():
        raise reading.error(_NO_ROWS, _REMEDY)
    try:
        table = csv.read_csv(
            io.BytesIO(content),
            read_options=csv.ReadOptions(
                column_names=labels, use_threads=False, block_size=max(1 << 20, len(content) + 1)
            ),
            parse_options=csv.ParseOptions(
                delimiter=delimiter, ignore_empty_lines=False, invalid_row_handler=leave_out
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(labels, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowException as error:
        problem = f"cannot be read as a list ({str(error).splitlines()[0]})"
        raise reading.error(problem, _REMEDY) from error
    numbers = np.delete(np.arange(table.num_rows + len(left_out)), left_out)
    filled = ~matches(lines, IGNORED)[numbers]
    if not filled.all():
        table, numbers = table.filter(pa.array(filled)), numbers[filled]
    columns = {name: table.column(label) for label, name in zip(labels, names, strict=True)}
    return pa.table(columns), numbers + first


def read_parquet_list(reading: Reading) -> Columns:
    """Return the packets of a Parquet list, one packet a row.

    Raises:
        PacketTableError: If it cannot be read, has no time or no size, or no row is readable.
    """
    with open_parquet(Path(reading.file.name)) as parquet:
        names = parquet.schema_arrow.names
        wanted = list_columns(names)
        if wanted is None:
            raise _not_a_list(reading, names)
        table = parquet.read(columns=[column for column in names if column not in wanted.unused])
        texts, wanted = _as_texts(table), _with_unit_of_type(table, wanted)
    reading.unread = np.zeros(table.num_rows + 1, dtype=np.bool_)
    return _read_rows(reading, texts, wanted, np.arange(1, table.num_rows + 1))


def read_columns(table: pa.Table, name: str) -> ReadTrace:
    """Return the packets of a list in memory; columns that are not used are a doubt.

    Raises:
        PacketTableError: If it has no time or no size, or no row is readable.
    """
    reading = Reading(TextFile(name, ""), FORMAT, TraceOptions(), noun="row")
    names = [column for column in table.column_names if not column.startswith("__index_level_")]
    wanted = list_columns(names)
    if wanted is None:
        raise _not_a_list(reading, names)
    if wanted.unused:
        reading.doubts.append(f"columns that are not used: {', '.join(wanted.unused)}")
    texts = _as_texts(table.select([one for one in names if one not in wanted.unused]))
    reading.unread = np.zeros(table.num_rows + 1, dtype=np.bool_)
    used = replace(_with_unit_of_type(table, wanted), unused=())
    return reading.finish(_read_rows(reading, texts, used, np.arange(1, table.num_rows + 1)))


def _not_a_list(reading: Reading, names: Sequence[str], *, place: str = "") -> PacketTableError:
    """Return the error of a list without a time or a size, with what the list has instead."""
    there = set(map(plain_name, names))
    hint = next((text for known, text in NEAR_MISSES.items() if known in there), None)
    problem = f"{place}no columns of a time and a size among {', '.join(names[:60])[:60]}"
    return reading.error(problem, hint or (_ROW_REMEDY if reading.noun == "row" else _REMEDY))


def is_parquet_list(name: str) -> bool:
    """Return whether a Parquet file has columns of a time and a size."""
    with suppress(PacketTableError), open_parquet(Path(name)) as parquet:
        return list_columns(parquet.schema_arrow.names) is not None
    return False


def _as_texts(table: pa.Table) -> pa.Table:
    return pa.table({name: _as_text(table.column(name)) for name in table.column_names})


def _with_unit_of_type(table: pa.Table, wanted: ListColumns) -> ListColumns:
    """Return columns whose time, if it is a type of times, is in ns, whatever its name says."""
    kind = table.schema.field(wanted.time).type
    is_time = pa.types.is_timestamp(kind) or pa.types.is_duration(kind)
    return replace(wanted, time_digits=0) if is_time else wanted


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as texts, times as ns since 1970; nulls are empty."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ns", column.type.tz)).cast(pa.int64())
    elif pa.types.is_duration(column.type):
        column = column.cast(pa.duration("ns")).cast(pa.int64())
    elif pa.types.is_boolean(column.type):
        column = pc.if_else(column, "true", "false")
    return pc.fill_null(column.cast(pa.string()), "")


def _read_rows(
    reading: Reading, table: pa.Table, wanted: ListColumns, numbers: IntArray
) -> Columns:
    """Return the packets of rows; ``numbers``, shape (n,), are those of their lines, from 1."""
    if not table.num_rows:
        raise reading.error(_NO_ROWS, _REMEDY)
    texts = {name: _trim(table.column(name)) for name in table.column_names}
    texts = with_udp_payload(texts, wanted)
    time_ns, usable = list_times(reading, texts, wanted)
    named = size_columns(reading, wanted)
    sizes, sized = list_sizes(texts, named)
    usable &= sized
    if not usable.any():
        shown = ", ".join(texts[name][0].as_py()[:20] for name in (wanted.time, *named.values()))
        problem = (
            f"{reading.noun} {numbers[0]}: {shown!r} is not a time and size, and none of the rows"
            " after it has them"
        )
        remedy = (
            "times are numbers or dates, sizes whole numbers from 0 to"
            f" {LARGEST_PACKET_BYTES:,} bytes"
        )
        raise reading.error(problem, remedy if reading.noun == "row" else _REMEDY)
    reading.unread[numbers[~usable] - 1] = True
    reading.records = int(usable.sum())
    texts = _one_address({role: texts[name] for role, name in wanted.others.items()})
    texts = sources_of_roles(reading, texts)
    with_ends = has_ends(texts, len(usable)) & usable
    if away := int((usable & ~with_ends).sum()):
        if not with_ends.any():
            problem = "no row has two IP addresses and ports from 0 to 65535"
            raise reading.error(problem, "leave the columns of addresses out")
        first = numbers[np.argmax(usable & ~with_ends)]
        reading.doubts.append(
            f"{format_count(away, 'row')} without IP addresses left out (the first is"
            f" {reading.noun} {first})"
        )
    rows = pa.array(with_ends)
    texts = {role: values.filter(rows) for role, values in texts.items()}
    arrival = wanted.others.get("arrival")
    columns = _columns(reading, time_ns[with_ends], sizes.select(with_ends), texts, arrival)
    if steps := int((np.diff(columns.time_ns) < 0).sum()):
        reading.doubts.append(
            f"the time goes back {format_count(steps, 'time')}; packets were sorted"
        )
    if wanted.unused:
        reading.assumptions.append(f"columns that are not used: {', '.join(wanted.unused)}")
    return columns


def _trim(column: pa.ChunkedArray) -> pa.Array:
    """Return a column of texts in one piece, without spaces around them."""
    texts = pc.utf8_trim_whitespace(column).combine_chunks()
    return pa.concat_arrays(texts.chunks) if isinstance(texts, pa.ChunkedArray) else texts


def _one_address(others: Texts) -> Texts:
    """Merge the columns of IPv4 and IPv6 addresses, which tshark keeps apart."""
    result = dict(others)
    for role in ("source", "destination"):
        v6 = result.pop(f"{role}_v6", None)
        if v6 is not None:
            v4 = result.get(role, pa.array([""] * len(v6)))
            result[role] = pc.if_else(pc.equal(v4, ""), v6, v4)
        if role in result:
            # tshark writes the addresses of a quoted packet, as ICMP has them, behind the first.
            result[role] = pc.replace_substring_regex(result[role], ",.*$", "")
    return result


def _columns(
    reading: Reading, time_ns: IntArray, sizes: Sizes, texts: Texts, arrival: str | None
) -> Columns:
    """Return the packets; ``arrival`` is the name of the column of arrivals."""
    flows = list_flows(reading, texts, sizes.any_bytes())
    header = np.array([ends.header_bytes for ends in flows.ends], dtype=np.int64)[flows.flow]
    ip_bytes, payload_bytes, frame_bytes = sizes.lengths(reading, header)
    if small := int((ip_bytes < header).sum()):
        reading.doubts.append(
            f"packets shorter than their IP and transport headers: {small:,}; their payload is 0"
        )
    arrival_ns, arrived = arrivals(reading, texts, arrival)
    return Columns(
        time_ns=time_ns,
        ip_bytes=ip_bytes,
        payload_bytes=payload_bytes,
        flow=flows.flow,
        ends=flows.ends,
        frame_bytes=frame_bytes,
        to_client=flows.to_client,
        arrival_ns=arrival_ns,
        arrived=arrived,
        optional=rtp_columns(texts),
    )


FORMAT = TraceFormat(
    name="packet-list",
    description=(
        "CSV with a header line, a packet a row: a time and a size, maybe direction, flow,"
        " protocol, addresses, ports; also what Wireshark and tshark export. Parquet with such"
        " columns as well."
    ),
    looks_like=looks_like_list,
    read=read_list,
    place=1,
    line="row of a packet list",
    remedy=_REMEDY,
    takes=("sizes", "protocol"),
)
