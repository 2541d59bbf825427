from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trafficgen
from trafficgen.capture.table_files import columns_of, read_table
from trafficgen.capture.table_streams import open_table_file, packets_in, raw_pieces
from trafficgen.errors import CaptureWarning, PacketTableError, WorkloadFileError
from trafficgen.tables import FLOW_SCHEMA, SIGNALLING_SCHEMA, PacketTable
from trafficgen.workloads.column_files import read_numbers

_COLUMNS = {
    "time_ns": [0, 5, 9],
    "flow": [0, 2, 0],
    "to_client": [True, False, True],
    "frame_bytes": [114, 74, 114],
    "ip_bytes": [100, 60, 100],
    "payload_bytes": [72, 32, 72],
}


_EMPTY = {"schema_version": "1.0", "origin_ns": 0, "notes": {}, "flows": {}, "signalling": {}}


def _parquet(
    folder: Path, columns: Mapping[str, object] | None = None, metadata: object = None
) -> Path:
    table = pa.table(_COLUMNS if columns is None else columns)
    if metadata is not None:
        text = metadata if isinstance(metadata, bytes) else json.dumps(metadata).encode()
        table = table.replace_schema_metadata({b"trafficgen": text})
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def _csv(folder: Path, text: str, flows: str | None = None) -> Path:
    (folder / "t.csv").write_text(text)
    if flows is not None:
        (folder / "t.flows.csv").write_text(flows)
    return folder / "t.csv"


def _csv_of_columns(folder: Path) -> Path:
    rows = zip(*_COLUMNS.values(), strict=True)
    return _csv(
        folder, "\n".join([",".join(_COLUMNS), *(",".join(map(str, row)) for row in rows)]) + "\n"
    )


@pytest.mark.parametrize(
    ("write", "read"),
    [(_parquet, read_table), (_csv_of_columns, read_table)],
    ids=["parquet", "csv"],
)
def test_a_foreign_file_with_the_required_columns_gets_flows_from_its_flow_column(
    tmp_path: Path, write: Callable[[Path], Path], read: Callable[[Path], PacketTable]
) -> None:
    table = read(write(tmp_path))
    assert table.packets.to_pydict() == _COLUMNS
    flows = table.flows.to_pydict()
    assert flows["protocol"] == ["udp"] * 3
    assert flows["server"] == ["192.0.2.1"] * 3
    assert flows["client"] == ["198.51.100.1"] * 3
    assert len(set(flows["client_port"])) == 3
    assert flows["packets_to_client"] == [2, 0, 0]
    assert flows["frame_bytes_to_server"] == [0, 0, 74]
    assert (flows["first_time_ns"], flows["last_time_ns"]) == ([0, 0, 5], [9, 0, 5])


def test_integers_of_other_widths_are_converted_and_unknown_columns_left_out(
    tmp_path: Path,
) -> None:
    wide = _COLUMNS | {
        "ip_bytes": pa.array([100, 60, 100], type=pa.uint16()),
        "colour": ["red", "green", "blue"],
    }
    with pytest.warns(CaptureWarning, match="columns that are not used: colour"):
        table = read_table(_parquet(tmp_path, wide))
    assert table.packets.column_names == list(_COLUMNS)
    assert table.ip_bytes.tolist() == [100, 60, 100]


def test_packets_out_of_order_are_sorted_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(CaptureWarning, match="not in order of time"):
        table = read_table(_parquet(tmp_path, _COLUMNS | {"time_ns": [9, 5, 0]}))
    assert table.time_ns.tolist() == [0, 5, 9]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"ip_bytes": ["a", "b", "c"]}, "column 'ip_bytes' is string, expected uint32"),
        ({"time_ns": [0.0, 0.5, 1.0]}, "column 'time_ns' is double, expected int64"),
        ({"ip_bytes": [-1, 60, 100]}, "column 'ip_bytes': .*-1"),
        ({"flow": [0, None, 0]}, "column 'flow' has 1 nulls"),
        ({"flow": [0, 2**31, 0]}, "column 'flow' has the id 2147483648"),
        ({"to_client": [1, 0, 1]}, "column 'to_client' is int64, expected bool"),
    ],
)
def test_columns_of_wrong_types_or_values_are_named(
    tmp_path: Path, change: dict[str, object], problem: str
) -> None:
    with pytest.raises(PacketTableError, match=problem):
        read_table(_parquet(tmp_path, _COLUMNS | change))


@pytest.mark.parametrize("name", _COLUMNS)
def test_every_required_column_is_asked_for_by_name(tmp_path: Path, name: str) -> None:
    columns = {column: values for column, values in _COLUMNS.items() if column != name}
    with pytest.raises(PacketTableError, match=f"column '{name}' is missing"):
        read_table(_parquet(tmp_path, columns))


def test_a_file_that_is_not_parquet_or_not_there_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"not parquet at all, not even nearly")
    with pytest.raises(
        PacketTableError, match=r"t\.parquet: cannot be read \(Parquet magic"
    ) as caught:
        read_table(tmp_path / "t.parquet")
    assert "\n" not in str(caught.value)
    with pytest.raises(PacketTableError, match="No such file"):
        read_table(tmp_path / "missing.parquet")


