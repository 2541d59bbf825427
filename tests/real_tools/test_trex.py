"""Exported profiles in TRex's own Python client: what it would tell a server. No server is at
hand.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.real_tools.loopback import WORKLOAD

import trafficgen
from trafficgen.export.flow_schedule import schedules_of
from trafficgen.tables import PacketTable
from trafficgen.workloads.export import session_groups
from trafficgen.workloads.sessions import sessions_of_workload

_ROOT = Path(__file__).resolve().parents[2]
_HELPER = Path(__file__).with_name("trex_client.py")


@pytest.fixture(scope="module")
def streaming() -> PacketTable:
    """Twelve seconds of a player with RTSP over TCP, RTP and RTCP: some 590 packets."""
    return trafficgen.generate("wmedia9_nichols2004", duration_s=12, seed=1)


def _client(*request: str | Path) -> Any:
    python = Path(os.environ.get("TRAFFICGEN_TREX_PYTHON", _ROOT / ".venv-trex" / "bin" / "python"))
    if not python.exists():
        pytest.skip("TRex's Python client is not installed; `make .venv-trex/installed` does it")
    done = subprocess.run(
        [python, _HELPER, *request], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def _frames(streams: list[dict[str, Any]]) -> list[bytes]:
    return [base64.b64decode(stream["frame"]) for stream in streams]


def _frames_of_pcap(path: Path) -> list[bytes]:
    data, place, frames = path.read_bytes(), 24, []
    while place < len(data):
        length = int.from_bytes(data[place + 8 : place + 12], "little")
        frames.append(data[place + 16 : place + 16 + length])
        place += 16 + length
    return frames


def test_the_client_makes_a_chain_of_streams_that_keeps_absolute_times(
    streaming: PacketTable, tmp_path: Path
) -> None:
    trafficgen.export(streaming, to="trex", directory=tmp_path)
    streams = _client("stl", tmp_path / "profile.py", "0")
    wanted = streaming.select(streaming.to_client)
    assert [len(frame) - 14 for frame in _frames(streams)] == wanted.ip_bytes.tolist()
    at_us = np.cumsum([stream["isg"] for stream in streams])
    assert np.abs(at_us - (wanted.time_ns - wanted.time_ns[0]) / 1e3).max() <= 1
    assert [stream["self_start"] for stream in streams] == [True] + [False] * (len(wanted) - 1)
    assert [stream["next"] for stream in streams] == [
        *(stream["name"] for stream in streams[1:]),
        streams[0]["name"],
    ]
    assert {stream["mode"]["type"] for stream in streams} == {"single_burst"}
    assert {stream["mode"]["total_pkts"] for stream in streams} == {1}
    assert {stream["flags"] for stream in streams} == {0}, "card addresses are the ports'"


@pytest.mark.parametrize(("tunables", "loops"), [((), 1), (("--loops", "3"), 3)])
def test_only_the_last_stream_counts_loops(
    streaming: PacketTable, tmp_path: Path, tunables: tuple[str, ...], loops: int
) -> None:
    trafficgen.export(streaming, to="trex", directory=tmp_path, settings={"direction": "to_server"})
    streams = _client("stl", tmp_path / "profile.py", "0", *tunables)
    assert [stream["action_count"] for stream in streams] == [0] * (len(streams) - 1) + [loops]


def test_two_ports_send_a_direction_each_from_one_origin(
    streaming: PacketTable, tmp_path: Path
) -> None:
    settings = {"direction": "both", "macs": "packet"}
    trafficgen.export(streaming, to="trex", directory=tmp_path, settings=settings)
    starts_us = {}
    for port, to_client in ((0, True), (1, False)):
        streams = _client("stl", tmp_path / "profile.py", str(port))
        wanted = streaming.select(streaming.to_client == to_client)
        assert [len(frame) - 14 for frame in _frames(streams)] == wanted.ip_bytes.tolist()
        assert {stream["flags"] for stream in streams} == {3}, "card addresses are the packets'"
        starts_us[port] = streams[0]["isg"]
    first_to_client_us = streaming.time_ns[streaming.to_client][0] / 1e3
    assert starts_us[1] == 0
    assert abs(starts_us[0] - first_to_client_us) <= 1


def test_the_clients_own_reader_finds_the_same_frames_and_gaps(
    streaming: PacketTable, tmp_path: Path
) -> None:
    trafficgen.export(streaming, to="trex", directory=tmp_path)
    ours = _client("stl", tmp_path / "profile.py", "0")
    theirs = _client("pcap", tmp_path / "to_client.pcap")
    assert _frames(ours) == _frames(theirs) == _frames_of_pcap(tmp_path / "to_client.pcap")
    gaps_us = np.array([[stream["isg"] for stream in streams] for streams in (ours, theirs)])
    assert np.abs(gaps_us[0] - gaps_us[1]).max() < 0.5


def test_the_program_for_long_schedules_calls_the_client_as_it_is_defined(
    streaming: PacketTable, tmp_path: Path
) -> None:
    settings = {"mode": "pcap", "direction": "both"}
    report = trafficgen.export(streaming, to="trex", directory=tmp_path, settings=settings)
    assert report.files == ("run.py", "to_client.pcap", "to_server.pcap")
    calls = _client("runner", tmp_path / "run.py")
    assert [call["call"] for call in calls] == [
        "connect",
        "reset",
        "push_remote",
        "push_remote",
        "wait_on_traffic",
        "get_stats",
        "disconnect",
    ]
    pushed = [call for call in calls if call["call"] == "push_remote"]
    assert [call["ports"] for call in pushed] == [[0], [1]]
    assert [call["pcap_filename"] for call in pushed] == [
        "/on/the/server/to_client.pcap",
        "/on/the/server/to_server.pcap",
    ]
    assert all(call["ipg_usec"] is None for call in pushed)


def test_the_client_compiles_tcp_flows_into_writes_and_delays(tmp_path: Path) -> None:
    table = trafficgen.generate("realplayer8_tcp_chung2002", duration_s=12, seed=1)
    report = trafficgen.export(table, to="trex", directory=tmp_path)
    assert report.files == ("profile.py", "writes.json")
    profile = _client("astf", tmp_path / "profile.py", "--sessions", "20", "--rate", "2")
    sent = (
        table.to_client
        & (table.payload_bytes > 0)
        & ~np.asarray(table.values("retransmission"), dtype=np.bool_)
    )
    flows = np.unique(table.flow[sent])
    assert len(profile["templates"]) == flows.size
    for template, flow in zip(profile["templates"], flows.tolist(), strict=True):
        assert template["client_template"]["limit"] == 20
        assert template["client_template"]["cps"] == 2
        assert (
            template["client_template"]["port"] == template["server_template"]["assoc"][0]["port"]
        )
        client = profile["program_list"][template["client_template"]["program_index"]]["commands"]
        server = profile["program_list"][template["server_template"]["program_index"]]["commands"]
        size_bytes = int(table.payload_bytes[sent & (table.flow == flow)].astype(np.int64).sum())
        assert client == [{"name": "connect"}, {"name": "rx", "min_bytes": size_bytes}]
        buffers = [
            profile["buf_list"][step["buf_index"]] for step in server if step["name"] == "tx"
        ]
        assert sum(_size(buffer) for buffer in buffers) == size_bytes
        own_ns = table.time_ns[sent & (table.flow == flow)]
        waited_us = sum(step["usec"] for step in server if step["name"] == "delay")
        assert abs(waited_us - (own_ns[-1] - table.time_ns[sent][0]) / 1e3) <= 1


def _tx_bytes(profile: Any, template: Any) -> list[int]:
    """Return the sizes that the server of a template sends, in order."""
    commands = profile["program_list"][template["server_template"]["program_index"]]["commands"]
    sent = [step for step in commands if step["name"] in ("tx", "tx_msg")]
    return [_size(profile["buf_list"][step["buf_index"]]) for step in sent]


@pytest.mark.parametrize("templates", [1, 3])
def test_the_client_compiles_a_workload_into_templates_with_the_rates_of_its_groups(
    tmp_path: Path, templates: int
) -> None:
    file, out = tmp_path / "several.yaml", tmp_path / "out"
    file.write_text(WORKLOAD, encoding="utf-8")
    workload = trafficgen.load_workload(file)
    groups = session_groups(sessions_of_workload(workload, seed=2))
    trafficgen.export(file, to="trex", directory=out, seed=2, settings={"templates": templates})
    profile = _client("astf", out / "profile.py")
    compiled = iter(profile["templates"])
    for group in groups:
        examples = group.choose_examples(templates)
        for session in examples:
            flows = schedules_of(group.play(session), target="trex").flows
            for flow in flows:
                template = next(compiled)
                client = template["client_template"]
                assert client["cps"] == pytest.approx(group.rate_per_s / len(examples))
                assert client["port"] == template["server_template"]["assoc"][0]["port"]
                assert sum(_tx_bytes(profile, template)) == flow.payload_bytes.sum()
                program = profile["program_list"][client["program_index"]]
                assert program.get("stream", True) == (flow.protocol == "tcp")
    assert next(compiled, None) is None
    ports = [template["client_template"]["port"] for template in profile["templates"]]
    assert len(set(ports)) == len(ports)
    [alone] = _client("astf", out / "profile.py", "--groups", "cbr")["templates"][::templates]
    assert alone["client_template"]["cps"] == profile["templates"][0]["client_template"]["cps"]


def _size(buffer: Any) -> int:
    return int(buffer["size"]) if isinstance(buffer, dict) else len(base64.b64decode(buffer))
