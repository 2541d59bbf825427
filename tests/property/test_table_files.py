from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trafficgen.capture.table_files import read_table
from trafficgen.packet_files.writing import write_packets
from trafficgen.tables import (
    FLOW_SCHEMA,
    MEDIA,
    OPTIONAL_FIELDS,
    PACKET_SCHEMA,
    PHASES,
    REQUIRED_FIELDS,
    SIGNALLING_SCHEMA,
    PacketTable,
)

#: Other texts are put on one line, without control characters, when they are read.
_TEXT = st.text(
    alphabet=st.characters(exclude_categories=("C", "Z"), include_characters=" "), max_size=8
)


def _integers(kind: pa.DataType) -> st.SearchStrategy[int]:
    bounds = np.iinfo(kind.to_pandas_dtype())
    return st.integers(int(bounds.min), int(bounds.max))


def _values(field: pa.Field) -> st.SearchStrategy[object]:
    kind = field.type
    special = {
        "media": st.sampled_from(MEDIA),
        "phase": st.sampled_from(PHASES),
        "time_ns": st.integers(-(2**61), 2**61),  # 73 years: differences stay within int64
    }
    if field.name in special:
        return special[field.name]
    if pa.types.is_list(kind):
        return st.lists(_values(pa.field("item", kind.value_type)), max_size=3)
    if pa.types.is_struct(kind):
        return st.fixed_dictionaries({part.name: st.none() | _values(part) for part in kind})
    if pa.types.is_integer(kind):
        return _integers(kind)
    return st.booleans() if pa.types.is_boolean(kind) else _TEXT


def _rows(schema: pa.Schema, count: int) -> st.SearchStrategy[list[dict[str, object]]]:
    values = {
        field.name: st.none() | _values(field) if field.nullable else _values(field)
        for field in schema
    }
    return st.lists(st.fixed_dictionaries(values), min_size=count, max_size=count)


@st.composite
def _tables(draw: st.DrawFn) -> PacketTable:
    flow_count = draw(st.integers(1, 4))
    flows = draw(_rows(FLOW_SCHEMA, flow_count))
    for number, row in enumerate(flows):
        row["flow"] = number
    optional = draw(st.lists(st.sampled_from(OPTIONAL_FIELDS), unique=True))
    schema = pa.schema(
        [field for field in PACKET_SCHEMA if field in REQUIRED_FIELDS or field in optional]
    )
    packets = sorted(
        draw(_rows(schema, draw(st.integers(0, 12)))), key=lambda row: int(str(row["time_ns"]))
    )
    for row in packets:
        row["flow"] = int(str(row["flow"])) % flow_count
    columns = {name: pa.array([row[name] for row in packets]) for name in schema.names}
    return PacketTable(
        packets=pa.table([columns[field.name].cast(field.type) for field in schema], schema=schema),
        flows=pa.Table.from_pylist(flows, schema=FLOW_SCHEMA),
        origin_ns=draw(st.integers(-(2**62), 2**62)),
        signalling=pa.Table.from_pylist(
            draw(_rows(SIGNALLING_SCHEMA, draw(st.integers(0, 2)))), schema=SIGNALLING_SCHEMA
        ),
        notes=draw(
            st.dictionaries(_TEXT, st.integers() | _TEXT | st.lists(st.booleans()), max_size=3)
        ),
    )


def _through_file(
    table: PacketTable,
    suffix: str,
    write: Callable[..., object],
    read: Callable[[Path], PacketTable],
) -> PacketTable:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{suffix}"
        write(table, path)
        return read(path)


def _assert_same_packets(found: PacketTable, expected: PacketTable) -> None:
    for name in PACKET_SCHEMA.names:
        assert found.column(name).to_pylist() == expected.column(name).to_pylist(), name
    assert found.flows == expected.flows
    assert found.origin_ns == expected.origin_ns


@given(table=_tables())
@settings(max_examples=60, deadline=None)
def test_a_table_reads_back_from_parquet_equal_in_every_part(table: PacketTable) -> None:
    found = _through_file(table, ".parquet", write_packets, read_table)
    _assert_same_packets(found, table)
    assert found.signalling == table.signalling
    assert found.notes == table.notes


@given(table=_tables())
@settings(max_examples=60, deadline=None)
def test_packets_flows_and_origin_read_back_from_csv_equal(table: PacketTable) -> None:
    _assert_same_packets(_through_file(table, ".csv", write_packets, read_table), table)


@pytest.mark.parametrize(
    ("suffix", "write", "read"),
    [(".parquet", write_packets, read_table), (".csv", write_packets, read_table)],
)
def test_a_table_of_several_batches_reads_back_equal(
    suffix: str, write: Callable[..., object], read: Callable[[Path], PacketTable]
) -> None:
    count = 600_000  # more than two batches of 2^18 rows
    values = np.arange(count)
    columns = {
        field.name: (
            pa.array(values % 2 == 0 if field.name == "to_client" else values).cast(field.type)
        )
        for field in REQUIRED_FIELDS
    }
    columns["flow"] = pa.array(np.zeros(count), type=pa.uint32())
    phases = pa.array(np.where(values < count // 2, "buffering", "playout"))
    columns["phase"] = phases.dictionary_encode().cast(PACKET_SCHEMA.field("phase").type)
    row = {field.name: None if field.nullable else 0 for field in FLOW_SCHEMA} | {
        "protocol": "udp",
        "server": "192.0.2.1",
    }
    flows = pa.Table.from_pylist(
        [row | {"client": "198.51.100.1", "media": "video"}], schema=FLOW_SCHEMA
    )
    schema = pa.schema([PACKET_SCHEMA.field(name) for name in columns])
    table = PacketTable(packets=pa.table(columns, schema=schema), flows=flows, origin_ns=5)
    _assert_same_packets(_through_file(table, suffix, write, read), table)