def test_a_packet_of_a_flow_that_the_flow_table_lacks_is_named(tmp_path: Path) -> None:
    metadata = _EMPTY | {
        "flows": dict.fromkeys(FLOW_SCHEMA.names, ()),
        "signalling": dict.fromkeys(SIGNALLING_SCHEMA.names, ()),
    }
    with pytest.raises(PacketTableError, match="packet 0 is of flow 0, the flow table has 0 rows"):
        read_table(_parquet(tmp_path, metadata=metadata))


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        (b"{", "its trafficgen metadata: "),
        ([1], "its trafficgen metadata"),
        ({"schema_version": "2.0"}, "schema version 2.0"),
        ({"schema_version": "1.0"}, "'origin_ns'"),
        (_EMPTY, "metadata that does not fit"),
        (_EMPTY | {"flows": {"flow": ["x"]}}, "metadata that does not fit"),
    ],
)
def test_metadata_that_cannot_be_used_is_refused(
    tmp_path: Path, metadata: object, problem: str
) -> None:
    with pytest.raises(PacketTableError, match=problem):
        read_table(_parquet(tmp_path, metadata=metadata))


def test_a_csv_field_that_is_not_a_number_is_named_with_its_place(tmp_path: Path) -> None:
    path = _csv(tmp_path, ",".join(_COLUMNS) + "\n0,0,true,1,many,1\n")
    with pytest.raises(PacketTableError, match=r"t\.csv: cannot be read .*many"):
        read_table(path)


def test_a_flow_file_without_its_columns_is_refused(tmp_path: Path) -> None:
    path = _csv_of_columns(tmp_path)
    (tmp_path / "t.flows.csv").write_text("flow,session\n0,0\n")
    with pytest.raises(PacketTableError, match=r"t\.flows\.csv: .*protocol"):
        read_table(path)


def test_more_flows_than_client_ports_still_have_their_own_addresses(tmp_path: Path) -> None:
    count = 30_000
    columns = {name: np.full(count, 100) for name in _COLUMNS} | {
        "to_client": np.ones(count, dtype=np.bool_)
    }
    flows = read_table(_parquet(tmp_path, columns | {"flow": np.arange(count)})).flows
    ends = set(
        zip(
            flows.column("client").to_pylist(), flows.column("client_port").to_pylist(), strict=True
        )
    )
    assert len(ends) == count


def _with_a_name_of_bytes(path: Path) -> Path:
    """Write a Parquet file again with one more column, whose name is not UTF-8."""
    table = pq.read_table(path)
    schema = pa.schema([*table.schema, pa.field(b"odd\xff", pa.int64())], table.schema.metadata)
    columns = [*table.columns, pa.array(range(table.num_rows))]
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), path)
    return path


def _convert_list(path: Path) -> object:
    return trafficgen.convert(path, path.with_suffix(".csv"), from_format="packet-list")


@pytest.mark.parametrize(
    "columns", [_COLUMNS, {"time_s": [0.1, 0.2], "ip_bytes": [90, 80]}, {"number": [1.0, 2.0]}]
)
@pytest.mark.parametrize(
    "read",
    [
        *(read_table, columns_of, trafficgen.inspect, trafficgen.fit, _convert_list),
        *(open_table_file, packets_in, lambda path: list(raw_pieces(path))),
        lambda path: read_numbers(path, column=None, usual=("time_s",)),
    ],
)
def test_names_of_columns_that_are_no_text_are_refused(
    tmp_path: Path, columns: Mapping[str, object], read: Callable[[Path], object]
) -> None:
    path = _with_a_name_of_bytes(_parquet(tmp_path, columns))
    with pytest.raises((PacketTableError, WorkloadFileError), match="cannot be read") as refused:
        read(path)
    assert refused.value.file == str(path)


@pytest.mark.parametrize("name", ["_flows.parquet", "part-000000.parquet"])
@pytest.mark.parametrize("read", [read_table, open_table_file, trafficgen.fit])
def test_names_of_columns_of_a_dataset_are_texts(
    tmp_path: Path, name: str, read: Callable[[Path], object]
) -> None:
    folder = tmp_path / "dataset"
    trafficgen.convert(_parquet(tmp_path), folder)
    _with_a_name_of_bytes(folder / name)
    with pytest.raises(PacketTableError, match="cannot be read"):
        read(folder)


@pytest.mark.parametrize(
    "column", [field.name for field in FLOW_SCHEMA if pa.types.is_string(field.type)]
)
@pytest.mark.parametrize("read", [read_table, open_table_file, trafficgen.inspect, trafficgen.fit])
def test_texts_of_flows_that_are_no_utf8_are_refused(
    tmp_path: Path, column: str, read: Callable[[Path], object]
) -> None:
    folder = tmp_path / "dataset"
    trafficgen.convert(_parquet(tmp_path), folder)
    flows = pq.read_table(folder / "_flows.parquet")
    bytes_of_it = pa.array([b"text\xc7"] * flows.num_rows, type=pa.binary())
    texts = pa.Array.from_buffers(pa.string(), flows.num_rows, bytes_of_it.buffers())
    place = flows.schema.get_field_index(column)
    pq.write_table(
        flows.set_column(place, flows.schema.field(place), texts), folder / "_flows.parquet"
    )
    with pytest.raises(PacketTableError, match="cannot be read"):
        read(folder)
