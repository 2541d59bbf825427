"""Exchanges of packet tables: outstanding requests, think times, kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import trafficgen
from trafficgen.flows.exchanges import ConnectionExchanges
from trafficgen.tables import FLOW_SCHEMA
from trafficgen.units import NS_PER_S

Row = tuple[float, bool, int, int, int]


def exchanges(rows: list[dict[str, Any]], untold: tuple[int, ...] = ()) -> trafficgen.Exchanges:
    """Measure exchanges of flow 0 and 1, given with their times in s."""

    def times(name: str) -> np.ndarray:
        return np.array([int(row[name] * NS_PER_S) for row in rows], dtype=np.int64)

    columns = {name: times(name) for name in ("request_ns", "first_byte_ns", "last_byte_ns")}
    columns["heard_ns"] = columns["last_byte_ns"]
    columns |= {
        "flow": np.array([row.get("flow", 0) for row in rows], dtype=np.uint32),
        "request_bytes": np.array([row.get("asked", 300) for row in rows], dtype=np.uint64),
        "response_bytes": np.array([row["bytes"] for row in rows], dtype=np.uint64),
        "merged": np.array([row.get("merged", 0) for row in rows], dtype=np.uint32),
        "is_control": np.array([row.get("control", False) for row in rows]),
        "untold": np.array(untold, dtype=np.uint32),
    }
    return ConnectionExchanges.from_core(columns, np.arange(3)).select_session([0, 1])


def row(start_s: float, end_s: float, size: int, **more: Any) -> dict[str, Any]:
    times = {"request_ns": start_s, "first_byte_ns": start_s + 0.01, "last_byte_ns": end_s}
    return {**times, "bytes": size, **more}


def test_outstanding_and_think_times_are_of_all_connections() -> None:
    found = exchanges(
        [
            row(0.0, 1.0, 100_000),
            row(3.0, 5.0, 100_000),
            row(3.5, 4.0, 100_000, flow=1, merged=2),
            row(6.0, 7.0, 100_000, flow=1),
        ]
    )
    assert found.column("connection").tolist() == [0, 0, 1, 1]
    assert found.column("outstanding").tolist() == [0, 0, 3, 0]
    assert found.column("think_s")[1:].tolist() == pytest.approx([2.0, 2.5, 1.0])
    assert np.isnan(found.column("think_s")[0])
    assert found.summary_line().endswith(" in responses, 2 s between them")


def test_kinds_tell_playlists_segments_and_audio_apart() -> None:
    video = [row(2.0 * k, 2.0 * k + 1, 300_000 + 10_000 * k) for k in range(10)]
    audio = [row(2.0 * k + 1.2, 2.0 * k + 1.4, 32_000 + 100 * k) for k in range(10)]
    start = [row(-1.0, -0.9, 3000, control=True), row(-0.5, -0.4, 900), row(-0.3, -0.2, 0)]
    found = exchanges([*video, *audio, *start])
    kinds = found.column("kind").tolist()
    assert kinds == ["control", "small", "control", *["media", "audio"] * 10]
    # One rung after another is not audio: the two do not take turns.
    rungs = [row(2.0 * k, 2.0 * k + 1, 80_000 if k < 8 else 300_000) for k in range(20)]
    assert set(exchanges(rungs).column("kind")) == {"media"}


def ranges(asked: list[int]) -> list[dict[str, Any]]:
    """Return requests for ranges of bytes of so many bytes each; responses have any size."""
    sizes = [60_000, 90_000, 400_000, 300_000, 80_000, 450_000, 200_000]
    return [
        row(5.0 * place, 5.0 * place + 1, sizes[place % 7], asked=size)
        for place, size in enumerate(asked)
    ]


def test_requests_for_ranges_of_audio_are_the_shorter_of_two_lengths() -> None:
    found = exchanges(ranges([1350, *[658, 595, 659, 597, 660, 598] * 3]))
    assert found.column("kind").tolist() == ["media", *["media", "audio"] * 9]


def test_a_player_may_fetch_a_few_ranges_of_each_kind_in_turn() -> None:
    asked = [*[658, 659, 660, 595, 597, 597, 658, 660, 595, 597] * 2, *[1244, 1335, 1246, 1890] * 3]
    found = exchanges(ranges(asked)).column("kind").tolist()
    assert found == ["audio" if size < 600 else "media" for size in asked]


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param([600, 610, 601, 611] * 5, id="about alike"),
        pytest.param([560, 590, 640, 660, 610, 700, 575] * 3, id="of any length"),
        pytest.param([*[595] * 10, *[658] * 10], id="not in turn"),
        pytest.param([0] * 20, id="not in the capture"),
    ],
)
def test_requests_of_other_lengths_show_no_audio(asked: list[int]) -> None:
    assert set(exchanges(ranges(asked)).column("kind")) == {"media"}


def test_a_player_between_two_rungs_has_no_audio() -> None:
    """One at a time, so that only strict turns of responses of one size are audio."""
    content = np.exp(np.random.default_rng(1).normal(0, 0.1, 30))
    sizes = [(80_000 if k % 2 else 300_000) * content[k] for k in range(30)]
    rungs = [row(2.0 * k, 2.0 * k + 1, int(size)) for k, size in enumerate(sizes)]
    assert set(exchanges(rungs).column("kind")) == {"media"}
    together = [row(2.0 * k + 0.5 * (k % 2), 2.0 * k + 3, int(x)) for k, x in enumerate(sizes)]
    assert set(exchanges(together).column("kind")) == {"media", "audio"}


def tcp_table(rows: list[Row]) -> trafficgen.PacketTable:
    """Make a table of one connection: time s, to client, payload, sequence, acknowledgement."""
    flow: dict[str, Any] = dict.fromkeys(FLOW_SCHEMA.names, 0)
    ends = {"server": "10.0.0.1", "client": "10.0.0.2", "protocol": "tcp", "media": "unknown"}
    flow |= ends | {"server_port": 443, "client_port": 50_000, "ssrc": None}
    flow |= {"payload_type": None, "clock_hz": None}
    payload = pa.array([size for _, _, size, _, _ in rows], pa.uint32())
    count = len(rows)
    packets = pa.table(
        {
            "time_ns": pa.array([int(one[0] * NS_PER_S) for one in rows], pa.int64()),
            "flow": pa.array([0] * count, pa.uint32()),
            "to_client": pa.array([one[1] for one in rows]),
            "frame_bytes": payload,
            "ip_bytes": payload,
            "payload_bytes": payload,
            "tcp_sequence": pa.array([one[3] for one in rows], pa.uint32()),
            "tcp_acknowledgement": pa.array([one[4] for one in rows], pa.uint32()),
            "tcp_flags": pa.array([16] * count, pa.uint8()),
        }
    )
    flows = pa.Table.from_pylist([flow], schema=FLOW_SCHEMA)
    return trafficgen.PacketTable(packets, flows, origin_ns=NS_PER_S)


def test_a_packet_table_has_exchanges_with_times_since_1970() -> None:
    table = tcp_table(
        [
            (0.0, False, 200, 1, 1),
            (0.1, True, 1000, 1, 201),
            (0.2, True, 1000, 1, 201),  # sent twice
            (0.3, False, 0, 201, 1001),
            (0.4, True, 500, 1001, 201),
            (2.0, False, 100, 201, 1501),
        ]
    )
    found = trafficgen.measure_exchanges(table)
    assert found.column("request_ns").tolist() == [NS_PER_S, 3 * NS_PER_S]
    assert found.column("response_bytes").tolist() == [1500, 0]
    assert found.column("think_s")[1] == pytest.approx(1.6)
    assert found.column("kind").tolist()[1] == "control"
    frame = found.to_pandas()
    assert frame["last_byte_ns"][0] == int(1.4 * NS_PER_S)
    assert frame["first_byte_ns"].isna().tolist() == [False, True]


def test_exchanges_are_written_as_parquet_and_csv(tmp_path: Any) -> None:
    found = exchanges([row(0.0, 1.0, 100_000), row(2.0, 3.0, 50_000)])
    for ending, read in ((".parquet", parquet.read_table), (".csv", csv.read_csv)):
        trafficgen.save_exchanges(found, tmp_path / f"found{ending}")
        assert read(tmp_path / f"found{ending}").to_pylist() == found.table.to_pylist()
    with pytest.raises(trafficgen.ExportError, match=r"unknown ending '\.txt'"):
        trafficgen.save_exchanges(found, tmp_path / "found.txt")


def test_sessions_that_do_not_exist_are_refused_and_others_are_empty() -> None:
    table = trafficgen.generate("cbr", duration_s=1)
    found = trafficgen.measure_exchanges(table)
    assert (len(found), found.untold) == (0, ())
    with pytest.raises(trafficgen.SelectionError, match="session 7"):
        trafficgen.measure_exchanges(table, session=7)
