"""Workloads for tools that start sessions themselves, and for others as one stream."""

from __future__ import annotations

import errno
import json
import re
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.workloads.conftest import Load

import trafficgen
from trafficgen.errors import ExportError, OutputFileError
from trafficgen.export.stream_runs import iterate_epochs
from trafficgen.export.targets.mgen import workload as mgen_workload
from trafficgen.tables.stream import stream_of
from trafficgen.workloads import blocks
from trafficgen.workloads.blocks import FinishedBlock, make_block
from trafficgen.workloads.export import session_groups
from trafficgen.workloads.sessions import sessions_of_workload

LOAD = """
name: load
sessions: 40
for: 20s
arrivals: poisson
groups:
  - {name: udp, model: udp.json, share: 75%, duration: "uniform:1s,high=5s"}
  - {name: tcp, model: tcp.json, share: 25%}
"""


def test_trex_plays_a_session_of_each_group_at_the_rate_of_the_group(
    load: Load, tmp_path: Path
) -> None:
    workload = load(LOAD)
    report = trafficgen.export(workload, to="trex", directory=tmp_path / "out", seed=3)
    assert report.files == ("profile.py", "groups.json")
    groups = json.loads((tmp_path / "out" / "groups.json").read_text(encoding="utf-8"))["groups"]
    counts = np.bincount(sessions_of_workload(workload, seed=3).groups)
    assert [group["name"] for group in groups] == ["udp", "tcp"]
    assert [group["rate_per_s"] * 20 for group in groups] == pytest.approx(counts.tolist())
    for group in groups:
        (flow,) = group["flows"]
        assert flow["protocol"] == group["name"]
        assert flow["rate_per_s"] == group["rate_per_s"]
    ports = [flow["port"] for group in groups for flow in group["flows"]]
    assert len(set(ports)) == len(ports)


def test_trex_says_that_curves_are_flattened_and_which_rates_it_refuses(
    load: Load, tmp_path: Path
) -> None:
    def notes(text: str, **settings: int) -> str:
        out = tmp_path / "out"
        report = trafficgen.export(load(text), to="trex", directory=out, settings=settings)
        return " | ".join(report.cannot_express)

    slow = "for: 100s\narrivals: poisson:0.2/s\ngroups: [{model: udp.json, name: slow}]"
    fast = slow.replace("0.2/s", "2/s")
    assert "flattens an hourly curve or a flash crowd; to= tcpreplay, mgen or pcap" in notes(fast)
    assert "refuses" not in notes(fast)
    assert "refuses: slow" in notes(slow)
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "trex> start -f profile.py -m 3 -d" in readme
    assert "`-m 3` is the smallest whole multiplier" in readme
    assert notes(slow).count("to= tcpreplay, mgen or pcap") == 2
    assert "multiply" not in notes(slow)
    assert "set templates lower" in notes(fast, templates=9)


def test_several_examples_share_the_rate_of_their_group(load: Load, tmp_path: Path) -> None:
    settings = {"templates": 3}
    trafficgen.export(load(LOAD), to="trex", directory=tmp_path / "out", settings=settings)
    groups = json.loads((tmp_path / "out" / "groups.json").read_text(encoding="utf-8"))["groups"]
    udp = groups[0]
    assert len(udp["flows"]) == 3
    assert sum(flow["rate_per_s"] for flow in udp["flows"]) == pytest.approx(udp["rate_per_s"])
    sizes = [sum(size for _, size in flow["writes"]) for flow in udp["flows"]]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2] / 1.5


def test_the_examples_offer_about_the_load_of_the_sample(load: Load) -> None:
    for group in session_groups(sessions_of_workload(load(LOAD), seed=1)):
        sizes = dict(zip(group.sampled, group.sizes_bytes.tolist(), strict=True))
        for count in (1, 2, 5):
            chosen = [sizes[number] for number in group.choose_examples(count)]
            assert np.mean(chosen) == pytest.approx(group.sizes_bytes.mean(), rel=0.25)


