"""Packet tables that are small as files but ask for much are refused in one line, and late times
cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from tests.conftest import build_table

import trafficgen
from trafficgen.capture.table_files import read_table
from trafficgen.capture.table_streams import open_table_file
from trafficgen.errors import PacketTableError
from trafficgen.tables.counts import infer_flows

_PACKETS = 2000
_HEADER = "time_ns,flow,to_client,frame_bytes,ip_bytes,payload_bytes"
_UNIX_NS = 1_600_000_000_000_000_000


def _columns(changed: Mapping[str, Any] | None = None) -> dict[str, Any]:
    size = pa.array(np.full(_PACKETS, 1000), pa.uint32())
    return {
        "time_ns": pa.array(np.arange(_PACKETS) * 5_000_000),
        "flow": pa.array(np.zeros(_PACKETS), pa.uint32()),
        "to_client": pa.array([True] * _PACKETS),
        "frame_bytes": size,
        "ip_bytes": size,
        "payload_bytes": size,
        **(changed or {}),
    }


def _file(folder: Path, changed: Mapping[str, Any] | None = None) -> Path:
    path = folder / "t.parquet"
    pq.write_table(pa.table(_columns(changed)), path, compression="zstd")
    return path


def _last(value: int, rest: int, kind: pa.DataType) -> pa.Array:
    return pa.array([rest] * (_PACKETS - 1) + [value], kind)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (
            {"phase": pa.array(["y" * 20_000_000] + ["x"] * (_PACKETS - 1))},
            "column 'phase' has texts of 20,",
        ),
        (
            {"flow": _last(4_194_303, 0, pa.uint32())},
            "has the id 4194303; without a flow table ids of 2,000 packets",
        ),
        ({"time_ns": _last(2**63 - 1, -(2**63), pa.int64())}, r"times span 1\.84e\+10 s"),
    ],
    ids=["text", "flows", "span"],
)
def test_values_that_no_table_has_are_refused(
    tmp_path: Path, changed: Mapping[str, Any], problem: str
) -> None:
    path = _file(tmp_path, changed)
    with pytest.raises(PacketTableError, match=problem):
        read_table(path)
    with pytest.raises(PacketTableError, match=problem):
        list(open_table_file(path).stream().pieces)


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    table = pa.table(_columns())
    pq.write_table(table.append_column("flow", table.column("flow")), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text(f"{_HEADER},flow\n0,0,true,1014,1000,972,1\n")
    for path, read in ((tmp_path / "t.parquet", read_table), (tmp_path / "t.csv", read_table)):
        with pytest.raises(PacketTableError, match="column 'flow' is there 2 times"):
            read(path)
        with pytest.raises(PacketTableError, match="column 'flow' is there 2 times"):
            list(open_table_file(path).stream().pieces)


def test_high_flow_ids_are_kept_where_there_are_as_many_packets() -> None:
    highest = 140_000
    assert infer_flows(highest, highest + 1).num_rows == highest + 1
    with pytest.raises(ValueError, match="ids of 140,000 packets end at 139999"):
        infer_flows(highest, highest)


@pytest.mark.parametrize("gap_ns", [1, 5_000_000])
def test_times_since_1970_give_the_model_of_times_from_zero(tmp_path: Path, gap_ns: int) -> None:
    models = []
    for start_ns in (0, _UNIX_NS):
        time_ns = pa.array(start_ns + np.arange(_PACKETS) * gap_ns)
        models.append(
            trafficgen.fit(_file(tmp_path, {"time_ns": time_ns})).model.model_dump(
                exclude={"provenance"}
            )
        )
    assert models[0] == models[1]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_flows_with_flags_of_tcp_are_tcp_where_nothing_else_tells(
    tmp_path: Path, ending: str
) -> None:
    packets = build_table([0.0, 0.1], flow=[0, 1], tcp_flags=[16, None]).packets
    file = tmp_path / f"packets.{ending}"
    write = csv.write_csv if ending == "csv" else pq.write_table
    write(packets.replace_schema_metadata(None), file)
    for table in (read_table(file), trafficgen.read_packets(file)):
        assert table.flows.column("protocol").to_pylist() == ["tcp", "udp"]
