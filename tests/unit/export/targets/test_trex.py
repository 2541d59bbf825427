"""The profiles for TRex, run against stand-ins that record what its client would be given; see
tests/real_tools.
"""

from __future__ import annotations

import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trafficgen
from trafficgen.errors import ExportError, SettingError
from trafficgen.tables import PacketTable


class _Recorded(dict[str, Any]):
    """Keyword arguments of a call."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(arguments)


@pytest.fixture(autouse=True)
def client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules with the names of TRex's client, whose streams are what they were made with."""
    api = ModuleType("trex.stl.api")
    for name in ("STLPktBuilder", "STLStream", "STLTXSingleBurst"):
        setattr(api, name, _Recorded)
    for name in ("trex", "trex.stl"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "trex.stl.api", api)


def _streams(
    folder: Path, *, direction: int = 0, tunables: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    profile = runpy.run_path(str(folder / "profile.py"))["register"]()
    streams: list[dict[str, Any]] = profile.get_streams(
        list(tunables), direction=direction, port_id=direction
    )
    return streams


def _at(table: PacketTable, time_ns: list[int]) -> PacketTable:
    place = table.packets.schema.get_field_index("time_ns")
    field = table.packets.schema.field(place)
    return replace(
        table, packets=table.packets.set_column(place, field, pa.array(time_ns, type=pa.int64()))
    )


def _tcp(table: PacketTable) -> PacketTable:
    """Two thousand segments of 1000 bytes of the TCP flow, one every 1.5 ms."""
    n = 2000
    columns = {
        "time_ns": np.arange(n) * 1_500_000 + 7,
        "flow": np.ones(n),
        "to_client": np.ones(n, dtype=np.bool_),
        "frame_bytes": np.full(n, 1054),
        "ip_bytes": np.full(n, 1040),
        "payload_bytes": np.full(n, 1000),
    }
    schema = pa.schema([table.packets.schema.field(name) for name in columns])
    arrays = [
        pa.array(values).cast(field.type)
        for values, field in zip(columns.values(), schema, strict=True)
    ]
    return replace(table, packets=pa.table(arrays, schema=schema))


def test_gaps_are_differences_of_rounded_times_so_that_nothing_drifts(
    table: PacketTable, tmp_path: Path
) -> None:
    # The origin ends in 789 ns: to the client at ...789, 2789, 4789 + 300, 6000 + 789 ns.
    trafficgen.export(
        _at(table, [0, 1_000, 2_000, 3_000, 4_300, 6_000]), to="trex", directory=tmp_path
    )
    streams = _streams(tmp_path)
    assert [stream["isg"] for stream in streams] == [0.0, 2.0, 2.0, 2.0]
    assert [stream["self_start"] for stream in streams] == [True, False, False, False]
    assert [stream["next"] for stream in streams] == ["p2", "p3", "p4", "p1"]
    assert [stream["action_count"] for stream in streams] == [0, 0, 0, 1]
    assert [len(stream["packet"]["pkt_buffer"]) for stream in streams] == [214, 54, 1514, 554]


def test_a_port_of_the_other_direction_sends_its_own_frames(
    table: PacketTable, tmp_path: Path
) -> None:
    trafficgen.export(table, to="trex", directory=tmp_path, settings={"direction": "both"})
    assert len(_streams(tmp_path, direction=0)) == 4
    later = _streams(tmp_path, direction=1)
    assert [stream["isg"] for stream in later] == [1.0, 2.0], "from the first packet of both"


def test_long_schedules_become_files_that_the_server_reads(
    table: PacketTable, tmp_path: Path
) -> None:
    settings = {"most_streams": 3}
    report = trafficgen.export(table, to="trex", directory=tmp_path / "auto", settings=settings)
    assert report.files == ("run.py", "to_client.pcap")
    with pytest.raises(ExportError, match=r"4 packets are more streams.*mode=pcap"):
        trafficgen.export(
            table, to="trex", directory=tmp_path / "stl", settings={**settings, "mode": "stl"}
        )


def test_files_have_the_microseconds_that_trex_reads(table: PacketTable, tmp_path: Path) -> None:
    report = trafficgen.export(table, to="trex", directory=tmp_path)
    assert (tmp_path / "to_client.pcap").read_bytes()[:4] == bytes.fromhex("d4c3b2a1")
    assert report.timing_error_s is not None
    assert report.timing_error_s.max == pytest.approx(211e-9), "the origin's 789 ns are rounded"


def test_tcp_alone_is_played_by_the_servers_tcp(table: PacketTable, tmp_path: Path) -> None:
    report = trafficgen.export(_tcp(table), to="trex", directory=tmp_path)
    [flow] = json.loads((tmp_path / "writes.json").read_text())["flows"]
    assert flow["writes"][:3] == [[0, 1000], [1500, 1000], [3000, 1000]]
    assert len(flow["writes"]) == 2000
    assert report.timing_error_s is not None
    assert report.timing_error_s.max == 0


def test_the_clients_side_of_tcp_is_sent_as_frames(table: PacketTable, tmp_path: Path) -> None:
    settings = {"direction": "to_server"}
    report = trafficgen.export(
        table.select_flows([1]), to="trex", directory=tmp_path, settings=settings
    )
    assert report.files == ("profile.py", "to_server.pcap")
    assert len(_streams(tmp_path)) == 2


def test_a_flow_too_long_for_a_program_has_its_writes_joined(
    table: PacketTable, tmp_path: Path
) -> None:
    report = trafficgen.export(
        _tcp(table), to="trex", directory=tmp_path, settings={"most_writes": 700}
    )
    [flow] = json.loads((tmp_path / "writes.json").read_text())["flows"]
    # 3 s in chunks of 5 ms; those of 2 ms would be 1500.
    assert len(flow["writes"]) == 600
    assert sum(size for _, size in flow["writes"]) == 2_000_000
    assert flow["writes"][:2] == [[0, 4000], [6000, 3000]]
    assert any("were joined (1400 of them)" in text for text in report.cannot_express)
    assert report.timing_error_s is not None
    assert report.timing_error_s.max == pytest.approx(0.0045)
    with pytest.raises(ExportError, match="set most_writes higher"):
        trafficgen.export(
            _tcp(table), to="trex", directory=tmp_path / "out", settings={"most_writes": 1}
        )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"clients": "16.0.0.9-16.0.0.1"}, "clients=.*first and last"),
        ({"servers": "here"}, "servers=here"),
        ({"direction": "both"}, "leave direction out"),
    ],
)
def test_what_the_stateful_mode_does_not_know_is_refused(
    table: PacketTable, tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    with pytest.raises(SettingError, match=said):
        trafficgen.export(
            _tcp(table),
            to="trex",
            directory=tmp_path / "out",
            settings={**settings, "mode": "astf"},
        )
    assert list(tmp_path.iterdir()) == []


def test_too_few_ports_for_the_flows_are_refused(table: PacketTable, tmp_path: Path) -> None:
    flows = table.flows.to_pylist()
    two = pa.Table.from_pylist(
        [{**flows[1], "flow": number} for number in (0, 1)], schema=table.flows.schema
    )
    tcp = _tcp(table)
    place = tcp.packets.schema.get_field_index("flow")
    half = pa.array(np.arange(len(tcp)) % 2, type=pa.uint32())
    split = replace(
        tcp, flows=two, packets=tcp.packets.set_column(place, tcp.packets.schema.field(place), half)
    )
    with pytest.raises(ExportError, match="2 flows from port 65535"):
        trafficgen.export(
            split, to="trex", directory=tmp_path / "out", settings={"first_port": 65_535}
        )