@pytest.mark.parametrize("memory_bytes", [None, 2_000_000])
def test_a_capture_of_a_workload_is_what_generate_writes(
    load: Load, tmp_path: Path, memory_bytes: int | None
) -> None:
    workload = load(LOAD)
    trafficgen.generate_workload(workload, tmp_path / "all.pcap", seed=5, snaplen_bytes=96)
    table = trafficgen.generate_workload(workload, tmp_path / "all.parquet", seed=5)
    report = trafficgen.export(
        workload,
        to="pcap",
        directory=tmp_path / "out",
        seed=5,
        memory_bytes=memory_bytes,
        settings={"snaplen_bytes": 96},
    )
    assert report.files == ("packets.pcap",)
    packets = trafficgen.read_packets(table.path)
    assert report.packets == len(packets)
    assert report.bytes_after == table.ip_bytes == packets.ip_bytes.sum(dtype="int64")
    written = tmp_path / "out" / "packets.pcap"
    assert written.read_bytes() == (tmp_path / "all.pcap").read_bytes()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        ".trafficgen-export.json",
        "README.md",
        written.name,
    ]


def test_a_failed_export_keeps_its_blocks_for_the_next_one(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload, out = load(LOAD), tmp_path / "out"
    made: list[int] = []

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def make(*given: Any, **more: Any) -> FinishedBlock:
        made.append(1)
        return make_block(*given, **more)

    monkeypatch.setattr(blocks, "make_block", make)
    with monkeypatch.context() as patch:
        patch.setattr("trafficgen.packet_files.writing.write_pieces", fail)
        with pytest.raises(OutputFileError, match=r"(\d) of \1 blocks are done and kept"):
            trafficgen.export(workload, to="pcap", directory=out, memory_bytes=200_000)
    assert not out.exists()
    assert made
    made.clear()
    trafficgen.export(workload, to="pcap", directory=out, memory_bytes=200_000)
    assert not made
    assert list(tmp_path.glob("*.work")) == []


@pytest.mark.parametrize("memory_bytes", [None, 2_000_000])
@pytest.mark.parametrize("tool", ["iperf2", "iperf3", "ditg"])
def test_a_tool_of_runs_gets_one_list_of_them_with_what_each_flow_sends(
    load: Load, tmp_path: Path, tool: str, memory_bytes: int | None
) -> None:
    workload, out = load(LOAD), tmp_path / "out"
    table = trafficgen.generate_workload(workload, tmp_path / "all.parquet", seed=5)
    packets = trafficgen.read_packets(table.path)
    report = trafficgen.export(workload, to=tool, directory=out, seed=5, memory_bytes=memory_bytes)
    assert report.files == ("runs.txt", "send.sh", "sink.sh")
    sent = packets.to_client & (packets.payload_bytes > 0)
    epoch = (packets.time_ns - packets.time_ns[0]) // 1_000_000_000
    wanted = {
        (int(flow), int(at)) for flow, at in zip(packets.flow[sent], epoch[sent], strict=True)
    }
    runs = [line.split() for line in (out / "runs.txt").read_text("ascii").splitlines()]
    assert len(runs) == len(wanted)
    assert {(int(flow), int(start) // 1_000_000) for start, flow, *_ in runs} == wanted
    assert [int(start) for start, *_ in runs] == sorted(int(start) for start, *_ in runs)
    assert report.bytes_before == packets.payload_bytes[sent].sum(dtype="int64")
    assert report.bytes_after == pytest.approx(report.bytes_before, rel=0.01)
    used: dict[tuple[str, str], int] = {}
    for start, _, *options in runs:
        port = options[options.index("-rp" if tool == "ditg" else "-p") + 1]
        server = ("udp" if tool == "iperf2" and "-u" in options else "", port)
        assert int(start) >= used.get(server, -2_000_000) + 2_000_000
        used[server] = int(start)


@pytest.mark.parametrize("memory_bytes", [None, 2_000_000])
def test_mgen_gets_short_scripts_of_few_flows_at_a_time(
    load: Load, tmp_path: Path, memory_bytes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mgen_workload, "_MOST_LINES", 20)
    monkeypatch.setattr(mgen_workload, "_MOST_AT_ONCE", 5)
    monkeypatch.setattr(mgen_workload, "_MOST_CONNECTIONS", 7)
    workload, out = load(LOAD), tmp_path / "out"
    table = trafficgen.generate_workload(workload, tmp_path / "all.parquet", seed=5)
    packets = trafficgen.read_packets(table.path)
    report = trafficgen.export(
        workload,
        to="mgen",
        directory=out,
        seed=5,
        memory_bytes=memory_bytes,
        settings={"ports": 3, "first_port": 6000},
    )
    sent = packets.to_client & (packets.payload_bytes > 0)
    epoch = (packets.time_ns - packets.time_ns[0]) // 1_000_000_000
    wanted = np.unique(np.stack([epoch[sent], packets.flow[sent] % 3]), axis=1, return_counts=True)
    runs = [line.split() for line in (out / "runs.txt").read_text("ascii").splitlines()]
    assert sorted(name for _, _, name, _ in runs) == sorted(path.name for path in out.glob("*.mgn"))
    assert [int(start) for start, *_ in runs] == sorted(int(start) for start, *_ in runs)
    found: Counter[tuple[int, int]] = Counter()
    for start, _, name, _ in runs:
        lines = (out / name).read_text("ascii").splitlines()
        assert 0 < len(lines) <= 20
        assert sum(" TCP " in line for line in lines) <= 7
        at_once: Counter[str] = Counter()
        for number, line in enumerate(lines, start=1):
            fields = re.fullmatch(
                rf"(\d+)\.000000 ON {number} (?:UDP|TCP) DST 127.0.0.1/(\d+) PERIODIC \[\S+ \d+\]"
                r" COUNT (\d+)",
                line,
            )
            assert fields, line
            at_once[fields[1]] += 1
            at = int(start) // 1_000_000 + int(fields[1])
            found[at, int(fields[2]) - 6000] += int(fields[3])
        assert max(at_once.values()) <= 5
    assert found == {
        (int(at), int(port)): int(count)
        for (at, port), count in zip(wanted[0].T, wanted[1], strict=True)
    }
    assert report.packets == sent.sum()
    assert report.bytes_before == packets.payload_bytes[sent].sum(dtype="int64")
    assert 'event "0.0 LISTEN UDP 6000-6002"' in (out / "sink.sh").read_text()
    assert "FIRST, LAST, COUNTS = 6000, 6002, 'tcp.txt'" in (out / "tcp_sink.py").read_text()


def test_a_workload_is_not_sent_packet_for_packet_by_mgen(load: Load, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="leave mode in settings out"):
        trafficgen.export(
            load(LOAD), to="mgen", directory=tmp_path / "out", settings={"mode": "exact"}
        )


def test_epochs_do_not_depend_on_the_pieces_that_packets_come_in() -> None:
    table = trafficgen.generate("cbr", sessions=3, arrival_rate_per_s=1.0, duration_s=7.0, seed=1)
    whole = stream_of(table)
    pieces = [table.packets.slice(row, 37) for row in range(0, len(table), 37)]
    found = [
        [*iterate_epochs(stream, protocols=("udp",), to_client=True, epoch_s=1.0, piece_rows=rows)]
        for stream, rows in ((whole, 1 << 18), (replace(whole, pieces=pieces), 50))
    ]
    assert found[0] == found[1]
    sent = table.to_client & (table.payload_bytes > 0)
    assert sum(packets for _, _, packets, _ in found[0]) == sent.sum()


def test_a_target_that_takes_no_workload_names_those_that_do(load: Load, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"choose one of pcap.*trex"):
        trafficgen.export(load(LOAD), to="ns3", directory=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_each_phase_of_an_export_counts_what_is_done(load: Load, tmp_path: Path) -> None:
    steps: list[trafficgen.Step] = []
    with trafficgen.following(steps.append):
        report = trafficgen.export(
            load(LOAD), to="iperf3", directory=tmp_path / "out", memory_bytes=200_000
        )
    making = [step for step in steps if step.what == "making"]
    assert making[0].done == 0
    assert making[-1].done == making[-1].total
    written = [step for step in steps if step.what == "writing"]
    assert written[-1].done == written[-1].total
    assert report.packets is not None
    assert written[-1].done >= report.packets


def test_ditg_waits_on_one_machine_until_its_receivers_listen(load: Load, tmp_path: Path) -> None:
    settings = {"first_port": 47_000}
    trafficgen.export(load(LOAD), to="ditg", directory=tmp_path / "out", seed=5, settings=settings)
    quick = f"sleep() {{ :; }}; ITGSend() {{ :; }}; . {tmp_path / 'out' / 'send.sh'}"
    done = subprocess.run(["bash", "-c", quick], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "no ITGRecv listens on TCP port 47001: start sink.sh first\n"
