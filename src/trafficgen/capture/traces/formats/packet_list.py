"""Packet lists: CSV (comma, semicolon, tab) and Parquet with a time and a size for each packet."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from trafficgen.capture.table_limits import refuse_expansion
from trafficgen.capture.traces.lines import Unread, read_result
from trafficgen.capture.traces.list_columns import (
    NEAR_MISSES,
    ListColumns,
    list_columns,
    plain_name,
)
from trafficgen.capture.traces.list_flows import Texts, has_ends, list_flows
from trafficgen.capture.traces.list_values import (
    Sizes,
    arrivals,
    list_sizes,
    list_times,
    rtp_columns,
    size_columns,
    with_udp_payload,
)
from trafficgen.capture.traces.options import TraceOptions, TransportName
from trafficgen.capture.traces.tables import Columns
from trafficgen.capture.traces.text import IGNORED, TextFile, matches
from trafficgen.capture.traces.trace_format import (
    Notes,
    ReadTrace,
    TraceFormat,
    count_text,
    nothing_readable,
)
from trafficgen.errors import PacketTableError
from trafficgen.units import IntArray

_WHAT = "row of a packet list"
_REMEDY = (
    "give a header line with a time (time_s, time_ms, time_us, time_ns, frame.time_relative) and a"
    " size (ip_bytes, frame_bytes, payload_bytes, frame.len, Length), or say the format with --from"
)
PARQUET_ENDING = ".parquet"
_DELIMITERS = ",;\t|"
_IGNORED_LINE = re.compile(IGNORED)


def looks_like_list(lines: Sequence[str]) -> bool:
    """Return whether the first line names a time and a size."""
    return bool(lines) and list_columns(_header(lines[0])[1]) is not None


def _header(line: str) -> tuple[str, list[str]]:
    delimiter = max(_DELIMITERS, key=line.count)
    return delimiter, [name.strip().strip('"').strip() for name in line.split(delimiter)]


def read_list(file: TextFile, options: TraceOptions) -> ReadTrace:
    """Return the packets of a CSV list with a header line.

    Raises:
        PacketTableError: If it has no time or no size, or no row is readable.
    """
    lines = file.text.split("\n")
    start = next(
        (row for row, line in enumerate(lines) if line.strip() and not line.startswith("#")), None
    )
    if start is None:
        raise nothing_readable(file, _WHAT, _REMEDY)
    delimiter, names = _header(lines[start])
    wanted = list_columns(names)
    if wanted is None:
        raise not_a_list(file.name, names, place=f"line {start + 1}: ")
    table, numbers, unread = _rows(file, lines[start + 1 :], names, delimiter, first=start + 2)
    return _read(file, table, wanted, options, numbers=numbers, unread=unread)


def _rows(
    file: TextFile, lines: list[str], names: list[str], delimiter: str, *, first: int
) -> tuple[pa.Table, IntArray, Unread]:
    """Return the rows with the right number of fields, their line numbers, and the other lines."""
    bad = np.zeros(first + len(lines), dtype=np.bool_)
    left_out: list[int] = []

    def met(row: csv.InvalidRow) -> str:
        left_out.append(row.number - 1)
        bad[first - 1 + row.number - 1] |= not _IGNORED_LINE.match(row.text)
        return "skip"

    # A quote that is never closed would swallow all lines behind it: such lines are left out alone.
    texts = pa.array(lines, pa.string())
    odd = (
        np.asarray(
            pc.bit_wise_and(pc.count_substring(texts, '"'), 1).to_numpy(zero_copy_only=False)
        )
        == 1
    )
    if odd.any():
        bad[first - 1 : first - 1 + len(lines)] = odd
        lines = pc.if_else(pa.array(odd), "", texts).to_pylist()
    # Numbered columns: a name that stands twice is no reason to refuse a list.
    labels = [str(number) for number in range(len(names))]
    content = "\n".join(lines).encode(errors="replace")
    if not content.strip():
        raise PacketTableError(
            file=file.name, problem="has no rows under its header", remedy=_REMEDY
        )
    try:
        table = csv.read_csv(
            io.BytesIO(content),
            read_options=csv.ReadOptions(
                column_names=labels, use_threads=False, block_size=max(1 << 20, len(content) + 1)
            ),
            parse_options=csv.ParseOptions(
                delimiter=delimiter, ignore_empty_lines=False, invalid_row_handler=met
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(labels, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowException as error:
        problem = f"cannot be read as a list ({str(error).splitlines()[0]})"
        raise PacketTableError(file=file.name, problem=problem, remedy=_REMEDY) from error
    kept = np.ones(table.num_rows + len(left_out), dtype=np.bool_)
    kept[left_out] = False
    numbers = np.flatnonzero(kept)
    filled = ~matches(pa.array(lines, pa.string()), IGNORED)[numbers]
    table, numbers = table.filter(pa.array(filled)), numbers[filled] + first
    columns = {name: table.column(label) for label, name in zip(labels, names, strict=True)}
    return pa.table(columns), numbers, Unread(bad)


def read_parquet_list(name: str, options: TraceOptions) -> ReadTrace:
    """Return the packets of a Parquet list.

    Raises:
        PacketTableError: If it cannot be read, has no time or no size, or no row is readable.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - captures, which most commands read, need none

    try:
        with Path(name).open("rb") as stream, pq.ParquetFile(stream) as parquet:
            refuse_expansion(parquet.metadata, name)
            names = parquet.schema_arrow.names
            wanted = list_columns(names)
            if wanted is None:
                raise not_a_list(name, names)
            table = parquet.read(
                columns=[column for column in names if column not in wanted.unused]
            )
            texts = {column: _as_text(table.column(column)) for column in table.column_names}
    except (OSError, KeyError, pa.ArrowException) as error:
        problem = f"cannot be read ({str(error).splitlines()[0]})"
        raise PacketTableError(
            file=name, problem=problem, remedy="give a Parquet file of packets"
        ) from error
    numbers = np.arange(1, table.num_rows + 1)
    unread = Unread(np.zeros(table.num_rows + 1, dtype=np.bool_))
    file = TextFile(name, "")
    return _read(file, pa.table(texts), wanted, options, numbers=numbers, unread=unread, noun="row")


def not_a_list(name: str, names: Sequence[str], *, place: str = "") -> PacketTableError:
    """Return the error of a list without a time or a size, with what the list has instead."""
    there = set(map(plain_name, names))
    hint = next((text for known, text in NEAR_MISSES.items() if known in there), None)
    problem = f"{place}no columns of a time and a size among {', '.join(names[:60])[:60]}"
    return PacketTableError(file=name, problem=problem, remedy=_REMEDY if hint is None else hint)


def is_parquet_list(name: str) -> bool:
    """Return whether a Parquet file has columns of a time and a size."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - captures, which most commands read, need none

    try:
        with Path(name).open("rb") as stream, pq.ParquetFile(stream) as parquet:
            return list_columns(parquet.schema_arrow.names) is not None
    except (OSError, ValueError, pa.ArrowException):
        return False


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as texts, times as ns since 1970; nulls are empty."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ns", column.type.tz)).cast(pa.int64())
    elif pa.types.is_duration(column.type):
        column = column.cast(pa.duration("ns")).cast(pa.int64())
    elif pa.types.is_boolean(column.type):
        column = pc.if_else(column, "true", "false")
    return pc.fill_null(column.cast(pa.string()), "")


def _read(
    file: TextFile,
    table: pa.Table,
    wanted: ListColumns,
    options: TraceOptions,
    *,
    numbers: IntArray,
    unread: Unread,
    noun: str = "line",
) -> ReadTrace:
    notes = Notes()
    texts = {
        name: pc.utf8_trim_whitespace(table.column(name)).combine_chunks()
        for name in table.column_names
    }
    texts = {
        name: pa.concat_arrays(v.chunks) if isinstance(v, pa.ChunkedArray) else v
        for name, v in texts.items()
    }
    if not table.num_rows:
        raise PacketTableError(
            file=file.name, problem="has no rows under its header", remedy=_REMEDY
        )
    texts = with_udp_payload(texts, wanted)
    time_ns, usable = list_times(texts, wanted, notes)
    named = size_columns(wanted, options, notes)
    sizes, sized = list_sizes(texts, named)
    usable &= sized
    if not usable.any():
        row = int(numbers[0])
        shown = ", ".join(texts[name][0].as_py()[:20] for name in (wanted.time, *named.values()))
        problem = (
            f"{noun} {row}: {shown!r} is no time and size, and none of the rows after it has them"
        )
        raise PacketTableError(file=file.name, problem=problem, remedy=_REMEDY)
    unread.bad[numbers[~usable] - 1] = True
    texts = _one_address({role: texts[name] for role, name in wanted.others.items()})
    with_ends = has_ends(texts, len(usable)) & usable
    if away := int((usable & ~with_ends).sum()):
        if not with_ends.any():
            problem = "no row has two IP addresses and ports from 0 to 65535"
            raise PacketTableError(
                file=file.name, problem=problem, remedy="leave the columns of addresses out"
            )
        first = int(numbers[np.argmax(usable & ~with_ends)])
        notes.doubts.append(
            f"{count_text(away, 'row')} without IP addresses left out (the first is {noun} {first})"
        )
    rows = pa.array(with_ends)
    columns = _columns(
        file,
        time_ns[with_ends],
        sizes.select(with_ends),
        {role: values.filter(rows) for role, values in texts.items()},
        notes,
        arrival_name=wanted.others.get("arrival"),
        protocol=options.protocol,
    )
    if steps := int((np.diff(columns.time_ns) < 0).sum()):
        notes.doubts.append(f"the time goes back {count_text(steps, 'time')}; packets were sorted")
    if wanted.unused:
        notes.assumptions.append(f"columns that are not used: {', '.join(wanted.unused)}")
    records = int(usable.sum())
    return read_result(
        file,
        columns,
        format_name="packet-list",
        records=records,
        unread=unread,
        notes=notes,
        noun=noun,
    )


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
    file: TextFile,
    time_ns: IntArray,
    sizes: Sizes,
    others: Texts,
    notes: Notes,
    *,
    arrival_name: str | None,
    protocol: TransportName | None,
) -> Columns:
    """Return the packets."""
    flows = list_flows(file.name, others, sizes.any_bytes(), notes, protocol=protocol)
    header = np.array([ends.header_bytes for ends in flows.ends], dtype=np.int64)[flows.flow]
    ip_bytes, payload_bytes, frame_bytes = sizes.lengths(header, notes)
    if small := int((ip_bytes < header).sum()):
        notes.doubts.append(
            f"packets shorter than their IP and transport headers: {small:,}; their payload is 0"
        )
    arrival_ns, arrived = arrivals(others, name=arrival_name, notes=notes)
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
        optional=rtp_columns(others),
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
    takes=("sizes", "protocol"),
)
